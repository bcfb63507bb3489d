// Measures: what the numbers of the service are added up from.

package verification

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MeasureInterval is the resolution of measures. Every time zone has its midnight at
// a multiple of it in UTC.
const MeasureInterval = 15 * time.Minute

// MeasureName says what is counted.
type MeasureName string

// The measures.
const (
	// MeasureStarted counts the runs that started.
	MeasureStarted MeasureName = "started"
	// MeasureEnded counts the runs that ended. The key is the terminal status and, of
	// a completed run with an outcome, ":" and the outcome.
	MeasureEnded MeasureName = "ended"
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
	// At is the beginning of the interval of MeasureInterval, in UTC.
	At    time.Time
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

// key encodes a transition in the key of a MeasureTransition; node ids have no ":".
func (t Transition) key() string {
	key := string(t.From) + ":" + string(t.To)
	if t.On != "" && t.On != "next" {
		key += ":" + t.On
	}
	return key
}

// ParseTransition returns the transition of the key of a MeasureTransition.
func ParseTransition(key string) Transition {
	from, rest, _ := strings.Cut(key, ":")
	to, on, given := strings.Cut(rest, ":")
	if !given && from != "" {
		on = "next"
	}
	return Transition{From: NodeID(from), To: NodeID(to), On: on}
}

// maxUnmeasured bounds the events of a run that wait to be measured.
const maxUnmeasured = 64

// unmeasured is the end of a history that no append has measured yet.
type unmeasured struct {
	events []Event
	// neededSince is when the run began to need the verdict among the events: there is at
	// most one, because events do not wait beyond a review. Zero if it needed none.
	neededSince time.Time

	// Of the run before the events: its node, and its last dispatch.
	at           NodeID
	provider     string
	dispatchedAt time.Time
}

// measureLater adds the event that led to the run. While the run waits for the result of
// a provider, its events wait to be measured, so that most appends have no measures.
// They are measured with the event that leads to another wait or to the end, or when
// there are maxUnmeasured. It depends only on the history, so that all hosts agree. The
// events of one decision are not divided.
func (r *Run) measureLater(e Event) {
	u := &r.unmeasured
	decided := r.Wait.Kind != WaitNothing || r.Ended != ""
	if decided && (r.Wait.Kind != WaitResult || len(u.events)+1 >= maxUnmeasured) {
		var room []Event
		if r.owns {
			clear(u.events)
			room = u.events[:0]
		}
		*u = unmeasured{events: room, at: r.Wait.Node, provider: r.Wait.Provider, dispatchedAt: r.Wait.Since}
		return
	}
	if !r.owns {
		u.events = slices.Clip(u.events)
	}
	u.events = append(u.events, e)
}

// Measures returns the measures of an append whose events lead from the state before to
// the state after. An append after which the run waits for the result of a provider has
// none, unless there are 64 events that no append has counted. Any other append also counts
// the events of the appends before it that had none. Once the run is at rest, each event is
// counted exactly once, however the events were divided into appends.
func Measures(before, after Run, events []Event) []Measure {
	u, later := before.unmeasured, len(after.unmeasured.events)
	if later == len(u.events)+len(events) {
		return nil
	}
	all := slices.Concat(u.events, events)
	m := measuring{
		before: before, events: all[:len(all)-later],
		version: before.Started.Version, at: u.at, provider: u.provider, dispatchedAt: u.dispatchedAt,
	}
	next := 0
	eachTransition(m.at, m.events, func(event int, t Transition) {
		for ; next < event; next++ {
			m.measure(next)
		}
		m.arrive(t, m.events[event].At)
	})
	for ; next < len(m.events); next++ {
		m.measure(next)
	}
	return m.found
}

// measuring is the state of Measures.
type measuring struct {
	before  Run     // before the append
	events  []Event // those of before.unmeasured first
	version int
	at      NodeID // the node that the run is at

	provider     string // of the last dispatch
	dispatchedAt time.Time

	time  time.Time // the beginning of the interval of the event
	found []Measure
}

// measure counts everything of one event but a transition.
func (m *measuring) measure(event int) {
	e := m.events[event]
	m.time = e.At.Truncate(MeasureInterval)
	switch f := e.Fact.(type) {
	case Started:
		m.version = f.Version
		m.count(MeasureStarted, "")
	case Dispatched:
		m.provider, m.dispatchedAt = f.Provider, e.At
	case ResultRecorded:
		m.count(MeasureDispatchTime, durationKey(e.At.Sub(m.dispatchedAt))+":"+m.provider)
	case DispatchFailed:
		m.count(MeasureDispatchFailed, m.provider)
	case VerdictRecorded:
		m.count(MeasureVerdict, string(f.Decision))
		if since := m.neededSince(event); !since.IsZero() {
			m.count(MeasureVerdictTime, durationKey(e.At.Sub(since)))
		}
	case Completed:
		m.end(StatusCompleted, f.Outcome)
	case Failed:
		m.stop(StatusFailed)
	case Expired:
		m.stop(StatusExpired)
	case Cancelled:
		m.stop(StatusCancelled)
	}
}

// neededSince returns when the run began to need the verdict of an event; zero if it
// needed none.
func (m *measuring) neededSince(event int) time.Time {
	first := len(m.before.unmeasured.events) // of the append
	if event < first {
		return m.before.unmeasured.neededSince
	}
	since, _ := m.before.EvolveAll(m.events[first:event]).InReview()
	return since
}

func (m *measuring) count(name MeasureName, key string) {
	k := MeasureKey{Name: name, Key: key}
	if name.perVersion() {
		k.Version = m.version
	}
	m.found = append(m.found, Measure{MeasureKey: k, At: m.time, Count: 1})
}

// arrive counts a transition.
func (m *measuring) arrive(t Transition, at time.Time) {
	m.at, m.time = t.To, at.Truncate(MeasureInterval)
	m.count(MeasureTransition, t.key())
}

// stop counts a run that ended at a node which is not an end.
func (m *measuring) stop(s Status) {
	if m.at != "" {
		m.count(MeasureStopped, string(m.at))
	}
	m.end(s, "")
}

func (m *measuring) end(s Status, outcome string) {
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
			return time.Duration(math.Exp2(float64(bucket)/bucketsPerDoubling) * float64(time.Millisecond))
		}
	}
	return 0
}

// MeasureQuery selects measures of a tenant.
type MeasureQuery struct {
	// Workflow selects the measures of one workflow. Without it, those of all
	// workflows are added up, except those that are counted by version.
	Workflow WorkflowID
	// Version selects one version by its number, for measures that are counted by
	// version; 0 selects all.
	Version int
	// Names are the measures that are added up from each cut to the next, and Totals
	// others that are added up from the first cut to the last.
	Names, Totals []MeasureName
	// Cuts are two or more ascending times, each a multiple of MeasureInterval.
	Cuts []time.Time
}

// MeasureCounts are the sums of a measure between the cuts of a query.
type MeasureCounts struct {
	MeasureKey
	Counts []int // Counts[i] is the sum from Cuts[i] to Cuts[i+1]; one sum for Totals
}
