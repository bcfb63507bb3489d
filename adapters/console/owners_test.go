// Tests of elements with names: the table of owners, and the names wherever a person reads about an element.

package console_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// named is a workflow with a group of three checks for each owner, who has a name.
func named() workflow.Definition {
	member := func(name, label, provider string) workflow.Member {
		return workflow.Member{
			Name: name, Label: label, Provider: provider,
			With: verification.Data(`{"list":"` + name + `","kind":"person","name":"${item.name}","birth_date":"${item.dob}"}`),
		}
	}
	return workflow.Definition{
		Workflow: "named", Name: "Business account", Start: "owners",
		Subject:     &workflow.SubjectFields{Name: "input.name", Kind: workflow.FactCompany},
		InputSchema: verification.Data(`{"type":"object","properties":{"name":{"type":"string","x-search":true},"owners":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"dob":{"type":"string"}}}}}}`),
		Nodes: map[verification.NodeID]workflow.Node{
			"owners": {
				Type: workflow.NodeChecks, Label: "Owner", ForEach: "input.owners", Order: workflow.OrderOneByOne, OnNotMet: "look", Next: "look",
				Element: &workflow.ElementFields{Name: "item.name", BirthDate: "item.dob", Kind: workflow.FactPerson},
				Members: workflow.Members{
					member("identity", "Identity", "identity"), member("sanctions", "Sanctions", "lists"), member("pep", "Politically exposed", "lists"),
				},
			},
			"look": {Type: workflow.NodeReview, Label: "Second look", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// list is a provider that screens, and finds people by their names.
type list map[string]verification.Hit

func (list) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{Screens: true}
}

func (l list) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	s, of := &verification.ScreeningResult{ListVersion: "1"}, r.With
	s.List, _ = of["list"].(string)
	name, _ := of["name"].(string)
	if hit, ok := l[name]; ok {
		s.Total, s.Hits = 1, []verification.Hit{hit}
	}
	return verification.CheckResult{
		Outcome: verification.OutcomePassed, Data: map[string]any{"analysis_ok": s.Total == 0}, Screening: s,
	}, nil
}

// serveNamed returns a desk whose lists have people.
func serveNamed(t *testing.T, l list) *desk {
	return serve(t, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["lists"], p.Providers["identity"] = l, refuses("Kabir Bose")
	})
}

// entry is an entry of a list.
func entry(name, born string) verification.Hit {
	return verification.Hit{ID: "f-" + name, Name: name, Score: 1, BirthDates: []string{born}, Topics: []string{"sanction"}, Digest: "d"}
}

// own starts a run of named, whose owners have names and birth dates.
func (d *desk) own(reference string, owners ...[2]string) verification.RunID {
	d.t.Helper()
	return d.ownIn(named(), "Golden Peregrine Maritime", reference, owners...)
}

// ownIn is own in a workflow, for a company with a name.
func (d *desk) ownIn(w workflow.Definition, company, reference string, owners ...[2]string) verification.RunID {
	d.t.Helper()
	var list []any
	for _, o := range owners {
		list = append(list, map[string]any{"name": o[0], "dob": o[1]})
	}
	run := d.Start(d.Apply(w).ID, engine.StartRequest{
		ReferenceID: reference, Input: verification.DataOf(map[string]any{"name": company, "owners": list}),
	}).ID
	d.Settle()
	return run
}

// refuses is a provider that does not pass one person.
type refuses string

func (i refuses) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	if r.With["name"] == string(i) {
		return verification.CheckResult{Outcome: verification.OutcomeFailed}, nil
	}
	return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
}

