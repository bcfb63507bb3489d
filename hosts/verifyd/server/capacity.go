// The memory of a store that keeps all runs in memory.

package server

import (
	"context"
	"log/slog"
	"math"
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/client_golang/prometheus"
)

// capacity is how much the runs of a store in memory may need.
type capacity struct {
	store interface {
		Kept() int64
		Limit(bytes int64)
	}
	limit int64 // in bytes; 0 for none
}

// newCapacity bounds a store to a share of the memory limit of the process, or of the memory of
// the machine if the process has no limit.
func newCapacity(c capacity, share float64, machine memlimit.Provider, log *slog.Logger) *capacity {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		all, err := machine()
		if err != nil && share > 0 {
			log.Warn("the memory of the machine is unknown, so the runs in memory have no limit; set GOMEMLIMIT", "error", err)
		}
		limit = int64(min(all, math.MaxInt64))
	}
	c.limit = int64(share * float64(limit))
	c.store.Limit(c.limit)
	return &c
}

// The shares of the limit at which the log says how much the runs need.
const (
	halfFull = 0.5
	full     = 1
)

// share returns the share of the limit that the runs need; 0 without a limit.
func (c *capacity) share() float64 {
	if c.limit == 0 {
		return 0
	}
	return float64(c.store.Kept()) / float64(c.limit)
}

// capacityEvery is the time between two looks at what the runs need.
const capacityEvery = 10 * time.Second

// watch logs when the store is half full and when it is full, until ctx ends.
func (c *capacity) watch(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(capacityEvery)
	defer tick.Stop()
	for said := 0.0; ctx.Err() == nil; {
		said = c.say(said, log)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// say logs a level that is reached and was not said before, and returns the level.
func (c *capacity) say(said float64, log *slog.Logger) (level float64) {
	share := c.share()
	for _, l := range []float64{halfFull, full} {
		if share >= l {
			level = l
		}
	}
	facts := []any{"bytes", c.store.Kept(), "limit", c.limit}
	switch {
	case level <= said:
	case level == full:
		log.Error("the runs need all the memory that they may: new runs get 503, and runs that exist go on; give the process more memory, or copy the data to PostgreSQL with verifyctl store copy", facts...)
	default:
		log.Warn("the runs need half of the memory that they may; plan for more memory, or for PostgreSQL", facts...)
	}
	return level
}

// capacityGauges reads what the runs need.
func capacityGauges(c *capacity) gauges {
	kept := prometheus.NewDesc("verifyd_store_bytes", "Memory that runs in memory need, with their work and deliveries; about.", nil, nil)
	limit := prometheus.NewDesc("verifyd_store_limit_bytes", "Memory that runs in memory may need: beyond it, new runs get 503. 0 for no limit.", nil, nil)
	return func(_ context.Context, set func(d *prometheus.Desc, value float64, labels ...string)) {
		set(kept, float64(c.store.Kept()))
		set(limit, float64(c.limit))
	}
}
