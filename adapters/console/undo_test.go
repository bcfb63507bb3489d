// Tests of a verdict that is held back, of the way to the next run, and of the palette.

package console_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// decided says whether the page has told the result of a verdict.
const decided = `document.querySelector(".held.good")`

func TestAVerdictCanBeUndone(t *testing.T) {
	d := serve(t)
	ids := d.fill(3)
	decision := func(i int) rules.Decision { t.Helper(); return d.Run(ids[i]).Decision }
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue")
	tab.Press("#run-" + string(ids[0]) + " a")
	tab.See("form.decide")
	tab.Wait(loaded)
	tab.Set("#notes", "Looks fine <b>to</b> me.")
	tab.Key("a\r")
	tab.Wait(`location.pathname.endsWith("` + string(ids[1]) + `")`)
	tab.See("[data-undo]")
	tab.Wait(loaded)
	if got := tab.Text(); !strings.Contains(got, "case-001\u2069 will be approved.") {
		t.Errorf("the page of the next run does not say what is held back: %s", got)
	}
	if got := decision(0); got != rules.DecisionReview {
		t.Errorf("the decision is %q while the verdict is held back, want review", got)
	}
	if at := browser.Eval[string](tab, `document.activeElement.tagName`); at != "H1" {
		t.Errorf("the focus is on %s after a verdict, want the heading of the next run", at)
	}
	tab.Key("u")
	tab.Wait(`location.pathname.endsWith("` + string(ids[0]) + `") && document.querySelector("#notes")?.value === "Looks fine <b>to</b> me."`)
	tab.Wait(loaded)

	tab.Key("a\r") // and now it stays
	tab.Wait(`location.pathname.endsWith("` + string(ids[1]) + `")`)
	tab.See("[data-undo]")
	tab.Wait(decided)
	if got := d.Run(ids[0]); got.Decision != rules.DecisionApprove || got.Notes != "Looks fine <b>to</b> me." {
		t.Errorf("run = %q %q after the time to undo, want it approved with the notes", got.Decision, got.Notes)
	}

	tab.Key("r\r") // the next page that is opened sends it
	tab.Wait(`location.pathname.endsWith("` + string(ids[2]) + `")`)
	tab.See("[data-undo]")
	tab.Wait(loaded)
	tab.Go(d.server.URL + "/console/numbers")
	tab.Wait(decided)
	if got := decision(1); got != rules.DecisionReject {
		t.Errorf("the decision is %q after the page was left, want reject", got)
	}
}

func TestEnterAfterAnUndoDecidesNothing(t *testing.T) {
	d := serve(t)
	w := waiting("Account opening", "Look.")
	w.RejectReasons = []workflow.RejectReason{{Code: "listed", Label: "Is on the list"}, {Code: "name", Label: "Another name"}}
	applied := d.Apply(w)
	ids := []verification.RunID{d.begin(applied, "case-1"), d.begin(applied, "case-2")}
	for _, row := range []struct{ keys, says string }{
		{"r2\r", "The rejection of \u2068case-1\u2069 was taken back. Nothing was decided."},
		{"a\r", "The approval of \u2068case-1\u2069 was taken back. Nothing was decided."},
	} {
		tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
		tab.Go(d.server.URL + "/console/runs/" + string(ids[0]))
		tab.See("form.decide")
		tab.Wait(loaded)
		tab.Key(row.keys)
		tab.Wait(`location.pathname.endsWith("` + string(ids[1]) + `")`)
		tab.See("[data-undo]")
		tab.Wait(loaded)
		tab.Key("u")
		tab.Wait(`location.pathname.endsWith("` + string(ids[0]) + `")`)
		tab.Wait(loaded)
		tab.See("[data-held-verdict]")
		if got := tab.Text(); !strings.Contains(got, row.says) {
			t.Errorf("after %q and an undo the page does not say %q: %s", row.keys, row.says, got)
		}
		tab.Key("\r")
		if at := browser.Eval[string](tab, `document.activeElement.tagName + " " + location.pathname.split("/").at(-1)`); at != "H1 "+string(ids[0]) {
			t.Errorf("after %q, an undo and Enter the focus is on %s, want the heading of the run", row.keys, at)
		}
		tab.Go(d.server.URL + "/console/queue") // it would send a verdict that is held back
		if got := d.Run(ids[0]).Decision; got != rules.DecisionReview {
			t.Errorf("after %q, an undo and Enter the decision is %q, want review", row.keys, got)
		}
	}
}

