package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// piece names a piece of work across takings.
type piece struct {
	kind store.WorkKind
	run  runRef
}

// holding records the last lease of each piece.
func holding(b *broken, sound stores) *memo[piece, work] {
	held := &memo[piece, work]{}
	b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
		taken, next, err := sound.Take(ctx, r)
		for _, w := range taken {
			held.set(piece{w.Kind, w.RunRef}, w)
		}
		return taken, next, err
	}
	return held
}

func leaseBreaches() []breach {
	unleased := taking(func(r *store.TakeRequest) { r.Lease = 0 }, nil)
	return []breach{
		{"leased work is not taken again", "Take leases nothing", unleased},
		{"work is taken again when its lease ends", "Take removes what it hands out", func(b *broken, sound stores) {
			b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
				taken, next, err := sound.Take(ctx, r)
				for _, w := range taken {
					_ = sound.Finish(ctx, w)
				}
				return taken, next, err
			}
		}},
		{
			"work is taken again when its lease ends", "a lease that ran out counts as an attempt",
			func(b *broken, sound stores) {
				seen := memo[piece, int]{}
				taking(nil, func(taken []work, next time.Time) ([]work, time.Time) {
					for i, w := range taken {
						n, _ := seen.get(piece{w.Kind, w.RunRef})
						seen.set(piece{w.Kind, w.RunRef}, n+1)
						taken[i].Attempt += n
					}
					return taken, next
				})(b, sound)
			},
		},
		{"a renewed lease lasts until its new end", "Renew does nothing", func(b *broken, _ stores) {
			b.RenewFunc = func(context.Context, []runRef, time.Time, bool) error { return nil }
		}},
		{"a renewed lease lasts until its new end", "Renew renews the first run alone", func(b *broken, sound stores) {
			b.RenewFunc = func(ctx context.Context, runs []runRef, until time.Time, alone bool) error {
				return sound.Renew(ctx, runs[:1], until, alone)
			}
		}},
		{
			"renewing creates no work and keeps no announcement", "Renew queues an advance where there is none",
			func(b *broken, sound stores) {
				b.RenewFunc = func(ctx context.Context, runs []runRef, until time.Time, alone bool) error {
					for _, run := range runs {
						if err := requeue(ctx, sound, run, until); err != nil {
							return err
						}
					}
					return nil
				}
			},
		},
		{"renewing creates no work and keeps no announcement", "Renew holds the announcement back", func(b *broken, sound stores) {
			held := holding(b, sound)
			b.RenewFunc = func(ctx context.Context, runs []runRef, until time.Time, alone bool) error {
				for _, run := range runs {
					if w, ok := held.get(piece{store.WorkAnnounce, run}); ok {
						_ = sound.Postpone(ctx, w, until)
					}
				}
				return sound.Renew(ctx, runs, until, alone)
			}
		}},
		{"finished work is not taken again", "Finish does nothing", func(b *broken, _ stores) {
			b.FinishFunc = func(context.Context, work) error { return nil }
		}},
		{"work may be finished after its lease was renewed", "Renew makes another taking of it", renewedAway},
		{
			"finishing does not remove the work that replaced it", "Finish removes the advance of the run, whichever it is",
			func(b *broken, sound stores) {
				b.FinishFunc = func(ctx context.Context, w work) error { return requeue(ctx, sound, w.RunRef, time.Time{}) }
			},
		},
		{"finishing does not remove work that was taken again", "Finish removes what another has", func(b *broken, sound stores) {
			held := holding(b, sound)
			b.FinishFunc = func(ctx context.Context, w work) error {
				if newest, ok := held.get(piece{w.Kind, w.RunRef}); ok {
					w = newest
				}
				return sound.Finish(ctx, w)
			}
		}},
		{"finishing and postponing do not change work that was released", "Release leaves the lease", func(b *broken, sound stores) {
			b.ReleaseFunc = func(ctx context.Context, released []work, at time.Time) error {
				for _, w := range released {
					_ = sound.Renew(ctx, []runRef{w.RunRef}, at, false)
				}
				return nil
			}
		}},
		{"leases at the same time have different ids", "their leases have one id", oneLeaseID},
		{
			"postponed work is due at its time with one more attempt", "Postpone counts no attempt",
			taking(nil, func(taken []work, next time.Time) ([]work, time.Time) {
				for i := range taken {
					taken[i].Attempt = 0
				}
				return taken, next
			}),
		},
		{
			"postponed work is due at its time with one more attempt", "Postpone waits for the end of the lease",
			func(b *broken, sound stores) {
				ends := memo[piece, time.Time]{}
				b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
					taken, next, err := sound.Take(ctx, r)
					for _, w := range taken {
						ends.set(piece{w.Kind, w.RunRef}, r.Now.Add(r.Lease))
					}
					return taken, next, err
				}
				b.PostponeFunc = func(ctx context.Context, w work, at time.Time) error {
					if end, _ := ends.get(piece{w.Kind, w.RunRef}); at.Before(end) {
						at = end
					}
					return sound.Postpone(ctx, w, at)
				}
			},
		},
		{"postponing does not move the work that replaced it", "Postpone moves the advance of the run, whichever it is", postponedAnyway},
		{"leases that end without an append are counted", "Take counts none", taking(nil, func(taken []work, next time.Time) ([]work, time.Time) {
			for i := range taken {
				taken[i].Lost = 0
			}
			return taken, next
		})},
		{"leases that end without an append are counted", "an append leaves the count alone", func(b *broken, sound stores) {
			counts := memo[runRef, int]{}
			b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
				taken, next, err := sound.Take(ctx, r)
				for i, w := range taken {
					n, _ := counts.get(w.RunRef)
					counts.set(w.RunRef, n+1)
					taken[i].Lost = n
				}
				return taken, next, err
			}
		}},
		{"leases that end without an append are counted", "a release forgets them", func(b *broken, sound stores) {
			forgotten := memo[runRef, int]{}
			b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
				taken, next, err := sound.Take(ctx, r)
				for i, w := range taken {
					n, _ := forgotten.get(w.RunRef)
					taken[i].Lost -= n
				}
				return taken, next, err
			}
			b.ReleaseFunc = func(ctx context.Context, released []work, at time.Time) error {
				for _, w := range released {
					forgotten.set(w.RunRef, w.Lost)
				}
				return sound.Release(ctx, released, at)
			}
		}},
		{"a lost lease of an append counts like one of a Take", "Append knows no leases", appending(func(a *store.Commit) {
			a.Hold = store.Kept
		})},
		{"a renewal counts a trial, until an append or another renewal", "Renew counts no trial", func(b *broken, sound stores) {
			b.RenewFunc = func(ctx context.Context, runs []runRef, until time.Time, _ bool) error {
				return sound.Renew(ctx, runs, until, false)
			}
		}},
		{"a renewal counts a trial, until an append or another renewal", "every renewal counts a trial", func(b *broken, sound stores) {
			b.RenewFunc = func(ctx context.Context, runs []runRef, until time.Time, _ bool) error {
				return sound.Renew(ctx, runs, until, true)
			}
		}},
		{"a renewal counts a trial, until an append or another renewal", "Take knows no trials", taking(nil, func(taken []work, next time.Time) ([]work, time.Time) {
			for i := range taken {
				taken[i].Alone = 0
			}
			return taken, next
		})},
		{"a renewal counts a trial, until an append or another renewal", "an append leaves the count alone", func(b *broken, sound stores) {
			trials := memo[runRef, int]{}
			b.RenewFunc = func(ctx context.Context, runs []runRef, until time.Time, alone bool) error {
				for _, r := range runs {
					n, _ := trials.get(r)
					if n++; !alone {
						n = 0
					}
					trials.set(r, n)
				}
				return sound.Renew(ctx, runs, until, alone)
			}
			b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
				taken, next, err := sound.Take(ctx, r)
				for i, w := range taken {
					taken[i].Alone, _ = trials.get(w.RunRef)
				}
				return taken, next, err
			}
		}},
		{"released work says when its run was left, until the next append", "Release forgets the time", func(b *broken, sound stores) {
			b.ReleaseFunc = func(ctx context.Context, released []work, at time.Time) error {
				released = slices.Clone(released)
				for i := range released {
					released[i].LeftAt = time.Time{}
				}
				return sound.Release(ctx, released, at)
			}
		}},
		{"released work is due at its time with the same counts", "Release does nothing", func(b *broken, _ stores) {
			b.ReleaseFunc = func(context.Context, []work, time.Time) error { return nil }
		}},
		{"released work is due at its time with the same counts", "Release counts an attempt", func(b *broken, sound stores) {
			b.ReleaseFunc = func(ctx context.Context, released []work, at time.Time) error {
				for _, w := range released {
					_ = sound.Postpone(ctx, w, at)
				}
				return nil
			}
		}},
		{"released work is due at its time with the same counts", "Release moves the end of the lease", func(b *broken, sound stores) {
			b.ReleaseFunc = func(ctx context.Context, released []work, at time.Time) error {
				var runs []runRef
				for _, w := range released {
					runs = append(runs, w.RunRef)
				}
				return sound.Renew(ctx, runs, at, false)
			}
		}},
		{"releasing does not move the work that replaced it", "Release releases whatever is there", func(b *broken, sound stores) {
			b.ReleaseFunc = func(ctx context.Context, released []work, at time.Time) error {
				for i := range released {
					released[i].Lease = ""
				}
				return sound.Release(ctx, released, at)
			}
		}},
		{"work that is gone may be finished and postponed", "Postpone puts back what is gone", postponedAnyway},
		{"work that is gone may be finished and postponed", "Finish wants it to be there", func(b *broken, sound stores) {
			done := memo[work, bool]{}
			b.FinishFunc = func(ctx context.Context, w work) error {
				if twice, _ := done.get(w); twice {
					return &verification.Error{Kind: verification.ErrNotFound, Subject: "work"}
				}
				done.set(w, true)
				return sound.Finish(ctx, w)
			}
		}},
	}
}

