// Measures: what the numbers of the service are added up from.

package store

import (
	"math"
	"slices"
	"strconv"
	"strings"
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

// The measures.
const (
	// MeasureStarted counts the runs that started.
	MeasureStarted MeasureName = "started"
	// MeasureEnded counts the runs that ended. The key is the terminal status and, of
	// a completed run with an outcome, ":" and the outcome.
	MeasureEnded MeasureName = "ended"
	// MeasureDecided counts completed runs when they are decided: at the end of the run if it
	// needs no verdict, otherwise at its verdict. A run that needs another verdict after a
	// re-screening counts again. ParseDecided decodes the key.
	MeasureDecided MeasureName = "decided"
	// MeasureTransition counts the transitions of the runs of a version. ParseTransition
	// decodes its key.
	MeasureTransition MeasureName = "transition"
	// MeasureStopped counts the runs of a version that ended at a node that is not an
	// end node. The key is the node.
	MeasureStopped MeasureName = "stopped"
	// MeasureVerdict counts verdicts; the key is the decision. MeasureVerdictTime
	// counts those that the run needed, by the time since it began to need one; the key
	// is a duration bucket.
	MeasureVerdict     MeasureName = "verdict"
	MeasureVerdictTime MeasureName = "verdict_time"
	// MeasureVerdictReason counts the rejections with a reason; the key is its code.
	MeasureVerdictReason MeasureName = "verdict_reason"
	// MeasureVerdictBy counts verdicts by reviewer; the key is the decision, ":" and the
	// name, which is empty for a client that names nobody. The names are personal data: they
	// must not reach a log or a metric, and an engine keeps them from its observer.
	MeasureVerdictBy MeasureName = "verdict_by"
	// MeasureChecked counts the results of checks, at each visit; the key is the node and
	// ":passed" or ":failed". ParseChecked decodes it.
	MeasureChecked MeasureName = "checked"
	// MeasureHits counts the screenings, also those of completed runs, that found hits; the
	// key is the node. MeasureRunHits counts the runs, at their first such screening.
	MeasureHits    MeasureName = "hits"
	MeasureRunHits MeasureName = "run_hits"
	// MeasureDispatchFailed counts dispatches without a result; the key is the
	// provider. MeasureDispatchTime counts those with a result, by the time from the
	// dispatch to the result; the key is a duration bucket, ":" and the provider.
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

// MeasureKey says what a Measure counts.
type MeasureKey struct {
	Name MeasureName
	Key  string
	// Version is the number of the version; 0 unless measures of this name are counted
	// by version.
	Version int
}

// transitionKey encodes a transition in the key of a MeasureTransition; node ids have no ":".
func transitionKey(t rules.Transition) string {
	key := string(t.From) + ":" + string(t.To)
	if t.On != "" && t.On != "next" {
		key += ":" + t.On
	}
	return key
}

// ParseTransition returns the transition of the key of a MeasureTransition.
func ParseTransition(key string) rules.Transition {
	from, rest, _ := strings.Cut(key, ":")
	to, on, given := strings.Cut(rest, ":")
	if !given && from != "" {
		on = "next"
	}
	return rules.Transition{From: verification.NodeID(from), To: verification.NodeID(to), On: on}
}

// decidedKey encodes a decision in the key of a MeasureDecided.
func decidedKey(d rules.Decision, outcome string) string {
	if d == rules.DecisionNone {
		return ":" + outcome
	}
	return string(d)
}

// ParseDecided returns the verdict in the key of a MeasureDecided or, for DecisionNone, the
// outcome of a run that was completed without a verdict; it is empty for none.
func ParseDecided(key string) (d rules.Decision, outcome string) {
	verdict, outcome, _ := strings.Cut(key, ":")
	return rules.Decision(verdict), outcome
}

// ParseVerdictBy returns the decision and the name in the key of a MeasureVerdictBy.
func ParseVerdictBy(key string) (d rules.Decision, name string) {
	verdict, name, _ := strings.Cut(key, ":")
	return rules.Decision(verdict), name
}

// The ends of the keys of a MeasureChecked.
const passedSuffix, failedSuffix = ":passed", ":failed"

// ParseChecked returns the node in the key of a MeasureChecked, and whether the check passed.
func ParseChecked(key string) (node verification.NodeID, passed bool) {
	id, _, _ := strings.Cut(key, ":")
	return verification.NodeID(id), strings.HasSuffix(key, passedSuffix)
}

// Measures returns the measures of an append whose events lead from the state before to
// another, by the days of a zone. Each event is counted once, however the events of a run
// were divided into appends, as long as the events of one decision are in one of them.
func Measures(before rules.Run, events []rules.Event, zone *time.Location) []Measure {
	m := measuring{
		before: before, events: events, zone: zone, version: before.Started.Version,
		at: before.Wait.Node, provider: before.Wait.Provider, dispatchedAt: before.Wait.Since,
	}
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
	events  []rules.Event
	zone    *time.Location
	version int
	at      verification.NodeID // the node that the run is at

	provider     string // of the last dispatch
	dispatchedAt time.Time

	day   Day // of the event
	found []Measure
}

// measure counts everything of one event but a transition.
func (m *measuring) measure(event int) {
	e := m.events[event]
	m.day = DayOf(e.At, m.zone)
	switch f := e.Fact.(type) {
	case rules.Started:
		m.version = f.Version
		m.count(MeasureStarted, "")
	case rules.Dispatched:
		m.provider, m.dispatchedAt = f.Provider, e.At
	case rules.ResultRecorded:
		m.count(MeasureDispatchTime, durationKey(e.At.Sub(m.dispatchedAt))+":"+m.provider)
		m.check(event, f)
	case rules.DispatchFailed:
		m.count(MeasureDispatchFailed, m.provider)
	case rules.HitsFound:
		m.hits(event, f.Node)
	case rules.VerdictRecorded:
		m.verdict(event, f)
	case rules.Completed:
		m.end(rules.StatusCompleted, f.Outcome)
		if d := m.runAt(event + 1).Decision(); d != rules.DecisionReview {
			m.count(MeasureDecided, decidedKey(d, f.Outcome))
		}
	case rules.Failed:
		m.stop(rules.StatusFailed)
	case rules.Expired:
		m.stop(rules.StatusExpired)
	case rules.Cancelled:
		m.stop(rules.StatusCancelled)
	}
}

// runAt returns the run before an event.
func (m *measuring) runAt(event int) rules.Run { return m.before.EvolveAll(m.events[:event]) }

// check counts the result of a check.
func (m *measuring) check(event int, f rules.ResultRecorded) {
	suffix := failedSuffix
	if f.Passed {
		suffix = passedSuffix
	}
	m.count(MeasureChecked, string(f.Node)+suffix)
	if f.Screening != nil && len(f.Screening.Hits) > 0 {
		m.hits(event, f.Node)
	}
}

// hits counts a screening that found hits.
func (m *measuring) hits(event int, node verification.NodeID) {
	m.count(MeasureHits, string(node))
	if !m.runAt(event).HadHits {
		m.count(MeasureRunHits, "")
	}
}

func (m *measuring) verdict(event int, f rules.VerdictRecorded) {
	m.count(MeasureVerdict, string(f.Decision))
	m.count(MeasureVerdictBy, string(f.Decision)+":"+f.By)
	if f.Reason != "" {
		m.count(MeasureVerdictReason, f.Reason)
	}
	run := m.runAt(event)
	since, needed := run.InReview()
	if !needed {
		return
	}
	m.count(MeasureVerdictTime, durationKey(m.events[event].At.Sub(since)))
	if run.Ended == rules.StatusCompleted { // else it is decided when it is completed
		m.count(MeasureDecided, decidedKey(f.Decision, ""))
	}
}

func (m *measuring) count(name MeasureName, key string) {
	k := MeasureKey{Name: name, Key: key}
	if name.perVersion() {
		k.Version = m.version
	}
	m.found = append(m.found, Measure{MeasureKey: k, Day: m.day, Count: 1})
}

// arrive counts a transition.
func (m *measuring) arrive(t rules.Transition, at time.Time) {
	m.at, m.day = t.To, DayOf(at, m.zone)
	m.count(MeasureTransition, transitionKey(t))
}

// stop counts a run that ended at a node which is not an end.
func (m *measuring) stop(s rules.Status) {
	if m.at != "" {
		m.count(MeasureStopped, string(m.at))
	}
	m.end(s, "")
}

func (m *measuring) end(s rules.Status, outcome string) {
	key := string(s)
	if outcome != "" {
		key += ":" + outcome
	}
	m.count(MeasureEnded, key)
}

// A duration is counted in a bucket whose upper bound is at most 19 % above its lower
// one: bucket n ends at 2^(n/4) ms, and bucket 0 has everything up to 1 ms.
const bucketsPerDoubling = 4

func durationKey(d time.Duration) string {
	if d <= time.Millisecond { // also of a clock that is behind
		return "0"
	}
	n := math.Ceil(bucketsPerDoubling * math.Log2(float64(d)/float64(time.Millisecond)))
	return strconv.Itoa(int(n))
}

// Duration returns the upper bound of the duration bucket in the key: the duration is at
// most 19 % shorter, or 1 ms. It returns 0 for a key without a bucket.
func (k MeasureKey) Duration() time.Duration {
	digits, _, _ := strings.Cut(k.Key, ":")
	bucket, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return bucketEnd(bucket)
}

func bucketEnd(bucket int) time.Duration {
	return time.Duration(math.Exp2(float64(bucket)/bucketsPerDoubling) * float64(time.Millisecond))
}

// DurationCounts counts durations by bucket.
type DurationCounts map[int]int

// Add counts n durations in the bucket that the key of a measure names, before a ":" if
// it has one. It ignores a key without a bucket.
func (c DurationCounts) Add(key string, n int) {
	digits, _, _ := strings.Cut(key, ":")
	if bucket, err := strconv.Atoi(digits); err == nil {
		c[bucket] += n
	}
}

// Total returns the number of durations.
func (c DurationCounts) Total() (n int) {
	for _, count := range c {
		n += count
	}
	return n
}

// Quantile returns the duration that a share of all durations, such as 0.95, do not
// exceed. It is at most 19 % above the exact one, or 1 ms if that is less than 1 ms; 0
// if there are none.
func (c DurationCounts) Quantile(share float64) time.Duration {
	buckets := make([]int, 0, len(c))
	for bucket := range c {
		buckets = append(buckets, bucket)
	}
	slices.Sort(buckets)
	left := int(math.Ceil(share * float64(c.Total())))
	for _, bucket := range buckets {
		if left -= c[bucket]; left <= 0 && c[bucket] > 0 {
			return bucketEnd(bucket)
		}
	}
	return 0
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
