// Tests that a vendor that hangs delays no other one, and no other tenant.

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// vendorLimit is the limit of calls at once that vendors have by default.
const vendorLimit = 16

// vendor returns a provider with the limit of a vendor.
func vendor(check func(context.Context, verification.CheckRequest) error) *mock.CallLimiterMock {
	return &mock.CallLimiterMock{
		CheckFunc: func(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
			return verification.CheckResult{Outcome: verification.OutcomePassed}, check(ctx, r)
		},
		MaxCallsFunc: func() int { return vendorLimit },
		WaitTurnFunc: func(context.Context) error { return nil },
	}
}

// latencies starts a run of a vendor that answers after 100 ms every 10 ms, beside
// runs of two tenants that call a vendor that hangs. It returns the sorted times from
// the starts to the answers, and the highest number of calls that hung at once.
func latencies(t *testing.T, hanging int) (sorted []time.Duration, hung int64) {
	t.Helper()
	var clock verification.Clock
	var sleep func(context.Context, time.Duration) error
	var mu sync.Mutex
	var calls, maxCalls atomic.Int64
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		o.Workers = 2
		p.Providers["hanging"] = vendor(func(ctx context.Context, _ verification.CheckRequest) error {
			maxCalls.Store(max(maxCalls.Load(), calls.Add(1)))
			defer calls.Add(-1)
			return sleep(ctx, time.Hour)
		})
		p.Providers["quick"] = vendor(func(ctx context.Context, r verification.CheckRequest) error {
			err := sleep(ctx, 100*time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			sorted = append(sorted, clock.Now().Sub(r.StartedAt))
			return err
		})
	})
	clock, sleep = k.Clock, k.Clock.Sleep
	of := func(provider string) workflow.Definition {
		d := with(chain("a"), "a", func(n *workflow.Node) { n.Provider, n.TimeoutSeconds = provider, 600 })
		d.Workflow = provider
		return d
	}
	ours, theirs := k.Apply(of("hanging")), applyForBystander(t, k, of("hanging"))
	for range hanging / 2 {
		startFor(t, k, enginetest.Tenant, ours, engine.StartRequest{ReferenceID: "x"})
		startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "x"})
	}
	quick := k.Apply(of("quick"))
	const runs = 200
	for range runs {
		startFor(t, k, enginetest.Tenant, quick, engine.StartRequest{ReferenceID: "y"})
		k.Advance(10 * time.Millisecond)
	}
	k.Advance(time.Minute)
	if len(sorted) != runs {
		t.Fatalf("beside %d hanging runs: %d calls of the quick vendor in a minute, want %d; %d hung", hanging, len(sorted), runs, maxCalls.Load())
	}
	slices.Sort(sorted)
	return sorted, maxCalls.Load()
}

func TestAHangingVendorDelaysNoOtherVendor(t *testing.T) {
	alone, _ := latencies(t, 0)
	beside, hung := latencies(t, 400)
	if hung != vendorLimit {
		t.Errorf("calls of the hanging vendor at once = %d, want %d", hung, vendorLimit)
	}
	p99 := len(alone) * 99 / 100
	if beside[p99] > 2*alone[p99] {
		t.Errorf("p99 beside a hanging vendor = %s, want at most twice the %s without it", beside[p99], alone[p99])
	}
}

func TestGroupsOfManyTenantsLeaveCallsToOthers(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Calls = 64 })
	var members []string
	for n := range workflow.MaxMembers {
		members = append(members, fmt.Sprint("slow", n))
		k.Provider.On(members[n], enginetest.Slow(25*time.Second, enginetest.Pass(nil)))
	}
	theirs := applyForBystander(t, k, chain("quick"))
	slow := map[verification.TenantID]verification.RunID{}
	for n := range 20 { // one tenant may use a quarter of the 32 calls to the provider
		tenant := verification.TenantID(fmt.Sprintf("00000000-0000-7000-8000-0000000001%02d", n))
		slow[tenant] = startFor(t, k, tenant, applyFor(t, k, tenant, grouped(asItIs, members...)), engine.StartRequest{ReferenceID: "x"})
	}
	k.Settle()
	run := startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "y"})
	if got := statusOf(t, k, bystander, run); got != rules.StatusCompleted {
		t.Errorf("beside groups of 20 tenants, a run with one check is %s, want it completed at once", got)
	}
	calls := 0
	for _, m := range members {
		calls += len(k.Provider.Calls(m))
	}
	if calls != 24 {
		t.Errorf("calls of members at once = %d, want 24: three quarters of half of 64", calls)
	}
	k.Advance(20 * 25 * time.Second)
	for tenant, run := range slow {
		if got := statusOf(t, k, tenant, run); got != rules.StatusCompleted {
			t.Errorf("a run with a group is %s in the end, want completed", got)
		}
	}
}

