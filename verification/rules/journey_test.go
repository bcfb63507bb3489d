package rules_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestProgressCountsWhatTheCustomerIsAsked(t *testing.T) {
	for _, c := range []struct {
		name        string
		j           *journey
		done, total int
	}{
		{"not started", unstarted(t, flows.Ladder()), 0, 0},
		{"parked on the first of two", begin(t, flows.Ladder(), ""), 0, 2},
		{"parked on the second", begin(t, flows.Ladder(), "").submit(consents), 1, 2},
		{"nothing more is asked", begin(t, flows.Ladder(), "").submit(consents).submit(`{"pan":"ABCDE1234F"}`), 2, 2},
		{"over", begin(t, flows.DeskFlow(), "").submit(consents).pass(), 1, 1},
		{"over before the second", begin(t, flows.Ladder(), "").submit(consents).cancel(), 1, 1},
		{"in a loop", begin(t, flows.Loop(), ""), 0, 1},
		{"a check that may lead back", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`), 1, 1},
		{"back again", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).fail(), 0, 1},
		{"a review that may lead to consent", begin(t, flows.Refusal(), "").submit(consents).pass(), 1, 1},
		{"no customer", begin(t, flows.Single(nil), ""), 0, 0},
	} {
		if done, total := c.j.run.Progress(c.j.program); done != c.done || total != c.total {
			t.Errorf("%s: Progress = %d of %d, want %d of %d", c.name, done, total, c.done, c.total)
		}
	}
}

func TestARunIsDeclinedWhenItEndsOnADeclinedConsent(t *testing.T) {
	const declines = `{"consent_status":"declined"}`
	ends := func() workflow.Definition { // on the consent, which comes after a check
		d := flows.Define("pan", flows.Nodes{"pan": flows.CheckNode("PAN", "consent"), "consent": flows.ConsentNode("face"), "face": flows.CheckNode("Face", "done"), "done": flows.EndNode()})
		flows.Edit("consent", func(n *workflow.Node) { n.OnDeclined = "done" })(&d)
		return d
	}
	for _, c := range []struct {
		name              string
		j                 *journey
		declined, checked bool
	}{
		{"not started", unstarted(t, flows.DeskFlow()), false, false},
		{"declined, and still checked", begin(t, flows.DeskFlow(), "").submit(declines).pass(), false, true},
		{"declined, and reviewed", begin(t, flows.Refusal(), "").submit(declines).approve(""), true, false},
		{"declined, and in review", begin(t, flows.Refusal(), "").submit(declines), false, false},
		{"declined, and cancelled", begin(t, flows.Refusal(), "").submit(declines).cancel(), false, false},
		{"agreed", begin(t, flows.Refusal(), "").submit(consents).pass().approve(""), false, true},
		{"agreed when asked again", begin(t, flows.Refusal(), "").submit(declines).reject("").submit(consents).pass().approve(""), false, true},
		{"declined when asked again", begin(t, flows.Refusal(), "").submit(consents).pass().reject("").submit(declines).approve(""), true, true},
		{"declined after a check", begin(t, ends(), "").pass().submit(declines), true, true},
		{"agreed after a check", begin(t, ends(), "").pass().submit(consents).pass(), false, true},
	} {
		if got := c.j.run.Declined(); got != c.declined {
			t.Errorf("%s: Declined = %v, want %v", c.name, got, c.declined)
		}
		if got := c.j.run.Checked(); got != c.checked {
			t.Errorf("%s: Checked = %v, want %v", c.name, got, c.checked)
		}
	}
}

func TestProgressCountsEveryBranchThatIsOpen(t *testing.T) {
	d := flows.Define("gate", flows.Nodes{
		"gate": flows.BranchNode("again wanted", "pan", "pan"), "pan": flows.CheckNode("PAN", "one"),
		"one": flows.ConsentNode("done"), "two": flows.ConsentNode("one"), "done": flows.EndNode(),
	})
	flows.Edit("pan", func(n *workflow.Node) { n.OnFailed = "two" })(&d)
	j := begin(t, d, "").after(time.Second)
	if done, total := j.run.Progress(j.program); done != 0 || total != 2 {
		t.Errorf("before the branch: Progress = %d of %d, want 0 of 2", done, total)
	}
	j.pass()
	if done, total := j.run.Progress(j.program); done != 0 || total != 1 {
		t.Errorf("after the branch: Progress = %d of %d, want 0 of 1", done, total)
	}
}
