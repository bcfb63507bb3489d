// Tests of a standby that is promoted under load, after the primary was killed.

package soak_test

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// lag is how long nothing reaches an asynchronous standby before the primary is killed.
const lag = time.Second

func TestASynchronousStandbyLosesNothing(t *testing.T) { promoted(t, true) }

func TestWhatAnAsynchronousStandbyLosesIsNamed(t *testing.T) { promoted(t, false) }

// promoted kills the primary of a loaded site, and promotes its standby.
func promoted(t *testing.T, synchronous bool) {
	t.Helper()
	ctx, seed := t.Context(), seedOf(t)
	t.Logf("repeat with VERIFYD_SOAK_SEED=%d", seed)
	primary := serverOf(t)
	s := newSite(t, primary, "standby", seed)
	s.blobs = t.TempDir()
	s.writeBootstrap(t, lateWorkflows)
	s.migrate(t)
	line, err := newDatabaseProxy(addressOf(t, s.database))
	must(t, err)
	t.Cleanup(line.close)
	standby, how, err := primary.Standby(ctx, line.address(), "standby", !synchronous)
	must(t, err)
	t.Cleanup(func() { must(t, standby.Close()) })
	streams(t, primary, synchronous)
	f := newCluster(t, s, -1, "api,worker", "api,worker")
	l := newLoad(t, f, seed)
	var served service
	l.onResponse = served.answered
	loading, stopLoad := context.WithCancel(ctx)
	customers, dismiss := context.WithCancel(ctx)
	defer dismiss()
	orders := make(chan int)
	go func() { orders <- l.run(loading, customers, shortEvery) }()
	redacted := startRun(t, f.at(0), referencePrefix+"900001", nil)
	<-time.After(3 * time.Second)
	before := s.connect(t)
	answers(t, func(ctx context.Context) error { // only then the run can be redacted
		var state string
		err := before.QueryRow(ctx, "SELECT coalesce(min(state), '') FROM verifyd.deliveries WHERE run_id = $1", string(redacted)).Scan(&state)
		if err == nil && state != "delivered" {
			err = fmt.Errorf("the notice of run %s is %q", redacted, state)
		}
		return err
	})
	behind := time.Now()
	if !synchronous {
		must(t, line.drop("downstream"))
		_, err := f.at(0).api.RedactRun(ctx, redacted)
		must(t, err)
		<-time.After(lag)
	}
	killed := time.Now()
	must(t, primary.Kill())
	must(t, standby.Promote(ctx))
	s.server, s.database = standby, moved(t, s.database, addressOf(t, standby.URL("postgres")))
	conn := s.connect(t)
	early, _ := l.lost(t, conn)
	ready := time.Now()
	for slot := range f.roles {
		must(t, f.at(slot).proxy.lead(addressOf(t, s.database)))
	}
	outages := []outage{{killed, time.Now()}}
	<-time.After(3 * time.Second)
	stopLoad()
	l.leave()
	n := <-orders
	lost, acknowledged := l.lost(t, conn) // also what was acknowledged after the kill, by a host that still waited for the end of a run
	lost.ends = early.ends
	t.Logf("the base backup is %s; the primary was killed %s after the last byte for the standby, which took writes and was compared within %s; of %d acknowledged runs, answers, verdicts, webhooks and ends, lost: %s",
		how, killed.Sub(behind).Round(time.Millisecond), ready.Sub(killed).Round(time.Millisecond), acknowledged, lost)
	if lost.any() == synchronous {
		t.Errorf("lost: %s; want something: %t", lost, !synchronous)
	}
	for at, what := range lost.at {
		if at.Before(behind) {
			t.Errorf("%s was acknowledged %s before the standby was behind, and is lost", what, behind.Sub(at))
		}
	}
	if !synchronous {
		forgotten(t, f, redacted)
		t.Logf("%s after the kill no host showed the redacted run", time.Since(killed).Round(time.Millisecond))
	}
	resend(customers, l, lost)
	idle := calm(customers, t, s, l)
	dismiss()
	l.all.Wait()
	all, err := readHistories(ctx, conn)
	must(t, err)
	delete(all, string(redacted))
	for _, run := range lost.runs {
		delete(l.accepted, run)
	}
	a := &inspection{histories: all, accepted: l.accepted, seed: seed, failures: failures{outages: outages}, now: time.Now()}
	a.notices, a.problems = s.hooks.all()
	a.notices = slices.DeleteFunc(a.notices, func(n notice) bool { return n.run == string(redacted) })
	a.ledger, err = readLedger(ctx, conn)
	must(t, err)
	a.problems = append(a.problems, l.problems...)
	a.runs()
	a.webhooks()
	must(t, a.counts(ctx, s.database))
	t.Logf("%d orders, %d runs, %d starts without a response; no request was answered for %s; everything done (%t); the longest gap of a run after the outage %.1fs",
		n, len(all), a.unanswered, served.longest.Round(time.Millisecond), idle, a.longest.Seconds())
	report(t, slices.DeleteFunc(a.problems, lost.explains))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func addressOf(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	must(t, err)
	return u.Host
}

func moved(t *testing.T, database, host string) string {
	t.Helper()
	u, err := url.Parse(database)
	must(t, err)
	u.Host = host
	return u.String()
}

// streams waits until the standby streams, and makes it synchronous.
func streams(t *testing.T, primary *pgtest.Server, synchronous bool) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), primary.Admin("postgres"))
	must(t, err)
	defer func() { _ = c.Close(t.Context()) }()
	want := "async"
	if synchronous {
		want = "sync"
		_, err = c.Exec(t.Context(), "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
		must(t, err)
		_, err = c.Exec(t.Context(), "SELECT pg_reload_conf()")
		must(t, err)
	}
	answers(t, func(ctx context.Context) error {
		var got string
		err := c.QueryRow(ctx, "SELECT coalesce(min(sync_state), '') FROM pg_stat_replication WHERE state = 'streaming'").Scan(&got)
		if err == nil && got != want {
			err = fmt.Errorf("the standby is %q, want %q", got, want)
		}
		return err
	})
}