func TestOneTenantLeavesACallOfASmallHost(t *testing.T) {
	var sleep func(context.Context, time.Duration) error
	provider := func(takes time.Duration) verification.Provider {
		return &mock.ProviderMock{CheckFunc: func(ctx context.Context, _ verification.CheckRequest) (verification.CheckResult, error) {
			return verification.CheckResult{Outcome: verification.OutcomePassed}, sleep(ctx, takes)
		}}
	}
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		o.Calls = 3
		for _, name := range []string{"slow_a", "slow_b", "slow_c"} {
			p.Providers[name] = provider(time.Hour)
		}
		p.Providers["quick"] = provider(time.Second)
	})
	sleep = k.Clock.Sleep
	of := func(provider string) workflow.Definition {
		d := with(chain("a"), "a", func(n *workflow.Node) { n.Provider, n.TimeoutSeconds = provider, 600 })
		d.Workflow = provider
		return d
	}
	for _, name := range []string{"slow_a", "slow_b", "slow_c"} {
		startFor(t, k, enginetest.Tenant, k.Apply(of(name)), engine.StartRequest{ReferenceID: "x"})
	}
	k.Settle()
	run := startFor(t, k, bystander, applyForBystander(t, k, of("quick")), engine.StartRequest{ReferenceID: "y"})
	k.Advance(time.Minute)
	if got := statusOf(t, k, bystander, run); got != rules.StatusCompleted {
		t.Errorf("the run of another tenant is %s after a minute, want completed", got)
	}
}

func TestATenantTakesAQuarterOfTheWorkersForNotices(t *testing.T) {
	var sleep func(context.Context, time.Duration) error
	var sending, saving atomic.Int64
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		o.Workers = 16
		p.Notifier = &mock.NotifierMock{NotifyFunc: func(ctx context.Context, n rules.Notice) error {
			if n.Tenant == bystander {
				return nil
			}
			sending.Add(1)
			return sleep(ctx, time.Second)
		}}
		ledger := p.Store
		p.Store = replace(p.Store, func(s *ports) {
			rows := mockRows(ledger)
			rows.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
				if d, ok := rows[0].(store.DeliveryRecord); ok && d.Tenant != bystander {
					saving.Add(1)
					_ = sleep(ctx, time.Second)
				}
				return ledger.Change(ctx, rows)
			}
			s.RowStore = rows
		})
	})
	sleep = k.Clock.Sleep
	d := chain("a")
	d.LifecycleWebhookURL = hooks
	ours, theirs := k.Apply(d), applyForBystander(t, k, d)
	const runs = 20
	for range runs {
		startFor(t, k, enginetest.Tenant, ours, engine.StartRequest{ReferenceID: "x"})
	}
	k.Settle()
	if got := sending.Load(); got != runs {
		t.Errorf("notices being sent at once = %d, want all %d", got, runs)
	}
	k.Advance(time.Second)
	if got := saving.Load(); got != 4 {
		t.Errorf("deliveries being saved at once = %d, want a quarter of 16", got)
	}
	run := startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "y"})
	k.Settle()
	if _, err := k.Store.Delivery(t.Context(), bystander, rules.NoticeRef{Run: run}); err != nil {
		t.Errorf("the delivery of the other tenant: %v, want it saved beside them", err)
	}
	k.Advance(time.Minute)
	if got := saving.Load(); got != runs {
		t.Errorf("deliveries saved after a minute = %d, want all %d", got, runs)
	}
}
