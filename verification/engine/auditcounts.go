// The reads of accounts, which the audit trail counts.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	// A count that the store may not have yet is saved after firstCount, so that a host that is killed has lost which run
	// an account has read for a second at most. Later reads only raise the count, and are saved every countFor.
	firstCount = time.Second
	countFor   = time.Minute
	// maxCounts bounds the counts of each kind that are not saved: they are saved at half as many. If the store does not
	// take them, further reads are counted as lost.
	maxCounts = 20_000
	// maxKnown bounds the counts that are known to be in the store.
	maxKnown = 100_000
	// maxSavedCounts bounds the counts that are saved at once.
	maxSavedCounts = 1000
)

// auditing has the reads that were recorded last, and the counts that are not saved.
type auditing struct {
	recent *lru.Cache[store.AuditEntry, time.Time] // by entry without ID and time

	mu            sync.Mutex
	seed          maphash.Seed
	known         map[uint64]struct{} // hashes of the counts that the store has
	first, raised counting
	closed        bool
	saving        sync.WaitGroup
}

// counting are counts that are saved together.
type counting struct {
	counts map[countKey]tally
	every  time.Duration
	stop   func() bool // the timer, if there are counts
}

// countKey is what the reads of one entry have in common.
type countKey struct {
	tenant verification.TenantID
	run    verification.RunID // empty for what is counted by day
	action store.AuditAction
	actor  verification.Actor
	began  time.Time // the start of the run, or the begin of the day
}

// tally is a count, and its first and its last time.
type tally struct {
	n        int
	at, last time.Time
}

func (c tally) add(more tally) tally {
	if c.n == 0 {
		return more
	}
	c.n += more.n
	if more.at.Before(c.at) {
		c.at = more.at
	}
	if more.last.After(c.last) {
		c.last = more.last
	}
	return c
}

func newAuditing() *auditing {
	return &auditing{
		recent: lru.New[store.AuditEntry](maxRecentReads, 1, func(time.Time) int { return 1 }),
		seed:   maphash.MakeSeed(), known: map[uint64]struct{}{},
		first:  counting{counts: map[countKey]tally{}, every: firstCount},
		raised: counting{counts: map[countKey]tally{}, every: countFor},
	}
}

