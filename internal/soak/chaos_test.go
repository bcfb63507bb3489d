// The storm: hosts are killed and stopped, the database crashes and restarts, and
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

// chaos causes random failures, from a seed.
type chaos struct {
	t     *testing.T
	fleet *fleet
	rng   *rand.Rand
	long  bool
	began time.Time

	healing sync.WaitGroup // all lines that are being repaired
	mu      sync.Mutex
	mended  map[*host]chan struct{} // closed when the line is repaired
	storm   storm
	counts  map[card]int
}

// card is one kind of failure.
type card string

// The kinds of failures.
const (
	cardKill    card = "kill a host"
	cardStop    card = "stop a host"
	cardCrash   card = "kill the database"
	cardRestart card = "restart the database"
	cardCut     card = "cut a line"
	cardSwallow card = "swallow what a line carries"
	cardHalf    card = "swallow what the database says"
	cardSlow    card = "slow a line"
)

func newChaos(t *testing.T, f *fleet, seed uint64, long bool) *chaos {
	t.Helper()
	return &chaos{
		t: t, fleet: f, rng: rand.New(rand.NewPCG(seed, 1)), long: long, began: time.Now(), counts: map[card]int{},
		mended: map[*host]chan struct{}{},
	}
}

// deck is the failures of one round, which are shuffled; kills are the most frequent.
func deck() []card {
	return []card{cardKill, cardKill, cardStop, cardCrash, cardRestart, cardCut, cardSwallow, cardHalf, cardSlow}
}

// run causes the failures of whole decks until the time is over, and repairs
// everything.
func (c *chaos) run(ctx context.Context, length time.Duration) {
	for end := c.began.Add(length); ; {
		cards := deck()
		c.rng.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
		for _, next := range cards {
			c.wait(ctx, c.between())
			if ctx.Err() != nil || c.t.Failed() {
				break
			}
			c.play(ctx, next)
		}
		if !c.long || time.Now().After(end) || ctx.Err() != nil || c.t.Failed() {
			break
		}
	}
	c.healing.Wait()
}

// between is the time between two failures.
func (c *chaos) between() time.Duration {
	if c.long {
		return c.some(500*time.Millisecond, 6*time.Second)
	}
	return c.some(200*time.Millisecond, time.Second)
}

func (c *chaos) some(least, most time.Duration) time.Duration {
	return least + time.Duration(c.rng.Int64N(int64(most-least)))
}

func (c *chaos) play(ctx context.Context, next card) {
	slot := c.rng.IntN(len(c.fleet.roles))
	var err error
	switch next {
	case cardKill:
		err = c.kill(ctx, slot)
	case cardStop:
		err = c.stop(slot)
	case cardCrash:
		err = c.outage(ctx, next, c.fleet.site.server.Kill)
	case cardRestart:
		err = c.outage(ctx, next, func() error { return c.fleet.site.server.Stop(ctx) })
	case cardCut:
		err = c.disturb(next, slot, (*line).cut, (*line).mend)
	case cardSwallow:
		err = c.disturb(next, slot, func(l *line) error { return l.swallow("upstream", "downstream") }, (*line).clear)
	case cardHalf:
		err = c.disturb(next, slot, func(l *line) error { return l.swallow("downstream") }, (*line).clear)
	case cardSlow:
		err = c.disturb(next, slot, (*line).slow, (*line).clear)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[next]++
	if err != nil {
		c.t.Errorf("%s: %v", next, err)
	}
}

// tell logs a failure and its time.
func (c *chaos) tell(next card, format string, args ...any) {
	c.t.Helper()
	c.t.Logf("%6.2fs %s: %s", time.Since(c.began).Seconds(), next, fmt.Sprintf(format, args...))
}

// kill kills the host in a slot and starts another one.
func (c *chaos) kill(ctx context.Context, slot int) error {
	h := c.fleet.take(slot)
	c.tell(cardKill, "%s (%s)", h.Name, h.roles)
	from := time.Now()
	if err := h.Kill(); err != nil {
		return err
	}
	c.note(fault{h.Name, from, time.Now()})
	h.line.close()
	c.wait(ctx, c.some(0, time.Second))
	if h.Log.Crash() != "" {
		return fmt.Errorf("%s had panicked before: %s", h.Name, h.Log)
	}
	return c.fleet.fill(slot)
}

// stop shuts down the host in a slot and starts another one. It first repairs the
// line of the host, so that the shutdown can succeed.
func (c *chaos) stop(slot int) error {
	h := c.whole(slot)
	from := time.Now()
	err := h.Stop()
	c.fleet.take(slot)
	c.tell(cardStop, "%s (%s), it took %s", h.Name, h.roles, time.Since(from).Round(time.Millisecond))
	c.note(fault{h.Name, from, time.Now()})
	h.line.close()
	if err != nil {
		return err
	}
	return c.fleet.fill(slot)
}

// outage stops or crashes the database and restarts it.
func (c *chaos) outage(ctx context.Context, next card, end func() error) error {
	o := outage{from: time.Now()}
	if err := end(); err != nil {
		return err
	}
	c.wait(ctx, c.some(100*time.Millisecond, 1500*time.Millisecond))
	err := c.fleet.site.server.Restart(ctx)
	o.to = time.Now()
	c.tell(next, "down for %s", o.to.Sub(o.from).Round(time.Millisecond))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storm.outages = append(c.storm.outages, o)
	return err
}

// disturb disturbs the line of the host in a slot for some seconds while the storm
// continues.
func (c *chaos) disturb(next card, slot int, do, undo func(*line) error) error {
	h, length := c.whole(slot), c.some(2*time.Second, 5*time.Second)
	if c.long && c.rng.IntN(4) == 0 {
		length = c.some(5*time.Second, 30*time.Second) // longer than a lease
	}
	c.tell(next, "%s (%s) for %s", h.Name, h.roles, length.Round(time.Millisecond))
	from := time.Now()
	if err := do(h.line); err != nil {
		return err
	}
	mended := make(chan struct{})
	c.mu.Lock()
	c.mended[h] = mended
	c.mu.Unlock()
	c.healing.Go(func() {
		defer close(mended)
		<-time.After(length)
		if err := undo(h.line); err != nil {
			c.t.Errorf("mend the line of %s: %v", h.Name, err)
		}
		c.note(fault{h.Name, from, time.Now()})
	})
	return nil
}

// whole returns the host in a slot after its line is repaired.
func (c *chaos) whole(slot int) *host {
	h := c.fleet.at(slot)
	c.mu.Lock()
	mended := c.mended[h]
	c.mu.Unlock()
	if mended != nil {
		<-mended
	}
	return h
}

func (c *chaos) note(f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storm.faults = append(c.storm.faults, f)
}

// played returns how often some kinds of failures occurred.
func (c *chaos) played(cards ...card) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, each := range cards {
		n += c.counts[each]
	}
	return n
}

// wait waits for a duration.
func (c *chaos) wait(ctx context.Context, d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}
