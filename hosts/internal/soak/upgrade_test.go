// Tests of upgrades: hosts of two releases beside each other on one database, and one after the other on one folder, under load.

package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// refusal is what a build says that reads less than the level of the store.
const refusal = "it was upgraded to level 2, and this build reads level 1: use a newer release"

// upgrading is a site whose hosts are replaced by hosts of another release under load.
type upgrading struct {
	t         *testing.T
	cluster   *cluster
	load      *load
	this, ctl string // the program of this release, and verifyctl of the next one
	next      string
	failed    failedResponses
	loading   context.CancelFunc
	customers context.Context
	orders    chan int
}

func newUpgrading(t *testing.T, s *site, roles ...string) *upgrading {
	t.Helper()
	u := &upgrading{
		t: t, this: s.program, next: next.path(t, "verifyd"), ctl: next.path(t, "verifyctl"), customers: t.Context(), orders: make(chan int, 1),
	}
	u.cluster = newCluster(t, s, -1, roles...)
	u.load = newLoad(t, u.cluster, upgradeSeed)
	if len(roles) > 1 { // else requests fail while there is no host
		u.load.onResponse = u.failed.record
	}
	loading, stop := context.WithCancel(t.Context())
	u.loading = stop
	go func() { u.orders <- u.load.run(loading, u.customers, 100*time.Millisecond) }()
	return u
}

const upgradeSeed = 11

// replace replaces the host in a slot by one of another program, and returns how long there was none. Requests go to
// the other hosts meanwhile, as behind a load balancer.
func (u *upgrading) replace(slot int, program string) time.Duration {
	u.t.Helper()
	<-time.After(time.Second) // under load
	h := u.cluster.take(slot)
	u.failed.stops(h)
	began := time.Now()
	if err := h.Stop(); err != nil {
		u.t.Error(err)
	}
	u.cluster.site.program = program
	if err := u.cluster.fill(slot); err != nil {
		u.t.Fatal(err)
	}
	h.proxy.close()
	return time.Since(began)
}

