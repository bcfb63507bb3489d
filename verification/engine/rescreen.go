// Re-screening: completed runs are screened again when a list changes.

package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// The limits of re-screening.
const (
	rescreenInterval = time.Minute          // between two checks of the versions of the lists
	rescreenHold     = 3 * rescreenInterval // how long a host holds a list after each batch
	rescreenBatch    = 100                  // runs in a batch
	rescreenTime     = 5 * time.Second      // after which no further run of a batch is begun
	// A host rests after a batch for rescreenRests times as long as the batch took, so
	// that it uses a quarter of a processor, and at least for rescreenRest.
	rescreenRests    = 3
	rescreenRest     = 100 * time.Millisecond
	rescreenRunTime  = 30 * time.Second // for one run; two of them end before a hold does
	rescreenAttempts = 3                // of a run that cannot be screened now
)

// rescreening is the re-screening on this host, one batch at a time. The runner's lock
// guards busy and at.
type rescreening struct {
	lists  []rescreenedList // by name
	holder string           // identifies this host; made when it is first needed
	busy   bool             // a batch is under way
	at     time.Time        // of the next batch
	// failing has the number of attempts for the runs whose last attempt failed.
	// Only the batch under way uses it.
	failing map[verification.RunRef]int
	// after has, by list, the tenant of the last run that was screened or attempted, so that
	// tenants take turns although a batch ends by time. Only the batch under way uses it.
	after map[string]verification.TenantID
}

// rescreenedList is a list, and the provider that screens against it.
type rescreenedList struct {
	name     string
	provider verification.Rescreener
}

func newRescreening(providers map[string]verification.Provider) rescreening {
	r := rescreening{failing: map[verification.RunRef]int{}, after: map[string]verification.TenantID{}}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if p, ok := providers[name].(verification.Rescreener); ok {
			for list := range p.ListVersions() {
				r.lists = append(r.lists, rescreenedList{list, p})
			}
		}
	}
	slices.SortStableFunc(r.lists, func(a, b rescreenedList) int { return strings.Compare(a.name, b.name) })
	r.lists = slices.CompactFunc(r.lists, func(a, b rescreenedList) bool { return a.name == b.name })
	return r
}

// RecordHits records hits of a later version of a list. The step of the check is then
// flagged, and the run needs a verdict again, even if it had one; its status and the time
// of its end do not change, and no client is notified. It reports whether there was a hit
// that the run did not know. ErrConflict is returned unless the run is completed, and
// ErrInvalid if it has made no check at the node.
func (e *Engine) RecordHits(ctx context.Context, t verification.TenantID, id verification.RunID, c verification.RecordHits) (recorded bool, err error) {
	return e.recordHits(ctx, &session{ref: verification.RunRef{Tenant: t, Run: id}}, c)
}

func (e *Engine) recordHits(ctx context.Context, s *session, c verification.RecordHits) (recorded bool, err error) {
	before, err := e.command(ctx, s, c)
	return err == nil && s.run.Seq > before.Seq, err
}

// RescreenPasses returns the last pass over each list, which has the progress of the
// re-screening of all tenants.
func (e *Engine) RescreenPasses(ctx context.Context) ([]verification.RescreenPass, error) {
	return e.ports.Store.RescreenPasses(ctx)
}

// rescreen begins a batch of each list in a goroutine if that is due, and returns the
// time of the next one.
func (r *runner) rescreen(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.rescreening
	if len(s.lists) == 0 || s.busy || r.closing {
		return time.Time{}
	}
	if now.Before(s.at) {
		return s.at
	}
	s.busy = true
	r.begin()
	go func() {
		next := r.rescreenBatches(now)
		r.mu.Lock()
		defer r.mu.Unlock()
		s.busy, s.at = false, next
		r.nudge(next)
		r.end()
	}()
	return time.Time{}
}

