// Clients that repeat one operation, and its durations.

package bench_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// act is the operation that a client repeats; it returns its duration.
type act func(ctx context.Context, client int) (time.Duration, error)

// tally is the result of clients over some time.
type tally struct {
	elapsed time.Duration
	took    []time.Duration // of each act
}

// busy runs clients for a while and waits until their last operations are done.
func busy(b *testing.B, clients int, lasting time.Duration, do act) tally {
	b.Helper()
	each := make([][]time.Duration, clients)
	began := time.Now()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for time.Since(began) < lasting {
				took, err := do(b.Context(), c)
				if err != nil {
					b.Error(err)
					return
				}
				each[c] = append(each[c], took)
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return tally{elapsed: time.Since(began), took: slices.Concat(each...)}
}

func (t *tally) add(more tally) {
	t.elapsed += more.elapsed
	t.took = append(t.took, more.took...)
}

// rate returns the number of operations in a second.
func (t *tally) rate() float64 { return float64(len(t.took)) / t.elapsed.Seconds() }

// percentile returns the p-th percentile of the durations, in milliseconds.
func (t *tally) percentile(p int) float64 {
	if len(t.took) == 0 {
		return 0
	}
	slices.Sort(t.took)
	return float64(t.took[min(len(t.took)*p/100, len(t.took)-1)]) / float64(time.Millisecond)
}
