package journal_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// caller calls a store at random, as an engine would.
type caller struct {
	noted   // the journal
	journal *journal.Store
	now     time.Time
	work    []store.Work
}

const maxRuns = 6

func (c *caller) run(t *rapid.T) verification.RunID {
	return runID(rapid.IntRange(0, maxRuns-1).Draw(t, "run"))
}

func (c *caller) ref(t *rapid.T) verification.RunRef {
	return verification.RunRef{Tenant: tenant, Run: c.run(t)}
}

// next returns facts that may follow in a history.
func next(t *rapid.T, n int) []verification.Fact {
	if n == 0 {
		return []verification.Fact{started(n).Events[0].Fact}
	}
	return rapid.SampledFrom([][]verification.Fact{
		nil,
		{verification.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: n, Visit: 1, Rescreen: "sanctions"}},
		{verification.ResultRecorded{Node: "pan", Passed: true, Data: verification.DataOf(map[string]any{"name": "<Zoë>", "n": 1.5}), Screening: &verification.Screening{
			List: "sanctions", ListVersion: fmt.Sprint(n % 3), Hits: []verification.Hit{{ID: "1", Name: "Zoe", Score: 0.8}},
		}}},
		{verification.ReviewAsked{Node: "review", Label: "Review", Reason: "The names differ."}},
		{verification.VerdictRecorded{Node: "review", Decision: verification.DecisionApprove, By: "Asha", Identity: "asha@example.com"}},
		{verification.Completed{Node: "done", Outcome: "approved"}},
	}).Draw(t, "facts")
}

// key makes a search key.
func key(n int) (k store.SearchKey) {
	k[0], k[15] = 0xff, byte(n)
	return k
}

// append appends to a run, sometimes at a length that is not its own.
func (c *caller) append(t *rapid.T) error {
	id := c.run(t)
	history, err := c.journal.Memory().Load(t.Context(), tenant, id, 0)
	if err != nil && len(history) > 0 {
		return err
	}
	seq := len(history)
	if rapid.IntRange(0, 9).Draw(t, "stale") == 0 {
		seq++
	}
	before := verification.Fold(id, history)
	var events []verification.Event
	for _, f := range next(t, len(history)) {
		events = append(events, verification.Event{At: c.now, Fact: f})
	}
	commit := store.NewCommit(before, before.EvolveAll(events), events, time.UTC)
	commit.Hold = rapid.SampledFrom([]store.Hold{store.NotHeld, store.Kept, store.Leased}).Draw(t, "hold")
	switch rapid.IntRange(0, 3).Draw(t, "work") {
	case 0:
		if len(history) > 0 && len(events) > 0 {
			commit.Work = nil
		}
	case 1:
		commit.Work[store.WorkKey{Kind: store.WorkAdvance}] = c.now.Add(time.Minute)
	case 2:
		commit.Work[store.WorkKey{Kind: store.WorkAnnounce, Seq: len(history)}] = c.now
	}
	if commit.Work != nil && len(events) > 0 {
		commit.Keys = rapid.SampledFrom([][]store.SearchKey{nil, {}, {key(1)}, {key(1), key(2)}}).Draw(t, "keys")
	}
	return c.Append(t.Context(), tenant, id, seq, commit)
}

// some returns some of the work that was taken, which others may have by now.
func (c *caller) some(t *rapid.T) store.Work {
	if len(c.work) == 0 {
		return store.Work{RunRef: c.ref(t), Kind: store.WorkAdvance}
	}
	return rapid.SampledFrom(c.work).Draw(t, "work")
}

// use makes the calls that follow on a journal.
func (c *caller) use(s *journal.Store) { c.Store, c.journal, c.work = s, s, nil }

