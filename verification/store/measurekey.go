// The keys of measures, and the counts of durations.

package store

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// MeasureKey says what a Measure counts.
type MeasureKey struct {
	Name MeasureName
	Key  string // a text that has the MeasureParts of the measure; empty for a measure without them
	// Version is the number of the version; 0 unless measures of this name are counted
	// by version.
	Version int
}

// MeasureParts are what the runs or events of one MeasureKey have in common. The MeasureName says
// which of the fields are set.
type MeasureParts struct {
	Status     rules.Status
	Outcome    string // empty for none
	Decision   rules.Decision
	Transition rules.Transition
	Node       verification.NodeID
	Passed     bool
	Reason     string // a code
	By         string // a name; empty for a client that names nobody
	Provider   string
	// Duration is the upper bound of a bucket: the durations that are counted are at most 19 % shorter, or at most
	// 1 ms.
	Duration time.Duration
}

// key returns the key of a measure. Node ids have no ":".
func (p MeasureParts) key(name MeasureName) string {
	switch name {
	case MeasureStarted, MeasureRunHits, MeasureRounds, MeasureUnscreened:
	case MeasureDue:
		return passedOr(p.Passed)
	case MeasureEnded:
		return string(p.Status) + ifAny(p.Outcome)
	case MeasureDecided:
		if p.Decision == rules.DecisionNone {
			return ":" + p.Outcome
		}
		return string(p.Decision)
	case MeasureTransition:
		t := p.Transition
		if t.On == "next" {
			t.On = ""
		}
		return string(t.From) + ":" + string(t.To) + ifAny(t.On)
	case MeasureStopped, MeasureHits, MeasureIncomplete:
		return string(p.Node)
	case MeasureVerdict:
		return string(p.Decision)
	case MeasureVerdictTime:
		return strconv.Itoa(bucketOf(p.Duration))
	case MeasureVerdictReason:
		return p.Reason
	case MeasureVerdictBy:
		return string(p.Decision) + ":" + p.By
	case MeasureChecked:
		return string(p.Node) + ":" + passedOr(p.Passed)
	case MeasureDispatchFailed:
		return p.Provider
	case MeasureDispatchTime:
		return strconv.Itoa(bucketOf(p.Duration)) + ":" + p.Provider
	}
	return ""
}

func passedOr(passed bool) string {
	if passed {
		return "passed"
	}
	return "failed"
}

func ifAny(part string) string {
	if part == "" {
		return ""
	}
	return ":" + part
}

// Parts returns what the key says.
func (k MeasureKey) Parts() (p MeasureParts) {
	first, rest, _ := strings.Cut(k.Key, ":")
	switch k.Name {
	case MeasureStarted, MeasureRunHits, MeasureRounds, MeasureUnscreened:
	case MeasureDue:
		p.Passed = first == "passed"
	case MeasureEnded:
		p.Status, p.Outcome = rules.Status(first), rest
	case MeasureDecided:
		p.Decision, p.Outcome = rules.Decision(first), rest
	case MeasureTransition:
		to, on, given := strings.Cut(rest, ":")
		if !given && first != "" {
			on = "next"
		}
		p.Transition = rules.Transition{From: verification.NodeID(first), To: verification.NodeID(to), On: on}
	case MeasureStopped, MeasureHits, MeasureIncomplete:
		p.Node = verification.NodeID(k.Key)
	case MeasureVerdict:
		p.Decision = rules.Decision(k.Key)
	case MeasureVerdictReason:
		p.Reason = k.Key
	case MeasureVerdictBy:
		p.Decision, p.By = rules.Decision(first), rest
	case MeasureChecked:
		p.Node, p.Passed = verification.NodeID(first), rest == "passed"
	case MeasureDispatchFailed:
		p.Provider = k.Key
	case MeasureVerdictTime, MeasureDispatchTime:
		p.Provider = rest
		if bucket, err := strconv.Atoi(first); err == nil {
			p.Duration = bucketEnd(bucket)
		}
	}
	return p
}

// A duration is counted in a bucket whose upper bound is at most 19 % above its lower
// one: bucket n ends at 2^(n/4) ms, and bucket 0 has everything up to 1 ms.
const bucketsPerDoubling = 4

func bucketOf(d time.Duration) int {
	if d <= time.Millisecond { // also of a clock that is behind
		return 0
	}
	return int(math.Ceil(bucketsPerDoubling * math.Log2(float64(d)/float64(time.Millisecond))))
}

func bucketEnd(bucket int) time.Duration {
	return time.Duration(math.Exp2(float64(bucket)/bucketsPerDoubling) * float64(time.Millisecond))
}

// DurationCounts counts durations by the upper bounds of their buckets, see MeasureParts.Duration.
type DurationCounts map[time.Duration]int

// Add counts n durations of a bucket. It ignores 0, which is no bucket.
func (c DurationCounts) Add(bucket time.Duration, n int) {
	if bucket > 0 {
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
	left := int(math.Ceil(share * float64(c.Total())))
	for _, bucket := range slices.Sorted(maps.Keys(c)) {
		if left -= c[bucket]; left <= 0 && c[bucket] > 0 {
			return bucket
		}
	}
	return 0
}