func TestASignOutSendsAHeldVerdictAndForgetsIt(t *testing.T) {
	d := serve(t)
	ids := d.fill(2)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(ids[0]))
	tab.See("form.decide")
	tab.Wait(loaded)
	tab.Set("#notes", "For the next person to read?")
	tab.Key("a\r")
	tab.Wait(`location.pathname.endsWith("` + string(ids[1]) + `")`)
	tab.See("[data-undo]")
	tab.Wait(loaded)
	tab.Press(".popover summary")
	tab.Press("form[data-sign-out] button")
	tab.Wait(`!document.querySelector("[data-held-verdict]")`)
	if kept := browser.Eval[string](tab, `JSON.stringify({...sessionStorage})`); strings.Contains(kept, "next person") {
		t.Errorf("after the sign-out the tab keeps %s", kept)
	}
	if got := d.Run(ids[0]); got.Decision != rules.DecisionApprove || got.Notes != "For the next person to read?" {
		t.Errorf("run = %q %q after the sign-out, want the verdict", got.Decision, got.Notes)
	}
}

func TestAHeldVerdictThatIsRefusedIsTold(t *testing.T) {
	d := serve(t)
	ids := d.fill(2)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(ids[0]))
	tab.See("form.decide")
	tab.Wait(loaded)
	tab.Set("#notes", "Mine.")
	tab.Key("a\r")
	tab.Wait(`location.pathname.endsWith("` + string(ids[1]) + `")`)
	tab.See("[data-undo]")
	d.GiveVerdict(ids[0], rules.DecisionReject) // by a colleague, meanwhile
	tab.Wait(`document.querySelector(".held.warning")`)
	if got := tab.Text(); !strings.Contains(got, "Nothing was saved") {
		t.Errorf("the page does not say that the verdict was refused: %s", got)
	}
	tab.Press("[data-open]")
	tab.Wait(`location.pathname.endsWith("` + string(ids[0]) + `")`)
}

func TestWithoutScriptAVerdictCountsAtOnce(t *testing.T) {
	d := serve(t)
	id := d.fill(1)[0]
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true, NoScript: true})
	tab.Go(d.server.URL + "/console/runs/" + string(id))
	if got := tab.Text(); !strings.Contains(got, "Without JavaScript a verdict counts at once") {
		t.Errorf("the page does not say that there is no undo: %s", got)
	}
	tab.Press("button[value=approve]")
	tab.See(".note.good")
	if got := d.Run(id).Decision; got != rules.DecisionApprove {
		t.Errorf("the decision is %q, want approve", got)
	}
}

func TestAScriptGetsTheResultOfAVerdictOnce(t *testing.T) {
	d := serve(t)
	id := d.fill(1)[0]
	p := d.as(reviewer(verification.RoleReviewer))
	path := "/runs/" + string(id) + "/verdict"
	form := append(formOf(t, p.get("/runs/"+string(id)), path), "decision", "approve", "request")
	for range 2 { // the second one repeats the first
		a := p.script(path, append(form, "6f1f7a8c")...)
		wants(t, a, http.StatusOK, "was approved", "!<html")
	}
	history, err := d.Store.Load(t.Context(), enginetest.Tenant, id, 0)
	if n := len(slices.DeleteFunc(history, func(e rules.Event) bool { return e.Kind() != "verdict_recorded" })); err != nil || n != 1 {
		t.Errorf("%d verdicts are recorded, %v; want 1", n, err)
	}
	wants(t, p.script(path, append(form, "another")...), http.StatusConflict, "Nothing was saved", "!<html")
}

