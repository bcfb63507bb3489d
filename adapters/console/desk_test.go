// Tests of notes, assignment and escalation.

package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// withTeams serves the console with the team Seniors.
func withTeams(t testing.TB) *desk {
	t.Helper()
	return serveWith(t, func(o *console.Options) { o.Teams = []string{"Seniors"} })
}

// senior returns a reviewer of the team Seniors.
func senior(name string) verification.Reviewer {
	who := reviewerCalled(name)
	who.Teams = []string{"seniors"} // in another case than in the options
	return who
}

func TestANoteIsAddedToARunInAnyState(t *testing.T) {
	d := withTeams(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(reviewerCalled("ravi"))
	wants(t, asha.get(path), http.StatusOK, "Nobody has written a note yet.")
	stale := verdictForm(t, asha.get(path))

	a := ravi.post(path+"/notes", "notes", "Called the <b>branch</b>.\r\nTwice.", "reference", "case-1")
	if want := "/console" + path + "#desk"; a.status != http.StatusSeeOther || a.header.Get("Location") != want {
		t.Errorf("a note leads to %d %s, want %s", a.status, a.header.Get("Location"), want)
	}
	wants(t, ravi.get(path), http.StatusOK, "Your note on \u2068case-1\u2069 was saved.", "1 note<",
		"Called the &lt;b&gt;branch&lt;/b&gt;.\nTwice.", "\u2068ravi\u2069 wrote a note.")
	for _, wrong := range []string{" \n", strings.Repeat("x", rules.MaxNotes+1)} {
		wants(t, ravi.post(path+"/notes", "notes", wrong), http.StatusUnprocessableEntity, "Write a note of at most 10000 characters.", wrong)
	}
	if a := asha.post(path+"/verdict", append(stale, "decision", "approve")...); a.status != http.StatusSeeOther {
		t.Errorf("a verdict after the note of a colleague = %d %s", a.status, a.body)
	}
	wants(t, ravi.post(path+"/notes", "notes", "Archived."), http.StatusSeeOther)
	wants(t, ravi.get(path), http.StatusOK, "2 notes<", "Archived.", "!Assign …", "!Escalate …")

	viewer := d.as(reviewer(verification.RoleViewer))
	wants(t, viewer.get(path), http.StatusOK, "Archived.", "!New note")
	wants(t, viewer.post(path+"/notes", "notes", "x"), http.StatusForbidden)
	if got := d.Run(run); got.Notes != "" {
		t.Errorf("the API shows the notes %q", got.Notes)
	}
}

func TestARunIsAssignedEscalatedAndReleased(t *testing.T) {
	d := withTeams(t)
	w := d.Apply(waiting("Limit", ""))
	run, other := d.begin(w, "case-1"), d.begin(w, "case-2")
	path := "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(senior("ravi"))
	wants(t, asha.get(path), http.StatusOK, "Assign …", "Escalate …", "Team \u2068Seniors\u2069", `value="person:asha"`, `!value="nobody"`)
	lead := func(who *person, to string, form ...string) {
		t.Helper()
		a := who.post(path+"/assign", append(form, "reference", "case-1")...)
		if want := "/console" + to; a.status != http.StatusSeeOther || a.header.Get("Location") != want {
			t.Errorf("%q leads to %d %s, want %s: %s", form, a.status, a.header.Get("Location"), want, a.body)
		}
	}
	lead(asha, path, "to", "person:asha")
	wants(t, asha.get(path), http.StatusOK, "For you", `value="nobody"`)
	wants(t, asha.get("/queue"), http.StatusOK, `Assigned to me <span class="count">1</span>`, "For you")
	wants(t, ravi.get("/queue"), http.StatusOK, `Assigned to me <span class="count">0</span>`, "For \u2068asha\u2069")
	lead(asha, path, "to", "nobody")
	wants(t, asha.get(path), http.StatusOK, "is assigned to nobody now.", "!For you")

	for _, notes := range []string{"", "  "} {
		wants(t, asha.post(path+"/assign", "to", "team:seniors", "escalate", "1", "notes", notes), http.StatusUnprocessableEntity,
			"Write a note of at most 10000 characters.", `details class="dialog escalate" open`)
	}
	wants(t, asha.post(path+"/assign", "to", "team:others"), http.StatusBadRequest)
	wants(t, asha.post(path+"/claim"), http.StatusSeeOther)
	lead(asha, "/runs/"+string(other), "to", "team:seniors", "escalate", "1", "notes", "Is the stamp genuine?")
	wants(t, ravi.get(path), http.StatusOK, "Escalated to \u2068Seniors\u2069", "Is the stamp genuine?", "Nobody has claimed this run.",
		"\u2068asha\u2069 escalated the run to \u2068Seniors\u2069.", `value="person:asha"`)
	wants(t, ravi.get("/queue?whose=assigned"), http.StatusOK, "1 run waits for a verdict", `Assigned to me <span class="count">1</span>`, "case-1", "!case-2")
	lead(ravi, "/runs/"+string(other), "to", "person:asha") // back to her
	wants(t, asha.get("/queue?whose=assigned"), http.StatusOK, "case-1")

	d.GiveVerdict(run, rules.DecisionApprove)
	wants(t, asha.post(path+"/assign", "to", "team:seniors", "escalate", "1", "notes", "Too late?"), http.StatusConflict,
		"this run needs no verdict now", "Too late?")
	wants(t, d.as(reviewer(verification.RoleViewer)).post("/runs/"+string(other)+"/assign", "to", "nobody"), http.StatusForbidden)
}

func TestWithoutTeamsNothingIsEscalated(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	wants(t, d.as(reviewerCalled("asha")).get("/runs/"+string(run)), http.StatusOK, "Assign …", "!Escalate …")
}

func TestTheNextRunIsForMeThenForNobody(t *testing.T) {
	d := withTeams(t)
	ids := d.fill(5)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(senior("ravi"))
	assign := func(who *person, run verification.RunID, to string) {
		t.Helper()
		wants(t, who.post("/runs/"+string(run)+"/assign", "to", to), http.StatusSeeOther)
	}
	next := func(who *person, want string) {
		t.Helper()
		if a := who.get("/queue/next"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console"+want {
			t.Errorf("the next run = %d %s, want %s", a.status, a.header.Get("Location"), want)
		}
	}
	assign(asha, ids[0], "person:asha")
	assign(asha, ids[3], "team:seniors")
	next(asha, "/runs/"+string(ids[0]))
	next(ravi, "/runs/"+string(ids[3]))
	verdict := func(who *person, at, want int) {
		t.Helper()
		path := "/runs/" + string(ids[at])
		a := who.post(path+"/verdict", append(verdictForm(t, who.get(path)), "decision", "approve")...)
		if got := a.header.Get("Location"); got != "/console/runs/"+string(ids[want]) {
			t.Errorf("after case %d comes %s, want case %d", at+1, got, want+1)
		}
	}
	verdict(ravi, 1, 3) // the run of his team, not the one after it
	verdict(ravi, 3, 4) // then those of nobody, after this one
	verdict(ravi, 4, 2) // from the beginning, without the run of asha
	wants(t, ravi.post("/runs/"+string(ids[2])+"/claim"), http.StatusSeeOther)
	next(asha, "/runs/"+string(ids[0]))
	assign(asha, ids[0], "team:seniors")
	next(asha, "/queue") // ravi has one, and his team the other
	wants(t, asha.get("/queue"), http.StatusOK, "No run waits for you now.", "Next for me")
	wants(t, d.as(reviewer(verification.RoleViewer)).get("/queue"), http.StatusOK, "!Next for me")
	wants(t, d.as(reviewer(verification.RoleViewer)).get("/queue/next"), http.StatusForbidden)
}

func TestTheAssigneeOfAProposalMayConfirmIt(t *testing.T) {
	d := withTeams(t)
	w := waiting("Limit", "")
	w.FourEyes = true
	run := d.begin(d.Apply(w), "case-1")
	path := "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(senior("ravi"))
	wants(t, asha.post(path+"/assign", "to", "person:asha"), http.StatusSeeOther)
	wants(t, asha.post(path+"/verdict", append(verdictForm(t, asha.get(path)), "decision", "approve")...), http.StatusSeeOther)
	wants(t, ravi.get("/queue"), http.StatusOK, "!For \u2068asha\u2069", `Assigned to me <span class="count">0</span>`)
	if a := ravi.get("/queue/next"); a.header.Get("Location") != "/console"+path {
		t.Errorf("the next run is %s, want the proposal", a.header.Get("Location"))
	}
}

// escalated serves a run that has notes, and that asha has escalated.
func (d *desk) escalated() verification.RunID {
	d.t.Helper()
	run := d.begin(d.Apply(waiting("Limit", "The limit is high.")), "case-1")
	path := "/runs/" + string(run)
	asha := d.as(reviewerCalled("asha"))
	for n := range 12 {
		wants(d.t, asha.post(path+"/notes", "notes", fmt.Sprintf("Note %d.\nThe branch has seen the original documents of the customer.", n)), http.StatusSeeOther)
		d.Advance(time.Minute)
	}
	wants(d.t, asha.post(path+"/assign", "to", "team:seniors", "escalate", "1", "notes", "Is the stamp genuine?"), http.StatusSeeOther)
	return run
}

func TestMarkupInNotesAndTeamsIsInert(t *testing.T) {
	team := "<canary-2>"
	d := serveWith(t, func(o *console.Options) { o.Teams = []string{team} })
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	who := reviewerCalled(canary(1))
	p := d.as(who)
	wants(t, p.post(path+"/notes", "notes", canary(3)), http.StatusSeeOther)
	wants(t, p.post(path+"/assign", "to", "team:"+team, "escalate", "1", "notes", canary(4)), http.StatusSeeOther)
	tab := d.tab(who, browser.Options{Wide: true})
	for _, at := range []string{path, "/queue"} {
		tab.Go(d.server.URL + "/console" + at)
		if found := browser.Eval[string](tab, `[...document.querySelectorAll("*")].filter((e) => e.localName.startsWith("canary")).map((e) => e.outerHTML).join("\n") + (window.canary ?? "")`); found != "" {
			t.Errorf("%s interprets %s", at, found)
		}
		text := browser.Eval[string](tab, `document.documentElement.textContent`)
		for n := range 5 {
			if shown := strings.Contains(text, fmt.Sprintf("<canary-%d>", n)); !shown && (n == 2 || at == path && n > 0) {
				t.Errorf("%s does not show the canary %d", at, n)
			}
		}
	}
}

func TestAReviewerEscalatesToASeniorInABrowser(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		t.Run(fmt.Sprintf("script %t", !noScript), func(t *testing.T) {
			d := withTeams(t)
			w := d.Apply(waiting("Limit", "The limit is high."))
			run := d.begin(w, "case-1")
			d.Advance(time.Minute)
			second := d.begin(w, "case-2")
			asha := d.tab(reviewerCalled("asha"), browser.Options{Wide: true, NoScript: noScript})
			asha.Go(d.server.URL + "/console/queue")
			asha.Press(`a[data-row]`)
			if asha.See("#note"); !noScript {
				asha.See("[data-mine]")
			}
			asha.Fill("#note", "Called the branch.")
			asha.Press(".desk button")
			asha.See(".note.good")
			if text := asha.Text(); !strings.Contains(text, "Called the branch.") || !strings.Contains(text, "1 note") {
				t.Errorf("after the note the page is %s", text)
			}
			asha.Press(".escalate > summary")
			asha.Fill("#escalation", "Is the stamp genuine?")
			asha.Press(".escalate button")
			asha.See(`form[action*="` + string(second) + `/verdict"]`)
			if text := asha.Text(); !strings.Contains(text, "was escalated.") || !strings.Contains(text, "case-2") {
				t.Errorf("after the escalation the page is %s", text)
			}

			ravi := d.tab(senior("ravi"), browser.Options{Wide: true, NoScript: noScript})
			ravi.Go(d.server.URL + "/console/queue")
			ravi.Press(`.tabs a[href$="whose=assigned"]`)
			ravi.See(`.tabs a[href$="whose=assigned"][aria-current]`)
			if text := ravi.Text(); !strings.Contains(text, "case-1") || strings.Contains(text, "case-2") {
				t.Errorf("what is for ravi is %s", text)
			}
			ravi.Press(`.head .button`) // next for me
			if ravi.See("#notes"); !noScript {
				ravi.See("[data-mine]")
			}
			if text := ravi.Text(); !strings.Contains(text, "Is the stamp genuine?") || !strings.Contains(text, "Escalated to") {
				t.Errorf("the run for ravi is %s", text)
			}
			ravi.Fill("#notes", "It is.")
			ravi.Press(`button[value="approve"]`)
			ravi.See(".note.good")
			if got := d.Run(run); got.Decision != rules.DecisionApprove || got.Notes != "It is." {
				t.Errorf("run = %q %q", got.Decision, got.Notes)
			}
			if got := d.Run(second).Decision; got != rules.DecisionReview {
				t.Errorf("the second run is %q", got)
			}
		})
	}
}

func TestTheDeskLooksRight(t *testing.T) {
	d := withTeams(t)
	run := d.escalated()
	tab := d.tab(senior("ravi"), browser.Options{})
	d.inspectAll(tab, "run-escalated", "/runs/"+string(run), func() {
		browser.Eval[bool](tab, `document.querySelectorAll("details.assign, details.escalate").forEach((e) => e.open = true), true`)
	})
	d.inspectAll(tab, "queue-escalated", "/queue", nil)
}

func TestARunIsNotAssignedInAnotherTenant(t *testing.T) {
	d := withTeams(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	before := d.Run(run).Seq
	eve := d.as(verification.Reviewer{Tenant: otherTenant, Name: "eve", Role: verification.RoleAdmin, Teams: []string{"Seniors"}})
	for _, path := range []string{"/notes", "/assign"} {
		wants(t, eve.post("/runs/"+string(run)+path, "notes", "x", "to", "team:seniors"), http.StatusNotFound)
	}
	if after := d.Run(run).Seq; after != before {
		t.Errorf("the history has %d events, want %d", after, before)
	}
}
