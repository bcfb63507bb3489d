// Runs: list, read, report, print, cancel.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Runs returns one page of the runs that match the query now, newest first.
func (e *Engine) Runs(ctx context.Context, t verification.TenantID, q verification.RunQuery) (verification.Page[verification.RunView], error) {
	if err := q.PageQuery.Validate(); err != nil {
		return verification.Page[verification.RunView]{}, err
	}
	found, err := e.list(ctx, t, &q)
	if err != nil {
		return verification.Page[verification.RunView]{}, err
	}
	page := verification.Page[verification.RunView]{
		Data: make([]verification.RunView, 0, len(found.Data)), Total: found.Total, PageQuery: q.PageQuery,
	}
	for _, s := range found.Data {
		v, err := e.linked(t, s, s.View(q.Now))
		if err != nil {
			return verification.Page[verification.RunView]{}, err
		}
		page.Data = append(page.Data, v)
	}
	return page, nil
}

// listAttempts bounds how often a page is read again because it showed deadlines
// that were not written down.
const listAttempts = 5

// list reads a page as of now. Deadlines that it would be the first to tell of
// are written down before: see current. Where a summary disagrees with its
// history, that does not help, and the page is returned as it is.
func (e *Engine) list(
	ctx context.Context, t verification.TenantID, q *verification.RunQuery,
) (found verification.Page[verification.Summary], err error) {
	for range listAttempts {
		q.Now = e.now()
		if found, err = e.ports.Runs.List(ctx, t, *q); err != nil {
			return found, err
		}
		fresh := true
		for _, s := range found.Data {
			if s.Ended != "" || s.StatusAt(q.Now) != verification.StatusExpired {
				continue
			}
			fresh = false
			if _, err := e.command(ctx, verification.RunRef{Tenant: t, Run: s.ID}, verification.Expire{}); err != nil {
				return found, err
			}
		}
		if fresh {
			break
		}
	}
	return found, nil
}

// Run reads one run, or fails with ErrNotFound.
func (e *Engine) Run(ctx context.Context, t verification.TenantID, id verification.RunID) (verification.RunDetail, error) {
	run, now, err := e.seen(ctx, verification.RunRef{Tenant: t, Run: id})
	if err != nil {
		return verification.RunDetail{}, err
	}
	d := run.Detail(now)
	d.RunView, err = e.linked(t, run.Summary(), d.RunView)
	return d, err
}

// Report reads the report of one run, terminal or not.
func (e *Engine) Report(ctx context.Context, t verification.TenantID, id verification.RunID) (verification.Report, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	_, now, err := e.seen(ctx, ref)
	if err != nil {
		return verification.Report{}, err
	}
	release, err := e.acquireIfLarge(ctx, ref)
	if err != nil {
		return verification.Report{}, err
	}
	defer release()
	history, err := e.ports.Runs.Load(ctx, t, id, 0)
	if err != nil {
		return verification.Report{}, err
	}
	return verification.MakeReport(id, history, now), nil
}

// seen reads a run as it may be shown: see current.
func (e *Engine) seen(ctx context.Context, ref verification.RunRef) (run verification.Run, now time.Time, err error) {
	if run, err = e.load(ctx, ref); err != nil {
		return run, now, err
	}
	return e.current(ctx, ref, run)
}

// current returns a run that was loaded as it may be shown, and the time. A
// deadline that has passed is written down before it is shown: what another host
// decided just before it, and has not saved yet, then comes too late, and nobody
// reads a run as expired that later reads as something else.
func (e *Engine) current(ctx context.Context, ref verification.RunRef, run verification.Run) (verification.Run, time.Time, error) {
	now := e.now()
	if !overdue(run, now) {
		return run, now, nil
	}
	c, err := e.command(ctx, ref, verification.Expire{})
	return c.after, c.at, err
}

// PrintReport prints the report of a terminal run; any other is ErrConflict.
func (e *Engine) PrintReport(ctx context.Context, t verification.TenantID, id verification.RunID) ([]byte, error) {
	report, err := e.Report(ctx, t, id)
	if err != nil {
		return nil, err
	}
	if !report.Run.Status.Terminal() {
		return nil, &verification.Error{
			Kind: verification.ErrConflict, Subject: "run",
			Message: "the run is " + string(report.Run.Status) + "; its report is printed once it is over",
		}
	}
	if e.ports.Printer == nil {
		return nil, &verification.Error{Kind: verification.ErrUnavailable, Subject: "report", Message: "reports are not printed here"}
	}
	return e.ports.Printer.PrintReport(ctx, t, report)
}

// Cancel ends a live run. One that is cancelled already stays so without an
// error; any other terminal run is ErrConflict.
func (e *Engine) Cancel(ctx context.Context, t verification.TenantID, id verification.RunID) (verification.RunView, error) {
	c, err := e.command(ctx, verification.RunRef{Tenant: t, Run: id}, verification.Cancel{})
	if err != nil {
		return verification.RunView{}, err
	}
	return c.after.Summary().View(c.at), nil
}

// linked adds the journey link to a run that waits on its customer.
func (e *Engine) linked(t verification.TenantID, s verification.Summary, v verification.RunView) (verification.RunView, error) {
	if v.Action == nil || v.Action.Type != verification.ActionCustomerInput {
		return v, nil
	}
	token, err := e.ports.Links.SignLink(verification.Link{
		RunRef: verification.RunRef{Tenant: t, Run: s.ID}, Wait: s.Wait, ExpiresAt: s.ExpiresAt,
	})
	if err != nil {
		return verification.RunView{}, err
	}
	a := *v.Action
	a.URL = e.opt.PublicURL + "/journey/" + token
	v.Action = &a
	return v, nil
}

// view is a run as lists show it, with its link.
func (e *Engine) view(t verification.TenantID, r verification.Run, now time.Time) (verification.RunView, error) {
	s := r.Summary()
	return e.linked(t, s, s.View(now))
}
