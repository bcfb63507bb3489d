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

func TestHostsAreReplacedUnderLoadWithoutAFailedRequest(t *testing.T) {
	t.Parallel()
	const seed = 7
	s := newSite(t, steady.get(t), "rolling", seed)
	s.writeBootstrap(t, lateWorkflows)
	s.migrate(t)
	f := newCluster(t, s, -1, "api,worker", "api,worker", "worker")
	l := newLoad(t, f, seed)
	var failed failedResponses
	l.onResponse = failed.record
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
		failed.stops(h)
		began := time.Now()
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
		f.take(slot)
		t.Logf("%s %s (%s) stopped within %s", began.Format("15:04:05.000"), h.Name, h.roles, time.Since(began).Round(time.Millisecond))
		if err := f.fill(slot); err != nil {
			t.Fatal(err)
		}
		h.proxy.close()
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
	a.problems = append(append(a.problems, l.problems...), failed.problems...)
	a.runs()
	a.webhooks()
	if err := a.counts(t.Context(), s.database); err != nil {
		t.Error(err)
	}
	t.Logf("%d orders, %d runs, lost %d, idle %t, %d requests to a stopping host got no response, longest gap %.1fs",
		n, len(all), a.lost, idle, failed.unanswered, a.longest.Seconds())
	report(t, a.problems)
	lost := 0 // without a handover, a run waits until the lease of the host that stopped ends
	if err := conn.QueryRow(t.Context(), "SELECT count(DISTINCT run_id) FROM soak.marks WHERE lost > 0").Scan(&lost); err != nil || lost > 0 {
		t.Errorf("%d runs waited until a lease ended, as if its host had died, %v; the longest wait: %s", lost, err, a.worst)
	}
	if len(all) != n || a.unanswered > 0 {
		t.Errorf("%d orders made %d runs, and %d starts were not answered", n, len(all), a.unanswered)
	}
}

// failedResponses are the failed responses of hosts, some of which are shutting down.
type failedResponses struct {
	mu         sync.Mutex
	stopping   map[*host]bool
	unanswered int
	problems   []string
}

// stops says that a host shuts down from now on.
func (f *failedResponses) stops(h *host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopping == nil {
		f.stopping = map[*host]bool{}
	}
	f.stopping[h] = true
}

// record records a response if it is a failure. A request to a host that is shutting down
// may get no response; these are only counted.
func (f *failedResponses) record(h *host, err error) {
	status := statusOf(err)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
	case status == 0 && f.stopping[h]:
		f.unanswered++
	case status == 0 || status >= http.StatusInternalServerError:
		f.problems = append(f.problems, fmt.Sprintf("%s (asked to stop: %t) answered %v", h.Name, f.stopping[h], err))
	}
}
