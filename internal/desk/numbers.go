// Numbers: what happened to the runs of a tenant, by day, step and provider.

package desk

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// MaxNumbersDays is the maximum number of days of a NumbersQuery.
const MaxNumbersDays = 366

// NumbersQuery selects the numbers of a tenant.
type NumbersQuery struct {
	// First and Last are the first and the last day, in the time zone of the tenant.
	First, Last store.Day
	// Days selects as many days up to today, in place of First and Last.
	Days int
	// Workflow selects the runs of one workflow; empty selects all.
	Workflow verification.WorkflowID
	// Reviewers also selects the verdicts by reviewer, which are personal data of staff.
	Reviewers bool
}

// Numbers are added up when runs are changed. They count what happened on the days of
// the query, whenever the runs started.
type Numbers struct {
	Zone  string       // the name of the tenant's time zone, which the days are of
	Days  []DayNumbers // without a gap, the earliest first
	Steps []StepNumbers
	// TimeToVerdict is from when a run began to need a verdict until it was given.
	TimeToVerdict DurationNumbers
	// Reasons counts the rejections with a reason, the most frequent reason first.
	Reasons []ReasonNumbers
	// Reviewers are the reviewers who gave verdicts, the most verdicts first; none unless the
	// query selects them.
	Reviewers []ReviewerNumbers
	// Checks are the checks with a result or with hits, those that failed most often first. The members of a group of checks
	// stand together.
	Checks []CheckNumbers
	// RunsWithHits counts the runs whose first hits were found on these days.
	RunsWithHits int
	// DueKept are the verdicts in time, of Due on runs with a due time.
	Due, DueKept int
	Rounds       int // how often a customer was asked again
	// Unscreened counts the completed runs in which a check that screens was not called.
	Unscreened int
	Providers  []ProviderNumbers // by name
	Queue      QueueNumbers
}

// DayNumbers are the numbers of one day.
type DayNumbers struct {
	Day     store.Day
	Started int
	// Ended counts the runs that ended, by terminal status.
	Ended map[rules.Status]int
	// Outcomes counts the completed runs by outcome, which is empty for none.
	Outcomes map[string]int
	// Unaided counts those of them that needed no verdict, by outcome.
	Unaided map[string]int
	// Approved and Rejected count the runs that a verdict decided: once they are completed,
	// or when the verdict is given, if that is later. A verdict on a run that needs none
	// does not count.
	Approved, Rejected int
	// Verdicts counts all verdicts. A proposed one counts once it is confirmed.
	Verdicts      int
	TimeToVerdict DurationNumbers
}

// DurationNumbers describe durations. P50 and P95 are at most 19 % above the exact
// values, and are 0 without a duration.
type DurationNumbers struct {
	Count    int
	P50, P95 time.Duration
}

// ProviderNumbers are the numbers of one provider.
type ProviderNumbers struct {
	Name string
	// Results are the dispatches with a result, by the time from the dispatch to the
	// result. Failures counts those without one.
	Results  DurationNumbers
	Failures int
}

// QueueNumbers describe the review queue now. SinceCounts[i] counts the runs that have
// needed a verdict for at least Ages[i].
type QueueNumbers struct {
	Open    int // runs that need a verdict
	Overdue int // those whose due time has passed
	// Oldest is the earliest Since; zero if the queue is empty.
	Oldest      time.Time
	Ages        []time.Duration // the shortest first
	SinceCounts []int
}

// queueAges returns the ages that are counted.
func queueAges() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{0, time.Hour, 4 * time.Hour, day, 3 * day, 7 * day}
}

// Numbers returns the numbers of a tenant. ErrInvalid is returned for a query without
// a day, or with more than MaxNumbersDays, and ErrNotFound if there is no such workflow.
func (d *Desk) Numbers(ctx context.Context, t verification.TenantID, q NumbersQuery) (Numbers, error) {
	zone, name, err := d.zone(ctx, t)
	if err != nil {
		return Numbers{}, err
	}
	if q.Days != 0 {
		q.Last = store.DayOf(d.time(), zone)
		q.First = q.Last - store.Day(q.Days) + 1
	}
	if q.Last < q.First || q.Last-q.First >= MaxNumbersDays {
		return Numbers{}, verification.InvalidField("numbers", "to", "must be the first day or up to 365 days later")
	}
	wanted := store.MeasureQuery{
		Workflow: q.Workflow, First: q.First, Last: q.Last,
		Names: []store.MeasureName{
			store.MeasureStarted, store.MeasureEnded, store.MeasureDecided, store.MeasureVerdict, store.MeasureVerdictTime,
		},
		Totals: []store.MeasureName{
			store.MeasureVerdictReason, store.MeasureChecked, store.MeasureHits, store.MeasureRunHits,
			store.MeasureDue, store.MeasureRounds, store.MeasureUnscreened,
			store.MeasureDispatchFailed, store.MeasureDispatchTime,
		},
	}
	if q.Workflow != "" {
		wanted.Totals = append(wanted.Totals, store.MeasureTransition, store.MeasureStopped)
	}
	if q.Reviewers {
		wanted.Totals = append(wanted.Totals, store.MeasureVerdictBy)
	}
	all, err := d.store.Measures(ctx, t, wanted)
	if err != nil {
		return Numbers{}, err
	}
	found := byName(all)
	var current workflow.Definition
	if q.Workflow != "" {
		if current, err = d.currentDefinition(ctx, t, q.Workflow); err != nil {
			return Numbers{}, err
		}
	}
	n := Numbers{
		Zone: cmp.Or(name, "UTC"), Days: dayNumbers(wanted, found),
		TimeToVerdict: timeToVerdict(found, 0, int(q.Last-q.First)+1),
		Reasons:       reasonNumbers(current, found), Reviewers: reviewerNumbers(found),
		Checks: checkNumbers(current, found), RunsWithHits: found.total(store.MeasureRunHits),
		Due: found.total(store.MeasureDue), Rounds: found.total(store.MeasureRounds), Unscreened: found.total(store.MeasureUnscreened),
		Providers: providerNumbers(found),
	}
	for _, m := range found[store.MeasureDue] {
		if m.Parts().Passed {
			n.DueKept += sum(m.Counts)
		}
	}
	if q.Workflow != "" {
		if n.Steps, err = d.stepNumbers(ctx, t, q.Workflow, current, found); err != nil {
			return Numbers{}, err
		}
	}
	n.Queue, err = d.queueNumbers(ctx, t, q.Workflow)
	return n, err
}

