// Numbers: what happened to the runs of a tenant, by day, step and provider.

package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/view"
)

// MaxNumbersDays is the maximum number of days of a NumbersQuery.
const MaxNumbersDays = 366

// NumbersQuery selects the numbers of a tenant.
type NumbersQuery struct {
	// First and Last are the first and the last day, in the time zone of the tenant.
	First, Last view.Day
	// Days selects as many days up to today, in place of First and Last.
	Days int
	// Workflow selects the runs of one workflow; empty selects all.
	Workflow verification.WorkflowID
}

// Numbers are added up when runs are changed. They count what happened on the days of
// the query, whenever the runs started.
type Numbers struct {
	Zone  string       // the name of the tenant's time zone, which the days are of
	Days  []DayNumbers // without a gap, the earliest first
	Steps []StepNumbers
	// TimeToVerdict is from when a run began to need a verdict until it was given.
	TimeToVerdict DurationNumbers
	// Reasons counts the rejections with a reason, by the code of the reject reason.
	Reasons   map[string]int
	Providers []ProviderNumbers // by name
	Queue     QueueNumbers
}

// DayNumbers are the numbers of one day.
type DayNumbers struct {
	Day     view.Day
	Started int
	// Ended counts the runs that ended, by terminal status.
	Ended map[verification.Status]int
	// Outcomes counts the completed runs by outcome, which is empty for none.
	Outcomes           map[string]int
	Approved, Rejected int
	TimeToVerdict      DurationNumbers
}

