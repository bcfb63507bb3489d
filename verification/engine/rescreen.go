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
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// The limits of re-screening.
const (
	rescreenInterval = time.Minute          // between two checks of the versions of the lists
	rescreenHold     = 3 * rescreenInterval // how long a host holds a list after each check
	rescreenBatch    = 100                  // runs in a batch
	rescreenTime     = 5 * time.Second      // after which no further run of a batch is begun
	rescreenRunTime  = 30 * time.Second     // for one run
	rescreenLease    = time.Minute          // of a batch, which ends before that
	// A host rests after a batch for rescreenRests times as long as the batch took, so
	// that it uses a quarter of a processor, and at least for rescreenRest.
	rescreenRests    = 3
	rescreenRest     = 100 * time.Millisecond
	rescreenAttempts = 3   // of a run that cannot be screened now
	rescreenVisits   = 100 // of a check before its last one, the newest
)

// rescreening screens runs again and rechecks cleared hits, with the engine of this host. Only the batch
// under way uses its fields, and Close after the last one.
type rescreening struct {
	*Engine

	lists   []rescreenedList // by name
	holder  string           // identifies this host; made when it is first needed
	checkAt time.Time        // of the next check of the versions
	passes  map[string]store.RescreenPass
	// after has, by list, the tenant of the last run that was screened or attempted, so that
	// tenants take turns although a batch ends by time.
	after map[string]verification.TenantID
}

// rescreenedList is a list, and the provider that screens against it.
type rescreenedList struct {
	name     string
	provider verification.Rescreener
}

func newRescreening(e *Engine, providers map[string]verification.Provider) *rescreening {
	r := &rescreening{Engine: e, after: map[string]verification.TenantID{}}
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
// of its end do not change. Of notices, only run.flagged can be sent. It reports whether there was a hit
// that the run did not know. ErrConflict is returned unless the run is completed, and
// ErrInvalid if it has made no check at the node.
func (e *Engine) RecordHits(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.RecordHits) (recorded bool, err error) {
	return (&session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}).recordHits(ctx, c)
}

func (s *session) recordHits(ctx context.Context, c rules.RecordHits) (recorded bool, err error) {
	before, err := s.command(ctx, c)
	old, _ := before.Step(c.Node)
	step, _ := s.run.Step(c.Node)
	return err == nil && len(step.Rescreened) > len(old.Rescreened), err
}

// RescreenPasses returns the last pass over each list, of all tenants and hosts.
func (e *Engine) RescreenPasses(ctx context.Context) ([]store.RescreenPass, error) {
	return tablesOf(e).RescreenPasses(ctx)
}

// rescreenBatches screens a batch of runs against each list, and returns the time of the
// next batch.
func (r *rescreening) rescreenBatches(began time.Time) (next time.Time) {
	if !began.Before(r.checkAt) {
		r.checkAt = began.Add(rescreenInterval)
		r.holdPasses(began)
	}
	more := false
	for _, l := range r.lists {
		if !l.current(r.passes) {
			continue
		}
		n, err := r.rescreenList(l)
		if err != nil && r.runner.Context().Err() == nil {
			r.log.Error("completed runs cannot be screened again", "list", l.name, "error", err)
		}
		more = more || n > 0
	}
	if !more {
		return r.checkAt
	}
	now := r.now()
	return now.Add(min(max(rescreenRest, rescreenRests*now.Sub(began)), rescreenInterval))
}

// current reports whether this host has the version of the pass over the list.
func (l rescreenedList) current(passes map[string]store.RescreenPass) bool {
	version := l.provider.ListVersions()[l.name]
	return version != "" && version == passes[l.name].Version
}

// holdPasses holds each list that no other host holds, and reads the passes over all lists.
// A pass begins when the version of a list that this host holds has changed.
func (r *rescreening) holdPasses(now time.Time) {
	if r.holder == "" {
		r.holder = r.ports.NewID()
	}
	for _, l := range r.lists {
		if version := l.provider.ListVersions()[l.name]; version != "" {
			r.holdPass(l.name, version, now)
		}
	}
	if err := r.readPasses(); err != nil && r.runner.Context().Err() == nil {
		r.log.Error("the passes over lists cannot be read", "error", err)
	}
}

