// What the engine's tests share: small workflows and short ways to read runs.

package engine_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chain is a workflow of checks, one after the other.
func chain(keys ...verification.NodeID) verification.Definition {
	d := verification.Definition{
		Workflow: "chain", Name: "Chain", Start: keys[0],
		Nodes: map[verification.NodeID]verification.Node{"done": {Type: verification.NodeEnd}},
	}
	for i, key := range keys {
		next := verification.NodeID("done")
		if i+1 < len(keys) {
			next = keys[i+1]
		}
		d.Nodes[key] = verification.Node{Type: verification.NodeCheck, Provider: "script", Next: next}
	}
	return d
}

// with changes one node of a definition.
func with(d verification.Definition, id verification.NodeID, change func(*verification.Node)) verification.Definition {
	n := d.Nodes[id]
	change(&n)
	d.Nodes[id] = n
	return d
}

// onboarding asks for consent, runs a check, and has a reviewer decide.
func onboarding() verification.Definition {
	return verification.Definition{
		Workflow: "onboarding", Name: "Onboarding", Start: "consent",
		RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
		Nodes: map[verification.NodeID]verification.Node{
			"consent": {Type: verification.NodeConsent, Text: "We will check your PAN.", OnDeclined: "next", Next: "pan"},
			"pan":     {Type: verification.NodeCheck, Provider: "script", Next: "review"},
			"review":  {Type: verification.NodeReview, Label: "Review", Next: "done"},
			"done":    {Type: verification.NodeEnd},
		},
	}
}

func start(k *enginetest.Kit, d verification.Definition) verification.RunDetail {
	w := k.Apply(d)
	return k.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"})
}

func wantStatus(t *testing.T, got verification.RunDetail, want verification.Status) {
	t.Helper()
	if got.Status != want {
		t.Fatalf("status = %s, want %s (error %+v, checks %+v)", got.Status, want, got.Error, got.Checks)
	}
}

func wantCheck(t *testing.T, got verification.RunDetail, key string, want verification.CheckStatus) {
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