// rescreenBatches screens a batch of runs against each list, and returns the time of the
// next batch.
func (r *runner) rescreenBatches(began time.Time) (next time.Time) {
	if r.rescreening.holder == "" {
		r.rescreening.holder = r.e.ports.NewID()
	}
	more := false
	for _, l := range r.rescreening.lists {
		n, err := r.rescreenList(l)
		if errors.Is(err, verification.ErrConflict) { // another host holds the list
			continue
		}
		if err != nil && r.base.Err() == nil {
			r.e.log.Error("completed runs cannot be screened again", "list", l.name, "error", err)
		}
		more = more || n > 0 && err == nil
	}
	now := r.e.now()
	if !more {
		return now.Add(rescreenInterval)
	}
	return now.Add(min(max(rescreenRest, rescreenRests*now.Sub(began)), rescreenInterval))
}

// rescreenList screens up to rescreenBatch runs against a list, and returns how many it
// has done. ErrConflict is returned while another host holds the list. The pass belongs
// to the version that this host has: while the hosts have several versions, only that of
// the holder counts.
func (r *runner) rescreenList(l rescreenedList) (n int, err error) {
	ctx, store := r.base, r.e.ports.Store
	version := l.provider.ListVersions()[l.name]
	if version == "" || r.isClosing() {
		return 0, nil
	}
	began := r.e.now()
	pass, err := store.HoldList(ctx, l.name, r.rescreening.holder, began, began.Add(rescreenHold))
	if err == nil && pass.Version != version {
		pass = pass.Next(version, began)
		clear(r.rescreening.failing)
		err = store.SavePass(ctx, pass, nil)
	}
	if err != nil {
		return 0, err
	}
	runs, err := store.OutdatedRuns(ctx, verification.OutdatedQuery{
		List: l.name, Pass: pass.Number, After: r.rescreening.after[l.name], Limit: rescreenBatch,
	})
	if err != nil {
		return 0, err
	}
	if len(runs) == 0 {
		return 0, r.endPass(ctx, pass)
	}
	if pass.EndedAt.IsZero() && pass.ScreenedAt.Equal(pass.StartedAt) {
		r.e.log.Info("screening completed runs again", "list", pass.List, "version", pass.Version)
	}
	done, err := r.rescreenRuns(ctx, l, &pass, runs)
	now := r.e.now()
	if pass.HeldUntil = now.Add(rescreenHold); len(done) > 0 {
		pass.ScreenedAt = now
	}
	return len(done), errors.Join(err, store.SavePass(ctx, pass, done))
}

// releaseLists ends the holds of this host, so that another one continues its passes at
// its next check and not when the holds end. No batch is under way.
func (r *runner) releaseLists(ctx context.Context) {
	if r.rescreening.holder == "" {
		return
	}
	now := r.e.now()
	for _, l := range r.rescreening.lists {
		_, err := r.e.ports.Store.HoldList(ctx, l.name, r.rescreening.holder, now, now)
		if err != nil && !errors.Is(err, verification.ErrConflict) { // another host holds the list
			r.e.log.Warn("the screening lists are not released", "error", err)
			return
		}
	}
}

// endPass records that no run is left. Runs that are completed later and were screened
// against another version are screened again as they come.
func (r *runner) endPass(ctx context.Context, pass verification.RescreenPass) error {
	if !pass.EndedAt.IsZero() {
		return nil
	}
	pass.EndedAt = r.e.now()
	if err := r.e.ports.Store.SavePass(ctx, pass, nil); err != nil {
		return err
	}
	if pass.Runs+pass.Failed > 0 {
		r.e.log.Info("completed runs were screened again", "list", pass.List, "version", pass.Version,
			"runs", pass.Runs, "flagged", pass.Flagged, "failed", pass.Failed, "took", pass.EndedAt.Sub(pass.StartedAt))
	}
	return nil
}

