// The memory of a store that keeps all runs in memory.

package server

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
)

// capacity is how much a store in memory may keep, and how much the process may need.
type capacity struct {
	store      bounded
	limits     memstore.Limits // zero for none
	process    *processMemory
	thresholds thresholds

	needed   atomic.Int64 // by the process, at the last look
	pressure memstore.Pressure
	said     level
	saidOf   map[verification.TenantID]bool // tenants whose share is full
	// saidTrail are tenants whose audit trail is full.
	saidTrail map[verification.TenantID]bool
	refused   int64 // how much had been refused at the last look
	looks     int   // without a collection
}

// bounded is a store whose growth has limits.
type bounded interface {
	Kept() int64
	Refused() int64
	Use() []memstore.TenantUse
	Limit(l memstore.Limits)
	SetPressure(p memstore.Pressure)
}

// answerRoom is the part of the memory limit that answers to runs that exist may have beyond the
// share of new runs.
const answerRoom = 0.125

// newCapacity returns the capacity of a store: a share of the memory limit of the process, or of
// the memory of the machine if the process has no limit. It holds from enforce on.
func newCapacity(store bounded, s Settings, machine memlimit.Provider, log *slog.Logger) *capacity {
	c := &capacity{store: store, process: newProcessMemory(store.Kept), saidOf: map[verification.TenantID]bool{}, saidTrail: map[verification.TenantID]bool{}}
	if s.StoreMemory == 0 {
		return c
	}
	limit := memoryOf(machine)
	if limit == 0 {
		log.Warn("the memory of the machine is unknown, so the runs in memory have no limit; set GOMEMLIMIT")
		return c
	}
	c.limits = memstore.Limits{
		Runs:    int64(s.StoreMemory * float64(limit)),
		Answers: int64((s.StoreMemory + answerRoom) * float64(limit)),
		Share:   s.TenantShare,
	}
	c.thresholds = newThresholds(limit)
	return c
}

// memoryOf returns the memory limit of the process, or the memory of the machine if the process
// has no limit; 0 if that is unknown.
func memoryOf(machine memlimit.Provider) int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	all, err := machine()
	if err != nil {
		return 0
	}
	return int64(min(all, math.MaxInt64))
}

// enforce makes the limits hold.
func (c *capacity) enforce() { c.store.Limit(c.limits) }

// level is what the log says about the memory.
type level int

const (
	enough level = iota
	halfFull
	noRuns
	noAnswers
	noWork
)

// nearlyFull is the share of a limit below which a store that was full is not full any more: a
// run that ends needs less.
const nearlyFull = 0.9

// capacityEvery is the time between two looks at what the process needs.
const capacityEvery = 250 * time.Millisecond

// watch looks at each interval until ctx ends: it sets the pressure of the store, and logs when
// that or the count of the store reaches another level.
func (c *capacity) watch(ctx context.Context, interval time.Duration, log *slog.Logger) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		c.look()
		c.say(log)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// looksToCollect is the number of looks after which the host collects garbage itself, because the
// size of the live objects is known only after a collection.
const looksToCollect = 40

// look sets the pressure of the store.
func (c *capacity) look() {
	before := c.process.collections
	needed := c.process.needed()
	c.needed.Store(needed)
	if c.limits.Runs == 0 {
		return
	}
	c.pressure = c.thresholds.at(needed, c.pressure)
	c.store.SetPressure(c.pressure)
	if c.looks++; c.pressure == memstore.NoPressure || c.process.collections != before {
		c.looks = 0
	}
	if c.looks == looksToCollect {
		c.looks = 0
		runtime.GC()
	}
}

// level returns what the host refuses now.
func (c *capacity) level() level {
	kept, refused := float64(c.store.Kept()), c.store.Refused() > c.refused
	share := func(limit int64) float64 {
		if limit == 0 {
			return 0
		}
		return kept / float64(limit)
	}
	runs, answers := share(c.limits.Runs), share(c.limits.Answers)
	switch {
	case c.pressure == memstore.LeaveWork:
		return noWork
	case c.pressure == memstore.RefuseAnswers, answers >= 1, c.said >= noAnswers && answers >= nearlyFull:
		return noAnswers
	case c.pressure == memstore.RefuseRuns, runs >= 1, refused, c.said >= noRuns && runs >= nearlyFull:
		return noRuns
	case runs >= 0.5:
		return halfFull
	}
	return enough
}

// say logs a level that is reached and was not said before, and tenants whose share is full.
func (c *capacity) say(log *slog.Logger) {
	at := c.level()
	c.sayTenants(log)
	facts := []any{
		"bytes", c.store.Kept(), "limit", c.limits.Runs, "process_bytes", c.needed.Load(), "process_limit", c.thresholds[memstore.RefuseRuns], "refused", c.store.Refused(),
	}
	const advice = "; give the process more memory, or copy the data to PostgreSQL with verifyctl store copy"
	switch {
	case at <= c.said:
	case at == noWork:
		log.Error("the process needs nearly all its memory: new runs, answers, uploads and notes get 503, and no checks are begun"+advice, facts...)
	case at == noAnswers:
		log.Error("the runs need more memory than they may: new runs, answers, uploads and notes get 503; results, verdicts and cancellations are taken"+advice, facts...)
	case at == noRuns:
		log.Error("the runs need all the memory that they may: new runs get 503, and runs that exist go on; "+
			"give the process more memory, raise "+cli.Setting("store-memory")+", or copy the data to PostgreSQL with verifyctl store copy", facts...)
	default:
		log.Warn("the runs need half of the memory that "+cli.Setting("store-memory")+" gives them; plan for more memory, or for PostgreSQL", facts...)
	}
	c.said, c.refused = at, c.store.Refused()
}

