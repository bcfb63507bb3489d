// Tests of checks that screen and were not called, in the queue and on the page of a run.

package console_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// screener is a provider that screens, and finds nobody.
type screener struct{ verification.Provider }

func (screener) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{Screens: true}
}

func TestWhoWasNotScreenedIsSaidInRowAndPage(t *testing.T) {
	d := serve(t, func(p *engine.Ports, _ *engine.Options) { p.Providers["lists"] = screener{p.Providers["script"]} })
	w := d.Apply(workflow.Definition{
		Workflow: "screened", Name: "Company with owners", Start: "owner", Nodes: map[verification.NodeID]workflow.Node{
			"owner": {
				Type: workflow.NodeChecks, Label: "Owner", ForEach: "input.owners", Order: workflow.OrderOneByOne, OnNotMet: "look", Next: "look",
				Members: workflow.Members{{Name: "identity", Label: "Identity", Provider: "script"}, {Name: "lists", Label: "Lists", Provider: "lists"}},
			},
			"look": {Type: workflow.NodeReview, Label: "Second look", Next: "done"},
			"done": {Type: workflow.NodeEnd},
		},
	})
	d.Provider.On("owner.identity", enginetest.Fail(nil), enginetest.Pass(nil))
	run := d.Start(w.ID, engine.StartRequest{ReferenceID: "company-1", Input: verification.Data(`{"owners":[{},{}]}`)}).ID
	p := d.as(reviewerCalled("asha"))
	const said = "Lists Nobody was screened: the group was decided before this check was called."
	page := p.get("/runs/" + string(run))
	if got := lines(t, page, "why", "</section>"); strings.Count(got, said) != 1 {
		t.Errorf("the page says %q, want once %q", got, said)
	}
	if got := lines(t, p.get("/queue"), "run-"+string(run), "</tr>"); strings.Count(got, said) != 1 {
		t.Errorf("the queue says %q, want once %q", got, said)
	}
	for id, want := range map[string]string{"en": "Nobody was screened", "hi": "सूची-जाँच नहीं हुई"} {
		if body := p.get("/runs/"+string(run), "Accept-Language", id).body; !strings.Contains(body, want) {
			t.Errorf("in %s the page does not say %q", id, want)
		}
	}
	tab := d.tab(reviewerCalled("asha"), browser.Options{})
	d.inspectAll(tab, "run-unscreened", "/runs/"+string(run), nil)
	d.inspectAll(tab, "queue-unscreened", "/queue", nil)
}
