// Tests of the views of a person, and of declined consents that are closed together.

package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAViewIsSavedForItsPerson(t *testing.T) {
	d := serve(t)
	d.fill(2)
	asha := d.as(reviewerCalled("asha"))
	const filter = "?age=4h&whose=unclaimed"
	a := asha.post("/queue/views", "name", " My <b>late</b>  ones ", "query", filter)
	if got := a.header.Get("Location"); a.status != http.StatusSeeOther || got != "/console/queue"+filter {
		t.Fatalf("save = %d %s, want the queue with its filter", a.status, got)
	}
	const tab = "My &lt;b&gt;late&lt;/b&gt; ones</bdi></a>"
	wants(t, asha.get("/queue"), http.StatusOK, tab, "was saved", "!Remove this view")
	wants(t, asha.get("/queue"+filter), http.StatusOK, tab, "Remove this view", "!was saved")
	ravi := d.as(reviewerCalled("ravi")) // in the same browser
	u := d.url()
	cookies := append(asha.client.Jar.Cookies(u), ravi.client.Jar.Cookies(u)...) // the session is that of ravi
	ravi.client.Jar.SetCookies(u, cookies)
	wants(t, ravi.get("/queue"), http.StatusOK, "ravi", "!"+tab)
	for _, tt := range []struct{ name, want string }{
		{"", "a view needs a name"},
		{strings.Repeat("é", 41), "a view needs a name"},
		{strings.Repeat("é", 40), "was saved"},
	} {
		asha.post("/queue/views", "name", tt.name, "query", filter)
		wants(t, asha.get("/queue"), http.StatusOK, tt.want)
	}
	for i := range 9 {
		asha.post("/queue/views", "name", string(rune('a'+i)), "query", filter)
	}
	wants(t, asha.get("/queue"), http.StatusOK, "there are too many views", tab)
	asha.post("/queue/views", "name", "My <b>late</b> ones", "query", filter, "remove", "1")
	wants(t, asha.get("/queue"), http.StatusOK, "was removed", "!"+tab)
}

func TestDeclinedConsentsAreClosedTogether(t *testing.T) {
	d := serve(t)
	declined := func(w workflow.Workflow, reference string) verification.RunID {
		id := d.begin(w, reference)
		d.Submit(id, "consent_submitted", map[string]any{"consent_status": "declined"})
		return id
	}
	plain, strict := d.Apply(consenting("plain")), consenting("strict")
	strict.RejectReasons = []workflow.RejectReason{{Code: "gone", Label: "The customer has gone"}}
	closed := []verification.RunID{declined(plain, "case-1"), declined(plain, "case-2")}
	asks, claimed := declined(d.Apply(strict), "case-3"), declined(plain, "case-4")
	other := d.fill(1)[0]
	d.as(reviewerCalled("ravi")).post("/runs/" + string(claimed) + "/claim")
	p := d.as(reviewer(verification.RoleReviewer))
	page := p.get("/queue?cause=consent")
	form := formOf(t, page, "/queue/declined?cause=consent")
	if got := strings.Join(form, " "); strings.Contains(got, string(claimed)) || !strings.Contains(got, string(closed[0])) {
		t.Errorf("the form names %s, want the runs that nobody has claimed", got)
	}
	form = append(form, "run", string(other), "run", string(claimed), "notes", "Said no.")
	wants(t, p.post("/queue/declined?cause=consent", form...), http.StatusSeeOther)
	wants(t, p.get("/queue"), http.StatusOK, "Runs that were closed: 2. Runs that were left: 3,")
	for _, id := range closed {
		if got := d.Run(id); got.Decision != rules.DecisionReject || got.Notes != "Said no." {
			t.Errorf("run = %q %q, want it rejected", got.Decision, got.Notes)
		}
	}
	for _, id := range []verification.RunID{asks, claimed, other} {
		if got := d.Run(id); got.Decision != rules.DecisionReview {
			t.Errorf("run %s = %q, want it in the queue", got.ReferenceID, got.Decision)
		}
	}
}

// consenting is a workflow that asks for a consent alone.
func consenting(id string) workflow.Definition {
	return workflow.Definition{
		Workflow: id, Name: id, Start: "consent",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Label: "Consent", Text: "We check you.", OnDeclined: "declined", Next: "done"},
			"done":    {Type: workflow.NodeEnd}, "declined": {Type: workflow.NodeEnd, Outcome: "declined"},
		},
	}
}
