package storetest_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// loading breaks the events that Load returns.
func loading(change func(event) event) breakage {
	return func(b *broken, sound stores) {
		b.LoadFunc = func(ctx context.Context, t tenantID, id runID, after int) ([]event, error) {
			events, err := sound.Load(ctx, t, id, after)
			events = slices.Clone(events)
			for i := range events {
				events[i] = change(events[i])
			}
			return events, err
		}
	}
}

func runBreaches() []breach {
	return []breach{
		{"every kind of event is loaded as it was saved", "Load forgets who gave a verdict", loading(func(e event) event {
			if f, ok := e.Fact.(rules.VerdictRecorded); ok {
				f.By = ""
				e.Fact = f
			}
			return e
		})},
		{"every kind of event is loaded as it was saved", "Load returns an empty object for no data", loading(func(e event) event {
			if f, ok := e.Fact.(rules.CustomerSubmitted); ok && f.Data == nil {
				f.Data = verification.Data(`{}`)
				e.Fact = f
			}
			return e
		})},
		{"the data of an event is loaded byte for byte", "Load decodes and encodes it again", loading(func(e event) event {
			if f, ok := e.Fact.(rules.ResultRecorded); ok {
				f.Data, _ = verification.NewData(f.Data.Map())
				e.Fact = f
			}
			return e
		})},
		{"times are loaded in UTC and with microseconds", "Load drops microseconds", loading(func(e event) event {
			e.At = e.At.Truncate(time.Millisecond)
			return e
		})},
		{"times are loaded in UTC and with microseconds", "Load returns times in another zone", loading(func(e event) event {
			e.At = e.At.In(time.FixedZone("", 3600))
			return e
		})},
		{"events are loaded in the order of their appends", "events of one append come in any order", unordered},
		{"Load skips the number of events it is given", "Load returns all events", func(b *broken, sound stores) {
			b.LoadFunc = func(ctx context.Context, t tenantID, id runID, _ int) ([]event, error) {
				return sound.Load(ctx, t, id, 0)
			}
		}},
		{"an unknown run is not found", "Load returns an empty history", func(b *broken, sound stores) {
			b.LoadFunc = func(ctx context.Context, t tenantID, id runID, after int) ([]event, error) {
				events, err := sound.Load(ctx, t, id, after)
				if errors.Is(err, verification.ErrNotFound) {
					err = nil
				}
				return events, err
			}
		}},
		{"an unknown run is not found", "the error of Load does not say that a run is missing", func(b *broken, sound stores) {
			b.LoadFunc = func(ctx context.Context, t tenantID, id runID, after int) ([]event, error) {
				events, err := sound.Load(ctx, t, id, after)
				if err != nil {
					err = verification.ErrNotFound
				}
				return events, err
			}
		}},
		{"appending to a loaded history does not change the stored one", "Load returns slices that share spare capacity", sharedCapacity},
		{"a tenant cannot load another tenant's run", "Load ignores the tenant", func(b *broken, sound stores) {
			owners := owned(b, sound)
			b.LoadFunc = func(ctx context.Context, t tenantID, id runID, after int) ([]event, error) {
				events, err := sound.Load(ctx, t, id, after)
				if owner, ok := owners.get(id); ok && err != nil {
					return sound.Load(ctx, owner, id, after)
				}
				return events, err
			}
		}},
		{"two tenants may have runs with the same id", "runs are kept by their id alone", func(b *broken, sound stores) {
			owners := owned(b, sound)
			remember := b.AppendFunc
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
				if owner, ok := owners.get(id); ok {
					t = owner
				}
				return remember(ctx, t, id, seq, a)
			}
		}},
	}
}

// owned remembers which tenant first appended to a run.
func owned(b *broken, sound stores) *memo[runID, tenantID] {
	owners := &memo[runID, tenantID]{}
	b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
		err := sound.Append(ctx, t, id, seq, a)
		if _, ok := owners.get(id); !ok && err == nil {
			owners.set(id, t)
		}
		return err
	}
	return owners
}

// unordered reverses the order of events with the same time.
func unordered(b *broken, sound stores) {
	b.LoadFunc = func(ctx context.Context, t tenantID, id runID, after int) ([]event, error) {
		events, err := sound.Load(ctx, t, id, after)
		events = slices.Clone(events)
		slices.Reverse(events)
		slices.SortStableFunc(events, func(a, b event) int { return a.At.Compare(b.At) })
		return events, err
	}
}

// sharedCapacity keeps histories in slices with spare capacity, and Load returns these.
func sharedCapacity(b *broken, sound stores) {
	histories := memo[runRef, []event]{}
	b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, a store.Commit) error {
		err := sound.Append(ctx, t, id, seq, a)
		if err == nil {
			history, _ := histories.get(runRef{Tenant: t, Run: id})
			if history == nil {
				history = make([]event, 0, 100)
			}
			histories.set(runRef{Tenant: t, Run: id}, append(history, a.Events...))
		}
		return err
	}
	b.LoadFunc = func(_ context.Context, t tenantID, id runID, after int) ([]event, error) {
		history, _ := histories.get(runRef{Tenant: t, Run: id})
		return history[after:], nil
	}
}
