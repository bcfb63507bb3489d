// Notices: clients are notified that a run is over, and of the events that its workflow names.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// errStopped is the error of attempts whose hosts stopped before they ended.
var errStopped = errors.New("the hosts that sent the notice kept stopping")

// notices are the notices of an engine, and what it records of their delivery.
type notices struct{ *Engine }

// notify makes one attempt, and schedules the next one if it fails. It returns the
// error of the attempt.
func (e notices) notify(ctx context.Context, w store.Work, url string) error {
	result, err := e.attempt(ctx, w, url)
	if err != nil && ctx.Err() == nil {
		e.log.ErrorContext(ctx, "notice not sent", "run", w.Run, "tenant", w.Tenant, "error", err)
	}
	return result
}

// attempt returns the result of the Notifier. err is not nil when the attempt could
// not be made or recorded: it is repeated when the lease of the work ends.
func (e notices) attempt(ctx context.Context, w store.Work, url string) (result, err error) {
	if url == "" || e.ports.Notifier == nil {
		return nil, e.ports.Store.Finish(ctx, w)
	}
	notice, err := e.openNotice(ctx, w)
	if err != nil || notice.Obsolete {
		return nil, err
	}
	notice.URL = url
	result = errStopped
	if w.Lost < runner.MaxLost {
		result = e.ports.Notifier.Notify(ctx, notice)
	}
	switch {
	case errors.Is(result, verification.ErrUnavailable):
		return nil, result // our own store was unavailable: the attempt does not count
	case result != nil && ctx.Err() != nil:
		return nil, result // the host stops: the attempt does not count
	}
	release, err := e.runner.AcquireNotice(ctx, w.Tenant)
	if err != nil {
		return result, err
	}
	defer release()
	if result == nil {
		e.recordAttempt(ctx, notice, nil, time.Time{})
		e.opt.Observer.NoticeSent("delivered")
		return nil, e.ports.Store.Finish(ctx, w)
	}
	at, more := nextAttempt(result, w, e.now())
	e.recordAttempt(ctx, notice, result, at)
	if !more {
		e.opt.Observer.NoticeSent("dropped")
		e.log.WarnContext(ctx, "notice dropped", "run", w.Run, "tenant", w.Tenant, "attempts", w.Attempt+1)
		return result, e.ports.Store.Finish(ctx, w)
	}
	e.opt.Observer.NoticeSent("retried")
	if err := e.ports.Store.Postpone(ctx, w, at); err != nil {
		return result, err
	}
	e.runner.Nudge(at)
	return result, nil
}

// openNotice returns the notice of a piece of work, without its URL. The work of an obsolete
// notice is finished.
func (e notices) openNotice(ctx context.Context, w store.Work) (n rules.Notice, err error) {
	release, err := e.runner.AcquireNotice(ctx, w.Tenant)
	if err != nil {
		return n, err
	}
	defer release()
	if n, err = e.newNotice(ctx, w); err != nil || !n.Obsolete {
		return n, err
	}
	e.dropObsolete(ctx, n)
	return n, e.ports.Store.Finish(ctx, w)
}

// newNotice returns the notice of a piece of work, without its URL.
func (e notices) newNotice(ctx context.Context, w store.Work) (n rules.Notice, err error) {
	if w.Seq == 0 {
		run, err := e.load(ctx, w.RunRef)
		if err != nil {
			return n, err
		}
		n = rules.EndNotice(run)
	} else if n, err = e.noticeAt(ctx, w.Tenant, rules.NoticeRef{Run: w.Run, Seq: w.Seq}); err != nil {
		return n, err
	}
	n.Tenant, n.Attempt, n.At = w.Tenant, w.Attempt, e.now()
	return n, nil
}

// noticeAt returns the notice of an event: see rules.NewNotice.
func (e notices) noticeAt(ctx context.Context, t verification.TenantID, ref rules.NoticeRef) (rules.Notice, error) {
	release, err := (&session{Engine: e.Engine, ref: verification.RunRef{Tenant: t, Run: ref.Run}}).admitRead(ctx)
	if err != nil {
		return rules.Notice{}, err
	}
	defer release()
	history, err := e.store.Load(ctx, t, ref.Run, 0)
	if err != nil {
		return rules.Notice{}, err
	}
	history = rules.Shown(history)
	n, err := rules.NewNotice(ref, history)
	if err != nil {
		return n, err
	}
	if f, ok := history[ref.Seq-1].Fact.(rules.VerdictRecorded); ok && f.Reason != "" {
		started, _ := history[0].Fact.(rules.Started)
		program, err := e.program(ctx, programKey{t, started.Workflow, started.VersionHash})
		if err != nil {
			return n, err
		}
		n.CustomerText = rules.RejectionText(program.Version.Definition, history[:ref.Seq])
	}
	return n, nil
}

// nextAttempt returns the time of the attempt after one that failed with err. more is
// false when there is none.
func nextAttempt(err error, w store.Work, now time.Time) (at time.Time, more bool) {
	wait, more := rules.NoticeRetry(w.Attempt)
	if !more {
		return time.Time{}, false
	}
	at = now.Add(jittered(wait, w)).Truncate(time.Microsecond)
	var retry *verification.RetryError
	if !errors.As(err, &retry) {
		return at, true
	}
	if retry.At.IsZero() {
		return time.Time{}, false
	}
	if retry.At.After(at) {
		at = retry.At
	}
	return at, true
}

// jittered returns between nine tenths of wait and all of it, so that notices that
// failed together are not all sent again together. The fraction is derived from run
// and attempt.
func jittered(wait time.Duration, w store.Work) time.Duration {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", w.Run, w.Attempt))
	fraction := float64(binary.BigEndian.Uint32(sum[:4])) / (1 << 32)
	return wait - time.Duration(fraction*float64(wait)/10)
}
