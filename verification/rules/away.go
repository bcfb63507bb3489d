// Out and back: a provider leads the customer away, and the check waits until the customer was there.

package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification/internal/texts"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Away reports whether a check waits for its customer.
func (w Wait) Away() bool { return w.Kind == WaitCustomer && w.Provider != "" }

// redirect records that the provider leads the customer away. It does not record what equals the last, so that a
// long wait does not grow the history.
func (d *decision) redirect(c RecordResult, n workflow.Node) {
	w, cause := d.wait(c.Node), n.RefusesRedirect(c.Redirect)
	switch {
	case !alone(c.Node):
		cause = "the provider redirects the customer, which a member of a group or an element of a list cannot"
	case cause == "" && !texts.Storable(c.Handle):
		cause = "the handle of the redirect must be valid UTF-8 without a NUL character"
	case cause == "" && w.Away() && w.Redirect == c.Redirect && w.Handle == c.Handle && w.PollFailures == 0:
		return
	case cause == "" && w.changes >= maxHandles:
		cause = fmt.Sprintf("the redirect of the result changed %d times", maxHandles)
	}
	if cause != "" {
		d.failure(RecordFailure{Node: c.Node, Dispatch: c.Dispatch, Permanent: true, Cause: cause})
		return
	}
	f := Redirected{Node: c.Node, URL: c.Redirect, Handle: c.Handle}
	if c.Polled {
		f.PollAt = PollAt(n, c.PollAfter, d.now)
		if w.PollNow {
			f.PollAt = d.now
		}
	}
	d.add(f)
}

// returned records that the customer came back.
func (d *decision) returned(c RecordReturn) {
	w := d.run.Wait()
	if !d.live() || !w.Away() || w.Number != c.WaitNumber || w.CameBack(c.Digest) {
		return
	}
	d.add(Returned{Node: w.Node, Digest: c.Digest, Pending: c.Pending})
}

// CameBack reports whether a return with these parameters changes nothing any more: it was recorded, or too many were.
func (w Wait) CameBack(digest string) bool {
	return len(w.Callbacks) >= maxCallbacks || slices.Contains(w.Callbacks, digest)
}

// ComesAgain reports whether a return without parameters has the provider asked once more. Half of the returns that are
// recorded are left for those that say something.
func (w Wait) ComesAgain() bool { return len(w.Callbacks) < maxCallbacks/2 }

// returnSignal returns the name of the signal of a check that waits for its customer.
func returnSignal(f Redirected) string { return string(f.Node) + "_returned" }

func (f Redirected) fold(r *Run, at time.Time) {
	w := r.at(f.Node)
	if !w.Away() {
		w.Since = at
	}
	w.Kind, w.Signal, w.Redirect, w.Returned = WaitCustomer, returnSignal(f), f.URL, false
	w.Handle, w.At, w.PollFailures, w.PollNow, w.PendingSince = f.Handle, f.PollAt, 0, false, time.Time{}
	w.changes++
}

func (f Returned) fold(r *Run, at time.Time) {
	w := r.at(f.Node)
	w.Callbacks, w.Returned, w.Since = append(slices.Clip(w.Callbacks), f.Digest), true, at
	switch {
	case f.Pending:
		w.Kind, w.Signal, w.At, w.PollFailures, w.PendingSince = WaitPoll, "", at, 0, at
	case !w.At.IsZero():
		w.At = at
	}
}