func TestOwnersAreNamedWhereAPersonReads(t *testing.T) {
	d := serveNamed(t, list{"Victor Zamoyskov": entry("Viktor Zamoyskov", "1961-03-14")})
	run := d.own("BIZ-1", [2]string{"Victor Zamoyskov", "1961-03-14"}, [2]string{"Kabir Bose", "1970-04-01"}, [2]string{"Asha Rao", "1980-04-01"}, [2]string{"Asha Rao", "1999-04-01"})
	p := d.as(reviewerCalled("asha"))
	page := p.get("/runs/" + string(run))
	const unscreened = "Owner · Kabir Bose: Sanctions Nobody was screened: the group was decided before this check was called."
	const hit = "Viktor Zamoyskov · the same name in another spelling · born the same day · sanctioned"
	for id, want := range map[string]string{
		"elements-owners": "Owner 4 named, 1 with hits, 1 not screened Name Born Identity Sanctions Politically exposed " +
			"Victor Zamoyskov 1961-03-14 Confirmed 1 hit, open 1 hit, open " +
			"Kabir Bose 1970-04-01 Not confirmed Not screened stopped when Identity failed Not screened " +
			"Asha Rao (3) 1980-04-01 Confirmed No hit No hit Asha Rao (4) 1999-04-01 Confirmed No hit No hit",
		"why":            "Owner · Victor Zamoyskov: Sanctions Sanctions " + hit + " Owner · Victor Zamoyskov: Politically exposed Pep " + hit + " " + unscreened,
		"step-owners[1]": "Owner · Victor Zamoyskov Met, 2 hits",
		"step-owners[4]": "Owner 4 of 4 · Asha Rao Met",
		"timeline":       "Owner 4 of 4 · Asha Rao: Sanctions: lists was called.",
	} {
		if got := lines(t, page, id, "</section>"); !strings.Contains(got, want) {
			t.Errorf("%s reads\n%s\nwant\n%s", id, got, want)
		}
	}
	if got := lines(t, p.get("/queue"), "run-"+string(run), "</tr>"); !strings.Contains(got, unscreened) {
		t.Errorf("the row in the queue reads\n%s\nwant\n%s", got, unscreened)
	}
	for _, number := range regexp.MustCompile(`Owner \d of 4(?: · Asha)?`).FindAllString(page.body, -1) {
		if !strings.HasSuffix(number, "Asha") {
			t.Errorf("the page has %q in place of a name", number)
		}
	}
	if !strings.Contains(d.Run(run).Checks[0].Label, "Owner") || strings.Contains(fmt.Sprint(d.Run(run).Checks), "Owner · ") {
		t.Errorf("labels of the API have names: %+v", d.Run(run).Checks)
	}
	wants(t, p.get("/runs/"+string(run)+"?lang=hi"), http.StatusOK, "1 मिलान, खुला", "\u2068Identity\u2069 विफल होने पर रोका गया")
}

func TestDecidedHitsOfOwnersSaySo(t *testing.T) {
	d := serveNamed(t, list{"Asha Rao": entry("Asha Rao", "1980-04-01"), "Meera Iyer": entry("Meera Iyer", "1999")})
	run := d.own("BIZ-1", [2]string{"Asha Rao", "1980-04-01"}, [2]string{"Meera Iyer", "1970-04-01"})
	path, p := "/runs/"+string(run), d.as(reviewerCalled("asha"))
	for i, match := range []string{"same", "other", "unsure"} {
		wants(t, p.post(path+"/hits", append(hitForms(t, p.get(path))[i][1:], "match", match, "reason", "Seen.")...), http.StatusSeeOther)
	}
	const want = "Asha Rao 1980-04-01 Confirmed 1 hit, same person 1 hit, another person"
	if got := lines(t, p.get(path), "elements-owners", "</section>"); !strings.Contains(got, want) || !strings.Contains(got, "1 hit, not sure") {
		t.Errorf("the table reads\n%s\nwant\n%s", got, want)
	}
}

