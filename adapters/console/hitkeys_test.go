// Tests of hits that are decided with keys, several at a time, and without leaving the page.

package console_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// matched starts a run whose check has some hits: the first close ones have the name and the birth date of the
// customer, and the others only the name.
func (d *desk) matched(reference string, total, equal int) verification.RunID {
	d.t.Helper()
	found := enginetest.Pass(map[string]any{"analysis_ok": false})
	found.Result.Screening = &verification.ScreeningResult{List: "fictional", ListVersion: "1", Total: total}
	for i := range total {
		born := "1961-07-02"
		if i >= equal {
			born = fmt.Sprint(1980 + i)
		}
		found.Result.Screening.Hits = append(found.Result.Screening.Hits, verification.Hit{
			ID: fmt.Sprintf("f-%d", i), Name: "ZAMOYSKOV, Viktor", Score: 1, BirthDates: []string{born}, Countries: []string{"ru"},
		})
	}
	d.Provider.On("list", found)
	run := d.begin(d.Apply(workflow.Definition{
		Workflow: "matched", Name: "Sanctions", Start: "list",
		Nodes: map[verification.NodeID]workflow.Node{
			"list": {
				Type: workflow.NodeCheck, Label: "Sanctions screening", Provider: "script", Next: "done",
				With: verification.Data(`{"list":"fictional","name":"Viktor Zamoyskov","birth_date":"1961-07-02"}`),
			},
			"done": {Type: workflow.NodeEnd},
		},
	}), reference)
	d.Settle()
	return run
}

// decidedHits returns the decision and the reason of each hit of a run.
func (d *desk) decidedHits(run verification.RunID) (all []string) {
	d.t.Helper()
	rec, err := d.Engine.History(d.t.Context(), enginetest.Tenant, run)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, h := range rec.Report.Cards[0].Hits() {
		all = append(all, strings.TrimSpace(string(h.Decision.Match)+" "+h.Decision.Reason))
	}
	return all
}

func TestHitsAreDecidedWithFewKeys(t *testing.T) {
	d := serve(t)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	for _, row := range []struct {
		name        string
		hits, equal int
		keys        []string // a text counts as none
		most        int
		want        []string
	}{
		{"one hit", 1, 0, []string{"o"}, 3, []string{"other"}},
		{"five with one reason", 5, 0, []string{"X", "o", "Born later.", control}, 8, slices.Repeat([]string{"other Born later."}, 5)},
		{"five without a reason", 5, 0, []string{"o", "o", "o", "u", "o"}, 8, []string{"other", "other", "other", "unsure", "other"}},
		{
			"five with three reasons", 5, 0,
			[]string{"x", "x", "o", "Much later.", control, "x", "x", "s", "His son.", control, "x", "o", "Other.", control},
			13,
			[]string{"other Much later.", "other Much later.", "same His son.", "same His son.", "other Other."},
		},
		{"an equal one among others", 3, 1, []string{"o", "Another mother.", control, "X", "o", "Later.", control}, 9, []string{"other Another mother.", "other Later.", "other Later."}},
	} {
		run := d.matched("case", row.hits, row.equal)
		d.open(tab, run)
		browser.Eval[bool](tab, `window.stays = true`)
		count := 2 // a, Enter
		for _, key := range row.keys {
			tab.Key(key)
			tab.Wait(`!document.querySelector("form[data-sent]")`)
			if len(key) == 1 {
				count++
			}
		}
		tab.Wait(`!document.querySelector(".hit[data-open]")`)
		if stays := browser.Eval[bool](tab, `window.stays === true`); !stays || count > row.most {
			t.Errorf("%s: %d keys, want at most %d, on one page: %t", row.name, count, row.most, stays)
		}
		if got := d.decidedHits(run); !slices.Equal(got, row.want) {
			t.Errorf("%s: the hits are %q, want %q", row.name, got, row.want)
		}
		if strings.Contains(strings.Join(row.want, " "), "same") || slices.Contains(row.want, "unsure") {
			continue // an approval needs notes
		}
		tab.Key("a\r")
		d.close(tab)
		if got := d.Run(run).Decision; got != rules.DecisionApprove {
			t.Errorf("%s: after a and Enter the run is %s, want approve", row.name, got)
		}
	}
}

func TestTheFocusGoesToTheNextOpenHit(t *testing.T) {
	d := serve(t)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	d.open(tab, d.matched("case", 3, 1))
	place := func() string {
		return browser.Eval[string](tab, `(() => {
			const at = document.activeElement, hit = at.closest(".hit");
			return hit ? at.tagName + [...document.querySelectorAll(".hit")].indexOf(hit) : at.id || at.tagName;
		})()`)
	}
	for _, row := range []struct{ keys, want, says string }{
		{"a", "SUMMARY0", "Decide the hits first. Possible matches: 3 of 3 to decide"},
		{"o" + control, "INPUT0", ""}, // it needs a reason
		{"Another mother." + control, "SUMMARY1", "Possible matches: 2 of 3 to decide"},
		{"u", "SUMMARY2", "Possible matches: 1 of 3 to decide"},
		{"o", "verdict", "Possible matches: all 3 are decided"},
	} {
		tab.Wait(`performance.now() > (window.later ?? 0)`)
		tab.Key(row.keys)
		tab.Wait(`!document.querySelector("form[data-sent]")`)
		if row.says != "" {
			tab.Wait(`document.querySelector("[data-hits-said]").textContent.startsWith("` + row.says + `")`)
		}
		if got := place(); got != row.want {
			t.Errorf("after %q the focus is on %s, want %s", row.keys, got, row.want)
		}
		browser.Eval[bool](tab, `window.later = performance.now() + 1_100, true`) // a text that lost its field is over
	}
	inspect(t, tab, "run-hits-keys")
}

