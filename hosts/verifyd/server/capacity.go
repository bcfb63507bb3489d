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

	"github.com/verifyd/verifyd/internal/cli"
)

// capacity is how much the runs of a store in memory may need.
type capacity struct {
	store interface {
		Kept() int64
		Refused() int64
		Limit(bytes int64)
	}
	limit int64 // in bytes; 0 for none

	said    float64 // the level that the log has
	refused int64   // how many runs had been refused at the last look
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

// The shares of the limit at which the log says how much the runs need. A run that ends needs
// less, so a store that refuses new runs may be a little below its limit: it counts as full
// until it is nearlyFull.
const (
	halfFull   = 0.5
	nearlyFull = 0.9
	full       = 1
)

// share returns the share of the limit that the runs need; 0 without a limit.
func (c *capacity) share() float64 {
	if c.limit == 0 {
		return 0
	}
	return float64(c.store.Kept()) / float64(c.limit)
}

// capacityEvery is the time between two looks at what the runs need.
const capacityEvery = time.Second

// watch logs when the store is half full and when it is full, until ctx ends. It looks at each
// interval.
func (c *capacity) watch(ctx context.Context, interval time.Duration, log *slog.Logger) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		c.say(log)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// say logs a level that is reached and was not said before.
func (c *capacity) say(log *slog.Logger) {
	share, refused, level := c.share(), c.store.Refused(), 0.0
	switch {
	case share >= full || refused > c.refused || c.said == full && share >= nearlyFull:
		level = full
	case share >= halfFull:
		level = halfFull
	}
	facts := []any{"bytes", c.store.Kept(), "limit", c.limit, "refused", refused}
	switch {
	case level <= c.said:
	case level == full:
		log.Error("the runs need all the memory that they may: new runs get 503, and runs that exist go on; "+
			"give the process more memory, raise "+cli.Setting("store-memory")+", or copy the data to PostgreSQL with verifyctl store copy", facts...)
	default:
		log.Warn("the runs need half of the memory that "+cli.Setting("store-memory")+" gives them; plan for more memory, or for PostgreSQL", facts...)
	}
	c.said, c.refused = level, refused
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
