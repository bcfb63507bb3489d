// Decide for checks: dispatch, result, poll and retry.

package rules

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
	"github.com/verifyd/verifyd/verification/workflow"
)

// minPoll is the minimum wait between two polls of one check.
const minPoll = time.Millisecond

// dispatch records that a provider is called for the step. An arrival begins a visit of the step.
func (d *decision) dispatch(id verification.NodeID, n workflow.Node, provider string, arrival bool) {
	step, _ := d.run.Step(id)
	visit := step.Visits
	if arrival {
		visit++
	}
	f := Dispatched{
		Node: id, Key: n.CheckKey(id.InDefinition()), Label: d.label(id), Provider: provider,
		Dispatch: step.Dispatches + 1, Visit: visit, Screens: d.program.Screens(provider),
	}
	if n.Rescreen != nil {
		f.Rescreen = n.Rescreen.List
	}
	d.add(f)
}

// outstanding reports whether the run still waits for the result of a dispatch.
func (d *decision) outstanding(id verification.NodeID, dispatch int) bool {
	w := d.wait(id)
	return d.live() && (w.Kind == WaitResult || w.Kind == WaitPoll || w.Away()) && w.Dispatch == dispatch
}

// wait returns the wait of a step; zero if the run does not wait there.
func (d *decision) wait(id verification.NodeID) Wait {
	w, _ := d.run.WaitAt(id)
	return w
}

func (d *decision) result(c RecordResult) {
	if !d.outstanding(c.Node, c.Dispatch) {
		return
	}
	n, _ := d.program.Node(c.Node)
	switch c.Outcome {
	case verification.OutcomePending:
		if !texts.Storable(c.Handle) {
			d.failure(RecordFailure{
				Node: c.Node, Dispatch: c.Dispatch, Permanent: true,
				Cause: "the handle of the pending result must be valid UTF-8 without a NUL character",
			})
			return
		}
		d.recordPending(c, n)
	case verification.OutcomeRedirect:
		d.redirect(c, n)
	case verification.OutcomePassed:
		if d.answered(c, StepPassed, n.Next) {
			goesTo(d, n.Next)
		}
	case verification.OutcomeFailed:
		to, ok := n.Leads(n.OnFailed)
		switch {
		case !d.answered(c, StepFailed, to):
		case ok:
			goesTo(d, to)
		default:
			d.add(Failed{Node: c.Node, Error: notPassed(n.CheckKey(c.Node))})
		}
	case verification.OutcomeNoCoverage, verification.OutcomeInconclusive:
		d.add(NoAnswer{Node: c.Node, Outcome: c.Outcome, Data: c.Data})
		d.instead(c.Node, n)
	default:
		d.failure(RecordFailure{
			Node: c.Node, Dispatch: c.Dispatch, Permanent: true,
			Cause: fmt.Sprintf("the provider returned the unknown outcome %q", c.Outcome),
		})
	}
}

// answered records an answer, and reports whether the run then goes to another node. A member or an element does
// not lead there itself. A hit that the provider left out although no decision clears it flags the step.
func (d *decision) answered(c RecordResult, status StepStatus, to verification.NodeID) (leads bool) {
	f := ResultRecorded{Node: c.Node, Passed: status == StepPassed}
	differs, unfounded := false, false
	f.Data, differs = d.compared(c.Node, status, c.Data, to)
	if f.Screening, unfounded = recorded(c.Screening, c); unfounded {
		f.Data = withFalse(f.Data, fieldAnalysis)
	}
	f.Doubted = differs && (unfounded || flagReasonsOf(c.Data).analysisNotOK)
	if groupOf(c.Node) != "" {
		ok := false
		if f.Confirms, ok = d.confirms(f, status, c.Data); !ok {
			return false
		}
	}
	d.add(f)
	if alone(c.Node) {
		return true
	}
	d.settled(c.Node)
	return false
}

// recordPending records a pending result. It does not record one that equals the last,
// so that a long wait does not grow the history.
func (d *decision) recordPending(c RecordResult, n workflow.Node) {
	w := d.wait(c.Node)
	if w.Kind == WaitPoll && d.now.Sub(w.PendingSince) >= n.PollTimeout() {
		d.failure(RecordFailure{Node: c.Node, Dispatch: c.Dispatch, Cause: "the pending result did not come in time"})
		return
	}
	if (w.Kind == WaitPoll || w.Away()) && w.Handle == c.Handle && w.PollFailures == 0 {
		return
	}
	if (w.Kind == WaitPoll || w.Away()) && w.changes >= maxHandles {
		d.failure(RecordFailure{Node: c.Node, Dispatch: c.Dispatch, Permanent: true, Cause: fmt.Sprintf("the handle of the pending result changed %d times", maxHandles)})
		return
	}
	pollAt := PollAt(n, c.PollAfter, d.now)
	if w.PollNow {
		pollAt = d.now
	}
	d.add(ResultPending{Node: c.Node, Handle: c.Handle, PollAt: pollAt})
}

