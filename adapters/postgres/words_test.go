// Test of rows whose search keys have an earlier form.

package postgres_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestRowsOfEarlierWordsAreKeyedAnew(t *testing.T) {
	secret := []byte(strings.Repeat("k", 32))
	s := fresh(t)
	if err := s.SaveTenant(t.Context(), verification.Tenant{ID: enginetest.Tenant, Name: "Bank"}); err != nil {
		t.Fatal(err)
	}
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) { p.Store, o.SearchKey = s, secret })
	w := k.Apply(workflow.Definition{
		Workflow: "holder", Name: "Holder", Start: "done", InputSchema: verification.Data(`{"properties":{"holder":{"type":"string","x-search":true}}}`),
		Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
	})
	for name, words := range map[string][]string{"Yağız Ilgın": {"yagız", "ilgın"}, "محمد علی": {"محمد", "علی"}} {
		run := k.Start(w.ID, engine.StartRequest{ReferenceID: "r", Input: verification.DataOf(map[string]any{"holder": name})})
		events, err := s.Load(t.Context(), enginetest.Tenant, run.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := store.Commit{Summary: rules.Fold(run.ID, events).Summary(), Work: store.DueWork{}}
		for _, word := range words {
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(string(enginetest.Tenant) + "\x00" + string(facts.SearchName) + "\x00" + word))
			c.Keys = append(c.Keys, store.SearchKey(mac.Sum(nil)))
		}
		if err := s.Append(t.Context(), enginetest.Tenant, run.ID, len(events), c); err != nil {
			t.Fatal(err)
		}
	}
	finds := func(want int, texts ...string) {
		t.Helper()
		for _, text := range texts {
			keys := k.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch(text))
			p, err := s.List(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 10}, Keys: keys, Now: k.Clock.Now()})
			if err != nil || p.Total != want || len(p.Data) != want {
				t.Errorf("%q finds %+v, %v; want %d runs", text, p, err, want)
			}
		}
	}
	finds(1, "Yağız Ilgın", "Ilgın", "محمد علی")
	finds(0, "YAĞIZ ILGIN", "محمد علي")
	for range 2 {
		if more, err := k.Engine.Retain(t.Context()); err != nil || more || k.Engine.UnkeyedWorkflows() != 0 {
			t.Fatalf("Retain = %t, %v, %d workflows are left", more, err, k.Engine.UnkeyedWorkflows())
		}
		finds(1, "Yağız Ilgın", "Ilgın", "محمد علی", "YAĞIZ ILGIN", "yagiz", "محمد علي", "محمد على")
	}
}