// TestAReplayedStoreReadsTheSame calls a store at random, and compares every read with every
// read of the store that another process opens after a loss of power.
func TestAReplayedStoreReadsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, d := t.Context(), newFakeDisk()
		size := rapid.Int64Range(1, 5000).Draw(t, "size")
		snapshots := rapid.SampledFrom([]int64{0, 3000}).Draw(t, "a snapshot after")
		open := func(d *fakeDisk) *journal.Store {
			s, err := journal.OpenDisk(ctx, d, journal.Options{SegmentBytes: size, SnapshotBytes: snapshots})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		c := &caller{noted: noted{nil, newNames()}, now: start()}
		c.use(open(d))
		revision := 0
		request := func(t *rapid.T) store.IdempotencyRecord {
			return store.IdempotencyRecord{
				IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeSignal, Key: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "key"))},
				ID:             fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "id")), At: c.now, Fingerprint: "a",
			}
		}
		refusable := func(f func(*rapid.T) error) func(*rapid.T) {
			return func(t *rapid.T) {
				if err := f(t); err != nil && !isExpected(err) {
					t.Fatal(err)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait":   func(t *rapid.T) { c.now = c.now.Add(rapid.SampledFrom(waits()).Draw(t, "for")) },
			"append": refusable(c.append),
			"claim": refusable(func(t *rapid.T) error {
				by := rapid.SampledFrom([]string{"asha", "bo"}).Draw(t, "by")
				_, err := c.Claim(ctx, tenant, c.run(t), verification.Claim{By: by, Name: by, At: c.now, Until: c.now.Add(15 * time.Minute)})
				return err
			}),
			"take": refusable(func(t *rapid.T) error {
				kind := rapid.SampledFrom([]store.WorkKind{store.WorkAdvance, store.WorkAnnounce, store.WorkExpire, store.RescreenWork("sanctions")}).Draw(t, "kind")
				work, _, err := c.Take(ctx, store.TakeRequest{Kind: kind, Now: c.now, Lease: time.Minute, Max: 3, MaxPerTenant: 3})
				c.work = append(c.work, work...)
				return err
			}),
			"renew":    refusable(func(t *rapid.T) error { return c.Renew(ctx, []verification.RunRef{c.ref(t)}, c.now.Add(time.Minute)) }),
			"finish":   refusable(func(t *rapid.T) error { return c.Finish(ctx, c.some(t)) }),
			"postpone": refusable(func(t *rapid.T) error { return c.Postpone(ctx, c.some(t), c.now.Add(time.Hour)) }),
			"release": refusable(func(t *rapid.T) error {
				work := []store.Work{c.some(t), c.some(t)}
				work[0].LeftAt = c.now
				if rapid.Bool().Draw(t, "whoever holds it") {
					work[1].Lease = ""
				}
				return c.Release(ctx, work, c.now)
			}),
			"hold a pass": refusable(func(t *rapid.T) error {
				_, err := c.HoldPass(ctx, store.RescreenPass{
					List: "sanctions", Version: fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "version")),
					Holder: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "holder"), HeldUntil: c.now.Add(3 * time.Minute),
				}, c.now)
				return err
			}),
			"claim a key": refusable(func(t *rapid.T) error {
				_, err := c.ClaimIdempotencyKey(ctx, tenant, request(t))
				return err
			}),
			"settle a key": refusable(func(t *rapid.T) error {
				r := request(t)
				r.Result, r.Decision = "accepted", verification.DecisionApprove
				return c.SettleIdempotencyKey(ctx, tenant, r)
			}),
			"release a key": refusable(func(t *rapid.T) error { return c.ReleaseIdempotencyKey(ctx, tenant, request(t)) }),
			"save a delivery": refusable(func(t *rapid.T) error {
				return c.SaveDelivery(ctx, tenant, verification.Delivery{Run: c.run(t), State: verification.DeliveryPending, LastAt: c.now, Attempts: 1})
			}),
			"save a workflow": refusable(func(t *rapid.T) error {
				w := verification.Workflow{ID: workflow, Name: "Onboarding", CreatedAt: start(), Revision: revision + rapid.IntRange(1, 2).Draw(t, "step")}
				err := c.SaveWorkflow(ctx, tenant, w, &verification.Version{Number: w.Revision, Hash: fmt.Sprint(w.Revision)})
				if err == nil {
					revision = w.Revision
				}
				return err
			}),
			"snapshot": refusable(func(*rapid.T) error { return c.journal.Snapshot(ctx) }),
			"restart": func(t *rapid.T) {
				if err := c.journal.Close(); err != nil {
					t.Fatal(err)
				}
				d = d.afterKill()
				c.use(open(d))
				clear(c.renewed) // all leases have ended
			},
			"": func(t *rapid.T) {
				again := open(d.afterPowerLoss())
				sameReads(t, c.names, c.journal.Memory(), again)
				if err := again.Close(); err != nil {
					t.Fatal(err)
				}
			},
		})
		if err := c.journal.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func waits() []time.Duration {
	return []time.Duration{time.Microsecond, time.Second, 2 * time.Minute, 25 * time.Hour}
}

// isExpected reports whether a random call may fail in this way.
func isExpected(err error) bool {
	return errors.Is(err, verification.ErrConflict) || errors.Is(err, verification.ErrNotFound)
}
