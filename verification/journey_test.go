package verification_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func TestProgressCountsWhatTheCustomerIsAsked(t *testing.T) {
	for _, c := range []struct {
		name        string
		j           *journey
		done, total int
	}{
		{"not started", unstarted(t, ladder()), 0, 0},
		{"parked on the first of two", begin(t, ladder(), ""), 0, 2},
		{"parked on the second", begin(t, ladder(), "").submit(consents), 1, 2},
		{"nothing more is asked", begin(t, ladder(), "").submit(consents).submit(`{"pan":"ABCDE1234F"}`), 2, 2},
		{"over", begin(t, deskFlow(), "").submit(consents).pass(), 1, 1},
		{"over before the second", begin(t, ladder(), "").submit(consents).cancel(), 1, 1},
		{"in a loop", begin(t, loop(), ""), 0, 1},
		{"a check that may lead back", begin(t, loop(), "").submit(`{"pan":"x"}`), 1, 1},
		{"back again", begin(t, loop(), "").submit(`{"pan":"x"}`).fail(), 0, 1},
		{"a review that may lead to consent", begin(t, refusal(), "").submit(consents).pass(), 1, 1},
		{"no customer", begin(t, single(nil), ""), 0, 0},
	} {
		if done, total := c.j.run.Progress(c.j.program); done != c.done || total != c.total {
			t.Errorf("%s: Progress = %d of %d, want %d of %d", c.name, done, total, c.done, c.total)
		}
	}
}

func TestARunIsDeclinedWhenItEndsOnADeclinedConsent(t *testing.T) {
	const declines = `{"consent_status":"declined"}`
	ends := func() verification.Definition { // on the consent, which comes after a check
		d := define("pan", nodes{"pan": checkNode("PAN", "consent"), "consent": consentNode("face"), "face": checkNode("Face", "done"), "done": endNode()})
		edit("consent", func(n *verification.Node) { n.OnDeclined = "done" })(&d)
		return d
	}
	for _, c := range []struct {
		name              string
		j                 *journey
		declined, checked bool
	}{
		{"not started", unstarted(t, deskFlow()), false, false},
		{"declined, and still checked", begin(t, deskFlow(), "").submit(declines).pass(), false, true},
		{"declined, and reviewed", begin(t, refusal(), "").submit(declines).approve(""), true, false},
		{"declined, and in review", begin(t, refusal(), "").submit(declines), false, false},
		{"declined, and cancelled", begin(t, refusal(), "").submit(declines).cancel(), false, false},
		{"agreed", begin(t, refusal(), "").submit(consents).pass().approve(""), false, true},
		{"agreed when asked again", begin(t, refusal(), "").submit(declines).reject("").submit(consents).pass().approve(""), false, true},
		{"declined when asked again", begin(t, refusal(), "").submit(consents).pass().reject("").submit(declines).approve(""), true, true},
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
	d := define("gate", nodes{
		"gate": branchNode("again wanted", "pan", "pan"), "pan": checkNode("PAN", "one"),
		"one": consentNode("done"), "two": consentNode("one"), "done": endNode(),
	})
	edit("pan", func(n *verification.Node) { n.OnFailed = "two" })(&d)
	j := begin(t, d, "").after(time.Second)
	if done, total := j.run.Progress(j.program); done != 0 || total != 2 {
		t.Errorf("before the branch: Progress = %d of %d, want 0 of 2", done, total)
	}
	j.pass()
	if done, total := j.run.Progress(j.program); done != 0 || total != 1 {
		t.Errorf("after the branch: Progress = %d of %d, want 0 of 1", done, total)
	}
}