// measured are the sums of measures by name.
type measured map[store.MeasureName][]store.MeasureCounts

func byName(all []store.MeasureCounts) measured {
	found := measured{}
	for _, m := range all {
		found[m.Name] = append(found[m.Name], m)
	}
	return found
}

// total adds up the sums of a measure.
func (f measured) total(name store.MeasureName) (n int) {
	for _, m := range f[name] {
		n += sum(m.Counts)
	}
	return n
}

// currentDefinition returns the definition that new runs of a workflow execute; an empty
// one if there is none.
func (d *Desk) currentDefinition(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID,
) (workflow.Definition, error) {
	w, err := d.store.Workflow(ctx, t, id)
	if err != nil || w.Current() == "" {
		return workflow.Definition{}, err
	}
	v, err := d.store.Version(ctx, t, id, w.Current())
	return v.Definition, err
}

func dayNumbers(q store.MeasureQuery, found measured) []DayNumbers {
	all := make([]DayNumbers, q.Last-q.First+1)
	for i := range all {
		all[i] = DayNumbers{
			Day: q.First + store.Day(i), Ended: map[rules.Status]int{}, Outcomes: map[string]int{}, Unaided: map[string]int{},
			TimeToVerdict: timeToVerdict(found, i, i+1),
		}
		for _, m := range found[store.MeasureStarted] {
			all[i].Started += m.Counts[i]
		}
		for _, m := range found[store.MeasureEnded] {
			all[i].ended(m.Parts(), m.Counts[i])
		}
		for _, m := range found[store.MeasureDecided] {
			all[i].decided(m.Parts(), m.Counts[i])
		}
		for _, m := range found[store.MeasureVerdict] {
			all[i].Verdicts += m.Counts[i]
		}
	}
	return all
}

func (d *DayNumbers) ended(p store.MeasureParts, n int) {
	d.Ended[p.Status] += n
	if p.Status == rules.StatusCompleted && n > 0 {
		d.Outcomes[p.Outcome] += n
	}
}

func (d *DayNumbers) decided(p store.MeasureParts, n int) {
	switch {
	case p.Decision == rules.DecisionApprove:
		d.Approved += n
	case p.Decision == rules.DecisionReject:
		d.Rejected += n
	case n > 0:
		d.Unaided[p.Outcome] += n
	}
}

// timeToVerdict describes the times to verdict on some days.
func timeToVerdict(found measured, from, to int) DurationNumbers {
	durations := store.DurationCounts{}
	for _, m := range found[store.MeasureVerdictTime] {
		durations.Add(m.Parts().Duration, sum(m.Counts[from:to]))
	}
	return describe(durations)
}

func describe(d store.DurationCounts) DurationNumbers {
	return DurationNumbers{Count: d.Total(), P50: d.Quantile(0.5), P95: d.Quantile(0.95)}
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func providerNumbers(found measured) []ProviderNumbers {
	failures, results := map[string]int{}, map[string]store.DurationCounts{}
	at := func(name string) store.DurationCounts {
		if results[name] == nil {
			results[name] = store.DurationCounts{}
		}
		return results[name]
	}
	for _, m := range found[store.MeasureDispatchTime] {
		p := m.Parts()
		at(p.Provider).Add(p.Duration, sum(m.Counts))
	}
	for _, m := range found[store.MeasureDispatchFailed] {
		name := m.Parts().Provider
		at(name)
		failures[name] += sum(m.Counts)
	}
	var all []ProviderNumbers
	for _, name := range slices.Sorted(maps.Keys(results)) {
		all = append(all, ProviderNumbers{Name: name, Results: describe(results[name]), Failures: failures[name]})
	}
	return all
}

// queueNumbers describes the review queue now.
func (d *Desk) queueNumbers(ctx context.Context, t verification.TenantID, w verification.WorkflowID) (n QueueNumbers, err error) {
	q := store.RunQuery{Order: store.OldestFirst, Workflow: w, Now: d.time()}
	first := q
	first.Limit = 1
	p, err := d.store.List(ctx, t, first)
	if err != nil {
		return n, err
	}
	n.Ages, n.Open = queueAges(), p.Total
	for _, s := range p.Data {
		n.Oldest = s.Review.Since
	}
	overdue := q
	overdue.DueBefore = q.Now
	if n.Overdue, err = d.total(ctx, t, overdue); err != nil {
		return n, err
	}
	for _, age := range n.Ages {
		q.SinceBefore = q.Now.Add(-age)
		count, err := d.total(ctx, t, q)
		if err != nil {
			return n, err
		}
		n.SinceCounts = append(n.SinceCounts, count)
	}
	return n, nil
}
