// The crash test of a host on a data folder: it is killed under load, again and again.

package soak_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// The number of kills without VERIFYD_SOAK_KILLS: fewKills where they find as much.
const shortKills, fewKills = 8, 5

// killsOf returns how often the host is killed: VERIFYD_SOAK_KILLS or a number.
func killsOf(t *testing.T, short int) int {
	t.Helper()
	given := os.Getenv("VERIFYD_SOAK_KILLS")
	if given == "" {
		return short
	}
	kills, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("VERIFYD_SOAK_KILLS: %v", err)
	}
	return kills
}

func TestNothingAcceptedIsLostWhenAHostIsKilled(t *testing.T) {
	t.Parallel()
	seed, kills := seedOf(t), killsOf(t, shortKills)
	t.Logf("repeat with VERIFYD_SOAK_SEED=%d", seed)
	s := newFolderSite(t, seed)
	s.writeBootstrap(t, lateWorkflows)
	f := newCluster(t, s, -1, "api,worker")
	l := newLoad(t, f, seed)

	loading, stopLoad := context.WithCancel(t.Context())
	customers, dismiss := context.WithCancel(t.Context())
	defer dismiss()
	orders := make(chan int)
	go func() { orders <- l.run(loading, customers, shortEvery) }()
	began := time.Now()
	k := killer{cluster: f, rng: rand.New(rand.NewPCG(seed, 1))}
	for n := 0; n < kills && !t.Failed(); n++ {
		if err := k.kill(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	killed := time.Since(began)
	stopLoad()
	l.leave()
	n := <-orders
	healed := time.Now()
	idle := calmOnFolder(customers, t, f, l)
	calmed := time.Since(healed)
	dismiss()
	l.all.Wait()

	h := f.take(0)
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	a := &inspection{accepted: l.accepted, seed: seed, failures: failures{hosts: k.failures}, now: time.Now(), live: l.live}
	if err := a.readFolder(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	notices, problems := s.hooks.all()
	a.notices, a.problems = notices, append(problems, l.problems...)
	a.runs()
	a.webhooks()
	if err := f.fill(0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.totals(t.Context(), f.any()), a.reads(t.Context(), f.any, 300)); err != nil {
		t.Error(err)
	}
	t.Logf("%d orders, %d runs whose start got no response; failed requests: %s; the slowest start was accepted after %s",
		n, a.unanswered, refusals(l.refused), l.slowest.Round(time.Millisecond))
	t.Logf("kills %d within %.0fs, and %d during the start; the slowest start of a host took %s; everything done %s after the last kill (%t)",
		kills, killed.Seconds(), k.starts, k.slowest.Round(time.Millisecond), calmed.Round(time.Millisecond), idle)
	t.Logf("runs %d, lost %d, longest gap %.1fs, webhooks %d under %d ids (%d deliveries)",
		len(a.histories), a.lost, a.longest.Seconds(), len(ended(a.histories)), len(a.notices), a.deliveries)
	t.Logf("%s", a.differing)
	report(t, a.problems)
	if len(a.histories) < n/4 {
		t.Errorf("%d orders made %d runs, want most of them", n, len(a.histories))
	}
}

// folderHost is the name of the host in the marks of histories and in failures: all processes on
// a folder are one host.
const folderHost = "host"

// killer kills the host of a cluster and starts it again.
type killer struct {
	cluster  *cluster
	rng      *rand.Rand
	failures []hostFailure
	starts   int           // that were killed
	slowest  time.Duration // start
}

// kill kills the host after a time, and starts it again. Of four hosts, three live long enough
// for most checks to end: a run during whose step five hosts die in a row is ended, and hosts that
// live half a second end every tenth. The fourth dies soon after its start, and the start that
// follows is killed too.
func (k *killer) kill(ctx context.Context, n int) error {
	hasty := n%4 == 3
	life := time.Second + time.Duration(k.rng.Int64N(int64(400*time.Millisecond)))
	if hasty {
		life = time.Duration(k.rng.Int64N(int64(300 * time.Millisecond)))
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(life):
	}
	h := k.cluster.take(0)
	from := time.Now()
	if err := h.Kill(); err != nil {
		return err
	}
	if h.Log.Crash() != "" {
		return fmt.Errorf("%s had panicked before: %s", h.Name, h.Log)
	}
	if hasty {
		if err := k.killStart(ctx); err != nil {
			return err
		}
	}
	starting := time.Now()
	if err := k.cluster.fill(0); err != nil {
		return err
	}
	k.slowest = max(k.slowest, time.Since(starting))
	k.failures = append(k.failures, hostFailure{folderHost, from, time.Now()})
	return nil
}

// killStart starts a host and kills it before it is ready, or soon afterwards.
func (k *killer) killStart(ctx context.Context) error {
	s := k.cluster.site
	cmd := exec.CommandContext(ctx, s.program, "serve")
	cmd.Env = s.environment("api,worker")
	p, err := process.Start(cmd)
	if err != nil {
		return err
	}
	<-time.After(time.Duration(k.rng.Int64N(int64(400 * time.Millisecond))))
	k.starts++
	err = cmd.Process.Kill()
	<-p.Ended()
	return err
}

// calmOnFolder waits until every run has ended and every webhook was accepted, and reports whether
// that happened in time. Like calm, it follows runs whose start got no response.
func calmOnFolder(ctx context.Context, t *testing.T, f *cluster, l *load) bool {
	t.Helper()
	adopted := map[string]bool{}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(settled); time.Now().Before(end); <-tick.C {
		open := 0
		taken := map[verification.RunID]bool{}
		notices, _ := f.site.hooks.all()
		for _, n := range notices {
			if n.taken == 0 {
				open++
			}
			taken[verification.RunID(n.run)] = n.taken > 0
		}
		for r, err := range f.any().api.Runs(ctx, client.RunQuery{Limit: 200}) {
			if err != nil {
				t.Error(err)
				return false
			}
			if r.Status.Terminal() {
				if !taken[r.ID] && !isLate(string(r.WorkflowID)) {
					open++
				}
				continue
			}
			open++
			if run := string(r.ID); !l.knows(run) && !adopted[run] {
				adopted[run] = true
				if o, err := orderOf(l.seed, r.ReferenceID); err == nil {
					l.all.Go(func() { l.follow(ctx, r.ID, o) })
				}
			}
		}
		if open == 0 {
			return true
		}
	}
	return false
}

// readFolder reads the histories and the ledger from the folder of a site, which no host has.
func (a *inspection) readFolder(ctx context.Context, s *site) (err error) {
	j, err := journal.Open(ctx, s.folder.Journal(), journal.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	a.histories, a.ledger = map[string]*history{}, map[string]string{}
	now := time.Now()
	for page := (store.PageQuery{Limit: 200}); ; page.Offset += page.Limit {
		runs, err := j.List(ctx, tenant, store.RunQuery{PageQuery: page, Now: now})
		if err != nil {
			return err
		}
		for _, r := range runs.Data {
			events, err := j.Load(ctx, tenant, r.ID, 0)
			if err != nil {
				return err
			}
			h := &history{run: string(r.ID)}
			for _, e := range events { // the journal does not tell which were appended together
				h.add(folderHost, e)
			}
			a.histories[h.run] = h
			d, err := j.Delivery(ctx, tenant, rules.NoticeRef{Run: r.ID})
			if err == nil && d.State != rules.DeliveryDelivered {
				a.ledger[h.run] = fmt.Sprintf("%s after %d attempts (%s), next at %s", d.State, d.Attempts, d.Class, d.NextAt)
			}
		}
		if page.Offset+page.Limit >= runs.Total {
			return nil
		}
	}
}
