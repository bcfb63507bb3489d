// Test of a rolling restart: every host is replaced under load without an effect on
// clients.

package soak_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// handover is the maximum gap of a run whose host shuts down: hosts look for work
// every 2 s. Without a handover it would be the lease of 20 s.
const handover = 12 * time.Second

func TestHostsAreReplacedUnderLoadWithoutAFailedRequest(t *testing.T) {
	t.Parallel()
	const seed = 7
	s := newSite(t, steady.get(t), "rolling", seed)
	s.migrate(t)
	f := newFleet(t, s, "api,worker", "api,worker", "worker")
	l := newLoad(t, f, seed)
	var heard leaving
	l.heard = heard.hear
	loading, stopLoad := context.WithCancel(t.Context())
	defer stopLoad()
	customers, dismiss := context.WithCancel(t.Context())
	defer dismiss()
	orders := make(chan int)
	go func() { orders <- l.run(loading, customers, 100*time.Millisecond) }()
	var during failures
	for slot := range f.roles {
		<-time.After(time.Second)
		h := f.at(slot)
		heard.leaves(h)
		began := time.Now()
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
		f.take(slot)
		t.Logf("%s %s (%s) stopped within %s", began.Format("15:04:05.000"), h.Name, h.roles, time.Since(began).Round(time.Millisecond))
		if err := f.fill(slot); err != nil {
			t.Fatal(err)
		}
		h.line.close()
	}
	stopLoad()
	n := <-orders
	idle := calm(customers, t, s, l)
	dismiss()
	l.all.Wait()
	conn := s.connect(t)
	all, err := readHistories(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	a := &inspection{histories: all, accepted: l.accepted, seed: seed, failures: during, now: time.Now()}
	a.notices, a.problems = s.hooks.all()
	if a.ledger, err = readLedger(t.Context(), conn); err != nil {
		t.Error(err)
	}
	a.problems = append(append(a.problems, l.problems...), heard.problems...)
	a.runs()
	a.webhooks()
	if err := a.counts(t.Context(), s.database); err != nil {
		t.Error(err)
	}
	t.Logf("%d orders, %d runs, lost %d, idle %t, %d requests to a stopping host got no response, longest gap %.1fs",
		n, len(all), a.lost, idle, heard.unanswered, a.longest.Seconds())
	report(t, a.problems)
	if a.longest > handover {
		t.Errorf("a run waited %s, as if its host had died, want less than %s: %s", a.longest, handover, a.worst)
	}
	if len(all) != n || a.unanswered > 0 {
		t.Errorf("%d orders made %d runs, and %d starts were not answered", n, len(all), a.unanswered)
	}
}

// leaving knows which hosts are shutting down, and failed responses of the others.
type leaving struct {
	mu         sync.Mutex
	stopping   map[*host]bool
	unanswered int
	problems   []string
}

func (l *leaving) leaves(h *host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping == nil {
		l.stopping = map[*host]bool{}
	}
	l.stopping[h] = true
}

// hear records a failed response, unless the host is shutting down.
func (l *leaving) hear(h *host, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.status == 0 && l.stopping[h]:
		l.unanswered++
	case a.status == 0 || a.status >= http.StatusInternalServerError:
		l.problems = append(l.problems, fmt.Sprintf("%s (asked to stop: %t) answered %s", h.Name, l.stopping[h], a))
	}
}
