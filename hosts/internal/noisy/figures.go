// The durations and errors of calls.

package noisy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Call is a kind of call that the bystander makes.
type Call string

// The calls.
const (
	CallStart  Call = "start"  // from a start to a completed run of one check
	CallNotice Call = "notice" // from there until the webhook arrives
	CallList   Call = "list"   // a page of runs, or of the review queue
	CallReport Call = "report" // as JSON
	CallPDF    Call = "PDF"    // of a report that was not printed before
)

// Calls lists all calls.
func Calls() []Call { return []Call{CallStart, CallNotice, CallList, CallReport, CallPDF} }

// Figures are the samples of each kind of call.
type Figures map[Call]*Samples

// Samples are the durations of the calls of one kind. A call that timed out counts
// with its timeout; one that failed otherwise counts only as an error.
type Samples struct {
	Errors map[string]int // by cause

	mu     sync.Mutex
	took   []time.Duration
	sorted bool
}

func newFigures() Figures {
	f := Figures{}
	for _, c := range Calls() {
		f[c] = &Samples{Errors: map[string]int{}}
	}
	return f
}

// add adds a call.
func (s *Samples) add(took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.Errors[cause(err)]++
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		s.took = append(s.took, took)
		s.sorted = false
	}
}

// Count returns the number of calls with a duration.
func (s *Samples) Count() int { return len(s.took) }

// Quantile returns the duration that a fraction of the calls did not exceed, from 0
// to 1; 1 is the slowest call. Without calls it is 0.
func (s *Samples) Quantile(q float64) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	if !s.sorted {
		slices.Sort(s.took)
		s.sorted = true
	}
	return s.took[max(0, int(float64(len(s.took))*q+0.999999)-1)]
}

// p99 returns the 99 % quantile; without samples it is 0.
func (s *Samples) p99() time.Duration {
	if s == nil {
		return 0
	}
	return s.Quantile(0.99)
}