// lead makes a proxy lead to another address.
func (p *databaseProxy) lead(upstream string) error {
	p.proxy.Stop()
	p.proxy.Upstream = upstream
	return p.restore()
}

// service measures for how long no request is answered.
type service struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

func (s *service) answered(_ *host, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if passing(err) && err != nil {
		return
	}
	if now := time.Now(); s.last.IsZero() {
		s.last = now
	} else {
		s.longest, s.last = max(s.longest, now.Sub(s.last)), now
	}
}

// losses are what was acknowledged and is not in the database.
type losses struct {
	runs, answers, webhooks []string
	ends                    []string             // of runs that were announced as ended, and go on
	at                      map[time.Time]string // when each was acknowledged
}

func (l losses) any() bool { return len(l.runs)+len(l.answers)+len(l.webhooks)+len(l.ends) > 0 }

func (l losses) String() string {
	return fmt.Sprintf("%d runs %v, %d answers and verdicts of %v, %d webhooks of %v, %d ends that were announced of %v",
		len(l.runs), l.runs, len(l.answers), l.answers, len(l.webhooks), l.webhooks, len(l.ends), l.ends)
}

// explains reports whether a problem is about a run that was lost, or about a run that ended twice and was announced twice.
func (l losses) explains(problem string) bool {
	about := func(run string) bool { return strings.Contains(problem, run) }
	return slices.ContainsFunc(l.runs, about) || strings.Contains(problem, ", and then {") && slices.ContainsFunc(l.ends, about)
}

// lost compares what was acknowledged with the database. Ends are those of now: hosts that go on reach them again.
func (l *load) lost(t *testing.T, c *pgx.Conn) (of losses, acknowledged int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := readHistories(t.Context(), c)
	must(t, err)
	rows, err := c.Query(t.Context(), "SELECT id::text FROM verifyd.workflows WHERE lifecycle_webhook_url = ''")
	must(t, err)
	unhooked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	of.at = map[time.Time]string{}
	for run := range l.accepted {
		acknowledged += 1 + len(l.acts[run])
		h, acts, there := all[run], l.acts[run], 0
		if h == nil {
			of.runs = append(of.runs, run)
			of.at[l.starts[run]] = "run " + run
			continue
		}
		for _, e := range h.events() {
			switch e.Fact.(type) {
			case rules.CustomerSubmitted, rules.VerdictRecorded, rules.Cancelled:
				there++
			}
		}
		if there < len(acts) {
			of.answers = append(of.answers, run)
			of.at[acts[there]] = "an answer of run " + run
		}
	}
	notices, _ := l.cluster.site.hooks.all()
	for _, n := range notices {
		if h := all[n.run]; h != nil && h.fold().Ended == "" {
			of.ends = append(of.ends, n.run)
		}
	}
	acknowledged += len(l.hooked) + len(notices)
	for _, id := range slices.Sorted(maps.Keys(l.hooked)) {
		if slices.Contains(unhooked, id) {
			of.webhooks = append(of.webhooks, id)
		}
	}
	slices.Sort(of.runs)
	slices.Sort(of.answers)
	return of, acknowledged
}

// resend does again what was lost, as a client does that keeps its requests for some minutes.
func resend(ctx context.Context, l *load, lost losses) {
	l.mu.Lock()
	l.gone = false
	accepted := maps.Clone(l.accepted)
	l.mu.Unlock()
	for _, run := range lost.runs {
		l.all.Go(func() { l.serve(ctx, accepted[run]) })
	}
	for _, run := range lost.answers {
		l.all.Go(func() { l.follow(ctx, verification.RunID(run), accepted[run]) })
	}
	for _, id := range lost.webhooks {
		o := order{workflow: id}
		l.all.Go(func() { l.setWebhook(ctx, "", o) })
	}
}

// forgotten waits until no host shows a redacted run, although the promoted standby did not receive the redaction.
func forgotten(t *testing.T, f *cluster, redacted verification.RunID) {
	t.Helper()
	for slot := range f.roles {
		answers(t, func(ctx context.Context) error {
			r, err := f.at(slot).api.ReadRun(ctx, redacted)
			if err == nil && r.RedactedAt.IsZero() {
				err = fmt.Errorf("the redacted run %s can be read", redacted)
			}
			return err
		})
	}
}
