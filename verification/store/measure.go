// Measures: what the numbers of the service are added up from.

package store

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// Day is a day of the calendar: the number of days since 1 January 1970.
type Day int

// DayOf returns the day of a time in a time zone.
func DayOf(t time.Time, zone *time.Location) Day {
	year, month, day := t.In(zone).Date()
	return Day(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
}

// ParseDay parses a day as YYYY-MM-DD. It returns ErrInvalid for any other text.
func ParseDay(s string) (Day, error) {
	date, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, verification.Invalid("day", "must be a date, as YYYY-MM-DD")
	}
	return DayOf(date, time.UTC), nil
}

// Date returns the beginning of the day in UTC.
func (d Day) Date() time.Time { return time.Unix(0, 0).UTC().AddDate(0, 0, int(d)) }

// String returns the day as YYYY-MM-DD.
func (d Day) String() string { return d.Date().Format(time.DateOnly) }

// MeasureName says what is counted.
type MeasureName string

// The measures, and which MeasureParts their keys have.
const (
	// MeasureStarted counts the runs that started.
	MeasureStarted MeasureName = "started"
	// MeasureEnded counts the runs that ended, by Status and, of completed runs, by Outcome.
	MeasureEnded MeasureName = "ended"
	// MeasureIncomplete counts the completed runs of whose data a value could not be computed, by Node.
	MeasureIncomplete MeasureName = "incomplete"
	// MeasureDecided counts completed runs when they are decided: at the end of the run if it
	// needs no verdict, otherwise at its verdict. A run that needs another verdict after a
	// re-screening counts again. It counts by Decision, and by Outcome if there was no verdict.
	MeasureDecided MeasureName = "decided"
	// MeasureTransition counts the transitions of the runs of a version, by Transition.
	MeasureTransition MeasureName = "transition"
	// MeasureStopped counts the runs of a version that ended at a node that is not an
	// end node, by Node.
	MeasureStopped MeasureName = "stopped"
	// MeasureVerdict counts verdicts by Decision. MeasureVerdictTime counts the verdicts that
	// runs needed by Duration, see rules.Review.From.
	MeasureVerdict     MeasureName = "verdict"
	MeasureVerdictTime MeasureName = "verdict_time"
	// MeasureDue counts the verdicts on runs with a due time, by Passed: whether they were given in time.
	MeasureDue MeasureName = "due"
	// MeasureRounds counts how often a customer was asked again, and MeasureUnscreened the completed runs in which a check
	// that screens was not called.
	MeasureRounds     MeasureName = "rounds"
	MeasureUnscreened MeasureName = "unscreened"
	// MeasureVerdictReason counts the rejections with a reason, by Reason.
	MeasureVerdictReason MeasureName = "verdict_reason"
	// MeasureVerdictBy counts verdicts by Decision and By. The names are personal data: they
	// must not reach a log or a metric, and an engine keeps them from its observer.
	MeasureVerdictBy MeasureName = "verdict_by"
	// MeasureChecked counts the results of checks, and how groups of checks were decided, at each visit, by Node and Passed.
	MeasureChecked MeasureName = "checked"
	// MeasureHits counts the screenings, also of completed runs, that found hits, by
	// Node. MeasureRunHits counts the runs, at their first such screening.
	MeasureHits    MeasureName = "hits"
	MeasureRunHits MeasureName = "run_hits"
	// MeasureDispatchFailed counts dispatches without a result, by Provider.
	// MeasureDispatchTime counts dispatches with a result by Provider and Duration, from the
	// dispatch to the result. Where the customer was led away, the Duration begins when the customer was last here, and a
	// dispatch without a return is not counted.
	MeasureDispatchFailed MeasureName = "dispatch_failed"
	MeasureDispatchTime   MeasureName = "dispatch_time"
)

// perVersion reports whether the measure is counted by the version of the workflow.
func (n MeasureName) perVersion() bool { return n == MeasureTransition || n == MeasureStopped }

// Measure is something that was counted in a run, as a part of a Commit.
type Measure struct {
	MeasureKey
	// Day is the day in the zone that the tenant had when the run started.
	Day   Day
	Count int
}

// Measures returns the measures of an append whose events lead from the state before to
// another, by the days of a zone. Each event is counted once, however the events of a run
// were divided into appends, as long as the events of one decision are in one of them.
func Measures(before rules.Run, events []rules.Event, zone *time.Location) []Measure {
	return measures(before, before.EvolveAll(events), events, zone)
}

func measures(before, after rules.Run, events []rules.Event, zone *time.Location) []Measure {
	m := measuring{before: before, after: after, events: events, zone: zone, version: before.Started.Version}
	m.at, _, _ = before.Wait().Node.Parts()
	next := 0
	rules.EachTransition(m.at, events, func(event int, t rules.Transition) {
		for ; next < event; next++ {
			m.measure(next)
		}
		m.arrive(t, events[event].At)
	})
	for ; next < len(events); next++ {
		m.measure(next)
	}
	return m.found
}

// measuring is the state of Measures.
type measuring struct {
	before  rules.Run
	after   rules.Run
	events  []rules.Event
	zone    *time.Location
	version int
	at      verification.NodeID // the node that the run is at

	day   Day // of the event
	found []Measure
}