// A person who types a text that has no field does not decide a hit that agrees, nor approve, nor leave.
func TestATextWithoutAFieldDecidesNoEqualHit(t *testing.T) {
	d := serve(t)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	for _, keys := range []string{"no other person", "another person\r", "a\ra\r", "rother name, no match\r", "xXo\r\r", "ooooo\r\r\r", "oo a\ra\r"} {
		run := d.matched("case", 3, 2)
		d.open(tab, run)
		for part := range strings.SplitSeq(keys, " ") {
			tab.Key(part)
			tab.Wait(loaded + ` && !document.querySelector("form[data-sent]")`)
		}
		d.close(tab)
		if got := d.decidedHits(run); got[0] != "" || got[1] != "" || d.Run(run).Decision != rules.DecisionReview {
			t.Errorf("%q: the hits are %q and the run is %s", keys, got, d.Run(run).Decision)
		}
	}
}

func TestSeveralHitsAreDecidedTogetherWithoutScript(t *testing.T) {
	d := serve(t)
	run := d.matched("case", 4, 1)
	page, p := "/runs/"+string(run), d.as(reviewer(verification.RoleReviewer))
	forms := hitForms(t, p.get(page))
	all := []string{"hit", forms[1][0], "hit", forms[2][0], "hit", forms[3][0]}
	wants(t, p.get(page), http.StatusOK, "Needs its own reason", `name="hit" value="`+forms[1][0], `!name="hit" value="`+forms[0][0])
	wants(t, p.post(page+"/hits", "match", "other"), http.StatusUnprocessableEntity, "Nothing was saved. Select the matches that you decide.", `data-begun="other"`)
	wants(t, p.post(page+"/hits", "hit", "hit-0123456789abcdef", "match", "other"), http.StatusConflict, "does not have this hit any more")
	wants(t, p.post(page+"/hits", append(all, "match", "perhaps", "reason", "As typed.")...), http.StatusUnprocessableEntity, "Choose one of the buttons", `value="As typed."`, " checked")
	for _, match := range []string{"other", "same", "unsure"} { // a request that the page does not offer
		wants(t, p.post(page+"/hits", "hit", forms[0][0], "hit", forms[1][0], "match", match, "reason", "All."), http.StatusUnprocessableEntity, "Decide it alone.")
	}
	if got := d.decidedHits(run)[0]; got != "" {
		t.Errorf("a hit that agrees is %q after a decision on several", got)
	}
	a := p.post(page+"/hits", append(all, "match", "other", "reason", "Born later. "+canary(5))...)
	if want := "/console" + page + "#hits"; a.status != http.StatusSeeOther || a.header.Get("Location") != want {
		t.Errorf("a decision on several = %d %s, want %s", a.status, a.header.Get("Location"), want)
	}
	for i, got := range d.decidedHits(run) {
		if want := map[bool]string{false: "other Born later. " + canary(5)}[i == 0]; got != want {
			t.Errorf("hit %d is %q, want %q", i, got, want)
		}
	}
	wants(t, p.get(page), http.StatusOK, "1 of 4 to decide", "!<canary-5>")
	wants(t, d.as(reviewer(verification.RoleViewer)).post(page+"/hits", all...), http.StatusForbidden)
}

// What a decision changes elsewhere on the page changes with it.
func TestADecisionChangesTheBadgesOfItsGroup(t *testing.T) {
	d := serve(t)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	d.open(tab, d.listed())
	badge := `document.getElementById("step-owners").querySelector(".badge").textContent.trim()`
	for _, want := range []string{"Passed, 4 hits", "Passed, 3 hits", "Passed, 2 hits"} {
		tab.Wait(badge + ` === "` + want + `" && !document.querySelector("form[data-sent]")`)
		tab.Key("o")
	}
}

// What a person sees without scrolling on a small laptop: the first evidence, and the buttons that act on it.
func TestTheEvidenceAndItsButtonsAreInView(t *testing.T) {
	d := serve(t)
	documents, _ := d.withDocuments()
	runs := map[string]verification.RunID{
		"owners": d.listed(), "two owners": d.twoOwners("two"), "groups": d.owned(), "three lists": d.watched("three"), "four eyes": d.equal("eyes", true),
		"a loop": d.looped(), "documents": documents, "reasons": d.begin(d.Apply(asking("Strict")), "strict"),
		"equal": d.matched("equal", 1, 1), "different": d.matched("different", 1, 0), "five": d.matched("five", 5, 1), "eight": d.matched("eight", 8, 0),
	}
	for _, size := range [][2]int{{1280, 720}, {1440, 900}} {
		tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true, Width: size[0], Height: size[1]})
		for name, run := range runs {
			d.open(tab, run)
			below := browser.Eval[float64](tab, `(() => {
				const shown = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
				const hit = document.querySelector(".hit[data-open]");
				const acts = shown(hit ? "#" + hit.id + " button[name=match]" : "form.decide button[name=decision]");
				const begins = document.querySelector(".main > :first-child").getBoundingClientRect().top + 100;
				return acts.length === 0 ? Infinity : Math.max(begins, ...[...acts, ...(hit ? [hit] : [])].map((one) => one.getBoundingClientRect().bottom));
			})()`)
			if below > float64(size[1]) {
				t.Errorf("%s: the evidence and its buttons end at y = %.0f of %d", name, below, size[1])
			}
			tab.ShootWindow(fmt.Sprintf("%s/run-view-%s-%d.png", shots, strings.ReplaceAll(name, " ", "-"), size[0]))
		}
	}
}
