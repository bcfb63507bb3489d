// Runs: list, read, report, print and cancel.

package engine

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Runs returns one page of the runs that match the query now, newest first.
func (e *Engine) Runs(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.RunView], error) {
	found, at, err := e.RunSummaries(ctx, t, q)
	if err != nil {
		return store.Page[rules.RunView]{}, err
	}
	page := store.Page[rules.RunView]{Data: make([]rules.RunView, 0, len(found.Data)), Total: found.Total, PageQuery: q.PageQuery}
	for _, s := range found.Data {
		v, err := e.linked(t, s, s.View(at))
		if err != nil {
			return store.Page[rules.RunView]{}, err
		}
		page.Data = append(page.Data, v)
	}
	return page, nil
}

// maxLists bounds how often a page is read again because it showed runs whose
// expiry was not saved.
const maxLists = 5

// RunSummaries returns one page of the runs that match the query now, newest first, and
// the time of the read. Use Summary.StatusAt and Summary.DecisionAt for the status and
// the decision at that time. Before it returns runs as expired, it saves their expiry: see
// expireIfOverdue. If a summary disagrees with its history, the page is returned as it is.
func (e *Engine) RunSummaries(
	ctx context.Context, t verification.TenantID, q store.RunQuery,
) (page store.Page[rules.Summary], at time.Time, err error) {
	if err := q.PageQuery.Validate(); err != nil {
		return page, at, err
	}
	if err := e.auditSearch(ctx, t, q); err != nil {
		return page, at, err
	}
	for fresh, n := false, 0; !fresh && n < maxLists; n++ {
		q.Now = e.now()
		if page, err = e.ports.Store.List(ctx, t, q); err != nil {
			return page, q.Now, err
		}
		fresh = true
		for _, s := range page.Data {
			if s.Ended != "" || s.StatusAt(q.Now) != rules.StatusExpired {
				continue
			}
			fresh = false
			if _, err := e.open(ctx, verification.RunRef{Tenant: t, Run: s.ID}); err != nil {
				return page, q.Now, err
			}
		}
	}
	page.PageQuery = q.PageQuery
	return page, q.Now, nil
}

// Run returns one run, or ErrNotFound.
func (e *Engine) Run(ctx context.Context, t verification.TenantID, id verification.RunID) (rules.RunDetail, error) {
	s, err := e.open(ctx, verification.RunRef{Tenant: t, Run: id})
	if err == nil {
		err = e.auditRun(ctx, s.ref, s.run, store.AuditRunRead)
	}
	if err != nil {
		return rules.RunDetail{}, err
	}
	d := s.run.Detail(s.at)
	d.RunView, err = e.linked(t, s.run.Summary(), d.RunView)
	return d, err
}

// Report returns the report of one run, live or terminal.
func (e *Engine) Report(ctx context.Context, t verification.TenantID, id verification.RunID) (rules.Report, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	h, err := e.history(ctx, ref, false)
	if err == nil {
		err = e.auditRun(ctx, ref, h.run, store.AuditReportRead)
	}
	if err != nil {
		return rules.Report{}, err
	}
	if len(h.run.Groups) > 0 {
		program, err := e.program(ctx, h.version(t))
		if err != nil {
			return rules.Report{}, err
		}
		h.report.Groups = h.run.ReportGroups(program.Version.Definition)
	}
	return h.report, nil
}

// runHistory is the whole history of a run, and its report at a time.
type runHistory struct {
	run    rules.Run
	events []rules.Event
	report rules.Report
	at     time.Time
}

// version is the key of the version that the run executes.
func (h runHistory) version(t verification.TenantID) programKey {
	return programKey{t, h.report.Workflow.ID, h.report.Workflow.VersionHash}
}

// history returns the whole history of a run, and records an expiry that is due: see
// expireIfOverdue. Of a restricted run it is what may be read (see rules.Shown), unless inFull is set: then
// nothing of it is cached.
func (e *Engine) history(ctx context.Context, ref verification.RunRef, inFull bool) (runHistory, error) {
	h, err := e.loadHistory(ctx, ref, inFull)
	if err != nil || !overdue(h.run, h.at) {
		return h, err
	}
	if _, err := e.open(ctx, ref); err != nil {
		return runHistory{}, err
	}
	return e.loadHistory(ctx, ref, inFull)
}