// postponedAnyway queues an advance even if the run has none.
func postponedAnyway(b *broken, sound stores) {
	b.PostponeFunc = func(ctx context.Context, w work, at time.Time) error { return requeue(ctx, sound, w.RunRef, at) }
}

// renewedAway does not finish the work of a run whose lease was renewed.
func renewedAway(b *broken, sound stores) {
	away := memo[runRef, bool]{}
	b.RenewFunc = func(ctx context.Context, runs []runRef, until time.Time, alone bool) error {
		for _, run := range runs {
			away.set(run, true)
		}
		return sound.Renew(ctx, runs, until, alone)
	}
	b.FinishFunc = func(ctx context.Context, w work) error {
		if gone, _ := away.get(w.RunRef); gone {
			return nil
		}
		return sound.Finish(ctx, w)
	}
}

// oneLeaseID gives every lease the same id.
func oneLeaseID(b *broken, sound stores) {
	real := memo[piece, store.LeaseID]{}
	b.TakeFunc = func(ctx context.Context, r store.TakeRequest) ([]work, time.Time, error) {
		taken, next, err := sound.Take(ctx, r)
		for i, w := range taken {
			real.set(piece{w.Kind, w.RunRef}, w.Lease)
			taken[i].Lease = "lease"
		}
		return taken, next, err
	}
	b.FinishFunc = func(ctx context.Context, w work) error {
		w.Lease, _ = real.get(piece{w.Kind, w.RunRef})
		return sound.Finish(ctx, w)
	}
}
