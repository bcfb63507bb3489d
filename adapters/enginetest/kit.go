// Package enginetest is for the tests of programs that embed the engine. It has an
// engine on a store in memory, a manual clock, a scripted provider, seeded IDs, and a
// notifier that records notices.
//
//	kit := enginetest.New(t)
//	kit.Provider.On("pan_verification", enginetest.Pass(nil))
//	workflow := kit.Apply(definition)
//	run := kit.Start(workflow.ID, engine.StartRequest{ReferenceID: "person-1"})
//	kit.Advance(24 * time.Hour) // fires exactly what is due, in order
//
// Nothing sleeps. After every call, the engine has done all that it can do at the
// time of the clock.
package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Tenant is the tenant that a Kit acts for.
const Tenant verification.TenantID = "00000000-0000-7000-8000-0000000000aa"

// Began returns the initial time of the clock of a Kit.
func Began() time.Time { return time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC) }

// timeout bounds how long a call waits for the engine to become idle.
const timeout = 2 * time.Minute

// Kit is an engine under test with its ports. Its methods fail the test on an error;
// to test for errors, call the methods of Engine.
type Kit struct {
	Engine   *engine.Engine
	Store    *memory.Store
	Clock    *clock.Manual
	Provider *Script  // registered under the name "script"
	Notices  *Notices // the notices to clients
	IDs      verification.NewID

	tb testing.TB
}

// Change changes the ports and options of a Kit before its engine is made.
type Change func(*engine.Ports, *engine.Options)

// New returns a Kit that serves until the test ends.
func New(tb testing.TB, changes ...Change) *Kit {
	tb.Helper()
	k := &Kit{
		Store: memory.New(), Clock: clock.NewManual(Began()), Notices: &Notices{}, IDs: SeededIDs(1), tb: tb,
	}
	k.Provider = NewScript(k.Clock.Sleep)
	p := engine.Ports{
		Store:       k.Store,
		Providers:   map[string]verification.Provider{"script": k.Provider},
		Expressions: expression.New(), Links: Links(), Clock: k.Clock, NewID: k.IDs, Notifier: k.Notices,
	}
	o := engine.Options{PublicURL: "http://journey.example", StartWait: -1}
	for _, change := range changes {
		change(&p, &o)
	}
	e, err := engine.New(p, o)
	if err != nil {
		tb.Fatalf("make the engine: %v", err)
	}
	k.Engine = e
	if err := k.Store.SaveTenant(tb.Context(), verification.Tenant{ID: Tenant, Name: "Test"}); err != nil {
		tb.Fatalf("save the tenant: %v", err)
	}
	k.serve()
	return k
}

// serve serves the engine until the test ends, and returns when it is idle.
func (k *Kit) serve() {
	ctx, stop := context.WithCancel(context.WithoutCancel(k.tb.Context()))
	serving, served := k.Engine.Serving(), make(chan struct{})
	go func() {
		defer close(served)
		k.Engine.Serve(ctx)
	}()
	<-serving
	k.tb.Cleanup(func() {
		stop()
		<-served
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := k.Engine.Close(ctx); err != nil {
			k.tb.Errorf("close the engine: %v", err)
		}
	})
	k.Settle() // the first round does not take what a test puts into the queue
}

// Apply makes a definition the published version of its workflow.
func (k *Kit) Apply(d workflow.Definition) workflow.Workflow {
	k.tb.Helper()
	applied, err := k.Engine.Apply(k.tb.Context(), Tenant, d)
	if err != nil {
		k.tb.Fatalf("apply %s: %v", d.Workflow, err)
	}
	return applied.Workflow
}

// Start starts a run, lets the engine drive it, and reads it.
func (k *Kit) Start(id verification.WorkflowID, r engine.StartRequest) rules.RunDetail {
	k.tb.Helper()
	v, err := k.Engine.Start(k.tb.Context(), Tenant, id, r)
	if err != nil {
		k.tb.Fatalf("start %s: %v", id, err)
	}
	return k.Run(v.ID)
}

// Run reads a run once the engine is idle.
func (k *Kit) Run(id verification.RunID) rules.RunDetail {
	k.tb.Helper()
	k.Settle()
	d, err := k.Engine.Run(k.tb.Context(), Tenant, id)
	if err != nil {
		k.tb.Fatalf("read run %s: %v", id, err)
	}
	return d
}

// Submit submits the customer's answer, and reads the run after it.
func (k *Kit) Submit(id verification.RunID, signal string, payload map[string]any) rules.RunDetail {
	k.tb.Helper()
	data, err := verification.NewData(payload)
	if err != nil {
		k.tb.Fatalf("payload of %s: %v", signal, err)
	}
	if _, err := k.Engine.Submit(k.tb.Context(), Tenant, id, engine.SubmitRequest{Signal: signal, Payload: data}); err != nil {
		k.tb.Fatalf("submit %s: %v", signal, err)
	}
	return k.Run(id)
}

// GiveVerdict gives a verdict, and reads the run after it.
func (k *Kit) GiveVerdict(id verification.RunID, d rules.Decision) rules.RunDetail {
	k.tb.Helper()
	if _, err := k.Engine.GiveVerdict(k.tb.Context(), Tenant, id, rules.GiveVerdict{Decision: d}, ""); err != nil {
		k.tb.Fatalf("%s run %s: %v", d, id, err)
	}
	return k.Run(id)
}

// AskAgain asks the customer again, for the form that was answered last unless c names a step, and reads the run after it.
func (k *Kit) AskAgain(id verification.RunID, c rules.AskAgain) rules.RunDetail {
	k.tb.Helper()
	if _, err := k.Engine.AskAgain(k.tb.Context(), Tenant, id, c, ""); err != nil {
		k.tb.Fatalf("ask the customer of run %s again: %v", id, err)
	}
	return k.Run(id)
}

// Advance advances the clock. What becomes due is done at the time it is due.
func (k *Kit) Advance(d time.Duration) {
	k.tb.Helper()
	ctx, cancel := context.WithTimeout(k.tb.Context(), timeout)
	defer cancel()
	if err := k.Clock.Advance(ctx, d); err != nil {
		k.tb.Fatalf("advance %s: %v", d, err)
	}
}

// Settle waits until the engine is idle.
func (k *Kit) Settle() {
	k.tb.Helper()
	ctx, cancel := context.WithTimeout(k.tb.Context(), timeout)
	defer cancel()
	if err := k.Clock.Settle(ctx); err != nil {
		k.tb.Fatalf("settle: %v", err)
	}
}