// The form comes again with the same key and another decision, as from a page that was restored.
func TestAFormThatWasUsedShowsWhatWasDecided(t *testing.T) {
	d := serve(t)
	id := d.fill(1)[0]
	p := d.as(reviewer(verification.RoleReviewer))
	path := "/runs/" + string(id) + "/verdict"
	form := append(formOf(t, p.get("/runs/"+string(id)), path), "request", "6f1f7a8c", "decision")
	wants(t, p.script(path, append(form, "approve")...), http.StatusOK, "was approved")
	wants(t, p.script(path, append(form, "reject")...), http.StatusConflict, "this form has given another verdict before", "!<html")
	wants(t, p.post(path, append(form, "reject")...), http.StatusConflict, "this form has given another verdict before", "Approved")
	if got := d.Run(id).Decision; got != rules.DecisionApprove {
		t.Errorf("the decision is %q, want approve", got)
	}
}

func TestARunOfTheQueueIsSkipped(t *testing.T) {
	d := serve(t)
	ids := d.fill(3)
	p := d.as(reviewer(verification.RoleReviewer))
	d.as(reviewerCalled("ravi")).post("/runs/" + string(ids[1]) + "/claim")
	for from, to := range map[int]int{0: 2, 2: 0} { // one is claimed; after the last comes the first
		page := p.get("/runs/" + string(ids[from]) + "?order=due")
		_, link, ok := strings.Cut(page.body, `/next?`)
		link, _, _ = strings.Cut(link, `"`)
		if !ok {
			t.Fatalf("the page has no link to the next run: %s", page.body)
		}
		a := p.get("/runs/" + string(ids[from]) + "/next?" + strings.ReplaceAll(link, "&amp;", "&"))
		if want := "/console/runs/" + string(ids[to]) + "?order=due"; a.status != http.StatusSeeOther || a.header.Get("Location") != want {
			t.Errorf("next of %d = %d %s, want %s", from, a.status, a.header.Get("Location"), want)
		}
	}
	d.GiveVerdict(ids[0], rules.DecisionApprove)
	wants(t, p.get("/runs/"+string(ids[0])), http.StatusOK, "!"+string(ids[0])+"/next")
}

func TestThePaletteDoesWhatThePageOffers(t *testing.T) {
	d := serve(t)
	w := waiting("Account opening", "Look.")
	for i := range 3 {
		code := "code_" + strconv.Itoa(i)
		w.RejectReasons = append(w.RejectReasons, workflow.RejectReason{Code: code, Label: "Reason " + code})
	}
	run := d.begin(d.Apply(w), "case-1")
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	tab.See("form.decide")
	tab.Wait(loaded)
	open := func() {
		browser.Eval[bool](tab, `document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true})), true`)
		tab.See("dialog[open].palette")
	}
	open()
	inspect(t, tab, "palette")
	tab.Key("nothing like this")
	if got := tab.Text(); !strings.Contains(got, "Nothing on this page matches") {
		t.Errorf("the palette does not say that it has no such command: %s", got)
	}
	tab.Key("\x1b")
	open()
	tab.Key("numb\r")
	tab.Wait(`location.pathname.endsWith("/numbers")`)
	tab.Back()
	tab.See("form.decide")
	tab.Wait(loaded)
	tab.Key("r2") // the second reason
	if got := browser.Eval[string](tab, `document.querySelector("#reason").value`); got != "code_1" {
		t.Errorf("r and 2 choose the reason %q, want code_1", got)
	}
	tab.Key("\x1bgq") // Escape ends the rejection: its letters are notes
	tab.Wait(`location.pathname.endsWith("/queue")`)
}
