// The failures: hosts are killed and stopped, the database crashes and restarts, and
// connections are cut, drop data, and become slow.

package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// injector causes random failures, from a seed.
type injector struct {
	t       *testing.T
	cluster *cluster
	rng     *rand.Rand
	long    bool
	began   time.Time

	repairs  sync.WaitGroup // that are not done yet
	mu       sync.Mutex
	repaired map[*host]chan struct{} // closed when the connection is repaired
	failures failures
	counts   map[failureKind]int
}

// failureKind is one kind of failure.
type failureKind string

// The kinds of failures.
const (
	killHost        failureKind = "kill a host"
	stopHost        failureKind = "stop a host"
	killDatabase    failureKind = "kill the database"
	restartDatabase failureKind = "restart the database"
	cutConnection   failureKind = "cut a connection"
	dropTraffic     failureKind = "drop all data of a connection"
	dropResponses   failureKind = "drop the responses of the database"
	slowConnection  failureKind = "slow a connection"
)

func newInjector(t *testing.T, f *cluster, seed uint64, long bool) *injector {
	t.Helper()
	return &injector{
		t: t, cluster: f, rng: rand.New(rand.NewPCG(seed, 1)), long: long, began: time.Now(), counts: map[failureKind]int{},
		repaired: map[*host]chan struct{}{},
	}
}

// oneRound returns the failures of one round; the caller shuffles them.
func oneRound() []failureKind {
	return []failureKind{killHost, killHost, stopHost, killDatabase, restartDatabase, cutConnection, dropTraffic, dropResponses, slowConnection}
}

// run causes one round of failures, or in a long test whole rounds until length has
// passed. Then it waits for all repairs.
func (c *injector) run(ctx context.Context, length time.Duration) {
	for end := c.began.Add(length); ; {
		kinds := oneRound()
		c.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		for _, next := range kinds {
			c.wait(ctx, c.between())
			if ctx.Err() != nil || c.t.Failed() {
				break
			}
			c.cause(ctx, next)
		}
		if !c.long || time.Now().After(end) || ctx.Err() != nil || c.t.Failed() {
			break
		}
	}
	c.repairs.Wait()
}

// between returns a random time to wait before the next failure.
func (c *injector) between() time.Duration {
	if c.long {
		return c.randomDuration(500*time.Millisecond, 6*time.Second)
	}
	return c.randomDuration(200*time.Millisecond, time.Second)
}

// randomDuration returns a duration from low to high.
func (c *injector) randomDuration(low, high time.Duration) time.Duration {
	return low + time.Duration(c.rng.Int64N(int64(high-low)))
}

func (c *injector) cause(ctx context.Context, next failureKind) {
	slot := c.rng.IntN(len(c.cluster.roles))
	var err error
	switch next {
	case killHost:
		err = c.kill(ctx, slot)
	case stopHost:
		err = c.stop(slot)
	case killDatabase:
		err = c.outage(ctx, next, c.cluster.site.server.Kill)
	case restartDatabase:
		err = c.outage(ctx, next, func() error { return c.cluster.site.server.Stop(ctx) })
	case cutConnection:
		err = c.disturb(next, slot, (*databaseProxy).cut, (*databaseProxy).restore)
	case dropTraffic:
		err = c.disturb(next, slot, func(l *databaseProxy) error { return l.drop("upstream", "downstream") }, (*databaseProxy).clear)
	case dropResponses:
		err = c.disturb(next, slot, func(l *databaseProxy) error { return l.drop("downstream") }, (*databaseProxy).clear)
	case slowConnection:
		err = c.disturb(next, slot, (*databaseProxy).slow, (*databaseProxy).clear)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[next]++
	if err != nil {
		c.t.Errorf("%s: %v", next, err)
	}
}

// log logs a failure and its time.
func (c *injector) log(next failureKind, format string, args ...any) {
	c.t.Helper()
	c.t.Logf("%6.2fs %s: %s", time.Since(c.began).Seconds(), next, fmt.Sprintf(format, args...))
}

// kill kills the host in a slot and starts another one.
func (c *injector) kill(ctx context.Context, slot int) error {
	h := c.cluster.take(slot)
	c.log(killHost, "%s (%s)", h.Name, h.roles)
	from := time.Now()
	if err := h.Kill(); err != nil {
		return err
	}
	c.note(hostFailure{h.Name, from, time.Now()})
	h.proxy.close()
	c.wait(ctx, c.randomDuration(0, time.Second))
	if h.Log.Crash() != "" {
		return fmt.Errorf("%s had panicked before: %s", h.Name, h.Log)
	}
	return c.cluster.fill(slot)
}

// stop shuts down the host in a slot and starts another one. It first waits
// until the connection of the host is repaired, so that the shutdown can succeed.
func (c *injector) stop(slot int) error {
	h := c.repairedHost(slot)
	from := time.Now()
	err := h.Stop()
	c.cluster.take(slot)
	c.log(stopHost, "%s (%s), it took %s", h.Name, h.roles, time.Since(from).Round(time.Millisecond))
	c.note(hostFailure{h.Name, from, time.Now()})
	h.proxy.close()
	if err != nil {
		return err
	}
	return c.cluster.fill(slot)
}

// outage stops or crashes the database and restarts it.
func (c *injector) outage(ctx context.Context, next failureKind, end func() error) error {
	o := outage{from: time.Now()}
	if err := end(); err != nil {
		return err
	}
	c.wait(ctx, c.randomDuration(100*time.Millisecond, 1500*time.Millisecond))
	err := c.cluster.site.server.Restart(ctx)
	o.to = time.Now()
	c.log(next, "down for %s", o.to.Sub(o.from).Round(time.Millisecond))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures.outages = append(c.failures.outages, o)
	return err
}

// disturb disturbs the connection of the host in a slot for some seconds while other
// failures happen.
func (c *injector) disturb(next failureKind, slot int, do, undo func(*databaseProxy) error) error {
	h, length := c.repairedHost(slot), c.randomDuration(2*time.Second, 5*time.Second)
	if c.long && c.rng.IntN(4) == 0 {
		length = c.randomDuration(5*time.Second, 30*time.Second) // longer than a lease
	}
	c.log(next, "%s (%s) for %s", h.Name, h.roles, length.Round(time.Millisecond))
	from := time.Now()
	if err := do(h.proxy); err != nil {
		return err
	}
	repaired := make(chan struct{})
	c.mu.Lock()
	c.repaired[h] = repaired
	c.mu.Unlock()
	c.repairs.Go(func() {
		defer close(repaired)
		<-time.After(length)
		if err := undo(h.proxy); err != nil {
			c.t.Errorf("restore the connection of %s: %v", h.Name, err)
		}
		c.note(hostFailure{h.Name, from, time.Now()})
	})
	return nil
}

// repairedHost waits until the connection of the host in a slot is repaired, and returns
// the host.
func (c *injector) repairedHost(slot int) *host {
	h := c.cluster.at(slot)
	c.mu.Lock()
	repaired := c.repaired[h]
	c.mu.Unlock()
	if repaired != nil {
		<-repaired
	}
	return h
}

func (c *injector) note(f hostFailure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures.hosts = append(c.failures.hosts, f)
}

// caused returns the number of failures of the given kinds.
func (c *injector) caused(kinds ...failureKind) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, each := range kinds {
		n += c.counts[each]
	}
	return n
}

// wait waits for a duration or until ctx ends.
func (c *injector) wait(ctx context.Context, d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}
