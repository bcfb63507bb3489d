// Tests of what a rejection needs, and of the parts of the queue.

package console_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
)

func TestARejectionNeedsWhatTheWorkflowAsks(t *testing.T) {
	d := serve(t)
	w := waiting("Account opening", "Look.")
	w.RejectReasons = []verification.RejectReason{{Code: "listed", Label: "Is the person on the list"}}
	w.Notes = verification.NotesOnReject
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
	rec, err := d.Engine.RunRecord(t.Context(), enginetest.Tenant, run)
	if err != nil || rec.Verdict.Decision != verification.DecisionReject || rec.Verdict.Reason != "listed" {
		t.Errorf("the verdict is %+v, %v; want a rejection with its reason", rec.Verdict, err)
	}
	wants(t, p.get(path), http.StatusOK, "Your system is not told of a later verdict.")
}

func TestTheTabsOfTheQueueCountTheirRuns(t *testing.T) {
	d := serve(t)
	d.fill(3)
	p := d.as(reviewer(verification.RoleReviewer))
	p.post("/runs/" + string(d.fill(1)[0]) + "/claim")
	wants(t, p.get("/queue"), http.StatusOK, `All <span class="count">4</span>`, `Mine <span class="count">1</span>`,
		`Needs a second person <span class="count">0</span>`, `Declined consent <span class="count">0</span>`)
	wants(t, p.get("/queue?whose=mine"), http.StatusOK, `whose=mine" aria-current="page"`, "1 run waits for a verdict")
}