// upgrade runs verifyctl store upgrade of the next release, and fails the test unless it says something.
func (u *upgrading) upgrade(says string, args ...string) {
	u.t.Helper()
	out, err := exec.CommandContext(u.t.Context(), u.ctl, append([]string{"store", "upgrade"}, args...)...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || !strings.Contains(string(out), says) {
		u.t.Errorf("store upgrade %s = %v: %s, want %q", args, err, out, says)
	}
}

// refused fails the test unless a host of this release does not start.
func (u *upgrading) refused() {
	u.t.Helper()
	u.cluster.site.program = u.this
	h, err := u.cluster.site.start("api,worker")
	if err == nil {
		retire(u.t, h)
	}
	if err == nil || !strings.Contains(err.Error(), refusal) {
		u.t.Errorf("a host of this release: %v, want that it does not start: %s", err, refusal)
	}
}

// finish ends the load, waits until all is done, and returns the number of orders.
func (u *upgrading) finish(calm func() bool) (orders int, idle bool) {
	u.t.Helper()
	u.loading()
	orders = <-u.orders
	idle = calm()
	u.load.all.Wait()
	u.load.mu.Lock()
	defer u.load.mu.Unlock()
	report(u.t, append(u.load.problems, u.failed.problems...))
	return orders, idle
}

func TestAnUpgradeOfADatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, steady.get(t), "upgrade", upgradeSeed)
	s.writeBootstrap(t, lateWorkflows)
	s.migrate(t)
	u := newUpgrading(t, s, "api,worker", "api,worker", "worker")
	conn := s.connect(t)
	count := func(query string) (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const greeted = "SELECT count(*) FROM verifyd.run_events WHERE events LIKE '%\"greeted\":%'"
	url := "--database-url=" + s.database
	u.replace(0, u.next)
	u.upgrade("reads level 1; stop them first", "--yes", url)
	u.replace(1, u.next) // forward
	u.replace(2, u.next)
	u.replace(0, u.this) // and back
	u.replace(1, u.this)
	u.replace(2, u.this)
	for slot := range u.cluster.roles {
		u.replace(slot, u.next)
	}
	if n := count(greeted); n > 0 {
		t.Errorf("%d runs have the new event before the level is raised", n)
	}
	u.upgrade("--yes: required to raise the store from level 1 to level 2", url)
	u.upgrade("raised from level 1 to level 2", "--yes", url)
	raised := time.Now()
	for count(greeted) < 20 && time.Since(raised) < time.Minute {
		<-time.After(100 * time.Millisecond)
	}
	u.refused()
	for slot := range u.cluster.roles { // forward after the point
		u.replace(slot, u.next)
	}
	orders, idle := u.finish(func() bool { return calm(u.customers, t, s, u.load) })
	for slot := range u.cluster.roles {
		retire(t, u.cluster.take(slot))
	}
	written, filled := count(greeted), count("SELECT count(*) FROM verifyd.runs WHERE greeted_at IS NOT NULL")
	if written < 20 || written != filled {
		t.Errorf("%d runs have the new event, and %d the new column, want both of each run since the raise", written, filled)
	}
	// The inspection is of this release: it reads a known annotation instead, at its level.
	for _, statement := range []string{
		`UPDATE verifyd.run_events SET events = regexp_replace(events, '"greeted":\{[^}]*\}', '"note_added":{}')`,
		"DELETE FROM verifyd.shared_values WHERE name = 'level'",
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	all, err := readHistories(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	a := &inspection{histories: all, accepted: u.load.accepted, seed: upgradeSeed, now: time.Now()}
	a.notices, a.problems = s.hooks.all()
	if a.ledger, err = readLedger(t.Context(), conn); err != nil {
		t.Error(err)
	}
	a.runs()
	a.webhooks()
	if err := a.counts(t.Context(), s.database); err != nil {
		t.Error(err)
	}
	t.Logf("%d orders, %d runs, lost %d, idle %t, failed requests %d, %d requests to a stopping host got no response, longest gap %.1fs, %d runs with the new event and column",
		orders, len(all), a.lost, idle, len(u.failed.problems), u.failed.unanswered, a.longest.Seconds(), written)
	report(t, a.problems)
	if len(all) != orders || a.unanswered > 0 {
		t.Errorf("%d orders made %d runs, and %d starts were not answered", orders, len(all), a.unanswered)
	}
}

func TestAnUpgradeOfAFolderLosesNothing(t *testing.T) {
	t.Parallel()
	s := newFolderSite(t, upgradeSeed)
	s.writeBootstrap(t, lateWorkflows)
	u := newUpgrading(t, s, "api,worker")
	var down []time.Duration
	for _, program := range []string{u.next, u.this, u.next} { // forward, back, and forward again
		down = append(down, u.replace(0, program))
	}
	u.upgrade("end the host", "--yes", string(s.folder))
	h := u.cluster.take(0)
	began := time.Now()
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
	u.upgrade("--yes: required to raise the store from level 1 to level 2", string(s.folder))
	u.upgrade("raised from level 1 to level 2", "--yes", string(s.folder))
	u.refused()
	u.cluster.site.program = u.next
	if err := u.cluster.fill(0); err != nil {
		t.Fatal(err)
	}
	raise := time.Since(began)
	down = append(down, u.replace(0, u.next)) // forward after the point
	orders, idle := u.finish(func() bool { return calmOnFolder(u.customers, t, u.cluster, u.load) })
	lost := 0
	for id, o := range u.load.accepted {
		r, err := u.cluster.any().api.ReadRun(t.Context(), verification.RunID(id))
		got := end{Status: r.Status, Decision: decided(r)}
		if r.Error != nil {
			got.Code, got.Check = r.Error.Code, r.Error.Check
		}
		if err != nil || got != o.want {
			lost++
			t.Errorf("run %s of order %d: %+v, %v; want %+v", id, o.number, got, err, o.want)
		}
	}
	if err := u.cluster.take(0).Stop(); err != nil {
		t.Error(err)
	}
	out, err := exec.CommandContext(t.Context(), u.ctl, "store", "check", "--json", string(s.folder)).Output()
	var found struct {
		Runs    int
		Records map[string]int
	}
	if err = errors.Join(err, json.Unmarshal(out, &found)); err != nil || found.Records["greeting"] == 0 || found.Runs < len(u.load.accepted) {
		t.Errorf("store check = %v: %s, want the new record, and %d runs", err, out, len(u.load.accepted))
	}
	t.Logf("%d orders, %d runs, lost %d, idle %t, %d runs with the new event and record; no host for %s at a restart, and for %s with store upgrade; the slowest start was accepted after %s",
		orders, len(u.load.accepted), lost, idle, found.Records["greeting"], down, raise, u.load.slowest.Round(time.Millisecond))
}