// sayTenants logs tenants whose share is full since the last look.
func (c *capacity) sayTenants(log *slog.Logger) {
	for _, u := range c.store.Use() {
		full := u.Share > 0 && u.Bytes >= u.Share
		if full && u.Refused > 0 && !c.saidOf[u.Tenant] {
			c.saidOf[u.Tenant] = true
			log.Error("a tenant's share of the memory or of the disk is full: its new runs get 503, and other tenants go on; give the host more of both, or raise "+
				cli.Setting("tenant-share"), "tenant", u.Tenant, "bytes", u.Bytes, "share", u.Share, "refused", u.Refused)
		}
		if float64(u.Bytes) < nearlyFull*float64(u.Share) {
			delete(c.saidOf, u.Tenant)
		}
		if u.Full && !c.saidTrail[u.Tenant] {
			log.Error("the audit trail of a tenant is full: what people read gets 503, what accounts read is counted as lost, and other tenants go on; "+
				"give the host more memory and disk, raise "+cli.Setting("tenant-share")+", or lower "+cli.Setting("keep-audit-reads"),
				"tenant", u.Tenant, "bytes", u.Trail, "disk_bytes", u.Disk)
		}
		if u.Full {
			c.saidTrail[u.Tenant] = true
		} else {
			delete(c.saidTrail, u.Tenant)
		}
	}
}

// maxTenantsShown bounds the tenants that metrics and the doctor name: those that need most.
const maxTenantsShown = 10

// largest returns the tenants that need most, most first.
func (c *capacity) largest() []memstore.TenantUse {
	all := c.store.Use()
	slices.SortFunc(all, func(a, b memstore.TenantUse) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Tenant, b.Tenant))
	})
	return all[:min(len(all), maxTenantsShown)]
}

// describe adds what the store needs to the facts of the host.
func (c *capacity) describe(f *cli.HostFacts) {
	f.StoreBytes, f.StoreLimit, f.StoreAnswers = c.store.Kept(), c.limits.Runs, c.limits.Answers
	f.Memory, f.MemoryLimits = c.needed.Load(), c.thresholds[memstore.RefuseRuns:]
	for _, u := range c.largest() {
		if u.Share > 0 && u.Bytes >= u.Share {
			f.FullTenants = append(f.FullTenants, string(u.Tenant))
		}
		if u.Full {
			f.FullTrails = append(f.FullTrails, string(u.Tenant))
		}
	}
}

// capacityGauges reads what the runs and the process need.
func capacityGauges(c *capacity) gauges {
	kept := prometheus.NewDesc("verifyd_store_bytes", "Memory that runs in memory need, with everything that belongs to them; about.", nil, nil)
	limit := prometheus.NewDesc("verifyd_store_limit_bytes", "Memory that runs in memory may need: beyond it, new runs get 503. 0 for no limit.", nil, nil)
	refused := prometheus.NewDesc("verifyd_store_refused", "New runs, answers, uploads and notes that got 503 for want of memory since the start.", nil, nil)
	needed := prometheus.NewDesc("verifyd_memory_needed_bytes", "Memory that the process needs apart from garbage.", nil, nil)
	threshold := prometheus.NewDesc("verifyd_memory_threshold_bytes", "What the process may need before the host refuses runs, answers, and leaves work.", []string{"refuses"}, nil)
	tenant := prometheus.NewDesc("verifyd_store_tenant_bytes", "Memory that the runs of a tenant need; of the ten tenants that need most.", []string{"tenant"}, nil)
	share := prometheus.NewDesc("verifyd_store_tenant_share_bytes", "Memory that the runs of a tenant may need, or less if the disk leaves less; of the ten tenants that need most.", []string{"tenant"}, nil)
	turnedAway := prometheus.NewDesc("verifyd_store_tenant_refused", "What a tenant got 503 for since the start because its share is full; of the ten tenants that need most.", []string{"tenant"}, nil)
	trail := prometheus.NewDesc("verifyd_audit_bytes", "What the audit trail of a tenant needs in memory, which is part of verifyd_store_tenant_bytes, and on disk; of the ten tenants that need most.", []string{"tenant", "where"}, nil)
	return func(_ context.Context, set func(d *prometheus.Desc, value float64, labels ...string)) {
		set(kept, float64(c.store.Kept()))
		set(limit, float64(c.limits.Runs))
		set(refused, float64(c.store.Refused()))
		set(needed, float64(c.needed.Load()))
		for p, name := range map[memstore.Pressure]string{memstore.RefuseRuns: "runs", memstore.RefuseAnswers: "answers", memstore.LeaveWork: "work"} {
			set(threshold, float64(c.thresholds[p]), name)
		}
		for _, u := range c.largest() {
			set(tenant, float64(u.Bytes), string(u.Tenant))
			set(share, float64(u.Share), string(u.Tenant))
			set(turnedAway, float64(u.Refused), string(u.Tenant))
			set(trail, float64(u.Trail), string(u.Tenant), "memory")
			set(trail, float64(u.Disk), string(u.Tenant), "disk")
		}
	}
}