func TestEightOwnersAreEightLines(t *testing.T) {
	people := list{}
	var owners [][2]string
	for i, name := range strings.Split("Victor Zamoyskov,Jonas Weber,Asha Rao,فاطمة السيد,Meera Iyer,Ravi Menon,Olena Kovalenko,"+canary(8), ",") {
		born := fmt.Sprintf("19%d-04-01", 60+i)
		owners = append(owners, [2]string{name, born})
		if i%3 == 0 {
			people[name] = entry(name, born)
		}
	}
	d := serveNamed(t, people)
	run := d.own("BIZ-2", owners...)
	path := "/runs/" + string(run)
	wants(t, d.as(reviewerCalled("asha")).get(path), http.StatusOK, "!<canary-8>", "&lt;canary-8&gt;")
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true, Width: 1280, Height: 720})
	tab.Go(d.server.URL + "/console" + path)
	if folded := browser.Eval[string](tab, `document.querySelector(".owners .fold summary").textContent`); !strings.HasPrefix(folded, "5 without a finding: Jonas Weber, Asha Rao, Meera Iyer") {
		t.Errorf("the owners without a finding are %q", folded)
	}
	tab.Press(".owners .fold summary")
	const tall = `Math.max(...[...document.querySelectorAll(".owners tbody tr:not(.fold)")].slice(0, 7).map((row) => row.offsetHeight))`
	if rows := browser.Eval[int](tab, tall); rows > 28 {
		t.Errorf("a row of the table is %d px high, so it is more than a line", rows)
	}
	d.inspectAll(d.tab(reviewerCalled("asha"), browser.Options{}), "run-owners", path, nil)
	tab.ShootWindow(filepath.Join(shots, "run-owners-1280.png"))
}

func TestTheHeadSaysInWhichRunsAnOwnerIs(t *testing.T) {
	d := serve(t, func(p *engine.Ports, o *engine.Options) {
		p.Providers["lists"], p.Providers["identity"], o.SearchKey = list{}, refuses(""), []byte(strings.Repeat("k", 32))
	})
	p := d.as(reviewerCalled("asha"))
	zamoyskov, rao := [2]string{"Victor Zamoyskov", "1961-03-14"}, [2]string{"Asha Rao", "1980-04-01"}
	rejected := d.own("MB-1", zamoyskov)
	wants(t, p.post("/runs/"+string(rejected)+"/verdict", append(verdictForm(t, p.get("/runs/"+string(rejected))), "decision", "reject", "notes", "Listed.")...), http.StatusSeeOther)
	d.Settle()
	d.Advance(time.Minute)
	d.own("MB-2", rao, [2]string{"Victor Zamoyskov", "1999-03-14"})
	page := p.get("/runs/" + string(d.own("MB-3", rao, zamoyskov)))
	got := lines(t, page, "content", "Why this run needs")
	for _, want := range []string{"Rejected before: MB-1 , Owner Victor Zamoyskov, by asha", "Owner Asha Rao is also in MB-2 Needs a verdict"} {
		if !strings.Contains(got, want) {
			t.Errorf("the head reads\n%s\nwant\n%s", got, want)
		}
	}
	if strings.Contains(got, "same name") {
		t.Errorf("the head says that the company has the name of an owner:\n%s", got)
	}
}

func TestAFileMayBeAboutOneOwner(t *testing.T) {
	d := serveNamed(t, list{})
	run := d.own("BIZ-1", [2]string{"Victor Zamoyskov", "1961-03-14"}, [2]string{canary(1), "1980-04-01"})
	path, admin := "/runs/"+string(run), d.as(reviewer(verification.RoleAdmin))
	wants(t, admin.get(path), http.StatusOK, `<option value="owners[1]">Owner · Victor Zamoyskov</option>`, "!<canary-1>")
	asha := d.as(reviewerCalled("asha"))
	for i, text := range []string{"written with a k", "another day"} {
		wants(t, asha.post(path+"/corrections", "value", fmt.Sprintf(" owners[%d].name", i), "correction", text), http.StatusSeeOther)
	}
	whole := fmt.Sprint(files(t, admin.post(path+"/person")))
	one := fmt.Sprint(files(t, admin.post(path+"/person", "element", "owners[1]")))
	if !strings.Contains(whole, "1980-04-01") || strings.Contains(one, "1980-04-01") || !strings.Contains(one, "1961-03-14") {
		t.Errorf("the file of an owner is\n%s", one)
	}
	if !strings.Contains(whole, "another day") || strings.Contains(one, "another day") || !strings.Contains(one, "written with a k") {
		t.Errorf("the file of an owner has not the corrections of the owner alone\n%s", one)
	}
	wants(t, admin.post(path+"/person", "element", "owners[9]"), http.StatusUnprocessableEntity)
	wants(t, admin.post(path+"/verdict", append(verdictForm(t, admin.get(path)), "decision", "approve", "notes", "Seen.")...), http.StatusSeeOther)
	d.Settle()
	wants(t, admin.post(path+"/redact", "reason", "asked"), http.StatusSeeOther)
	wants(t, admin.get(path), http.StatusOK, "Owner 1 of 2", "!Zamoyskov", "!canary", "!elements-owners", "!person-element")
}

