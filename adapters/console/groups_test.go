// Tests of groups, of the elements of lists and of rounds on the page of a run.

package console_test

import (
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// company is a workflow with a group of checks, one for each owner, and a review.
func company() workflow.Definition {
	member := func(name, label, when string) workflow.Member {
		return workflow.Member{Name: name, Label: label, Provider: "script", When: when}
	}
	return workflow.Definition{
		Workflow: "company", Name: "Company with owners", Start: "details", RunTTLSeconds: 14 * 86400,
		Nodes: map[verification.NodeID]workflow.Node{
			"details": {Type: workflow.NodeCustomerInput, Label: "The company", Next: "address", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Name of the company", Required: true},
				{Name: "owners", Type: workflow.FieldGroup, Label: "Owners", Min: new(1.0), Max: new(10.0), Fields: workflow.InputFields{
					{Name: "name", Type: workflow.FieldText, Label: "Full name", Required: true},
					{Name: "share", Type: workflow.FieldNumber, Label: "Share in per cent"},
				}},
			}},
			"address": {
				Type: workflow.NodeChecks, Label: "Proof of address", Need: 2, OnNotMet: "look", Next: "owners",
				Members: workflow.Members{
					member("bureau", "Credit bureau", ""), member("register", "Land register", ""), member("utility", "Utility bill", ""),
					member("abroad", "Register abroad", "steps.details.data.name == 'Abroad'"),
				},
			},
			"owners": {
				Type: workflow.NodeChecks, Label: "Owner", ForEach: "steps.details.data.?owners.orValue([])", Order: workflow.OrderOneByOne, Need: 1,
				OnNotMet: "look", Next: "look", Members: workflow.Members{
					member("bureau", "Credit bureau", ""), member("embassy", "Embassy", "item.?share.orValue(0.0) > 90.0"), member("register", "Register of people", ""), member("consulate", "Consulate", ""),
				},
			},
			"look": {Type: workflow.NodeReview, Label: "Second look", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// owned starts a run of company whose customer has two owners.
func (d *desk) owned() verification.RunID {
	d.t.Helper()
	none := enginetest.Pass(nil)
	none.Result.Outcome = verification.OutcomeNoCoverage
	d.Provider.On("owners.bureau", none)
	d.Provider.On("owners.register", enginetest.Pass(map[string]any{"registered_name": "ASHA RAO", "since": "2011-04-01"}))
	run := d.begin(d.Apply(company()), "company-1")
	d.Submit(run, "details_submitted", owners("Acme Trading", "Asha Rao", "Meera Iyr"))
	d.Settle()
	return run
}

// owners is an answer to the form of company.
func owners(company string, names ...string) map[string]any {
	var rows []any
	for _, name := range names {
		rows = append(rows, map[string]any{"name": name, "share": 50})
	}
	return map[string]any{"name": company, "owners": rows}
}

// again asks the customer of a run again, as asha.
func (d *desk) again(run verification.RunID) {
	d.t.Helper()
	c := rules.AskAgain{
		Step: "details", Reasons: []string{"does_not_match"}, Fields: []string{"owners[1].name"}, Note: "Please write the name as on the ID card.",
		By: "Asha Rao", Identity: "asha",
	}
	if _, err := d.Engine.AskAgain(d.t.Context(), enginetest.Tenant, run, c, ""); err != nil {
		d.t.Fatal(err)
	}
}

// lines returns a part of a page from the id of an element on, without tags and runs of spaces.
func lines(t testing.TB, page response, id, until string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page.body, `id="`+id+`"`)
	part, _, found := strings.Cut(rest, until)
	if !ok || !found {
		t.Fatalf("the page has no %s before %s", id, until)
	}
	text := regexp.MustCompile(`<svg.*?</svg>|<[^>]*>`).ReplaceAllString("<"+part, " ")
	text = strings.NewReplacer("\u2068", "", "\u2069", "").Replace(html.UnescapeString(text))
	return strings.Join(strings.Fields(text), " ")
}

func TestMembersAndElementsStandUnderTheirGroup(t *testing.T) {
	d := serve(t)
	d.Provider.On("address.utility", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	run := d.owned()
	p := d.as(reviewerCalled("asha"))
	page := p.get("/runs/" + string(run))
	for id, want := range map[string]string{
		"step-address": "Proof of address Met 2 of 3 sources confirmed, 2 needed. Decided on 2026-01-05 09:00. " +
			"Confirmed Credit bureau Check · 2026-01-05 09:00 Confirmed Land register Check · 2026-01-05 09:00 " +
			"Not needed Utility bill Check · 2026-01-05 09:00 The answer was not needed. " +
			"Register abroad was left out: its condition does not hold.",
		"step-owners": "Owner: 2 OK Made for each of 2 elements. 2 passed; decided on 2026-01-05 09:00. " +
			"Owner 1 of 2 Met 1 of 2 sources confirmed, 1 needed. Decided on 2026-01-05 09:00. " +
			"No coverage Credit bureau Check · 2026-01-05 09:00 The source does not cover this person or company. " +
			"Confirmed Register of people Registered name: ASHA RAO · Since: 2011-04-01 Check · 2026-01-05 09:00 " +
			"Asked because Credit bureau does not cover this person or company. Registered name ASHA RAO Since 2011-04-01 " +
			"Embassy was left out: its condition does not hold. Consulate was not asked.",
	} {
		if got := lines(t, page, id, "</section>"); got != want {
			t.Errorf("%s reads\n%s\nwant\n%s", id, got, want)
		}
	}
	wants(t, page, http.StatusOK, `id="step-owners[2].register"`, `<details class="line" id="step-address.utility">`, "!What needs a look", "!"+`<a href="#step-owners`)
	if members, elements := strings.Count(page.body, ` depth-2">`), strings.Count(page.body, ` depth-1">`); members != 12 || elements != 10 {
		t.Errorf("the timeline has %d lines of elements and members, and %d of members of elements", elements, members)
	}
	wants(t, page, http.StatusOK, "\u2068Proof of address: Register abroad\u2069: the condition of the step did not hold", // the timeline
		"\u2068Owner 2 of 2: Embassy\u2069: the condition of the step did not hold")
	wants(t, p.get("/runs/"+string(run)+"?lang=hi"), http.StatusOK, "शर्त पूरी", "ज़रूरत नहीं", "!Not needed", "!must confirm")
}

func TestAGroupThatIsNotMetNeedsALook(t *testing.T) {
	d := serve(t)
	d.Provider.On("address.bureau", enginetest.Fail(map[string]any{"reason": "another address"}))
	d.Provider.On("address.register", enginetest.Refuse())
	run := d.owned()
	d.Settle()
	page := d.as(reviewerCalled("asha")).get("/runs/" + string(run))
	got := lines(t, page, "problems", "</section>")
	for _, want := range []string{"What needs a look Proof of address Too few answers", "1 of 3 sources confirmed, 2 needed.", "Not confirmed Credit bureau", "No answer Land register", "Confirmed Utility bill"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page shows\n%s\nwant %q", got, want)
		}
	}
	wants(t, page, http.StatusOK, `<a href="#step-address"`, "!step-owners")
}

// listed starts a run of company whose bureau did not vouch for its answer, and whose owners have two hits each.
func (d *desk) listed() verification.RunID {
	d.t.Helper()
	d.Provider.On("address.utility", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	d.Provider.On("address.bureau", enginetest.Pass(map[string]any{"source_ok": false}))
	found := enginetest.Pass(map[string]any{"analysis_ok": false})
	found.Result.Screening = &verification.ScreeningResult{List: "sanctions", ListVersion: "1", Total: 2, Hits: []verification.Hit{
		{ID: "f-1", Name: "Viktor Zamoyskov", Score: 1, BirthDates: []string{"1961-03-14"}, Countries: []string{"ru"}}, {ID: "f-2", Name: "Victor Zamoisky", Score: 0.91},
	}}
	run := d.begin(d.Apply(company()), "company-2")
	none := enginetest.Pass(nil)
	none.Result.Outcome = verification.OutcomeNoCoverage
	d.Provider.On("owners.bureau", none)
	d.Provider.On("owners.register", found)
	d.Submit(run, "details_submitted", owners("Acme Trading", "Asha Rao", "Meera Iyr"))
	d.Settle()
	return run
}

// badges returns the tone and the text of each badge of a part of a page.
func badges(t testing.TB, page response, id, until string) (all []string) {
	t.Helper()
	_, rest, _ := strings.Cut(page.body, `id="`+id+`"`)
	part, _, found := strings.Cut(rest, until)
	if !found {
		t.Fatalf("the page has no %s before %s", id, until)
	}
	for _, b := range regexp.MustCompile(`(?s)<span class="badge ([a-z]+)">(?:<svg.*?</svg>)?([^<]*)<`).FindAllStringSubmatch(part, -1) {
		all = append(all, b[1]+" "+strings.TrimSpace(b[2]))
	}
	return all
}

func TestNothingGreenStandsOverAnOpenHit(t *testing.T) {
	d := serve(t)
	run := d.listed()
	p, path := d.as(reviewerCalled("asha")), "/runs/"+string(run)
	page := p.get(path)
	for id, want := range map[string][]string{
		"step-address":   {"warning Met, flagged", "warning Answered, flagged", "good Confirmed"},
		"step-owners":    {"warning Passed, 4 hits", "warning Met, 2 hits", "warning Answered, 2 hits"},
		"step-owners[2]": {"warning Met, 2 hits", "warning Answered, 2 hits"},
	} {
		if got := badges(t, page, id, "</section>"); !slices.Equal(slices.DeleteFunc(got, func(b string) bool { return strings.HasPrefix(b, "bad ") }), want) {
			t.Errorf("%s has the badges %q, want %q", id, got, want)
		}
	}
	for id, want := range map[string]string{
		"step-address": "1 of 3 sources confirmed, 2 needed. 1 answered and flagged for review; decided on",
		"step-owners":  "Made for each of 2 elements. 0 passed, 2 flagged for review; decided on",
	} {
		if got := lines(t, page, id, "</p>"); !strings.Contains(got, want) {
			t.Errorf("%s reads %q, want %q", id, got, want)
		}
	}
	met := 0
	for _, line := range regexp.MustCompile(`<li class="[a-z]+[^>]*>(?s:.*?)</li>`).FindAllString(page.body, -1) {
		if strings.Contains(line, "\u2069: passed.") && strings.Contains(line, `<li class="warning`) {
			met++
		}
	}
	if met != 4 {
		t.Errorf("the timeline has %d amber lines of groups that are met, want 4", met)
	}
	wants(t, p.get("/queue"), http.StatusOK, "Possible match", "!Confirmed", "!Met")
	second := func(form []string) bool { return strings.Contains(strings.Join(form, " "), "owners[2]") }
	forms := hitForms(t, p.get(path))
	slices.SortStableFunc(forms, func(a, b []string) int {
		return strings.Compare(strconv.FormatBool(second(a)), strconv.FormatBool(second(b)))
	})
	for i, match := range []string{"other", "other", "other", "unsure"} {
		wants(t, p.post(path+"/hits", append(forms[i][1:], "match", match)...), http.StatusSeeOther)
	}
	page = p.get(path)
	if got := badges(t, page, "step-owners", "</summary>"); !slices.Equal(got[:2], []string{"warning Passed, 1 hit", "good Met"}) {
		t.Errorf("after the decisions the owners have the badges %q", got)
	}
	if got := badges(t, page, "step-owners[2]", "</summary>"); !slices.Equal(got[:1], []string{"warning Met, 1 hit"}) {
		t.Errorf("after the decisions the second owner has the badges %q", got)
	}
	wants(t, p.get(path+"?lang=hi"), http.StatusOK, "सफल, 1 मिलान", "उत्तर मिला, समीक्षा चाहिए")
	tab := d.tab(reviewerCalled("asha"), browser.Options{})
	d.inspectAll(tab, "groups-hits", path, nil)
}

// An owner who is gone since a round has no heading, no green word, and the hits of an earlier visit.
func TestAnOwnerWhoIsGoneIsAnEarlierVisit(t *testing.T) {
	d := serve(t)
	run := d.listed()
	d.again(run)
	d.Provider.On("owners.register", enginetest.Pass(nil))
	d.Submit(run, "details_submitted", owners("Acme Trading", "Zoya Kurt"))
	d.Settle()
	p, path := d.as(reviewerCalled("asha")), "/runs/"+string(run)
	page := p.get(path)
	wants(t, page, http.StatusOK, `id="step-owners[1]"`, `!id="step-owners[2]"`, "Owner 1 of 1", "Owner 2 of 2: Credit bureau", "Owner 2 of 2: Register of people",
		"Earlier visit", "On an earlier visit, a possible match on a list was found.", "All visits of this step are earlier ones.", "Only an earlier visit came here.",
		`<span class="badge ">Earlier visit</span> <b><bdi>Owner 2 of 2: Credit bureau`, "!OwnerOwner")
	if got := badges(t, page, "step-owners[2].register", "</summary>"); len(got) == 0 || strings.HasPrefix(got[0], "good") {
		t.Errorf("the owner who is gone has the badges %q", got)
	}
	if forms := hitForms(t, page); len(forms) != 4 {
		t.Fatalf("%d hits can be decided, want 4: two of an earlier visit of the first owner, and two of the one who is gone", len(forms))
	}
	for range 4 {
		for _, form := range hitForms(t, p.get(path))[:1] {
			wants(t, p.post(path+"/hits", append(form[1:], "match", "other", "reason", "Another company of this name.")...), http.StatusSeeOther)
		}
	}
	wants(t, p.get(path+"?lang=hi"), http.StatusOK, "पहले का दौर", "इस चरण के सभी दौर पहले के हैं।")
	tab := d.tab(reviewerCalled("asha"), browser.Options{})
	d.inspectAll(tab, "groups-gone", path, nil)
}

func TestRoundsStandBetweenTheAnswersOfTheirStep(t *testing.T) {
	d := serve(t)
	d.Provider.On("address.utility", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	run := d.owned()
	d.Advance(time.Hour)
	d.again(run)
	p := d.as(reviewerCalled("asha"))
	round := "Round 1: Asha Rao asked the customer again. 2026-01-05 10:00 Reason: The answers do not match the document. Fields: Owners 2: Full name Please write the name as on the ID card. "
	page := p.get("/runs/" + string(run))
	if got, want := lines(t, page, "step-details", "Name of the company"), "The company OK Customer input · 2026-01-05 09:00 "+round+"The customer has not answered yet."; got != want {
		t.Errorf("a round without an answer reads\n%s\nwant\n%s", got, want)
	}
	wants(t, page, http.StatusOK, "Time left", "13 days, until 2026-01-19 09:00 UTC")
	d.Advance(30 * time.Minute)
	d.Submit(run, "details_submitted", owners("Acme Trading", "Asha Rao", "Meera Iyer"))
	d.Settle()
	page = p.get("/runs/" + string(run))
	table := "Name of the company Acme Trading Owners Full name Share in per cent Asha Rao 50 Meera "
	want := "The company OK Customer input · 2026-01-05 10:30 " + table + "Iyer 50 This is the last visit of the step. There was 1 visit before it. " + round +
		"The customer answered on 2026-01-05 10:30; the answer is above. Visit 1 OK 2026-01-05 09:00 " + table + "Iyr 50"
	if got := lines(t, page, "step-details", "</article>"); got != want {
		t.Errorf("the step with a round reads\n%s\nwant\n%s", got, want)
	}
	wants(t, page, http.StatusOK, "!Time left")
}

// The register of the address failed most often, so the bureau beside it stands above the other group.
func TestTheNumbersOfMembersStandTogether(t *testing.T) {
	d := serve(t)
	w := d.Apply(company())
	none := enginetest.Fail(nil)
	d.Provider.On("address.register", none)
	d.Provider.On("address.utility", enginetest.Slow(time.Second, enginetest.Pass(nil)))
	d.Provider.On("owners.register", none)
	for range 2 {
		run := d.begin(w, "company-1")
		d.Submit(run, "details_submitted", owners("Acme Trading", "Asha Rao"))
		d.Advance(time.Second)
		d.Settle()
		d.Provider.On("owners.register", enginetest.Pass(nil))
		d.Provider.On("owners.bureau", none)
	}
	want := [][]string{
		{"check", "results", "not_passed", "hits"},
		{"address", "2", "0", "0"},
		{"address.register", "2", "2", "0"},
		{"address.bureau", "2", "0", "0"},
		{"address.utility", "2", "0", "0"},
		{"owners", "2", "0", "0"},
		{"owners.bureau", "2", "1", "0"},
		{"owners.register", "1", "0", "0"},
	}
	query := "?from=2026-01-05&to=2026-01-05&workflow=" + string(w.ID)
	if diff := gocmp.Diff(want, rows(t, d.as(reviewer(verification.RoleAdmin)).get("/numbers/checks.csv"+query))); diff != "" {
		t.Errorf("the checks (-want +got):\n%s", diff)
	}
	tab := d.tab(reviewer(verification.RoleAdmin), browser.Options{})
	d.inspectAll(tab, "numbers-groups", "/numbers"+query, nil)
}

func TestAReviewerAsksForOneRow(t *testing.T) {
	d := serve(t)
	run := d.owned()
	path, asha := "/runs/"+string(run), d.as(reviewerCalled("asha"))
	page := asha.get(path)
	wants(t, page, http.StatusOK, `value="details owners"`, `value="details owners[1].name"`, "Owners 2: Full name", "!details owners[2]")
	seq := between(t, page.body, `action="/console`+path+`/again"`, `name="seq" value="`)
	ask := func(reason string) response {
		return asha.post(path+"/again", "step", "details", "reason", reason, "field", "details owners[1].name", "seq", seq, "reference", "company-1", "note_to_customer", "")
	}
	wants(t, ask("none"), http.StatusUnprocessableEntity, "<details open>", `value="details owners[1].name" checked`)
	wants(t, ask("incomplete"), http.StatusSeeOther)
	wants(t, asha.get(path), http.StatusOK, "Fields: \u2068Owners 2: Full name\u2069")
}

func TestGroupsAndRoundsLookRight(t *testing.T) {
	d := serve(t)
	d.Provider.On("address.utility", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	run := d.owned()
	d.Advance(time.Hour)
	d.again(run)
	tab := d.tab(reviewerCalled("asha"), browser.Options{})
	open := func() {
		tab.Wait(`document.querySelectorAll("details").forEach((d) => d.open = !d.matches(".dialog")) || true`)
	}
	d.inspectAll(tab, "round-open", "/runs/"+string(run), open)
	d.Advance(30 * time.Minute)
	d.Submit(run, "details_submitted", owners("Acme Trading", "Asha Rao", "Meera Iyer"))
	d.Settle()
	d.inspectAll(tab, "groups", "/runs/"+string(run), open)
	d.inspectAll(tab, "again-rows", "/runs/"+string(run), func() {
		tab.Wait(`document.querySelectorAll("details.again, details.again details").forEach((d) => d.open = true) || true`)
	})
	d.inspectAll(tab, "groups-closed", "/runs/"+string(run), nil)
}