// StepNumbers are the numbers of one step of a workflow, over all its versions. Without
// a workflow in the query there are none. They are in the order of the current version;
// steps that it does not have come last.
type StepNumbers struct {
	Node verification.NodeID
	// Type and Label are those of the current version or, if it does not have the step, of
	// the latest version that has it. Type is empty if that is not one of the latest 200.
	Type  verification.NodeType
	Label string
	// Reached counts the visits of the step that began, Left those after which the run
	// went on, and Stopped those at which the run expired, was cancelled or failed.
	Reached, Left, Stopped int
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
	QueueStats
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
func (e *Engine) Numbers(ctx context.Context, t verification.TenantID, q NumbersQuery) (Numbers, error) {
	tenant, err := e.tenantOfStart(ctx, t, maxZoneAge)
	if err != nil {
		return Numbers{}, err
	}
	if q.Days != 0 {
		q.Last = view.DayOf(e.now(), e.location(tenant.Zone))
		q.First = q.Last - view.Day(q.Days) + 1
	}
	if q.Last < q.First || q.Last-q.First >= MaxNumbersDays {
		return Numbers{}, verification.InvalidField("numbers", "to", "must be the first day or up to 365 days later")
	}
	wanted := view.MeasureQuery{
		Workflow: q.Workflow, First: q.First, Last: q.Last,
		Names: []view.MeasureName{
			view.MeasureStarted, view.MeasureEnded, view.MeasureVerdict, view.MeasureVerdictTime,
		},
		Totals: []view.MeasureName{view.MeasureVerdictReason, view.MeasureDispatchFailed, view.MeasureDispatchTime},
	}
	if q.Workflow != "" {
		wanted.Totals = append(wanted.Totals, view.MeasureTransition, view.MeasureStopped)
	}
	found, err := e.ports.Store.Measures(ctx, t, wanted)
	if err != nil {
		return Numbers{}, err
	}
	n := Numbers{
		Zone: cmp.Or(tenant.Zone, "UTC"), Days: dayNumbers(wanted, found),
		TimeToVerdict: timeToVerdict(found, 0, int(q.Last-q.First)+1),
		Reasons:       reasonNumbers(found), Providers: providerNumbers(found),
	}
	if q.Workflow != "" {
		if n.Steps, err = e.stepNumbers(ctx, t, q.Workflow, found); err != nil {
			return Numbers{}, err
		}
	}
	n.Queue, err = e.queueNumbers(ctx, t, q.Workflow)
	return n, err
}

func dayNumbers(q view.MeasureQuery, found []view.MeasureCounts) []DayNumbers {
	all := make([]DayNumbers, q.Last-q.First+1)
	for i := range all {
		day := DayNumbers{
			Day: q.First + view.Day(i), Ended: map[verification.Status]int{}, Outcomes: map[string]int{},
			TimeToVerdict: timeToVerdict(found, i, i+1),
		}
		for _, m := range found {
			switch m.Name {
			case view.MeasureStarted:
				day.Started += m.Counts[i]
			case view.MeasureEnded:
				n := m.Counts[i]
				status, outcome, _ := strings.Cut(m.Key, ":")
				day.Ended[verification.Status(status)] += n
				if status == string(verification.StatusCompleted) && n > 0 {
					day.Outcomes[outcome] += n
				}
			case view.MeasureVerdict:
				if m.Key == string(verification.DecisionApprove) {
					day.Approved += m.Counts[i]
				} else {
					day.Rejected += m.Counts[i]
				}
			case view.MeasureTransition, view.MeasureStopped, view.MeasureVerdictTime, view.MeasureVerdictReason,
				view.MeasureDispatchFailed, view.MeasureDispatchTime:
			}
		}
		all[i] = day
	}
	return all
}

// timeToVerdict describes the times to verdict on some days.
func timeToVerdict(found []view.MeasureCounts, from, to int) DurationNumbers {
	durations := view.DurationCounts{}
	for _, m := range found {
		if m.Name == view.MeasureVerdictTime {
			durations.Add(m.Key, sum(m.Counts[from:to]))
		}
	}
	return describe(durations)
}

func describe(d view.DurationCounts) DurationNumbers {
	return DurationNumbers{Count: d.Total(), P50: d.Quantile(0.5), P95: d.Quantile(0.95)}
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func reasonNumbers(found []view.MeasureCounts) map[string]int {
	reasons := map[string]int{}
	for _, m := range found {
		if m.Name == view.MeasureVerdictReason {
			reasons[m.Key] += sum(m.Counts)
		}
	}
	return reasons
}

func providerNumbers(found []view.MeasureCounts) []ProviderNumbers {
	failures, results := map[string]int{}, map[string]view.DurationCounts{}
	at := func(name string) view.DurationCounts {
		if results[name] == nil {
			results[name] = view.DurationCounts{}
		}
		return results[name]
	}
	for _, m := range found {
		switch m.Name {
		case view.MeasureDispatchTime:
			_, name, _ := strings.Cut(m.Key, ":")
			at(name).Add(m.Key, sum(m.Counts))
		case view.MeasureDispatchFailed:
			at(m.Key)
			failures[m.Key] += sum(m.Counts)
		case view.MeasureStarted, view.MeasureEnded, view.MeasureTransition, view.MeasureStopped,
			view.MeasureVerdict, view.MeasureVerdictTime, view.MeasureVerdictReason:
		}
	}
	var all []ProviderNumbers
	for _, name := range slices.Sorted(maps.Keys(results)) {
		all = append(all, ProviderNumbers{Name: name, Results: describe(results[name]), Failures: failures[name]})
	}
	return all
}

// stepNumbers returns the numbers of the steps of a workflow.
func (e *Engine) stepNumbers(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, found []view.MeasureCounts,
) ([]StepNumbers, error) {
	w, err := e.ports.Store.Workflow(ctx, t, id)
	if err != nil {
		return nil, err
	}
	steps, counted := map[verification.NodeID]*StepNumbers{}, map[int]bool{}
	at := func(id verification.NodeID) *StepNumbers {
		if steps[id] == nil {
			steps[id] = &StepNumbers{Node: id, Label: string(id)}
		}
		return steps[id]
	}
	for _, m := range found {
		counted[m.Version] = true
		switch m.Name {
		case view.MeasureTransition:
			move, n := view.ParseTransition(m.Key), sum(m.Counts)
			at(move.To).Reached += n
			at(move.From).Left += n
		case view.MeasureStopped:
			at(verification.NodeID(m.Key)).Stopped += sum(m.Counts)
		case view.MeasureStarted, view.MeasureEnded, view.MeasureVerdict, view.MeasureVerdictTime, view.MeasureVerdictReason,
			view.MeasureDispatchFailed, view.MeasureDispatchTime:
		}
	}
	delete(steps, "") // the start
	order := map[verification.NodeID]int{}
	if hash := w.Current(); hash != "" {
		v, err := e.ports.Store.Version(ctx, t, id, hash)
		if err != nil {
			return nil, err
		}
		for i, node := range v.Definition.BreadthFirst() {
			at(node).describe(v.Definition)
			order[node] = i + 1
		}
	}
	if err := e.describeFormer(ctx, t, id, steps, counted); err != nil {
		return nil, err
	}
	maps.DeleteFunc(steps, func(_ verification.NodeID, s *StepNumbers) bool {
		return s.Type == verification.NodeBranch || s.Type == verification.NodeEnd
	})
	return sortedSteps(steps, order), nil
}

// describe sets the type and the label of a step, if the definition has it.
func (s *StepNumbers) describe(d verification.Definition) {
	n := d.Nodes[s.Node]
	s.Type, s.Label = n.Type, cmp.Or(n.Label, s.Label)
}

// describeFormer describes the steps that the current version does not have, by the latest
// of the versions that were counted.
func (e *Engine) describeFormer(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID,
	steps map[verification.NodeID]*StepNumbers, counted map[int]bool,
) error {
	isDescribed := func(s *StepNumbers) bool { return s.Type != "" }
	former := slices.DeleteFunc(slices.Collect(maps.Values(steps)), isDescribed)
	if len(former) == 0 {
		return nil
	}
	versions, err := e.ports.Store.Versions(ctx, t, id, store.PageQuery{Limit: store.MaxLimit})
	if err != nil {
		return err
	}
	for _, info := range versions.Data {
		if len(former) == 0 {
			break
		}
		if !counted[info.Number] {
			continue
		}
		v, err := e.ports.Store.Version(ctx, t, id, info.Hash)
		if err != nil {
			return err
		}
		for _, s := range former {
			s.describe(v.Definition)
		}
		former = slices.DeleteFunc(former, isDescribed)
	}
	return nil
}

// sortedSteps returns steps in an order, and those that have none last, by id.
func sortedSteps(steps map[verification.NodeID]*StepNumbers, order map[verification.NodeID]int) []StepNumbers {
	var all []StepNumbers
	for _, s := range steps {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b StepNumbers) int {
		last := len(order) + 1
		return cmp.Or(cmp.Or(order[a.Node], last)-cmp.Or(order[b.Node], last), cmp.Compare(a.Node, b.Node))
	})
	return all
}

// queueNumbers describes the review queue now.
func (e *Engine) queueNumbers(ctx context.Context, t verification.TenantID, w verification.WorkflowID) (n QueueNumbers, err error) {
	q := store.RunQuery{Order: store.OldestFirst, Workflow: w, Now: e.now()}
	first := q
	first.Limit = 1
	p, err := e.ports.Store.List(ctx, t, first)
	if err != nil {
		return n, err
	}
	n.Ages, n.Open = queueAges(), p.Total
	for _, s := range p.Data {
		n.Oldest = s.Review.Since
	}
	overdue := q
	overdue.DueBefore = q.Now
	if n.Overdue, err = e.total(ctx, t, overdue); err != nil {
		return n, err
	}
	for _, age := range n.Ages {
		q.SinceBefore = q.Now.Add(-age)
		count, err := e.total(ctx, t, q)
		if err != nil {
			return n, err
		}
		n.SinceCounts = append(n.SinceCounts, count)
	}
	return n, nil
}

// TransitionQuery selects the transitions of one version of a workflow.
type TransitionQuery struct {
	Workflow verification.WorkflowID
	Version  int // its number, 1 for the first
	// First and Last bound the days of the transitions; zero is no bound.
	First, Last view.Day
}

// TransitionCounts says how often the runs of a version moved from node to node.
type TransitionCounts struct {
	// Transitions counts by transition. A run that takes one twice counts twice.
	Transitions map[verification.Transition]int
	// Stopped counts the runs that expired, were cancelled or failed at a node.
	Stopped map[verification.NodeID]int
}

// TransitionCounts counts the transitions of the runs of a version.
func (e *Engine) TransitionCounts(ctx context.Context, t verification.TenantID, q TransitionQuery) (TransitionCounts, error) {
	if q.Last == 0 {
		q.Last = view.DayOf(e.now(), time.UTC) + 1 // every zone is at most a day ahead
	}
	found, err := e.ports.Store.Measures(ctx, t, view.MeasureQuery{
		Workflow: q.Workflow, Version: q.Version, First: q.First, Last: q.Last,
		Totals: []view.MeasureName{view.MeasureTransition, view.MeasureStopped},
	})
	if err != nil {
		return TransitionCounts{}, err
	}
	c := TransitionCounts{Transitions: map[verification.Transition]int{}, Stopped: map[verification.NodeID]int{}}
	for _, m := range found {
		if m.Name == view.MeasureTransition {
			c.Transitions[view.ParseTransition(m.Key)] += sum(m.Counts)
		} else {
			c.Stopped[verification.NodeID(m.Key)] += sum(m.Counts)
		}
	}
	return c, nil
}
