// Tests of the reads of accounts, which the audit trail counts.

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// entriesOf returns the audit trail, newest first.
func entriesOf(t *testing.T, s store.AuditStore) []store.AuditEntry {
	t.Helper()
	entries, err := s.AuditEntries(t.Context(), enginetest.Tenant, store.AuditQuery{Limit: store.MaxAuditLimit})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestSearchesOfAnAccountAreOneEntryADay(t *testing.T) {
	var s store.Store
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) { s, o.SearchKey = p.Store, make([]byte, 32) })
	k.Apply(kept())
	first := k.Clock.Now()
	search := func(n int) {
		for i := range n {
			q := store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, ReferenceID: fmt.Sprint("made up ", i)}
			if _, err := k.Engine.Runs(asAccount(t), enginetest.Tenant, q); err != nil {
				t.Fatal(err)
			}
		}
	}
	search(1000)
	k.Advance(time.Second)
	search(500)
	last := k.Clock.Now()
	k.Advance(time.Minute)
	entries := entriesOf(t, s)
	if len(entries) != 1 {
		t.Fatalf("the audit trail has %d entries for 1500 searches, want 1", len(entries))
	}
	e := entries[0]
	if e.Count != 1500 || !e.At.Equal(first) || !e.LastAt.Equal(last) || e.Subject != "" || e.Action != store.AuditPersonSearched {
		t.Errorf("the entry is %+v, want 1500 searches from %v to %v", e, first, last)
	}
	k.Advance(24 * time.Hour)
	search(2)
	k.Advance(time.Minute)
	if entries = entriesOf(t, s); len(entries) != 2 || entries[0].Count != 2 {
		t.Errorf("on the next day the audit trail has %+v, want another entry", entries)
	}
}

func TestReadsOfARunByAnAccountAreOneEntry(t *testing.T) {
	var s store.Store
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { s = p.Store })
	run := k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "person-1"})
	k.Advance(time.Hour)
	first := k.Clock.Now()
	for range 3 {
		if _, err := k.Engine.Run(asAccount(t), enginetest.Tenant, run.ID); err != nil {
			t.Fatal(err)
		}
		k.Advance(time.Second)
		if entries := entriesOf(t, s); len(entries) != 1 {
			t.Fatalf("a second after an account has read a run first, the audit trail has %+v, want who read it", entries)
		}
		k.Advance(24 * time.Hour)
	}
	want := store.AuditEntry{
		Tenant: enginetest.Tenant, At: first, LastAt: first.Add(2 * (24*time.Hour + time.Second)), Count: 3, Run: run.ID, Action: store.AuditRunRead,
		Actor: verification.Actor{Kind: verification.ActorAccount, ID: "acme"},
	}
	got := entriesOf(t, s)
	if len(got) == 1 {
		want.ID = got[0].ID
	}
	if !slices.Equal(got, []store.AuditEntry{want}) {
		t.Errorf("the audit trail has %+v, want %+v", got, want)
	}
	if _, err := k.Engine.Report(asAccount(t), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	k.Advance(time.Second)
	if got := entriesOf(t, s); len(got) != 2 {
		t.Errorf("with the report, the audit trail has %+v, want two entries", got)
	}
}

// lossy counts what is lost.
type lossy struct {
	engine.Observer

	lost atomic.Int64
}

func (*lossy) Counted([]store.Measure) {}
func (*lossy) NoticeSent(string)       {}

func (l *lossy) ReadsLost(n int) { l.lost.Add(int64(n)) }

