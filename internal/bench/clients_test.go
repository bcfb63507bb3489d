// Clients that do one thing over and over, and how long it took them.

package bench_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// act is what a client does over and over; it tells how long it took.
type act func(ctx context.Context, client int) (time.Duration, error)

// tally is what clients did in some time.
type tally struct {
	elapsed time.Duration
	took    []time.Duration // of each act
}

// busy has clients act for a while, and waits for what they have begun.
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

// rate is how many acts there were in a second.
func (t *tally) rate() float64 { return float64(len(t.took)) / t.elapsed.Seconds() }

// percentile is how many milliseconds p in a hundred acts took at most.
func (t *tally) percentile(p int) float64 {
	if len(t.took) == 0 {
		return 0
	}
	slices.Sort(t.took)
	return float64(t.took[min(len(t.took)*p/100, len(t.took)-1)]) / float64(time.Millisecond)
}
