// Earlier runs: the other runs of the same person or company.

package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The bounds of looking for earlier runs. A search that meets one is incomplete.
const (
	maxEarlierRuns  = 10   // in the result
	maxEarlierWords = 32   // by which runs are looked for
	maxEarlierFound = 1000 // runs with one word
	maxEarlierRead  = 50   // runs that are read, to see whether they have the same number or person
)

// errNoSearchKey is returned if runs are looked for by a number or a person on a host that finds none.
var errNoSearchKey = errors.New("by number and person needs a search key: set VERIFYD_SEARCH_KEY (Options.SearchKey)")

// asksByWord reports whether a query needs Options.SearchKey.
func asksByWord(q verification.EarlierQuery) bool {
	return slices.ContainsFunc(q.By, func(by verification.EarlierBy) bool { return by != verification.EarlierReference })
}

// earlierProblems returns what keeps the checks of a definition from finding earlier runs: what refuses a new
// version, and what is only a warning. A passive engine does not know the search key of the hosts that drive runs.
func (e *Engine) earlierProblems(t verification.TenantID, p workflow.Program) (refused, warnings []verification.FieldError) {
	p.Version.Definition.EachCheck(func(id verification.NodeID, n workflow.Node) {
		for _, name := range []string{n.Provider, n.Fallback} {
			provider, _ := e.provider(t, name)
			finder, ok := provider.(verification.EarlierFinder)
			if !ok {
				continue
			}
			q, err := finder.Earlier(n.With.Map())
			if err == nil && !asksByWord(q) {
				continue
			}
			node, _, member := id.Parts()
			at := strings.TrimSuffix("nodes."+string(node)+".members."+member, ".members.") + ".with"
			if !p.Searches() {
				warnings = append(warnings, verification.FieldError{Name: at, Message: "no field has search: true, so no run has the same number or person"})
			}
			if e.Searches() {
				continue
			}
			missing := verification.FieldError{Name: at, Message: errNoSearchKey.Error()}
			if e.opt.Passive {
				warnings = append(warnings, missing)
			} else {
				refused = append(refused, missing)
			}
		}
	})
	return refused, warnings
}

// candidate is a run that may be found.
type candidate struct {
	rules.Summary
	by     []verification.EarlierBy // known to be the same
	unsure []facts.EarlierWord      // whose keys it has
}

// earlierSearch is a search for the other runs of the person or company of a run.
type earlierSearch struct {
	*Engine

	tenant verification.TenantID
	now    time.Time
	all    map[verification.RunID]*candidate
	found  verification.EarlierRuns
}

// earlierRuns finds the other runs of the person or company of a run.
func earlierRuns(
	ctx context.Context, e *Engine, t verification.TenantID, p workflow.Program, r rules.Run, q verification.EarlierQuery,
) (verification.EarlierRuns, error) {
	s := earlierSearch{Engine: e, tenant: t, now: e.now(), all: map[verification.RunID]*candidate{}}
	err := s.find(ctx, p, r, q)
	return s.found, err
}

func (e *earlierSearch) find(ctx context.Context, p workflow.Program, r rules.Run, q verification.EarlierQuery) error {
	if asksByWord(q) && !e.Searches() {
		return verification.Permanent(errNoSearchKey)
	}
	look := func(by store.RunQuery, add func(*candidate)) error {
		by.Now = e.now
		return e.each(ctx, by, func(s rules.Summary) {
			if s.ID == r.ID || !s.MatchesEarlier(q, e.now) {
				return
			}
			if e.all[s.ID] == nil {
				e.all[s.ID] = &candidate{Summary: s}
			}
			add(e.all[s.ID])
		})
	}
	if reference := r.Started.ReferenceID; slices.Contains(q.By, verification.EarlierReference) && reference != rules.RedactedReference {
		query := store.RunQuery{ReferenceID: reference, Rejected: q.Rejected && !q.Failed && len(q.Outcomes) == 0}
		err := look(query, func(c *candidate) { c.by = append(c.by, verification.EarlierReference) })
		if err != nil {
			return err
		}
	}
	words := slices.DeleteFunc(facts.EarlierWords(p, r), func(w facts.EarlierWord) bool { return !slices.Contains(q.By, w.By) })
	for _, by := range q.By {
		has := func(w facts.EarlierWord) bool { return w.By == by }
		if by != verification.EarlierReference && !slices.ContainsFunc(words, has) && !slices.Contains(e.found.NotCompared, by) {
			e.found.NotCompared = append(e.found.NotCompared, by)
		}
	}
	if len(words) > maxEarlierWords {
		words, e.found.Incomplete = words[:maxEarlierWords], true
	}
	for _, w := range words {
		keys := e.SearchKeys(e.tenant, []facts.SearchWord{w.Key})
		if err := look(store.RunQuery{Keys: keys}, func(c *candidate) { c.unsure = append(c.unsure, w) }); err != nil {
			return err
		}
	}
	return e.settle(ctx)
}