// measure counts everything of one event but a transition.
func (m *measuring) measure(event int) {
	e := m.events[event]
	m.day = DayOf(e.At, m.zone)
	switch f := e.Fact.(type) { //nolint:gochecksumtype // only these are measured
	case rules.Started:
		m.version = f.Version
		m.count(MeasureStarted, MeasureParts{})
	case rules.ResultRecorded:
		m.dispatchTime(event, f.Node)
		m.check(event, f)
	case rules.NoAnswer:
		m.dispatchTime(event, f.Node)
	case rules.GroupDecided:
		if g, ok := m.runAt(event).Group(f.Node); ok && !g.Each {
			m.count(MeasureChecked, MeasureParts{Node: f.Node.InDefinition(), Passed: f.Passed})
		}
	case rules.DispatchFailed:
		provider, _ := m.dispatched(event, f.Node)
		m.count(MeasureDispatchFailed, MeasureParts{Provider: provider})
	case rules.HitsFound:
		m.hits(event, f.Node)
	case rules.AskedAgain:
		m.count(MeasureRounds, MeasureParts{})
	case rules.VerdictRecorded:
		m.verdict(event, f)
	case rules.Completed:
		m.count(MeasureEnded, MeasureParts{Status: rules.StatusCompleted, Outcome: f.Outcome})
		if len(f.Lacking) > 0 {
			m.count(MeasureIncomplete, MeasureParts{Node: f.Node})
		}
		run := m.runAt(event + 1)
		if d := run.Decision(); d != rules.DecisionReview {
			m.count(MeasureDecided, MeasureParts{Decision: d, Outcome: f.Outcome})
		}
		if len(run.Unscreened) > 0 {
			m.count(MeasureUnscreened, MeasureParts{})
		}
	case rules.Failed:
		m.stop(rules.StatusFailed)
	case rules.Expired:
		m.stop(rules.StatusExpired)
	case rules.Cancelled:
		m.stop(rules.StatusCancelled)
	}
}

// runAt returns the run before an event, or after all of them.
func (m *measuring) runAt(event int) rules.Run {
	if event == len(m.events) {
		return m.after
	}
	return m.before.EvolveAll(m.events[:event])
}

// check counts the result of a check.
func (m *measuring) check(event int, f rules.ResultRecorded) {
	m.count(MeasureChecked, MeasureParts{Node: f.Node.InDefinition(), Passed: f.Passed})
	if f.Screening != nil && len(f.Screening.Hits) > 0 {
		m.hits(event, f.Node)
	}
}

// hits counts a screening that found hits.
func (m *measuring) hits(event int, node verification.NodeID) {
	m.count(MeasureHits, MeasureParts{Node: node.InDefinition()})
	if !m.runAt(event).HadHits {
		m.count(MeasureRunHits, MeasureParts{})
	}
}

func (m *measuring) verdict(event int, f rules.VerdictRecorded) {
	m.count(MeasureVerdict, MeasureParts{Decision: f.Decision})
	m.count(MeasureVerdictBy, MeasureParts{Decision: f.Decision, By: f.By})
	if f.Reason != "" {
		m.count(MeasureVerdictReason, MeasureParts{Reason: f.Reason})
	}
	run := m.runAt(event)
	review, needed := run.Review()
	if !needed {
		return
	}
	m.count(MeasureVerdictTime, MeasureParts{Duration: m.events[event].At.Sub(review.From())})
	if !review.DueAt.IsZero() {
		m.count(MeasureDue, MeasureParts{Passed: !review.Overdue(m.events[event].At)})
	}
	if run.Ended == rules.StatusCompleted { // else it is decided when it is completed
		m.count(MeasureDecided, MeasureParts{Decision: f.Decision})
	}
}

func (m *measuring) count(name MeasureName, p MeasureParts) {
	k := MeasureKey{Name: name, Key: p.key(name)}
	if name.perVersion() {
		k.Version = m.version
	}
	m.found = append(m.found, Measure{MeasureKey: k, Day: m.day, Count: 1})
}

// arrive counts a transition.
func (m *measuring) arrive(t rules.Transition, at time.Time) {
	m.at, m.day = t.To, DayOf(at, m.zone)
	m.count(MeasureTransition, MeasureParts{Transition: t})
}

// stop counts a run that ended at a node which is not an end.
func (m *measuring) stop(s rules.Status) {
	if m.at != "" {
		m.count(MeasureStopped, MeasureParts{Node: m.at})
	}
	m.count(MeasureEnded, MeasureParts{Status: s})
}

// MeasureQuery selects measures of a tenant.
type MeasureQuery struct {
	// Workflow selects the measures of one workflow. Without it, the measures of all
	// workflows are added up, except measures that are counted by version.
	Workflow verification.WorkflowID
	// Version selects one version by its number, for measures that are counted by
	// version; 0 selects all.
	Version int
	// Names are the measures that are added up for each day from First to Last, and
	// Totals others that are added up for all of these days.
	Names, Totals []MeasureName
	First, Last   Day
}

// MeasureCounts are the sums of a measure on the days of a query.
type MeasureCounts struct {
	MeasureKey
	Counts []int // Counts[i] is the sum of day First+i; one sum for Totals
}
