// offline.earlier_runs: whether other runs of the same person or company were rejected.

package offline

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/internal/with"
	"github.com/verifyd/verifyd/verification"
)

const earlierRunsName = "offline.earlier_runs"

// earlierRuns is the provider offline.earlier_runs. The engine finds the runs.
type earlierRuns struct {
	described verification.ProviderDescription
	schema    with.Schema
}

type earlierRunsWith struct {
	By         []verification.EarlierBy `json:"by"`
	WithinDays int                      `json:"within_days"`
	Found      []string                 `json:"found"`
}

func newEarlierRuns(all map[string]verification.ProviderDescription) *earlierRuns {
	d := all[earlierRunsName]
	return &earlierRuns{d, with.Compile(earlierRunsName, d.With)}
}

// Describe implements verification.Describer.
func (p *earlierRuns) Describe() verification.ProviderDescription { return p.described }

// Earlier implements verification.EarlierFinder.
func (p *earlierRuns) Earlier(values map[string]any) (q verification.EarlierQuery, err error) {
	var w earlierRunsWith
	if err := p.schema.Read(values, &w); err != nil {
		return q, verification.Permanent(err)
	}
	q = verification.EarlierQuery{By: w.By, Within: time.Duration(w.WithinDays) * 24 * time.Hour, Rejected: len(w.Found) == 0}
	for _, found := range w.Found {
		switch outcome, isOutcome := strings.CutPrefix(found, "outcome:"); {
		case isOutcome:
			q.Outcomes = append(q.Outcomes, outcome)
		case found == "failed":
			q.Failed = true
		default:
			q.Rejected = true
		}
	}
	return q, nil
}

// Check fails if the engine has found a run. If it could not look at all runs, or could not compare with them
// by all that with.by says, analysis_ok is false.
func (p *earlierRuns) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	if r.Earlier == nil {
		return verification.CheckResult{}, verification.Permanent(errors.New(
			earlierRunsName + ": it reads the runs of a host, and works only as a check of a run; a case of `verifyctl workflow try` says what it finds"))
	}
	found := *r.Earlier
	data := map[string]any{"total": found.Total}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: data}
	if found.Total > 0 {
		result.Outcome = verification.OutcomeFailed
		data["runs"] = runsOf(found.Runs)
	}
	if len(found.NotCompared) > 0 {
		data["not_compared"] = textsOf(found.NotCompared)
	}
	if found.Incomplete || len(found.NotCompared) > 0 {
		data["analysis_ok"] = false
	}
	return result, nil
}

func runsOf(found []verification.EarlierRun) (all []any) {
	for _, r := range found {
		run := map[string]any{"run_id": string(r.Run), "by": textsOf(r.By)}
		if r.Outcome != "" {
			run["outcome"] = r.Outcome
		}
		if r.Decision != "" {
			run["decision"] = r.Decision
		}
		if !r.EndedAt.IsZero() {
			run["ended_at"] = r.EndedAt.UTC().Format(time.RFC3339)
		}
		all = append(all, run)
	}
	return all
}

func textsOf[T ~string](values []T) (texts []any) {
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}
