// Saving: an append, and what follows from it beside the events themselves.

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// effects are what follows from the events that lead from one state of a run to another.
type effects struct {
	notices []int // that the workflow asks for, see store.WorkKey
	recheck bool  // decisions may count no more by which hits were cleared
	unused  bool  // there are uploads that no answer names any more
	retain  bool  // the redacted run has new data
}

// effectsOf returns the effects of the events that lead from one state of a run of a definition to another.
func effectsOf(d workflow.Definition, before, after rules.Run, events []rules.Event) effects {
	f := effects{
		notices: rules.NoticesOf(d, before, events), recheck: needsRecheck(before, after), unused: len(before.Dropped(after)) > 0,
		retain: !after.RedactedAt.IsZero(), // the notes of a verdict
	}
	if ends(before, after) {
		f.notices = append(f.notices, 0)
	}
	return f
}

// ends reports whether a run ends between two states.
func ends(before, after rules.Run) bool { return after.Ended != "" && before.Ended == "" }

// queue adds the work of the effects.
func (f effects) queue(work store.DueWork, now time.Time) {
	for _, seq := range f.notices {
		work[store.WorkKey{Kind: store.WorkAnnounce, Seq: seq}] = now
	}
	if f.recheck {
		work[store.WorkKey{Kind: store.WorkRecheck}] = now
	}
	if f.unused {
		work[store.WorkKey{Kind: store.WorkErase}] = now.Add(unusedFor)
	}
	if f.retain {
		work[store.WorkKey{Kind: store.WorkRetain}] = now.Add(retainAgain)
	}
}

// lease says how a run is kept from other hosts while it is driven here.
type lease struct {
	held  bool // this host drives the run
	young bool // the lease in the queue need not be renewed yet
}

// save appends events and carries out the effects that this host can; s then has
// the run after them. A run that is driven here keeps its lease while it continues.
// historyOnly reports that the append changed neither the summary nor the queue.
func (s *session) save(ctx context.Context, after rules.Run, events []rules.Event, l lease) (historyOnly bool, err error) {
	now, before := s.now(), s.run
	c := store.NewCommit(before, after, events, s.location(after.Started.Zone))
	c.Summary = s.withBrief(c.Summary, after)
	c.Keys = s.commitKeys(after, events)
	c.Audit = auditOf(ctx, s.ref, before.Seq, events)
	c.Erasure = erasureOf(s.ref, after.StartedAt, events)
	queueEffects(ctx, s, &c, after, now)
	if leased := queueNext(s, &c, after, l, now); leased && l.young && len(c.Work) == 1 && c.Keys == nil && before.Summary() == c.Summary {
		c.Work, historyOnly = nil, true // only the lease would change
	}
	if err := s.commitEntry(ctx, s.ref, before.Seq, c); err != nil {
		if c.WorkflowRevision != 0 { // it may have changed
			s.workflows.Delete(workflowKey{s.ref.Tenant, after.Started.Workflow})
		}
		return false, err
	}
	carryOut(ctx, s, after, c)
	return historyOnly, nil
}

// queueEffects adds the work of the effects to a commit, without what this host or its workflow does not need.
func queueEffects(ctx context.Context, s *session, c *store.Commit, after rules.Run, now time.Time) {
	f, announces := effectsOf(s.program.Version.Definition, s.run, after, c.Events), false
	if announces, c.WorkflowRevision = s.announces(ctx, len(f.notices) > 0); !announces {
		f.notices = nil
	}
	if len(f.notices) > 0 && after.Ended != "" {
		c.Hold = s.runner.Keeps(now, now)
	}
	f.unused = f.unused && s.keepsDocuments()
	f.queue(c.Work, now)
}

// queueNext adds the next step of a run to a commit, and reports whether this host makes it under its lease.
func queueNext(s *session, c *store.Commit, after rules.Run, l lease, now time.Time) (leased bool) {
	advance := store.WorkKey{Kind: store.WorkAdvance}
	switch task := after.Task(now); {
	case task.Kind == rules.TaskWait:
		c.Work[advance], c.Hold = task.At, s.runner.Keeps(task.At, now)
	case drivable(task) && l.held && s.canCall(&after):
		c.Work[advance], c.Hold = now.Add(s.opt.Lease), store.Leased
		return true
	case drivable(task):
		c.Work[advance] = now
	}
	return false
}

// carryOut does on this host what follows from a commit that is saved: s then has the run after it.
func carryOut(ctx context.Context, s *session, after rules.Run, c store.Commit) {
	before := s.run
	s.run, s.fresh = after, true
	s.runs.remember(s.ref, after)
	s.lines.reportFailures(ctx, s.ref, &before, c.Events)
	// The names of reviewers are kept from metrics.
	counted, named := c.Measures, func(m store.Measure) bool { return m.Name == store.MeasureVerdictBy }
	if slices.ContainsFunc(counted, named) {
		counted = slices.DeleteFunc(slices.Clone(counted), named)
	}
	if len(counted) > 0 {
		s.opt.Observer.Counted(counted)
	}
	if atRest(after) {
		s.watch.wake(s.ref)
	}
	for key, at := range c.Work { // the loop wakes up for it
		s.runner.Due(key.Kind, at)
	}
}

// withBrief returns a summary of a run with what the review queue shows of its person.
func (s *session) withBrief(summary rules.Summary, run rules.Run) rules.Summary {
	if summary.Review != nil {
		subject, differing := facts.BriefOf(s.program, run)
		review := summary.Review.WithBrief(subject, differing)
		review.Concerns = facts.ElementsOf(s.program, run).NamedConcerns(run.Compared(review.Concerns, s.program, subject))
		summary.Review = &review
	}
	return summary
}

// announces reports whether a client is to be notified of a commit that ends the run, or has
// other events of which the workflow asks for notices. When that cannot be determined now, or may change before the caller's transaction commits,
// it is determined when the notice is sent. It also returns the revision of the
// workflow that the commit depends on, or 0.
func (s *session) announces(ctx context.Context, asked bool) (yes bool, revision int) {
	asked = asked && s.ports.Notifier != nil
	w, err := workflow.Workflow{}, error(nil)
	switch {
	case s.run.Seq == 0:
		w = s.workflow
	case asked && !s.external:
		w, _, err = s.Engine.workflow(ctx, workflowKey{s.ref.Tenant, s.run.Started.Workflow})
	}
	return asked && (s.external || err != nil || w.LifecycleWebhookURL != ""), w.Revision
}