// holdPass holds a list, and logs the beginning and the end of a pass.
func (r *rescreening) holdPass(list, version string, now time.Time) {
	pass, err := r.ports.Store.HoldPass(r.runner.Context(), store.RescreenPass{
		List: list, Version: version, Holder: r.holder, HeldUntil: now.Add(rescreenHold),
	}, now)
	log := r.log.With("list", list, "version", version)
	switch {
	case errors.Is(err, verification.ErrConflict): // another host holds the list
	case err != nil && r.runner.Context().Err() == nil:
		log.Error("the screening of completed runs cannot begin or end", "error", err)
	case err != nil || pass.Runs == 0:
	case pass.StartedAt.Equal(now):
		log.Info("screening completed runs again", "runs", pass.Runs)
	case pass.EndedAt.Equal(now):
		log.Info("completed runs were screened again", "runs", pass.Runs, "took", pass.EndedAt.Sub(pass.StartedAt))
	}
}

// readPasses reads the last pass over each list.
func (r *rescreening) readPasses() error {
	all, err := tablesOf(r.Engine).RescreenPasses(r.runner.Context())
	passes := map[string]store.RescreenPass{}
	for _, p := range all {
		passes[p.List] = p
	}
	r.passes = passes
	return err
}

// releaseLists ends the holds of this host, so that another host continues with the versions
// that it has at its next check and not when the holds end. No batch is under way.
func (r *rescreening) releaseLists(ctx context.Context) {
	now := r.now()
	for _, pass := range r.passes {
		if pass.Holder != r.holder {
			continue
		}
		pass.HeldUntil = now
		_, err := r.ports.Store.HoldPass(ctx, pass, now)
		if err != nil && !errors.Is(err, verification.ErrConflict) { // another host holds the list
			r.log.Warn("the screening lists are not released", "error", err)
			return
		}
	}
}

// rescreenList screens up to rescreenBatch runs against a list, one at a time, and returns
// how many it has attempted.
func (r *rescreening) rescreenList(l rescreenedList) (n int, err error) {
	ctx, queue := r.runner.Context(), r.ports.Store
	began := r.now()
	work, _, err := queue.Take(ctx, store.TakeRequest{
		Kind: store.WorkRescreen, List: l.name, Now: began, Lease: rescreenLease,
		Max: rescreenBatch, MaxPerTenant: rescreenBatch, After: r.after[l.name],
	})
	if err != nil {
		return 0, err
	}
	if p := r.passes[l.name]; len(work) == 0 && p.EndedAt.IsZero() && p.Holder == r.holder {
		r.holdPass(l.name, p.Version, began)
		return 0, r.readPasses()
	}
	// A pass over another version may have begun before the work was taken. If one begins
	// from now on, it replaces the work, and the leases of this host no longer count.
	if err := r.readPasses(); err != nil {
		return 0, errors.Join(err, queue.Release(ctx, work, began))
	}
	for i, w := range work {
		if r.runner.Closing() || r.now().Sub(began) > rescreenTime || !l.current(r.passes) {
			return i, errors.Join(err, queue.Release(ctx, work[i:], r.now()))
		}
		r.after[l.name] = w.Tenant
		failed := r.rescreenWork(ctx, l, w)
		if ctx.Err() != nil {
			return i, errors.Join(err, failed)
		}
		if failed != nil {
			err = failed
		}
	}
	return len(work), err
}

// rescreenWork screens a run again, and removes the work. A run that cannot be screened is
// logged: at once or, if the failure is temporary, after rescreenAttempts. Before that, err
// is the failure.
func (r *rescreening) rescreenWork(ctx context.Context, l rescreenedList, w store.Work) (err error) {
	pass, queue := r.passes[l.name], r.ports.Store
	flagged, failed := false, errStoppedScreening
	if w.Lost < runner.MaxLost {
		flagged, failed = r.rescreenRun(ctx, pass, w.RunRef)
	}
	switch {
	case ctx.Err() != nil:
		return failed
	case !l.current(r.passes): // the next check begins another pass
		return queue.Release(ctx, []store.Work{w}, r.now())
	case temporary(failed) && w.Attempt+1 < rescreenAttempts:
		return errors.Join(failed, queue.Postpone(ctx, w, r.now().Add(rescreenInterval)))
	}
	outcome := "clear"
	switch {
	case failed != nil:
		outcome = "failed"
		r.log.Error("run not screened again", "list", pass.List, "run", w.Run, "tenant", w.Tenant, "error", failed)
	case flagged:
		outcome = "flagged"
	}
	r.opt.Observer.RunRescreened(pass.List, outcome)
	return queue.Finish(ctx, w)
}

// errStoppedScreening is the failure of a run whose hosts stopped while they screened it.
var errStoppedScreening = errors.New("the hosts that screened the run kept stopping")