// removalOf searches for a person, selects runs, and returns the page that asks whether they are redacted and which of
// them are selected there.
func (d *desk) removalOf(words string, runs ...verification.RunID) (page response, selected []verification.RunID) {
	d.t.Helper()
	admin, form := d.as(reviewer(verification.RoleAdmin)), []string(nil)
	for _, id := range runs {
		form = append(form, "run", string(id))
	}
	to := strings.TrimPrefix(admin.post("/runs/search", "reference", words).header.Get("Location"), "/console")
	action := regexp.MustCompile(`id="redact" method="post" action="/console([^"]*)"`).FindStringSubmatch(admin.get(to).body)[1]
	page = admin.post(strings.ReplaceAll(action, "&amp;", "&"), form...)
	for _, m := range regexp.MustCompile(`name="run" value="([^"]*)" aria-label="[^"]*" checked`).FindAllStringSubmatch(page.body, -1) {
		selected = append(selected, verification.RunID(m[1]))
	}
	return page, selected
}

// The run of a company that is found by an owner is about others, too: nothing selects it unasked, and the others of its
// group are selected all the same.
func TestARunFoundByAnOwnerIsNotSelected(t *testing.T) {
	d := serve(t, searching, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["lists"], p.Providers["identity"] = list{}, refuses("")
	})
	person := func(reference string) verification.RunID {
		of := d.Apply(workflow.Definition{
			Workflow: "single", Name: "Single", Start: "done", Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
			InputSchema: verification.Data(`{"type":"object","properties":{"name":{"type":"string","x-search":true}}}`),
			Subject:     &workflow.SubjectFields{Name: "input.name"},
		})
		run := d.Start(of.ID, engine.StartRequest{ReferenceID: reference, Input: verification.Data(`{"name":"Asha Rao"}`)}).ID
		d.Settle()
		return run
	}
	owners := [][2]string{{"Asha Rao", "1980-04-01"}, {"Kabir Bose", "1970-04-01"}}
	company, hers := d.own("BIZ-1", owners...), person("BIZ-1")
	neither := d.ownIn(named(), "Rao Traders", "BIZ-2", [2]string{"Asha Menon", "1980-04-01"})
	first, second := d.own("BIZ-3", owners...), d.own("BIZ-3", owners...)
	const byOwner, none = "<td data-label=\"Found by\">\u2068Owner · Asha Rao\u2069</td>", "None is selected"
	for _, row := range []struct {
		name string
		runs []verification.RunID
		want []verification.RunID
		says []string
	}{
		{"a company alone", []verification.RunID{company}, nil, []string{byOwner}},
		{"a company and its owner who have a part each", []verification.RunID{neither}, nil, []string{"<td data-label=\"Found by\">\u2068Owner · Asha Menon\u2069</td>"}},
		{"a company and the person in one group", []verification.RunID{company, hers}, []verification.RunID{hers}, []string{byOwner, `<td data-label="Found by">name</td>`}},
		{"more runs of a company than of the person", []verification.RunID{first, second, hers}, nil, []string{none}},
	} {
		page, selected := d.removalOf("asha rao", row.runs...)
		if wants(t, page, http.StatusOK, row.says...); !slices.Equal(selected, row.want) {
			t.Errorf("%s: selected are %q, want %q", row.name, selected, row.want)
		}
	}
}