// each calls f with the runs that a query selects, the newest first. The search is incomplete if there are more than it
// looks at.
func (e *earlierSearch) each(ctx context.Context, q store.RunQuery, f func(rules.Summary)) error {
	for q.Limit = store.MaxLimit; ; q.Offset += q.Limit {
		page, err := e.ports.Store.List(ctx, e.tenant, q)
		if err != nil {
			return err
		}
		for _, s := range page.Data {
			f(s)
		}
		seen := q.Offset + len(page.Data)
		switch {
		case page.Total > maxEarlierFound:
			e.found.Incomplete = true
			return nil // the newest will do
		case seen >= page.Total || len(page.Data) == 0:
			return nil
		}
	}
}

// settle sets the runs that have been found. Those that have the key of a number or a person are read: others
// may have it, too, such as a phone number.
func (e *earlierSearch) settle(ctx context.Context) error {
	found, order := &e.found, slices.SortedFunc(maps.Values(e.all), func(a, b *candidate) int {
		if store.Newer(a.Summary, b.Summary) {
			return -1
		}
		return 1
	})
	read := 0
	for _, c := range order {
		if len(c.unsure) > 0 {
			if read++; read > maxEarlierRead {
				found.Incomplete = true
			} else if err := e.compare(ctx, c); err != nil {
				return err
			}
		}
		if len(c.by) == 0 {
			continue
		}
		found.Total++
		if len(found.Runs) < maxEarlierRuns {
			found.Runs = append(found.Runs, verification.EarlierRun{
				Run: c.ID, By: c.by, Outcome: c.Outcome, Decision: string(c.DecisionAt(e.now)), EndedAt: c.CompletedAt,
			})
		}
	}
	return nil
}

// compare adds by what else a run is the same, as far as this host can tell.
func (e *earlierSearch) compare(ctx context.Context, c *candidate) error {
	events, err := e.ports.Store.Load(ctx, e.tenant, c.ID, 0)
	if errors.Is(err, verification.ErrNotFound) { // it was deleted since
		c.by = nil
		return nil
	}
	if err != nil {
		return err
	}
	run := rules.Fold(c.ID, rules.Shown(events))
	if run.Hidden() {
		c.by = nil
		return nil
	}
	p, err := e.program(ctx, programKey{e.tenant, run.Started.Workflow, run.Started.VersionHash})
	if verification.LackingOf(err) != nil {
		e.found.Incomplete = true
		return nil //nolint:nilerr // another host may know the version
	}
	if err != nil {
		return err
	}
	for _, has := range facts.EarlierWords(p, run) {
		if slices.Contains(c.unsure, has) && !slices.Contains(c.by, has.By) {
			c.by = append(c.by, has.By)
		}
	}
	return nil
}

// EarlierRun is what pages show of a run that another run has found.
type EarlierRun struct {
	Reference string
	Subject   string // the name; may be empty
	Workflow  verification.WorkflowID
	EndedAt   time.Time // zero for a live run
	Decision  rules.Decision
	Outcome   string        // empty for none
	Verdict   rules.Verdict // the newest
	// Rejection is why a reviewer rejected the run. It is zero without a reason, and has only a Code if the workflow
	// does not know the reason.
	Rejection workflow.RejectReason
}

// EarlierRun returns what pages show of a run that another run has found. It returns ErrNotFound for one that is
// deleted, redacted or restricted.
func (e *Engine) EarlierRun(ctx context.Context, t verification.TenantID, id verification.RunID) (EarlierRun, error) {
	s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
	if err := s.reload(ctx); err != nil {
		return EarlierRun{}, err
	}
	if s.run.Hidden() {
		return EarlierRun{}, verification.NotFound("run")
	}
	if err := s.loadProgram(ctx); err != nil {
		return EarlierRun{}, err
	}
	summary := s.run.Summary()
	found := EarlierRun{
		Reference: summary.ReferenceID, Subject: facts.SubjectOf(s.program, s.run).Name, Workflow: summary.Workflow,
		EndedAt: summary.CompletedAt, Decision: summary.DecisionAt(e.now()), Outcome: summary.Outcome, Verdict: s.run.Verdict,
	}
	if code := s.run.Verdict.Reason; code != "" && s.run.Verdict.Decision == rules.DecisionReject {
		found.Rejection, _ = s.program.Version.Definition.RejectReason(code)
		found.Rejection.Code = code
	}
	return found, nil
}

// comesToReview reports whether a run needs a verdict, and did not need one before.
func (s *session) comesToReview(after rules.Run) bool {
	if _, needs := after.InReview(); !needs || after.Hidden() {
		return false
	}
	_, needed := s.run.InReview()
	return !needed
}

// rejections finds the rejected runs of the person or company of a run that comes to need a verdict. The run
// needs it also if they cannot be read.
func (s *session) rejections(ctx context.Context, after rules.Run) (before rules.Rejections) {
	q := verification.EarlierQuery{By: []verification.EarlierBy{verification.EarlierReference}, Rejected: true}
	if s.Searches() {
		q.By = append(q.By, verification.EarlierNumber, verification.EarlierPerson)
	}
	found, err := earlierRuns(ctx, s.Engine, s.ref.Tenant, s.program, after, q)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("a run needs a verdict, and earlier rejections were not looked up", "run", s.ref.Run, "tenant", s.ref.Tenant, "error", err)
		s.opt.Observer.RejectionsUnknown()
	}
	before.Unknown = err != nil || found.Incomplete
	for _, r := range found.Runs {
		before.Runs = append(before.Runs, rules.RejectedRun{Run: r.Run, By: r.By})
	}
	return before
}
