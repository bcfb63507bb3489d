package rules_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// atBank is a check that leads its customer to a bank.
func atBank() workflow.Definition {
	bank := flows.CheckNode("Bank account", "done")
	bank.RedirectHosts, bank.OnUnavailable = []string{"bank.example", "*.bank.example"}, workflow.TargetNext
	d := flows.Define("bank", flows.Nodes{"bank": bank, "done": flows.EndNode()})
	d.AbandonTimeoutSeconds, d.RunTTLSeconds = 600, 3600
	return d
}

// leads records that the provider leads the customer to a URL.
func (j *journey) leads(url, handle string) *journey {
	j.t.Helper()
	return j.do(redirectTo(url, handle))
}

func redirectTo(url, handle string) rules.RecordResult {
	return rules.RecordResult{
		Node: "bank", Dispatch: 1, Outcome: verification.OutcomeRedirect, Redirect: url, Handle: handle, PollAfter: time.Minute, Polled: true,
	}
}

const signIn = "https://login.bank.example/sign-in?id=1"

func away(t flows.Tester) *journey { t.Helper(); return begin(t, atBank(), "").leads(signIn, "ticket") }

// The time of a call that led its customer away begins when the customer was last here.
func TestTheTimeOfACallLeavesOutTheTimeAway(t *testing.T) {
	j := away(t).after(time.Minute)
	j.do(rules.RecordReturn{WaitNumber: j.run.Wait().Number, Digest: "1f"}).after(time.Minute).do(rules.OpenJourney{}).after(time.Second).pass()
	equal(t, "the measures of the commits", j.measured, measures(j.history))
}

func TestACheckWaitsForItsCustomer(t *testing.T) {
	j := away(t)
	d := j.detail()
	if d.Action == nil || d.Action.Type != rules.ActionCustomerInput || d.Action.SignalName != "bank_returned" || d.Status != rules.StatusInProgress {
		t.Fatalf("the run is %s with the action %+v", d.Status, d.Action)
	}
	if w := j.run.Wait(); w.Redirect != signIn || w.Handle != "ticket" || w.Number != 2 || w.Dispatch != 1 {
		t.Errorf("the wait is %+v", w)
	}
	if task := j.run.Task(j.now); task.Kind != rules.TaskWait || !task.At.Equal(j.now.Add(time.Minute)) {
		t.Errorf("the task is %+v, want a wait for the poll", task)
	}
	if task := j.run.Task(j.now.Add(time.Minute)); task.Kind != rules.TaskPoll {
		t.Errorf("a minute later the task is %+v, want a poll", task)
	}
	if _, err := j.try(rules.Submit{Signal: "bank_returned"}); !errors.Is(err, verification.ErrNotOpen) {
		t.Errorf("an answer without the provider: %v, want it refused", err)
	}
	abandoned := j.fork().after(10*time.Minute + 1).detail()
	expired := j.fork().after(2 * time.Hour).detail()
	if abandoned.Status != rules.StatusAbandoned || expired.Error == nil || expired.Error.Code != rules.CodeLinkExpired {
		t.Errorf("later the run is %s, and in the end its error is %v", abandoned.Status, expired.Error)
	}
	equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
	if got := j.pass().detail().Status; got != rules.StatusCompleted {
		t.Errorf("after the result the run is %s", got)
	}
}

func TestWhatChangesNothingWhileACustomerIsAway(t *testing.T) {
	j := away(t).do(rules.RecordReturn{WaitNumber: 2, Digest: "0f"})
	for name, c := range map[string]rules.Command{
		"the same return":              rules.RecordReturn{WaitNumber: 2, Digest: "0f"},
		"a return of another dispatch": rules.RecordReturn{WaitNumber: 1, Digest: "1f"},
		"the same redirect":            redirectTo(signIn, "ticket"),
		"a pending poll":               rules.RecordResult{Node: "bank", Dispatch: 1, Outcome: verification.OutcomePending, Handle: "ticket"},
		"a result of another dispatch": rules.RecordResult{Node: "bank", Dispatch: 2, Outcome: verification.OutcomePassed},
	} {
		if events, err := j.try(c); err != nil || len(events) > 0 {
			t.Errorf("%s: %v, %v, want nothing", name, events, err)
		}
	}
	late := j.fork().pass()
	if events, err := late.try(rules.RecordReturn{WaitNumber: 2, Digest: "2f"}); err != nil || len(events) > 0 {
		t.Errorf("a late return: %v, %v, want nothing", events, err)
	}
}

