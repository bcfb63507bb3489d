// A test of the order in which appends lock.

package postgres_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/verification"
)

func TestAppendsWithAndWithoutEventsDoNotDeadlock(t *testing.T) {
	url := pgtest.Database(t)
	one, other := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	must(t, one.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	for range 300 {
		id := verification.RunID(uuid.Must(uuid.NewV7()).String())
		begun := verification.Summary{ID: id, Workflow: flow, ReferenceID: "x", StartedAt: noon()}
		over := begun
		over.Ended, over.CompletedAt = verification.StatusCancelled, noon()
		must(t, one.Append(t.Context(), ours, id, 0, verification.Commit{
			Events:  []verification.Event{{At: noon(), Fact: verification.Started{Workflow: flow}}},
			Summary: begun, AdvanceAt: noon(), NoWakeup: true,
		}))
		var both sync.WaitGroup
		var without, with error
		both.Go(func() {
			without = one.Append(t.Context(), ours, id, 1, verification.Commit{
				Summary: begun, AdvanceAt: noon().Add(time.Second), NoWakeup: true,
			})
		})
		both.Go(func() {
			with = other.Append(t.Context(), ours, id, 1, verification.Commit{
				Events: []verification.Event{{At: noon(), Fact: verification.Cancelled{}}}, Summary: over,
			})
		})
		both.Wait()
		if with != nil || without != nil && !errors.Is(without, verification.ErrConflict) {
			t.Fatalf("append with events: %v; without: %v", with, without)
		}
	}
}
