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

// earlierRuns finds the other runs of the person or company of a run.
func (e *Engine) earlierRuns(
	ctx context.Context, t verification.TenantID, p workflow.Program, r rules.Run, q verification.EarlierQuery,
) (found verification.EarlierRuns, err error) {
	if asksByWord(q) && !e.Searches() {
		return found, verification.Permanent(errNoSearchKey)
	}
	all := map[verification.RunID]*candidate{}
	look := func(by store.RunQuery, add func(*candidate)) error {
		incomplete, err := e.eachEarlier(ctx, t, by, func(s rules.Summary) {
			if s.ID == r.ID || !s.MatchesEarlier(q, by.Now) {
				return
			}
			if all[s.ID] == nil {
				all[s.ID] = &candidate{Summary: s}
			}
			add(all[s.ID])
		})
		found.Incomplete = found.Incomplete || incomplete
		return err
	}
	now := e.now()
	if reference := r.Started.ReferenceID; slices.Contains(q.By, verification.EarlierReference) && reference != rules.RedactedReference {
		query := store.RunQuery{ReferenceID: reference, Rejected: q.Rejected && !q.Failed && len(q.Outcomes) == 0, Now: now}
		err := look(query, func(c *candidate) { c.by = append(c.by, verification.EarlierReference) })
		if err != nil {
			return found, err
		}
	}
	words := slices.DeleteFunc(facts.EarlierWords(p, r), func(w facts.EarlierWord) bool { return !slices.Contains(q.By, w.By) })
	for _, by := range q.By {
		has := func(w facts.EarlierWord) bool { return w.By == by }
		if by != verification.EarlierReference && !slices.ContainsFunc(words, has) && !slices.Contains(found.NotCompared, by) {
			found.NotCompared = append(found.NotCompared, by)
		}
	}
	if len(words) > maxEarlierWords {
		words, found.Incomplete = words[:maxEarlierWords], true
	}
	for _, w := range words {
		keys := e.SearchKeys(t, []facts.SearchWord{w.Key})
		if err := look(store.RunQuery{Keys: keys, Now: now}, func(c *candidate) { c.unsure = append(c.unsure, w) }); err != nil {
			return found, err
		}
	}
	return found, e.settleEarlier(ctx, t, all, &found, now)
}

// eachEarlier calls f with the runs that a query selects, the newest first. incomplete says that there are more
// than it looks at.
func (e *Engine) eachEarlier(ctx context.Context, t verification.TenantID, q store.RunQuery, f func(rules.Summary)) (incomplete bool, err error) {
	for q.Limit = store.MaxLimit; ; q.Offset += q.Limit {
		page, err := e.ports.Store.List(ctx, t, q)
		if err != nil {
			return false, err
		}
		for _, s := range page.Data {
			f(s)
		}
		seen := q.Offset + len(page.Data)
		switch {
		case page.Total > maxEarlierFound:
			return true, nil // the newest will do
		case seen >= page.Total || len(page.Data) == 0:
			return false, nil
		}
	}
}

// settleEarlier sets the runs that have been found. Those that have the key of a number or a person are read: others
// may have it, too, such as a phone number.
func (e *Engine) settleEarlier(
	ctx context.Context, t verification.TenantID, all map[verification.RunID]*candidate, found *verification.EarlierRuns, now time.Time,
) error {
	order := slices.SortedFunc(maps.Values(all), func(a, b *candidate) int {
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
			} else if err := e.compareEarlier(ctx, t, c, found); err != nil {
				return err
			}
		}
		if len(c.by) == 0 {
			continue
		}
		found.Total++
		if len(found.Runs) < maxEarlierRuns {
			found.Runs = append(found.Runs, verification.EarlierRun{
				Run: c.ID, By: c.by, Outcome: c.Outcome, Decision: string(c.DecisionAt(now)), EndedAt: c.CompletedAt,
			})
		}
	}
	return nil
}

// compareEarlier adds by what else a run is the same, as far as this host can tell.
func (e *Engine) compareEarlier(ctx context.Context, t verification.TenantID, c *candidate, found *verification.EarlierRuns) error {
	events, err := e.ports.Store.Load(ctx, t, c.ID, 0)
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
	p, err := e.program(ctx, programKey{t, run.Started.Workflow, run.Started.VersionHash})
	if verification.LackingOf(err) != nil {
		found.Incomplete = true
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
	Outcome   string // empty for none
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
		EndedAt: summary.CompletedAt, Decision: summary.DecisionAt(e.now()), Outcome: summary.Outcome,
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

// rejectedBefore finds the rejected runs of the person or company of a run that comes to need a verdict. The run
// needs it also if they cannot be read.
func (s *session) rejectedBefore(ctx context.Context, after rules.Run) (before rules.RejectedBefore) {
	q := verification.EarlierQuery{By: []verification.EarlierBy{verification.EarlierReference}, Rejected: true}
	if s.Searches() {
		q.By = append(q.By, verification.EarlierNumber, verification.EarlierPerson)
	}
	found, err := s.earlierRuns(ctx, s.ref.Tenant, s.program, after, q)
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