func TestAReturnHasTheProviderPolledAtOnce(t *testing.T) {
	back := away(t).do(rules.RecordReturn{WaitNumber: 2, Digest: "0f"})
	if w := back.run.Wait(); back.run.Task(back.now).Kind != rules.TaskPoll || w.Kind != rules.WaitCustomer || !w.Returned {
		t.Errorf("the wait is %+v, want a poll at once while the customer may go again", w)
	}
	awaited := away(t).do(rules.RecordReturn{WaitNumber: 2, Digest: "0f", Pending: true})
	if awaited.run.Task(awaited.now).Kind != rules.TaskPoll || awaited.detail().Action != nil {
		t.Errorf("the action is %+v, want none: the vendor needs nothing more of the customer", awaited.detail().Action)
	}
	again := awaited.leads(signIn, "ticket").detail()
	if again.Action == nil {
		t.Error("the vendor leads the customer away again, and the run does not wait for the customer")
	}
}

func TestAPollThatFailsLeavesTheCustomerAway(t *testing.T) {
	j := away(t).noResult(false)
	if w := j.run.Wait(); w.Kind != rules.WaitCustomer || w.PollFailures != 1 || j.detail().Action == nil {
		t.Errorf("the wait is %+v", w)
	}
	if got := flows.Kinds(j.history); got != "started, dispatched, redirected, poll_failed" {
		t.Errorf("the events are %s", got)
	}
}

func TestARedirectThatIsRefused(t *testing.T) {
	for _, url := range []string{
		"http://bank.example/", "https://evil.example/", "https://bank.example.evil.example/", "https://user@bank.example/", "/sign-in", "",
		"javascript:alert(1)", "https://xbank.example/", "https://.bank.example@evil.example/", "https://bank.example\\@evil.example/",
	} {
		j := begin(t, atBank(), "").leads(url, "ticket")
		step, _ := j.run.Step("bank")
		if f, ok := j.history[2].Fact.(rules.DispatchFailed); !ok || f.Cause == "" || step.Status != rules.StepFailed {
			t.Errorf("%s: the event is %+v and the step %s, want a failure with its cause", url, j.history[2].Fact, step.Status)
		}
	}
	for _, url := range []string{"https://bank.example/", "https://BANK.example:8443/x", "https://a.b.bank.example/"} {
		if j := begin(t, atBank(), "").leads(url, ""); j.run.Wait().Kind != rules.WaitCustomer {
			t.Errorf("%s: the wait is %+v, want one for the customer", url, j.run.Wait())
		}
	}
	none := atBank()
	bank := none.Nodes["bank"]
	bank.RedirectHosts, bank.OnUnavailable = nil, ""
	none.Nodes["bank"] = bank
	if e := begin(t, none, "").leads(signIn, "").run.Error; e == nil || e.Code != rules.CodeCheckUnavailable {
		t.Errorf("without redirect_hosts the error is %v", e)
	}
}

func TestReloadsDoNotEndACheckThatIsAway(t *testing.T) {
	j := away(t)
	for range 1000 {
		j = j.after(2 * time.Second).do(rules.OpenJourney{})
	}
	before := j.run.Seq
	if j = j.leads(signIn, "ticket"); j.run.Seq != before {
		t.Errorf("the redirect of before is recorded as %+v", j.history[before:])
	}
}

// What the run records beside a wait does not use up the changes of its redirect.
func TestARedirectChangesAThousandTimes(t *testing.T) {
	j := away(t)
	for range 1000 {
		j.after(2 * time.Second).do(rules.OpenJourney{})
	}
	for n := range 999 {
		j.leads(signIn, fmt.Sprint(n))
	}
	if w := j.run.Wait(); !w.Away() || w.Handle != "998" {
		t.Fatalf("after 999 changes the wait is %+v", w)
	}
	equal(t, "what the next change fails of", causes(j.leads(signIn, "one more")), []string{"the redirect of the result changed 1000 times"})
}

// causes returns why calls have failed.
func causes(j *journey) (all []string) {
	for _, e := range j.history {
		if f, ok := e.Fact.(rules.DispatchFailed); ok {
			all = append(all, f.Cause)
		}
	}
	return all
}
