// Rechecks: completed runs whose hits were cleared by decisions that no longer count.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of rechecks.
const (
	recheckPage  = 20          // runs with one word, for each piece of work
	recheckAgain = time.Minute // after a failure of the store
)

// needsRecheck reports whether a change of a run queues a recheck: a decision on a hit counts
// less than before, or the run is completed and has come to rest on decisions in other runs.
// Such a decision may be overruled while the run that rests on it completes. Whichever is saved
// last finds the other one, since a recheck follows both.
func needsRecheck(before, after rules.Run) bool {
	if before.Overruled(after) {
		return true
	}
	rests := after.ClearedByOthers()
	return after.Ended == rules.StatusCompleted && rests > 0 && (before.Ended == "" || before.ClearedByOthers() < rests)
}

// recheckRuns checks a run again and, a page for each attempt, the runs that may rest on its
// decisions: see recheck. It changes nothing if it is repeated. A run that cannot be checked is
// logged and counted, unless the failure is temporary: then the page is repeated later.
func (r *rescreening) recheckRuns(ctx context.Context, w store.Work) error {
	log, more := r.log.With("run", w.Run, "tenant", w.Tenant, "page", w.Attempt), true
	if w.Lost < runner.MaxLost {
		var err error
		limited, cancel := context.WithTimeout(ctx, r.opt.Lease/2)
		defer cancel()
		if more, err = r.recheckPage(limited, w.RunRef, w.Attempt); err != nil {
			if ctx.Err() != nil {
				return err
			}
			log.Warn("the run is checked again later", "error", err)
			again := r.now().Add(recheckAgain)
			err = r.ports.Store.Release(ctx, []store.Work{w}, again)
			r.runner.Nudge(again)
			return err
		}
	} else {
		log.Error("cleared hits not checked again: the hosts that checked them kept stopping")
		r.opt.Observer.RunRechecked("failed")
	}
	if !more {
		return r.ports.Store.Finish(ctx, w)
	}
	now := r.now()
	err := r.ports.Store.Postpone(ctx, w, now) // which counts an attempt
	r.runner.Nudge(now)
	return err
}

// recheckPage checks a run, if the page is the first, and a page of the runs of the same person
// whose hits were cleared for what its checks were asked. Those that rest on a redacted run are found by its id. more reports whether there are further
// pages. Runs that rest on the decisions and are not completed yet follow when they are.
func (r *rescreening) recheckPage(ctx context.Context, ref verification.RunRef, page int) (more bool, err error) {
	s, err := r.readAgain(ctx, ref)
	redacted := s != nil && !s.run.RedactedAt.IsZero()
	if s != nil && s.run.Hidden() && !redacted { // since its work was taken; the end of a restriction queues it again
		return false, nil
	}
	if err != nil && !redacted {
		return false, r.recheckFailed(ctx, ref, err)
	}
	if page == 0 && s.run.WasRestricted() && !redacted {
		if err := s.findAgain(ctx); err != nil {
			return false, err
		}
	}
	if page == 0 {
		if err := r.recheckFailed(ctx, ref, r.recheck(ctx, s)); err != nil {
			return false, err
		}
	}
	decided, _ := askedOf(s.run)
	words := personWords(searchCleared, s.program, s.run, decided)
	if redacted { // nothing else is left of whom the run is about
		words = []facts.SearchWord{{Kind: searchRests, Text: string(ref.Run)}}
	}
	if !r.Searches() {
		words = nil
	}
	seen := []verification.RunID{ref.Run}
	for _, word := range words {
		q := store.PageQuery{Limit: recheckPage, Offset: page * recheckPage}
		found, err := r.withWord(ctx, ref.Tenant, word, q, rules.StatusCompleted)
		if err != nil {
			return false, err
		}
		more = more || q.Offset+len(found.Data) < found.Total
		for _, other := range found.Data {
			if slices.Contains(seen, other.ID) {
				continue
			}
			seen = append(seen, other.ID)
			otherRef := verification.RunRef{Tenant: ref.Tenant, Run: other.ID}
			o, err := r.readAgain(ctx, otherRef)
			if err == nil {
				err = r.recheck(ctx, o)
			}
			if err := r.recheckFailed(ctx, otherRef, err); err != nil {
				return false, err
			}
		}
	}
	return more, nil
}

// readAgain reads a run and its program from the store. If only the program cannot be read, it returns
// the run and the error. The run is not cached, so that live runs stay in the cache.
func (r *rescreening) readAgain(ctx context.Context, ref verification.RunRef) (*session, error) {
	events, err := r.ports.Store.Load(ctx, ref.Tenant, ref.Run, 0)
	if err != nil {
		return nil, err
	}
	s := &session{Engine: r.Engine, ref: ref, run: rules.Fold(ref.Run, rules.Shown(events)), waitless: true}
	return s, s.loadProgram(ctx)
}

// recheckFailed logs and counts a run that cannot be checked. It returns the error if it is
// temporary.
func (r *rescreening) recheckFailed(ctx context.Context, ref verification.RunRef, err error) error {
	if err == nil || ctx.Err() != nil || temporary(err) {
		return err
	}
	r.opt.Observer.RunRechecked("failed")
	r.log.Error("cleared hits not checked again", "run", ref.Run, "tenant", ref.Tenant, "error", err)
	return nil
}

// recheck records the hits of a completed run that decisions in other runs had cleared, and clear
// no longer. Its own decisions are judged by its own verdict.
func (r *rescreening) recheck(ctx context.Context, s *session) error {
	if s.run.Ended != rules.StatusCompleted || s.run.ClearedByOthers() == 0 || s.run.Hidden() {
		return nil
	}
	counting := map[string][]rules.Clearance{} // by what was asked
	flagged := false
	for _, step := range s.run.Steps {
		for _, c := range step.Cleared {
			if c.Run == s.run.ID {
				continue
			}
			now, read := counting[c.Asked]
			if !read {
				var err error
				if now, err = s.clearances(ctx, c.Asked); err != nil && !errors.Is(err, errTooManyDecided) {
					return err
				}
				counting[c.Asked] = now
			}
			if slices.ContainsFunc(now, func(d rules.Clearance) bool { return d.Run == c.Run && d.Clears() == c.Clears() }) {
				continue
			}
			if upheld, err := s.upheld(ctx, c); upheld || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			recorded, err := (&session{Engine: r.Engine, ref: s.ref, waitless: true}).recordHits(ctx, rules.RecordHits{
				Node: step.Node, Visit: c.For, List: c.List, ListVersion: c.ListVersion, Hits: []verification.Hit{c.Hit}, Overruled: true, Asked: c.Asked,
			})
			if err != nil {
				return fmt.Errorf("node %s: %w", step.Node, err)
			}
			flagged = flagged || recorded
		}
	}
	outcome := "clear"
	if flagged {
		outcome = "flagged"
	}
	r.opt.Observer.RunRechecked(outcome)
	return nil
}
