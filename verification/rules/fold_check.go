// The fold of checks: how a call of a provider, and what comes of it, change a run.

package rules

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification/workflow"
)

func (f Dispatched) fold(r *Run, at time.Time) {
	dispatches := 1
	if w, _ := r.WaitAt(f.Node); w.Provider == f.Provider && w.Kind == WaitRetry {
		dispatches = w.ProviderDispatches + 1
	}
	r.awaits(Wait{
		Kind: WaitResult, Node: f.Node, Number: r.Seq, Since: at,
		Provider: f.Provider, DispatchedAt: at, Dispatch: f.Dispatch, ProviderDispatches: dispatches,
	})
	if s := r.step(f.Node); s != nil && s.Visits == f.Visit {
		r.withStep(f.Node, func(s *Step) {
			s.Status, s.Dispatches, s.provider, s.noAnswer, s.found, s.Screens = StepRunning, f.Dispatch, f.Provider, "", nil, s.Screens || f.Screens
		})
		return
	}
	r.reach(Step{
		Node: f.Node, Type: workflow.NodeCheck, Key: f.Key, Label: f.Label, StartedAt: at, Dispatches: f.Dispatch, Rescreen: f.Rescreen,
		Screens: f.Screens || f.Rescreen != "", provider: f.Provider, // which older histories have alone
	})
}

func (f ResultPending) fold(r *Run, at time.Time) {
	w := r.at(f.Node)
	if w.PendingSince.IsZero() {
		w.PendingSince = at
	}
	if !w.Away() {
		w.Kind = WaitPoll
	}
	w.Handle, w.At, w.PollFailures, w.PollNow = f.Handle, f.PollAt, 0, false
	w.changes++
}

func (f CallbackReceived) fold(r *Run, at time.Time) {
	w := r.at(f.Node)
	w.Callbacks = append(slices.Clip(w.Callbacks), f.Digest)
	if w.Kind == WaitPoll || w.Away() {
		w.At = at
	} else {
		w.PollNow = true
	}
}

func (f PollFailed) fold(r *Run, _ time.Time) {
	w := r.at(f.Node)
	if !w.Away() {
		w.Kind = WaitPoll
	}
	w.At = f.PollAt
	w.PollFailures++
	r.withStep(f.Node, func(s *Step) { s.Failures++ })
}

func (f NoAnswer) fold(r *Run, _ time.Time) {
	r.withStep(f.Node, func(s *Step) { s.noAnswer, s.found = f.Outcome, f.Data })
}

func (f ResultRecorded) fold(r *Run, at time.Time) {
	r.waitOver(f.Node)
	r.HadHits = r.HadHits || f.Screening != nil && len(f.Screening.Hits) > 0
	r.withStep(f.Node, func(s *Step) { s.answer(f, at) })
	tellNoMore(r, f.Node)
}

func (s *Step) answer(f ResultRecorded, at time.Time) {
	status := StepFailed
	if f.Passed {
		status = StepPassed
	}
	recovered := s.Failures > s.overcome || f.Passed && s.failedBefore
	s.finish(status, f.Data, at)
	if s.Screening = f.Screening; s.Visits > 1 && s.ListVersion() != s.before {
		s.otherVersion = true
	}
	if s.Screening != nil {
		s.clear(s.Screening.Cleared, s.Visits)
	}
	s.Confirms, s.doubted = f.Confirms, f.Doubted
	s.flags = reasonsOf(f.Data, f.Screening)
	s.flags.recovered, s.overcome = recovered, s.Failures
	s.Recovered, s.failedBefore = s.Recovered || recovered, s.failedBefore && !f.Passed
}

func (f DispatchFailed) fold(r *Run, _ time.Time) {
	w := r.at(f.Node)
	w.Kind, w.At = WaitRetry, f.RetryAt
	r.withStep(f.Node, func(s *Step) { s.Failures++; s.Status = StepPending })
}

func (f ResultUnavailable) fold(r *Run, at time.Time) {
	r.waitOver(f.Node)
	r.withStep(f.Node, func(s *Step) {
		s.finish(StepFailed, f.Data, at)
		s.unavailable = true
	})
}
