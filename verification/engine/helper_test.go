// Helpers: workflows, mocks and checks.

package engine_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ports are the ports of a store, which tests replace.
type ports struct {
	store.RunStore
	store.WorkQueue
	store.WorkflowStore
	store.SetupStore
	store.AuditStore
	store.MeasureStore
	store.RescreenStore
	store.RetentionStore
	store.RowStore
}

// replace returns s, with other ports where change sets them.
func replace(s store.Store, change func(*ports)) store.Store {
	p := ports{s, s, s, s, s, s, s, s, s}
	change(&p)
	return p
}

// mockRows returns a mock of s that calls s.
func mockRows(s store.RowStore) *mock.RowStoreMock {
	return &mock.RowStoreMock{RowFunc: s.Row, RowsFunc: s.Rows, ChangeFunc: s.Change}
}

// mockRuns returns a mock of s that calls s.
func mockRuns(s store.RunStore) *mock.RunStoreMock {
	return &mock.RunStoreMock{LoadFunc: s.Load, AppendFunc: s.Append, ClaimFunc: s.Claim, ListFunc: s.List}
}

// withRuns returns a kit whose run store is a mock that calls the kit's own store.
func withRuns(t *testing.T, changes ...enginetest.Change) (*enginetest.Kit, *mock.RunStoreMock) {
	t.Helper()
	var runs *mock.RunStoreMock
	k := enginetest.New(t, append(changes, func(p *engine.Ports, _ *engine.Options) {
		runs = mockRuns(p.Store)
		p.Store = replace(p.Store, func(s *ports) { s.RunStore = runs })
	})...)
	return k, runs
}

// onAppend makes runs call f before each append. An error of f replaces the append.
func onAppend(runs *mock.RunStoreMock, f func(id verification.RunID, c store.Commit) error) {
	save := runs.AppendFunc
	runs.AppendFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
		if err := f(id, c); err != nil {
			return err
		}
		return save(ctx, t, id, seq, c)
	}
}

// nextAppend makes runs call f once, before the next append.
func nextAppend(runs *mock.RunStoreMock, f func()) {
	onAppend(runs, func(verification.RunID, store.Commit) error {
		if g := f; g != nil {
			f = nil
			g()
		}
		return nil
	})
}

// openJourney opens the journey of a run.
func openJourney(t *testing.T, k *enginetest.Kit, run rules.RunDetail) engine.Journey {
	t.Helper()
	j, err := k.Engine.OpenJourney(t.Context(), linkToken(run))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// linkToken returns the token of the link of a run.
func linkToken(run rules.RunDetail) string {
	return strings.TrimPrefix(run.Action.URL, "http://journey.example/journey/")
}

// chain is a workflow of checks, one after the other.
func chain(keys ...verification.NodeID) workflow.Definition {
	d := workflow.Definition{
		Workflow: "chain", Name: "Chain", Start: keys[0],
		Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
	}
	for i, key := range keys {
		next := verification.NodeID("done")
		if i+1 < len(keys) {
			next = keys[i+1]
		}
		d.Nodes[key] = workflow.Node{Type: workflow.NodeCheck, Provider: "script", Next: next}
	}
	return d
}

// with changes one node of a definition.
func with(d workflow.Definition, id verification.NodeID, change func(*workflow.Node)) workflow.Definition {
	n := d.Nodes[id]
	change(&n)
	d.Nodes[id] = n
	return d
}

// onboarding asks for consent, runs a check, and asks for a review.
func onboarding() workflow.Definition {
	return workflow.Definition{
		Workflow: "onboarding", Name: "Onboarding", Start: "consent",
		RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Text: "We will check your PAN.", OnDeclined: "next", Next: "pan"},
			"pan":     {Type: workflow.NodeCheck, Provider: "script", Next: "review"},
			"review":  {Type: workflow.NodeReview, Label: "Review", Next: "done"},
			"done":    {Type: workflow.NodeEnd},
		},
	}
}

func start(k *enginetest.Kit, d workflow.Definition) rules.RunDetail {
	w := k.Apply(d)
	return k.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"})
}

func wantStatus(t *testing.T, got rules.RunDetail, want rules.Status) {
	t.Helper()
	if got.Status != want {
		t.Fatalf("status = %s, want %s (error %+v, checks %+v)", got.Status, want, got.Error, got.Checks)
	}
}

func wantCheck(t *testing.T, got rules.RunDetail, key string, want rules.StepStatus) {
	t.Helper()
	for _, c := range got.Checks {
		if c.Key == key {
			if c.Status != want {
				t.Fatalf("check %s = %s, want %s", key, c.Status, want)
			}
			return
		}
	}
	t.Fatalf("the run has no check %s: %+v", key, got.Checks)
}

func consent() map[string]any { return map[string]any{"consent_status": "success"} }