// temporary reports whether a run that was not screened may be screened later.
func temporary(err error) bool {
	return errors.Is(err, verification.ErrUnavailable) || errors.Is(err, runner.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
}

// rescreenRun screens the people and companies of the checks of a run against the version
// of a pass, and records new hits. It reports whether there were any. A check that was not
// compared as a whole is an error, after all checks are screened. The run is not cached, so
// that live runs stay in the cache.
func (r *rescreening) rescreenRun(ctx context.Context, pass store.RescreenPass, ref verification.RunRef) (flagged bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, rescreenRunTime)
	defer cancel()
	events, err := r.ports.Store.Load(ctx, ref.Tenant, ref.Run, 0)
	if err != nil {
		return false, err
	}
	// Since runs are screened one at a time, a large one does not wait for a slot of its
	// tenant, which would delay the runs of other tenants.
	s := &session{Engine: r.Engine, ref: ref, run: rules.Fold(ref.Run, events), waitless: true}
	if s.run.Hidden() { // since its work was queued
		return false, nil
	}
	if err := s.loadProgram(ctx); err != nil {
		return false, err
	}
	var partly error
	for _, step := range s.run.Steps {
		if step.Rescreen != pass.List {
			continue
		}
		oldest := max(1, step.Visits-rescreenVisits)
		if oldest > 1 {
			partly = errors.Join(partly, fmt.Errorf("node %s: only the newest of %d visits are screened again", step.Node, step.Visits))
		}
		for visit := oldest; visit <= step.Visits; visit++ {
			asked := s.run
			if visit < step.Visits || step.Gone {
				asked, _ = rules.VisitAsked(ref.Run, events, step.Node, visit)
			}
			if visit == step.Visits && step.ListVersion() == pass.Version {
				continue
			}
			recorded, err := r.rescreenVisit(ctx, s, pass, step, asked, visit)
			flagged = flagged || recorded
			switch {
			case errors.Is(err, errNotAllCompared):
				partly = errors.Join(partly, err)
			case errors.Is(err, rules.ErrRedacted), errors.Is(err, rules.ErrRestricted): // while it was screened
				return flagged, nil
			case err != nil:
				return flagged, err
			}
		}
	}
	return flagged, partly
}

// errNotAllCompared is the error of a check that was not compared as a whole.
var errNotAllCompared = errors.New("not everything was compared with the list")

// rescreenVisit screens whom a visit of a check screened, and records new hits. asked is the run as
// it was when the check was asked on that visit. It reports whether there were any.
func (r *rescreening) rescreenVisit(
	ctx context.Context, s *session, pass store.RescreenPass, step rules.Step, asked rules.Run, visit int,
) (flagged bool, err error) {
	found, err := r.rescreenStep(ctx, s, step, asked)
	switch {
	case err != nil:
		return false, fmt.Errorf("node %s: %w", step.Node, err)
	case found.List != pass.List || found.ListVersion != pass.Version:
		return false, fmt.Errorf("node %s: the provider searched version %s of %s", step.Node, found.ListVersion, found.List)
	}
	if len(found.Hits)+len(found.Cleared) > 0 {
		flagged, err = (&session{Engine: r.Engine, ref: s.ref, waitless: true}).recordHits(ctx, rules.RecordHits{
			Node: step.Node, Visit: visit, List: pass.List, ListVersion: found.ListVersion, Hits: found.Hits, Asked: found.asked, LeftOut: found.Cleared, Cleared: found.cleared,
		})
	}
	if err == nil && len(found.NotCompared) > 0 {
		err = fmt.Errorf("node %s: %w", step.Node, errNotAllCompared)
	}
	return flagged, err
}

// screenedAgain is the result of screening again, what was asked, and the decisions by which its hits
// are cleared.
type screenedAgain struct {
	verification.ScreeningResult
	asked   string
	cleared []rules.Clearance
}

// rescreenStep calls the provider of a check as it was asked in a run.
func (r *rescreening) rescreenStep(ctx context.Context, s *session, step rules.Step, asked rules.Run) (screenedAgain, error) {
	n, _ := s.program.Node(step.Node)
	p, _ := r.provider(s.ref.Tenant, n.Provider)
	provider, ok := p.(verification.Rescreener)
	if !ok {
		return screenedAgain{}, fmt.Errorf("the provider %q does not screen against lists", n.Provider)
	}
	found := runner.CallWithin(ctx, r.timing(n), func(ctx context.Context) (screenedAgain, error) {
		again, err := asked.RequestAgain(s.program, s.ref.Tenant, step.Node)
		if err != nil {
			return screenedAgain{}, err
		}
		cleared := s.clear(ctx, &again)
		result, err := provider.Rescreen(ctx, step.Rescreen, again)
		return screenedAgain{result, rules.AskedDigest(again.With), cleared}, err
	})
	found.Entry.Leave()
	return found.Result, found.Err
}