func TestAFullTrailAnswersAccountsAndCountsThem(t *testing.T) {
	var s store.Store
	var trail *mock.AuditStoreMock
	seen := &lossy{}
	full := verification.Unavailable("store", "the trail is full")
	full.Cause = store.ErrFull
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		s = p.Store
		trail = &mock.AuditStoreMock{AuditEntriesFunc: s.AuditEntries, AppendAuditFunc: func(ctx context.Context, entries []store.AuditEntry) error {
			if slices.ContainsFunc(entries, store.AuditEntry.CanWait) {
				return full
			}
			return s.AppendAudit(ctx, entries)
		}}
		p.Store = replace(p.Store, func(s *ports) { s.AuditStore = trail })
		o.Observer = seen
	})
	run := k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "person-1"})
	for range 7 {
		if _, err := k.Engine.Run(asAccount(t), enginetest.Tenant, run.ID); err != nil {
			t.Fatalf("Run of an account = %v, want an answer", err)
		}
	}
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, ReferenceID: "person-1"}
	if _, err := k.Engine.Runs(asAccount(t), enginetest.Tenant, q); err != nil {
		t.Fatalf("Runs of an account = %v, want an answer", err)
	}
	if _, err := k.Engine.Run(asReviewer(t), enginetest.Tenant, run.ID); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("Run of a person = %v, want ErrUnavailable", err)
	}
	k.Advance(time.Minute)
	counts := map[store.AuditAction]int{}
	for _, e := range entriesOf(t, s) {
		counts[e.Action] += e.Count
		if e.Actor.ID != "acme" || e.Run != "" {
			t.Errorf("the audit trail has %+v, want counts of the account by day", e)
		}
	}
	if counts[store.AuditReadsLost] != 7 || counts[store.AuditPersonSearched] != 1 || len(counts) != 2 {
		t.Errorf("the audit trail has %v, want 7 lost reads and a search", counts)
	}
	if n := seen.lost.Load(); n != 7 {
		t.Errorf("the observer was told of %d lost reads, want 7", n)
	}
}

// The counts that a store does not take are bounded, and it gets all of them when it takes them again.
func TestCountsThatAreNotSavedAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var mu sync.Mutex
		saved := map[store.AuditAction]int{}
		seen := &lossy{}
		k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
			trail := &mock.AuditStoreMock{AppendAuditFunc: func(_ context.Context, entries []store.AuditEntry) error {
				if down.Load() {
					return verification.Unavailable("store", "it is down")
				}
				mu.Lock()
				defer mu.Unlock()
				for _, e := range entries {
					saved[e.Action] += e.Count
				}
				return nil
			}}
			p.Store = replace(p.Store, func(s *ports) { s.AuditStore = trail })
			o.Observer = seen
		})
		workflow := k.Apply(kept()).ID
		var runs []verification.RunID
		for i := range 100 {
			runs = append(runs, k.Start(workflow, engine.StartRequest{ReferenceID: fmt.Sprint("person-", i)}).ID)
		}
		clear(saved)
		down.Store(true)
		for account := range 300 {
			as := verification.WithActor(t.Context(), verification.Actor{Kind: verification.ActorAccount, ID: fmt.Sprint("account-", account)})
			for _, run := range runs {
				if _, err := k.Engine.Run(as, enginetest.Tenant, run); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait() // until a save that began has failed
		}
		if n := seen.lost.Load(); n != 10_000 {
			t.Errorf("%d of 30,000 reads are counted as lost, want those beyond 20,000", n)
		}
		down.Store(false)
		if err := k.Engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if saved[store.AuditRunRead] != 20_000 || saved[store.AuditReadsLost] != 10_000 {
			t.Errorf("the store has got the counts %v, want 20,000 reads and 10,000 that are lost", saved)
		}
	})
}

func TestCloseSavesWhatFailedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s store.Store
		var calls atomic.Int64
		fail := make(chan struct{})
		k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
			s = p.Store
			trail := &mock.AuditStoreMock{AppendAuditFunc: func(ctx context.Context, entries []store.AuditEntry) error {
				if slices.ContainsFunc(entries, store.AuditEntry.CanWait) && calls.Add(1) == 1 {
					<-fail
					return verification.Unavailable("store", "it is down")
				}
				return s.AppendAudit(ctx, entries)
			}}
			p.Store = replace(p.Store, func(s *ports) { s.AuditStore = trail })
		})
		run := k.Start(k.Apply(kept()).ID, engine.StartRequest{ReferenceID: "person-1"})
		if _, err := k.Engine.Run(asAccount(t), enginetest.Tenant, run.ID); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var advance sync.WaitGroup
		defer advance.Wait()
		defer cancel() // the engine may close before the clock sees that it is idle
		advance.Go(func() { _ = k.Clock.Advance(ctx, time.Second) })
		synctest.Wait()
		closed := beginClose(t, k)
		synctest.Wait()
		close(fail)
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		counts := map[store.AuditAction]int{}
		for _, e := range entriesOf(t, s) {
			counts[e.Action] += e.Count
		}
		if calls.Load() < 2 || counts[store.AuditRunRead] != 1 {
			t.Errorf("after %d saves the audit trail has %v, want the read", calls.Load(), counts)
		}
	})
}