// dayOf returns the begin of the day of a time, in UTC.
func dayOf(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

// lost returns the key of what an account has read on a day and no other count has.
func (k countKey) lost(at time.Time) countKey {
	return countKey{tenant: k.tenant, actor: k.actor, action: store.AuditReadsLost, began: dayOf(at)}
}

// count counts a read of an account.
func (u *auditing) count(e *Engine, k countKey, at time.Time) {
	if at.Before(k.began) { // the clock of the host that started the run is ahead
		at = k.began
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	c := &u.raised
	if _, known := u.known[maphash.Comparable(u.seed, k)]; !known {
		c = &u.first
	}
	was, counted := c.counts[k]
	if !counted && len(c.counts) >= maxCounts {
		c, k = &u.raised, k.lost(at)
		was = c.counts[k]
		e.opt.Observer.ReadsLost(1)
	}
	c.counts[k] = was.add(tally{1, at, at})
	save := u.saveLaterLocked(e, c)
	if !counted && len(c.counts) == maxCounts/2 && c.stop() { // once: what was not saved is tried again in time
		c.stop = func() bool { return false } // until it is saved
		go save()
	}
}

// saveLaterLocked has counts saved in time, and returns what saves them.
func (u *auditing) saveLaterLocked(e *Engine, c *counting) (save func()) {
	save = func() {
		defer u.saving.Done()
		u.save(context.Background(), e, c)
	}
	if c.stop == nil {
		u.saving.Add(1)
		c.stop = e.ports.Clock.AfterFunc(c.every, save)
	}
	return save
}

// save saves counts. Those that the store does not take now are counted on; those for which it has no room are lost, which
// the entry of their day says.
func (u *auditing) save(ctx context.Context, e *Engine, c *counting) {
	u.mu.Lock()
	counts := c.counts
	c.counts, c.stop = map[countKey]tally{}, nil
	u.mu.Unlock()
	tenants := map[verification.TenantID][]countKey{}
	for k := range counts {
		tenants[k.tenant] = append(tenants[k.tenant], k)
	}
	for _, t := range slices.Sorted(maps.Keys(tenants)) { // one that is full does not keep the others from it
		for keys := range slices.Chunk(tenants[t], maxSavedCounts) {
			err := u.saveCounts(ctx, e, keys, counts)
			if errors.Is(err, store.ErrFull) {
				err = u.saveLost(ctx, e, keys, counts)
			}
			if err != nil {
				e.log.WarnContext(ctx, "reads of accounts are not in the audit trail yet", "tenant", t, "counts", len(keys), "error", err)
				u.countOn(e, c, keys, counts)
			}
		}
	}
}

// saveCounts saves the counts of keys of one tenant.
func (u *auditing) saveCounts(ctx context.Context, e *Engine, keys []countKey, counts map[countKey]tally) error {
	all := make([]store.AuditEntry, len(keys))
	for i, k := range keys {
		sum := sha256.Sum256([]byte(string(k.actor.Kind) + "\x00" + k.actor.ID + "\x00" + string(k.action) + "\x00" + string(k.run)))
		n := counts[k]
		all[i] = store.AuditEntry{
			Tenant: k.tenant, ID: store.AuditID(k.began, hex.EncodeToString(sum[:16])), At: n.at, LastAt: n.last, Actor: k.actor,
			Action: k.action, Run: k.run, Count: n.n,
		}
	}
	err := e.ports.Store.AppendAudit(ctx, all)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known)+len(keys) > maxKnown {
		clear(u.known) // each is saved within firstCount once more
	}
	for _, k := range keys {
		u.known[maphash.Comparable(u.seed, k)] = struct{}{}
	}
	return nil
}

// saveLost saves the counts of keys of one tenant whose trail is full: those of runs are lost.
func (u *auditing) saveLost(ctx context.Context, e *Engine, keys []countKey, counts map[countKey]tally) error {
	kept, lost := map[countKey]tally{}, 0
	for _, k := range keys {
		n := counts[k]
		if k.run != "" {
			k, lost = k.lost(n.last), lost+n.n
		}
		kept[k] = kept[k].add(n)
	}
	err := u.saveCounts(ctx, e, slices.Collect(maps.Keys(kept)), kept)
	if err == nil && lost > 0 {
		e.opt.Observer.ReadsLost(lost)
		e.log.ErrorContext(ctx, "the audit trail of a tenant is full: reads of accounts are only in the counts of lost reads", "tenant", keys[0].tenant, "reads", lost)
	}
	return err
}

// countOn counts on from counts that were not saved.
func (u *auditing) countOn(e *Engine, c *counting, keys []countKey, counts map[countKey]tally) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c == &u.first { // it is tried again when the others are saved, and not every second
		c = &u.raised
	}
	for _, k := range keys {
		n := counts[k]
		if _, counted := c.counts[k]; !counted && len(c.counts) >= maxCounts && k.run != "" {
			k = k.lost(n.last)
			e.opt.Observer.ReadsLost(n.n)
		}
		c.counts[k] = c.counts[k].add(n)
	}
	if !u.closed { // close saves them
		u.saveLaterLocked(e, c)
	}
}

// close saves the counts, and waits until they are saved.
func (u *auditing) close(ctx context.Context, e *Engine) {
	u.mu.Lock()
	u.closed = true
	for _, c := range []*counting{&u.first, &u.raised} {
		if c.stop != nil && c.stop() {
			u.saving.Done()
		}
	}
	u.mu.Unlock()
	u.saving.Wait()
	u.save(ctx, e, &u.first)
	u.save(ctx, e, &u.raised)
}