// rescreenRuns screens runs again, one at a time, and returns those that it has done. A
// run that cannot be screened is logged and counts as done: at once or, if the failure is
// temporary, after rescreenAttempts. err is the failure of a run that is left for a later
// attempt.
func (r *runner) rescreenRuns(
	ctx context.Context, l rescreenedList, pass *verification.RescreenPass, runs []verification.RunRef,
) (done []verification.RunRef, err error) {
	began := r.e.now()
	for _, ref := range runs {
		if r.isClosing() || r.e.now().Sub(began) > rescreenTime {
			break
		}
		r.rescreening.after[pass.List] = ref.Tenant
		flagged, failed := r.e.rescreenRun(ctx, pass, ref)
		if ctx.Err() != nil {
			return done, errors.Join(err, failed)
		}
		if l.provider.ListVersions()[pass.List] != pass.Version { // the next batch begins another pass
			return done, err
		}
		if temporary(failed) {
			if r.rescreening.failing[ref]++; r.rescreening.failing[ref] < rescreenAttempts {
				err = failed
				continue
			}
		}
		delete(r.rescreening.failing, ref)
		outcome := "clear"
		switch {
		case failed != nil:
			outcome = "failed"
			pass.Failed++
			r.e.log.Error("run not screened again", "list", pass.List, "run", ref.Run, "tenant", ref.Tenant, "error", failed)
		case flagged:
			outcome = "flagged"
			pass.Flagged++
			fallthrough
		default:
			pass.Runs++
		}
		r.e.opt.Observer.RunRescreened(pass.List, outcome)
		done = append(done, ref)
	}
	return done, err
}

// temporary reports whether a run that was not screened may be screened later.
func temporary(err error) bool {
	return errors.Is(err, verification.ErrUnavailable) || errors.Is(err, errTimeout) || errors.Is(err, context.DeadlineExceeded)
}

// rescreenRun screens the people and companies of the checks of a run against the version
// of a pass, and records new hits. It reports whether there were any. A check that was not
// compared as a whole is an error, after all checks are screened. The run is not cached, so
// that live runs stay in the cache.
func (e *Engine) rescreenRun(ctx context.Context, pass *verification.RescreenPass, ref verification.RunRef) (flagged bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, rescreenRunTime)
	defer cancel()
	events, err := e.ports.Store.Load(ctx, ref.Tenant, ref.Run, 0)
	if err != nil {
		return false, err
	}
	// Since runs are screened one at a time, a large one does not wait for a slot of its
	// tenant, which would delay the runs of other tenants.
	s := &session{ref: ref, run: verification.Fold(ref.Run, events), admitted: true}
	if err := e.loadProgram(ctx, s); err != nil {
		return false, err
	}
	var partly error
	for _, step := range s.run.Steps {
		if step.Rescreen != pass.List || step.ListVersion() == pass.Version {
			continue
		}
		found, err := e.rescreenStep(ctx, s, step)
		switch {
		case err != nil:
			return flagged, fmt.Errorf("node %s: %w", step.Node, err)
		case found.ListVersion != pass.Version:
			return flagged, fmt.Errorf("node %s: the provider searched version %s", step.Node, found.ListVersion)
		}
		if len(found.NotCompared) > 0 {
			partly = errors.Join(partly, fmt.Errorf("node %s: not everything was compared with the list", step.Node))
		}
		if len(found.Hits) == 0 {
			continue
		}
		recorded, err := e.recordHits(ctx, &session{ref: ref, admitted: true}, verification.RecordHits{
			Node: step.Node, List: pass.List, ListVersion: found.ListVersion, Hits: found.Hits,
		})
		if err != nil {
			return flagged, err
		}
		flagged = flagged || recorded
	}
	return flagged, partly
}

// rescreenStep calls the provider of a check that the run has made.
func (e *Engine) rescreenStep(ctx context.Context, s *session, step verification.Step) (verification.Rescreening, error) {
	n, _ := s.program.Node(step.Node)
	p, _ := e.provider(s.ref.Tenant, n.Provider)
	provider, ok := p.(verification.Rescreener)
	if !ok {
		return verification.Rescreening{}, fmt.Errorf("the provider %q does not screen against lists", n.Provider)
	}
	found, entered, err := callWithin(ctx, e, n.Timeout(), func(ctx context.Context) (verification.Rescreening, error) {
		r, err := s.program.RequestAgain(s.ref.Tenant, s.run, step.Node)
		if err != nil {
			return verification.Rescreening{}, err
		}
		return provider.Rescreen(ctx, step.Rescreen, r)
	})
	if entered {
		e.activity.Leave()
	}
	return found, err
}
