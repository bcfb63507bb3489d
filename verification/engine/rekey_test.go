// Tests of search keys that are made anew.

package engine_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// asBefore gives a run the keys of words as they were saved before ı, yeh, kaf and heh were folded.
func asBefore(t *testing.T, k *enginetest.Kit, id verification.RunID, words ...string) {
	t.Helper()
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := store.Commit{Summary: rules.Fold(id, events).Summary(), Work: store.DueWork{}, Keys: []store.SearchKey{}}
	for _, w := range words {
		mac := hmac.New(sha256.New, []byte(strings.Repeat("k", 32)))
		mac.Write([]byte(string(enginetest.Tenant) + "\x00" + string(facts.SearchName) + "\x00" + w))
		c.Keys = append(c.Keys, store.SearchKey(mac.Sum(nil)))
	}
	if err := k.Store.Append(t.Context(), enginetest.Tenant, id, len(events), c); err != nil {
		t.Fatal(err)
	}
}

func TestARunOfBeforeIsFoundInBothForms(t *testing.T) {
	k := enginetest.New(t, searching)
	type saved struct {
		id            verification.RunID
		before, after []string // that find it before its keys are made anew, and only after that
	}
	var all []saved
	for _, r := range []struct {
		name                 string
		words, before, after []string
	}{
		{"IŞIL IRMAK", []string{"isil", "irmak"}, []string{"ışıl ırmak", "IŞIL IRMAK", "işil irmak"}, nil},
		{"Yağız Ilgın", []string{"yagız", "ilgın"}, []string{"Yağız", "Ilgın yağız"}, []string{"YAĞIZ ILGIN", "yagiz ilgin"}},
		{"محمد علی", []string{"محمد", "علی"}, []string{"محمد علی"}, []string{"محمد علي", "محمد على"}},
		{"كريم حسن", []string{"كريم", "حسن"}, []string{"كريم حسن", "کریم حسن"}, nil},
		{"Asha Rao", []string{"asha", "rao"}, []string{"Asha Rao", "rao"}, nil},
	} {
		id := answered(k, r.name, string(verification.DataOf(map[string]any{"holder": r.name})), "")
		asBefore(t, k, id, r.words...)
		all = append(all, saved{id, r.before, r.after})
	}
	finds := func(text string, id verification.RunID) bool {
		return slices.Equal(found(t.Context(), t, k, enginetest.Tenant, text), []verification.RunID{id})
	}
	for _, s := range all {
		for _, text := range s.before {
			if !finds(text, s.id) {
				t.Errorf("%q does not find the run of before", text)
			}
		}
		for _, text := range s.after {
			if finds(text, s.id) {
				t.Errorf("%q finds the run before its keys are made anew: the test shows nothing", text)
			}
		}
	}
	retain(t, k)
	host := k.Engine
	for range 2 { // a second walk of another host changes nothing
		if n := host.UnkeyedWorkflows(); n != 0 {
			t.Errorf("%d workflows are not done", n)
		}
		for _, s := range all {
			for _, text := range slices.Concat(s.before, s.after) {
				if !finds(text, s.id) {
					t.Errorf("%q does not find the run", text)
				}
			}
		}
		m, err := store.Tables{RowStore: k.Store}.RetentionMark(t.Context(), enginetest.Tenant, k.Apply(findable()).ID)
		if err != nil || !m.KeysDone {
			t.Fatalf("the mark is %+v, %v, want it done", m, err)
		}
		m.KeysDone, m.KeyForm = false, 0
		if err := (store.Tables{RowStore: k.Store}).SaveRetentionMark(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		host = keyingHost(t, k, &failing{Store: k.Store, left: 100})
		if _, err := host.Retain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// failing is a store that cannot be written after some appends.
type failing struct {
	store.Store

	left int
}

var errKilled = errors.New("killed")

func (f *failing) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	if f.left == 0 {
		return errKilled
	}
	f.left--
	return f.Store.Append(ctx, t, id, seq, c)
}

// keyingHost returns an engine of another host on the store of a kit.
func keyingHost(t *testing.T, k *enginetest.Kit, s store.Store) *engine.Engine {
	t.Helper()
	p := engine.Ports{
		Store: s, Providers: map[string]verification.Provider{"script": k.Provider}, Expressions: expression.New(),
		Links: enginetest.Links(), Clock: k.Clock, NewID: k.IDs, Notifier: k.Notices,
	}
	o := engine.Options{PublicURL: "http://journey.example", StartWait: -1}
	searching(&p, &o)
	e, err := engine.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestKeysAreMadeAnewWhereAHostStopped(t *testing.T) {
	const runs = 230
	k := enginetest.New(t, searching)
	var ids []verification.RunID
	for i := range runs {
		k.Advance(1e9)
		id := answered(k, fmt.Sprint(i), `{"holder":"Yağız Ilgın"}`, "")
		asBefore(t, k, id, "yagız", "ilgın")
		ids = append(ids, id)
	}
	w := k.Apply(findable())
	broken := &failing{Store: k.Store, left: 150}
	first := keyingHost(t, k, broken)
	more, err := first.Retain(t.Context())
	if err != nil || !more || broken.left != 50 || first.UnkeyedWorkflows() != 1 {
		t.Fatalf("the first pass: more %t, %v, %d appends, %d workflows left; want 100 runs", more, err, 150-broken.left, first.UnkeyedWorkflows())
	}
	if _, err = first.Retain(t.Context()); !errors.Is(err, errKilled) {
		t.Fatalf("the second pass: %v, want the error of the store", err)
	}
	m, err := store.Tables{RowStore: k.Store}.RetentionMark(t.Context(), enginetest.Tenant, w.ID)
	if err != nil || m.Keyed.Run != ids[149] || m.KeysDone {
		t.Fatalf("the mark is %+v, %v, want it at the run 149", m, err)
	}
	count := &failing{Store: k.Store, left: runs}
	second := keyingHost(t, k, count)
	for more = true; more; {
		if more, err = second.Retain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if done := runs - count.left; done != runs-150 || second.UnkeyedWorkflows() != 0 {
		t.Errorf("the second host changed %d runs, and left %d workflows; want %d and none", done, second.UnkeyedWorkflows(), runs-150)
	}
	keys := second.SearchKeys(enginetest.Tenant, facts.ParseSearch("YAGIZ ILGIN"))
	if p, err := k.Store.List(t.Context(), enginetest.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Keys: keys, Now: k.Clock.Now()}); err != nil || p.Total != runs {
		t.Errorf("%d runs are found, %v; want all", p.Total, err)
	}
}

func TestAPolicyKeepsWhereKeysAreMadeAnew(t *testing.T) {
	k := enginetest.New(t, searching)
	answered(k, "one", `{"holder":"Yağız"}`, "")
	retain(t, k)
	w := k.Apply(findable())
	retained(t, k, verification.Retention{RedactAfterDays: 1})
	k.Advance(3 * day)
	retain(t, k)
	m, err := store.Tables{RowStore: k.Store}.RetentionMark(t.Context(), enginetest.Tenant, w.ID)
	if err != nil || !m.KeysDone || m.Redacted.Run == "" || m.Keyed.Run == "" {
		t.Errorf("the mark is %+v, %v, want both positions", m, err)
	}
}
