// Executed examples of the kit.

package enginetest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func ExampleNew() {
	t := begin() // in a test: its *testing.T
	defer t.end()
	kit := enginetest.New(t)
	kit.Provider.On("pan_verification", enginetest.Fail(nil))

	workflow := kit.Apply(onboarding())
	run := kit.Start(workflow.ID, engine.StartRequest{ReferenceID: "person-1"})
	fmt.Println(run.ID, run.Status, run.Action.SignalName)

	run = kit.Submit(run.ID, "consent_submitted", map[string]any{"consent_status": "success"})
	fmt.Println(run.Checks[0].Status, run.Decision)

	run = kit.GiveVerdict(run.ID, rules.DecisionApprove)
	fmt.Println(run.Status, run.Decision, run.ResolvedAt.Format(time.TimeOnly))
	// Output:
	// 00000000-0000-7000-8001-000000000001 in_progress consent_submitted
	// failed review
	// completed approve 09:00:00
}

func ExampleKit_Advance() {
	t := begin()
	defer t.end()
	kit := enginetest.New(t)
	workflow := kit.Apply(onboarding()) // abandoned after 15 minutes, expired after a day
	id := kit.Start(workflow.ID, engine.StartRequest{ReferenceID: "person-1"}).ID

	kit.Advance(15 * time.Minute)
	fmt.Println(kit.Clock.Now().Format(time.TimeOnly), kit.Run(id).Status)
	kit.Advance(time.Second)
	fmt.Println(kit.Clock.Now().Format(time.TimeOnly), kit.Run(id).Status)

	// The clock advances at once; what becomes due is done at the time it is due.
	kit.Advance(24 * time.Hour)
	run := kit.Run(id)
	fmt.Println(run.Status, run.Error.Code, run.CompletedAt.Format(time.DateTime))
	// Output:
	// 09:15:00 in_progress
	// 09:15:01 abandoned
	// expired LINK_EXPIRED 2026-01-06 09:00:00
}

func ExampleScript_On() {
	t := begin()
	defer t.end()
	backup := enginetest.NewScript(nil) // another vendor, without slow replies
	kit := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["backup"] = backup
	})
	kit.Provider.On("pan_verification", enginetest.Flake()) // the first one never answers
	backup.On("pan_verification", enginetest.Pass(map[string]any{"name_match": 0.97}))

	d := onboarding()
	pan := d.Nodes["pan"]
	pan.Retry, pan.Fallback = &workflow.Retry{MaxDispatches: 2, BackoffSeconds: 10}, "backup"
	d.Nodes["pan"] = pan
	id := kit.Start(kit.Apply(d).ID, engine.StartRequest{ReferenceID: "person-1"}).ID

	run := kit.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})
	fmt.Println(run.Checks[0].Status) // until the retry is due

	kit.Advance(10 * time.Second)
	run = kit.Run(id)
	fmt.Println(run.Checks[0].Status, run.Checks[0].Data)
	fmt.Println(len(kit.Provider.Calls("pan_verification")), len(backup.Calls("pan_verification")))
	fmt.Println(run.Status, run.Decision, run.Flags[0].Reason)
	// Output:
	// pending
	// passed {"name_match":0.97}
	// 2 1
	// completed review The step recovered from a failure. The step was dispatched three or more times.
}

func ExampleSlow() {
	t := begin()
	defer t.end()
	kit := enginetest.New(t)
	kit.Provider.On("pan_verification",
		enginetest.Slow(time.Minute, enginetest.Pass(nil)), // longer than a call may take
		enginetest.Pend("ticket-7", 5*time.Second),         // then a pending result
		enginetest.Pass(map[string]any{"ticket": 7}),       // and its poll
	)
	id := kit.Start(kit.Apply(onboarding()).ID, engine.StartRequest{ReferenceID: "person-1"}).ID
	kit.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})

	for _, step := range []time.Duration{0, 30 * time.Second, time.Second, 5 * time.Second} {
		kit.Advance(step)
		check := kit.Run(id).Checks[0]
		fmt.Printf("%s: %s %q\n", step, check.Status, check.Data)
	}
	for _, call := range kit.Provider.Calls("pan_verification") {
		fmt.Printf("%d %s %q\n", call.Dispatch, call.IdempotencyKey, call.Handle)
	}
	// Output:
	// 0s: running ""
	// 30s: pending ""
	// 1s: running ""
	// 5s: passed "{\"ticket\":7}"
	// 1 00000000-0000-7000-8001-000000000001/pan/1 ""
	// 2 00000000-0000-7000-8001-000000000001/pan/2 ""
	// 2 00000000-0000-7000-8001-000000000001/pan/2 "ticket-7"
}

func ExampleNotices() {
	t := begin()
	defer t.end()
	kit := enginetest.New(t)
	workflow := kit.Apply(onboarding())
	if _, err := kit.Engine.SetWebhook(t.Context(), enginetest.Tenant, workflow.ID, "https://app.example/hooks"); err != nil {
		t.Fatalf("set the webhook: %v", err)
	}
	run := kit.Start(workflow.ID, engine.StartRequest{ReferenceID: "person-1"})
	if _, err := kit.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatalf("cancel: %v", err)
	}

	kit.Advance(0) // waits until the engine has done what is due
	for _, n := range kit.Notices.All() {
		fmt.Println(n.ID, n.URL, n.Run.Status)
	}
	// Output: run_00000000-0000-7000-8001-000000000001 https://app.example/hooks cancelled
}

// onboarding asks for consent, runs a check, and asks for a review if the check
// fails.
func onboarding() workflow.Definition {
	return workflow.Definition{
		Workflow: "onboarding", Name: "Onboarding", Start: "consent",
		RunTTLSeconds: 24 * 3600, AbandonTimeoutSeconds: 15 * 60,
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Text: "We check your PAN.", OnDeclined: "done", Next: "pan"},
			"pan": {
				Type: workflow.NodeCheck, Key: "pan_verification", Label: "PAN verification",
				Provider: "script", OnFailed: "review", Next: "done",
			},
			"review": {Type: workflow.NodeReview, Label: "Manual review", Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}
}

// standIn replaces the *testing.T that an example does not have.
type standIn struct {
	testing.TB
	cleanups []func()
}

func begin() *standIn { return &standIn{} }

func (*standIn) Helper()                           {}
func (*standIn) Context() context.Context          { return context.Background() }
func (*standIn) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (*standIn) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (t *standIn) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }

func (t *standIn) end() {
	for _, f := range t.cleanups {
		f()
	}
}