// loadHistory reads the whole history of a run.
func (e *Engine) loadHistory(ctx context.Context, ref verification.RunRef, inFull bool) (h runHistory, err error) {
	release, err := (&session{Engine: e, ref: ref}).admitRead(ctx)
	if err != nil {
		return h, err
	}
	defer release()
	run := e.runs.cached(ref)
	if h.events, err = e.store.Load(ctx, ref.Tenant, ref.Run, 0); err != nil {
		return h, err
	}
	h.at = e.now()
	if inFull {
		h.run = rules.Fold(ref.Run, h.events)
	} else {
		h.events = rules.Shown(h.events)
		rest := h.events[min(run.Seq, len(h.events)):]
		if rules.Rewrites(rest) {
			run, rest = rules.Run{ID: ref.Run}, h.events
		}
		h.run = e.runs.fold(ref, run, rest)
	}
	h.report = rules.MakeReport(ref.Run, h.events, h.at)
	return h, nil
}

// History is the whole history of a run, and what it means.
type History struct {
	Run     rules.Run
	Events  []rules.Event
	Report  rules.Report     // with its groups, and the schemas of the data of its cards
	Program workflow.Program // the version that the run executes
	At      time.Time        // when it was read

	// Provider describes a provider of the tenant; nothing of one that this host does not have.
	Provider func(name string) verification.ProviderDescription
}

// History returns the whole history of one run, or ErrNotFound. Of a restricted run, it is what rules.Shown
// returns.
func (e *Engine) History(ctx context.Context, t verification.TenantID, id verification.RunID) (History, error) {
	return e.described(ctx, t, id, false)
}

// HistoryInFull is History, and in full of a restricted run, too.
func (e *Engine) HistoryInFull(ctx context.Context, t verification.TenantID, id verification.RunID) (History, error) {
	return e.described(ctx, t, id, true)
}

func (e *Engine) described(ctx context.Context, t verification.TenantID, id verification.RunID, inFull bool) (History, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	h, err := e.history(ctx, ref, inFull)
	if err == nil {
		err = e.auditRun(ctx, ref, h.run, store.AuditRunRead)
	}
	if err != nil {
		return History{}, err
	}
	program, err := e.program(ctx, h.version(t))
	if err != nil {
		return History{}, err
	}
	describe := e.Describer(t)
	for i, c := range h.report.Cards {
		n, _ := program.Node(c.NodeID)
		h.report.Cards[i].DataSchema = workflow.MergeSchemas(
			n.Fields.DataSchema(""), describe(n.Provider).Data.Map(), describe(n.Fallback).Data.Map())
	}
	h.report.Groups = h.run.ReportGroups(program.Version.Definition)
	return History{Run: h.run, Events: h.events, Report: h.report, Program: program, At: h.at, Provider: describe}, nil
}

// Rejection returns the reason for which a run is rejected: nothing if its verdict has none, and
// only a Code if the workflow does not know the reason. The version of the run is not read without need.
func (e *Engine) Rejection(ctx context.Context, t verification.TenantID, id verification.RunID) (reason workflow.RejectReason, err error) {
	s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
	if err := s.reload(ctx); err != nil || s.run.Verdict.Reason == "" {
		return reason, err
	}
	if err := s.loadProgram(ctx); err != nil {
		return reason, err
	}
	reason, _ = s.program.Version.Definition.RejectReason(s.run.Verdict.Reason)
	reason.Code = s.run.Verdict.Reason
	return reason, nil
}

// Cancel ends a live run. Cancelling a cancelled run has no effect; ErrConflict is
// returned for any other terminal run.
func (e *Engine) Cancel(ctx context.Context, t verification.TenantID, id verification.RunID) (rules.RunView, error) {
	s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
	if _, err := s.command(ctx, rules.Cancel{}); err != nil {
		return rules.RunView{}, err
	}
	return s.run.Summary().View(s.at), nil
}

// linked adds the journey link to a run that waits on its customer.
func (e *Engine) linked(t verification.TenantID, s rules.Summary, v rules.RunView) (rules.RunView, error) {
	if v.Action == nil || v.Action.Type != rules.ActionCustomerInput {
		return v, nil
	}
	token, err := e.ports.Links.SignLink(verification.Link{
		RunRef: verification.RunRef{Tenant: t, Run: s.ID}, WaitNumber: s.WaitNumber, ExpiresAt: s.ExpiresAt,
	})
	if err != nil {
		return rules.RunView{}, err
	}
	a := *v.Action
	a.URL = e.opt.PublicURL + "/journey/" + token
	v.Action = &a
	return v, nil
}

// view returns the run of s as lists show it, with its link.
func (s *session) view() (rules.RunView, error) {
	summary := s.run.Summary()
	return s.linked(s.ref.Tenant, summary, summary.View(s.at))
}
