// Tests of what a rejection needs, and of the parts of the queue.

package console_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestARejectionNeedsWhatTheWorkflowAsks(t *testing.T) {
	d := serve(t)
	w := waiting("Account opening", "Look.")
	w.RejectReasons = []workflow.RejectReason{{Code: "listed", Label: "Is the person on the list"}}
	w.Notes = workflow.NotesOnReject
	run := d.begin(d.Apply(w), "case-1")
	p := d.as(reviewer(verification.RoleReviewer))
	path := "/runs/" + string(run)
	wants(t, p.get(path), http.StatusOK, "Is the person on the list", "(required to reject)")
	history, err := d.Store.Load(t.Context(), enginetest.Tenant, run, 0)
	if err != nil {
		t.Fatal(err)
	}
	seq := strconv.Itoa(len(history))
	for _, tt := range []struct {
		reason, notes, want string
	}{
		{"", "No.", "Choose a reason for the rejection."},
		{"listed", " ", "Write notes: the workflow asks for them."},
	} {
		a := p.post(path+"/verdict", "decision", "reject", "reason", tt.reason, "notes", tt.notes, "seq", seq)
		wants(t, a, http.StatusUnprocessableEntity, "Nothing was saved.", tt.want)
	}
	p.post(path+"/verdict", "decision", "reject", "reason", "listed", "notes", "It is him.", "seq", seq)
	rec, err := d.Engine.History(t.Context(), enginetest.Tenant, run)
	if err != nil || rec.Run.Verdict.Decision != rules.DecisionReject || rec.Run.Verdict.Reason != "listed" {
		t.Errorf("the verdict is %+v, %v; want a rejection with its reason", rec.Run.Verdict, err)
	}
	wants(t, p.get(path), http.StatusOK, "Your system is not told of a later verdict.")
}

func TestTheSecondPersonReadsTheReason(t *testing.T) {
	d := serve(t)
	w := waiting("Account opening", "Look.")
	w.FourEyes, w.Notes = true, workflow.NotesOnReject
	w.RejectReasons = []workflow.RejectReason{{Code: "listed", Label: "Is on the list"}}
	applied := d.Apply(w)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(reviewerCalled("ravi"))
	run := d.begin(applied, "case-1")
	path := "/runs/" + string(run)
	give := func(p *person, form ...string) {
		t.Helper()
		wants(t, p.post(path+"/verdict", append(verdictForm(t, p.get(path)), form...)...), http.StatusSeeOther)
		p.post(path + "/release")
	}
	give(asha, "decision", "reject", "reason", "listed", "notes", "It is him.")
	wants(t, ravi.get(path), http.StatusOK, `data-notes="optional"`, `Notes <span class="optional">(optional)</span>`, "the notes of the proposal are kept")
	wants(t, ravi.get(path), http.StatusOK, "Rejection proposed", `<b>Is on the list</b>`, "Reason: \u2068Is on the list\u2069")
	give(ravi, "decision", "reject")
	wants(t, ravi.get(path), http.StatusOK, "Verdicts so far", `<b>Is on the list</b>`, "Confirmed a proposal of \u2068asha\u2069")
	again := d.begin(applied, "case-1")
	wants(t, ravi.get("/runs/"+string(again)), http.StatusOK, "Other runs that may be of this person", `>Is on the list</b>`)

	path = "/runs/" + string(again)
	_, err := d.Engine.GiveVerdict(t.Context(), enginetest.Tenant, again, rules.GiveVerdict{
		Decision: rules.DecisionReject, By: "asha", Identity: "id-asha", // by the API: it needs no reason
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	wants(t, ravi.get(path), http.StatusOK, "Rejection proposed", "No reason was given")
}

func TestTheTabsOfTheQueueCountTheirRuns(t *testing.T) {
	d := serve(t)
	d.fill(3)
	p := d.as(reviewer(verification.RoleReviewer))
	p.post("/runs/" + string(d.fill(1)[0]) + "/claim")
	wants(t, p.get("/queue"), http.StatusOK, `All <span class="count">4</span>`, `In my hands <span class="count">1</span>`,
		`Needs a second person <span class="count">0</span>`, `Declined consent <span class="count">0</span>`)
	wants(t, p.get("/queue?whose=mine"), http.StatusOK, `whose=mine" aria-current="page"`, "1 run waits for a verdict")
}
