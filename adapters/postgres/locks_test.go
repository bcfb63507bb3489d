// Tests of locks that appends, Take and Release hold.

package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAppendsWithAndWithoutEventsDoNotDeadlock(t *testing.T) {
	url := pgtest.Database(t)
	one, other := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	must(t, one.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	for range 300 {
		id := verification.RunID(uuid.Must(uuid.NewV7()).String())
		begun := rules.Summary{ID: id, Workflow: flow, ReferenceID: "x", StartedAt: noon()}
		over := begun
		over.Ended, over.CompletedAt = rules.StatusCancelled, noon()
		must(t, one.Append(t.Context(), ours, id, 0, store.Commit{
			Events:  []rules.Event{{At: noon(), Fact: rules.Started{Workflow: flow}}},
			Summary: begun, Work: store.AdvanceAt(noon()), Hold: store.Kept,
		}))
		var both sync.WaitGroup
		var without, with error
		both.Go(func() {
			without = one.Append(t.Context(), ours, id, 1, store.Commit{
				Summary: begun, Work: store.AdvanceAt(noon().Add(time.Second)), Hold: store.Kept,
			})
		})
		both.Go(func() {
			with = other.Append(t.Context(), ours, id, 1, store.Commit{
				Events: []rules.Event{{At: noon(), Fact: rules.Cancelled{}}}, Summary: over, Work: store.AdvanceAt(time.Time{}),
			})
		})
		both.Wait()
		if with != nil || without != nil && !errors.Is(without, verification.ErrConflict) {
			t.Fatalf("append with events: %v; without: %v", with, without)
		}
	}
}

// A host that takes work locks pieces that another host has just taken, for an instant.
func TestReleaseWaitsForALockedPiece(t *testing.T) {
	s, admin := queued(t, 2)
	taken, _, err := s.Take(t.Context(), request())
	must(t, err)
	tx, err := admin.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM verifyd.work WHERE run_id = $1 FOR UPDATE", string(taken[0].Run))
	must(t, err)
	released := make(chan error, 1)
	go func() { released <- s.Release(context.WithoutCancel(t.Context()), taken, noon()) }()
	eventually(t, "Release waits for the lock", func() (waits bool) {
		must(t, tx.QueryRow(t.Context(),
			"SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)").Scan(&waits))
		return waits
	})
	must(t, tx.Commit(t.Context()))
	must(t, <-released)
	again, _, err := s.Take(t.Context(), request())
	must(t, err)
	if len(again) != len(taken) {
		t.Errorf("after the release, %d pieces are due, want %d", len(again), len(taken))
	}
}

// The host that has taken such a piece decides when it is due.
func TestReleaseDoesNotWaitForAPieceThatLostItsLease(t *testing.T) {
	s, admin := queued(t, 2)
	taken, _, err := s.Take(t.Context(), request())
	must(t, err)
	tx, err := admin.Begin(t.Context())
	must(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), "SELECT FROM verifyd.work WHERE run_id = $1 FOR UPDATE", string(taken[0].Run))
	must(t, err)
	lost := taken[0]
	lost.Lease = store.LeaseID(uuid.NewString())
	must(t, s.Release(t.Context(), append(taken[1:], lost), noon()))
	again, _, err := s.Take(t.Context(), request())
	must(t, err)
	if len(again) != len(taken)-1 {
		t.Errorf("after the release, %d pieces are due, want all but the one that lost its lease, %d", len(again), len(taken)-1)
	}
}