// maxCallbacks bounds the callbacks of one dispatch that are recorded. Further ones
// change nothing: the provider is polled at its interval anyway.
const maxCallbacks = 32

func (d *decision) callback(c RecordCallback) {
	w, waits := d.run.WaitNumbered(c.WaitNumber)
	if !waits || !d.outstanding(w.Node, w.Dispatch) || len(w.Callbacks) >= maxCallbacks ||
		slices.Contains(w.Callbacks, c.Digest) {
		return
	}
	d.add(CallbackReceived{Node: w.Node, Digest: c.Digest})
}

// PollAt returns when a pending check is polled next: after the wait that the
// provider named, or if that is not positive, after the node's poll interval. The wait
// is at least 1 ms and at most the node's poll timeout.
func PollAt(n workflow.Node, after time.Duration, now time.Time) time.Time {
	if after <= 0 {
		after = n.PollInterval()
	}
	after = max(min(after, n.PollTimeout()), minPoll)
	return now.Add(after).Truncate(time.Microsecond)
}

func (d *decision) failure(c RecordFailure) {
	if !d.outstanding(c.Node, c.Dispatch) {
		return
	}
	n, _ := d.program.Node(c.Node)
	w, cause := d.wait(c.Node), cut(c.Cause)
	retryAt := func(failed int) time.Time {
		at := d.now.Add(d.jittered(n.Backoff(failed), c))
		if latest := d.now.Add(n.MaxBackoff()); c.RetryAt.After(latest) {
			at = latest
		} else if c.RetryAt.After(at) {
			at = c.RetryAt
		}
		return at.Truncate(time.Microsecond)
	}
	inTime := w.Away() || w.Kind == WaitPoll && d.now.Sub(w.PendingSince) < n.PollTimeout()
	if inTime && !c.Permanent && w.PollFailures+1 < n.MaxDispatches() {
		d.add(PollFailed{Node: c.Node, Cause: cause, PollAt: retryAt(w.PollFailures + 1)})
		return
	}
	if !c.Permanent && w.ProviderDispatches < n.MaxDispatches() {
		d.add(DispatchFailed{Node: c.Node, Cause: cause, RetryAt: retryAt(w.ProviderDispatches)})
		return
	}
	d.add(DispatchFailed{Node: c.Node, Cause: cause})
	d.instead(c.Node, n)
}

// instead calls the fallback of a check whose provider gave no answer. If there is none left, the check has no answer.
func (d *decision) instead(id verification.NodeID, n workflow.Node) {
	if n.Fallback != "" && d.wait(id).Provider != n.Fallback {
		d.dispatch(id, n, n.Fallback, false)
		return
	}
	to, ok := n.Leads(n.OnUnavailable)
	if groupOf(id) != "" {
		ok = false // the group says whether the run needs the answer
	}
	f := ResultUnavailable{Node: id}
	switch {
	case ok, groupOf(id) == "" && !alone(id) && screens(d, id, n):
		f.Data = d.run.step(id).withoutAnswer()
	case groupOf(id) != "" && screens(d, id, n): // whatever the group comes to
		f.Data = verification.Data(`{"source_ok":false}`)
	}
	d.add(f)
	switch {
	case !alone(id):
		d.settled(id)
	case ok:
		goesTo(d, to)
	default:
		d.add(Failed{Node: id, Error: unanswered(n.CheckKey(id))})
	}
}

// withoutAnswer returns the data of a step that goes on without an answer.
func (s *Step) withoutAnswer() verification.Data {
	if s.noAnswer != "" {
		return verification.DataOf(map[string]any{"source_ok": false, "no_answer": string(s.noAnswer)})
	}
	return verification.Data(`{"source_ok":false}`)
}

// jittered returns a duration of at least half of wait and less than wait. It depends only on run,
// node, dispatch and the length of the history, so that deciding again gives the
// same result.
func (d *decision) jittered(wait time.Duration, c RecordFailure) time.Duration {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", d.run.ID, c.Node, c.Dispatch, d.run.Seq))
	share := float64(uint32(sum[0])<<16|uint32(sum[1])<<8|uint32(sum[2])) / (1 << 24)
	return wait/2 + time.Duration(share*float64(wait/2))
}

func (d *decision) redispatch() {
	for _, w := range d.run.Waits {
		if w.Kind == WaitRetry && !d.now.Before(w.At) {
			n, _ := d.program.Node(w.Node)
			d.dispatch(w.Node, n, w.Provider, false)
		}
	}
}
