// Tests of what one tenant's load does to another: nothing.

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// bystander is the tenant beside that of the kit.
const bystander verification.TenantID = "00000000-0000-7000-8000-0000000000bb"

// beside applies a definition for the bystander.
func beside(t *testing.T, k *enginetest.Kit, d verification.Definition) verification.Workflow {
	t.Helper()
	if err := k.Store.SaveTenant(t.Context(), verification.Tenant{ID: bystander, Name: "Bystander"}); err != nil {
		t.Fatal(err)
	}
	applied, err := k.Engine.Apply(t.Context(), bystander, d)
	if err != nil {
		t.Fatal(err)
	}
	return applied.Workflow
}

// startFor starts a run of a tenant without waiting for it.
func startFor(t *testing.T, k *enginetest.Kit, tenant verification.TenantID, w verification.Workflow, r engine.StartRequest) verification.RunID {
	t.Helper()
	v, err := k.Engine.Start(t.Context(), tenant, w.ID, r)
	if err != nil {
		t.Fatal(err)
	}
	return v.ID
}

func statusOf(t *testing.T, k *enginetest.Kit, tenant verification.TenantID, id verification.RunID) verification.Status {
	t.Helper()
	k.Settle()
	d, err := k.Engine.Run(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return d.Status
}

func TestASlowProviderOfOneTenantDelaysNoOther(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Workers, o.Calls = 1, 8 })
	k.Provider.On("slow", enginetest.Slow(25*time.Second, enginetest.Pass(nil)))
	theirs := beside(t, k, chain("quick"))
	slow := k.Apply(chain("slow"))
	var last verification.RunID
	for range 400 { // more than this host takes at once
		last = startFor(t, k, enginetest.Tenant, slow, engine.StartRequest{ReferenceID: "x"})
	}
	run := startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "y"})
	if got := statusOf(t, k, bystander, run); got != verification.StatusCompleted {
		t.Errorf("beside 400 runs that wait for a slow provider, a run is %s, want it completed at once", got)
	}
	if got := len(k.Provider.Calls("slow")); got != 1 {
		t.Errorf("calls of the slow provider at once = %d, want 1: a quarter of half of 8", got)
	}
	k.Advance(400 * 25 * time.Second)
	if got := statusOf(t, k, enginetest.Tenant, last); got != verification.StatusCompleted {
		t.Errorf("the last run of the slow provider is %s, want completed in the end", got)
	}
}

func TestTheTimeoutOfADispatchStartsWithTheCall(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Calls = 4 }) // one at a time for a tenant
	k.Provider.On("a", enginetest.Slow(20*time.Second, enginetest.Pass(nil)))
	w := k.Apply(with(chain("a"), "a", func(n *verification.Node) { n.TimeoutSeconds = 30 }))
	var runs []verification.RunID
	for range 3 {
		runs = append(runs, startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x"}))
	}
	k.Advance(time.Minute)
	for n, id := range runs {
		d := k.Run(id)
		wantStatus(t, d, verification.StatusCompleted)
		if len(k.Provider.Calls("a")) != 3 {
			t.Errorf("run %d: %d calls in all, want one a run: none timed out while it waited", n, len(k.Provider.Calls("a")))
		}
	}
}

// counting counts the calls in flight.
type counting struct {
	verification.Provider
	now, most atomic.Int64
}

func (c *counting) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return c.Provider.Check(ctx, r)
}

func TestLargeRunsTakeUpSeveralCalls(t *testing.T) {
	for size, want := range map[int]int64{10: 16, 1 << 20: 1} {
		var c counting
		k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
			c.Provider, p.Providers["script"] = p.Providers["script"], &c
			o.Calls = 128 // 16 of one provider for one tenant
		})
		k.Provider.On("a", enginetest.Slow(time.Second, enginetest.Pass(nil)))
		w := k.Apply(chain("a"))
		input, err := verification.NewData(map[string]any{"text": strings.Repeat("x", size)})
		if err != nil {
			t.Fatal(err)
		}
		var last verification.RunID
		for range 20 {
			last = startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x", Input: input})
		}
		k.Advance(time.Minute)
		wantStatus(t, k.Run(last), verification.StatusCompleted)
		if got := c.most.Load(); got != want {
			t.Errorf("calls in flight with %d bytes of input = %d, want %d", size, got, want)
		}
	}
}

func TestCallsThatWaitForTheirTurnAreHandedOver(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Calls = 4 })
	k.Provider.On("a", enginetest.Slow(time.Hour, enginetest.Pass(nil)))
	w := k.Apply(with(chain("a"), "a", func(n *verification.Node) { n.TimeoutSeconds = 600 }))
	for range 3 {
		startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: "x"})
	}
	k.Settle()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Engine.Close(ctx); err != nil {
		t.Fatal(err)
	}
	work, err := due(t, k)
	if err != nil || len(work) != 3 {
		t.Fatalf("due after the close = %v, %v; want all three runs", work, err)
	}
	for _, w := range work {
		if w.Lost != 0 {
			t.Errorf("run %s has lost %d leases, want none: it was handed over", w.Run, w.Lost)
		}
	}
}

// timeout is the answer of a receiver that gives none.
type timeout struct{}

func (timeout) Error() string { return "no answer in time" }
func (timeout) Class() string { return verification.ClassTimeout }

// dead takes notices of every address but those of one host, which times out
// until it is revived.
type dead struct {
	host    string
	sleep   func(context.Context, time.Duration) error
	revived atomic.Bool

	mu       sync.Mutex
	attempts int // to the dead host
	taken    map[verification.RunID]time.Time
}

func (d *dead) Notify(ctx context.Context, n verification.Notice) error {
	if strings.Contains(n.URL, d.host) && !d.revived.Load() {
		d.mu.Lock()
		d.attempts++
		d.mu.Unlock()
		return errors.Join(d.sleep(ctx, 15*time.Second), timeout{})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken[n.Run.ID] = n.At
	return nil
}

func TestADeadReceiverIsPausedAndDelaysNoOther(t *testing.T) {
	d := &dead{host: "dead.example", taken: map[verification.RunID]time.Time{}}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Notifier = d })
	d.sleep = k.Clock.Sleep
	hook := func(name, url string) verification.Definition {
		def := chain("a")
		def.Workflow, def.LifecycleWebhookURL = name, url
		return def
	}
	gone := k.Apply(hook("gone", "https://dead.example/hooks"))
	const runs = 500
	for range runs {
		startFor(t, k, enginetest.Tenant, gone, engine.StartRequest{ReferenceID: "x"})
	}
	theirs := beside(t, k, hook("theirs", "https://alive.example/hooks"))
	other := startFor(t, k, bystander, theirs, engine.StartRequest{ReferenceID: "y"})
	began := k.Clock.Now()
	k.Settle()
	if at, ok := d.taken[other]; !ok || !at.Equal(began) {
		t.Errorf("the notice of another tenant was sent at %v, want at once", at)
	}
	k.Advance(20 * time.Second) // the first attempts have timed out
	own := startFor(t, k, enginetest.Tenant, k.Apply(hook("own", "https://alive.example/own")), engine.StartRequest{ReferenceID: "z"})
	began = k.Clock.Now()
	k.Advance(time.Second)
	if at, ok := d.taken[own]; !ok || at.Sub(began) > time.Second {
		t.Errorf("the notice to another receiver of the same tenant was sent at %v, want within a second of %v", at, began)
	}
	k.Advance(time.Hour)
	// 32 at first, and then probes after 10, 20, 40 ... 600 s.
	if d.attempts < 35 || d.attempts > 50 {
		t.Errorf("attempts in an hour = %d, want 32 and a few probes", d.attempts)
	}
	d.revived.Store(true)
	k.Advance(24 * time.Hour)
	if len(d.taken) != runs+2 {
		t.Errorf("notices taken after the receiver came back = %d, want %d", len(d.taken), runs+2)
	}
}

func TestARunThatStopsItsHostsIsEnded(t *testing.T) {
	var poisoned poison
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Lease, o.Observer = 10*time.Second, &poisoned })
	front := operator(t, k, nil)
	w := k.Apply(chain("a"))
	v, err := front.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	loseLeases(t, k, 6)
	k.Engine.Wake()
	run := k.Run(v.ID)
	wantStatus(t, run, verification.StatusFailed)
	if run.Error.Code != verification.CodeInternalError {
		t.Errorf("error = %+v, want an internal error", run.Error)
	}
	if n := len(k.Provider.Calls("a")); n != 0 {
		t.Errorf("the provider was called %d times, want never: the call may be what stops hosts", n)
	}
	if poisoned.runs != 1 {
		t.Errorf("RunPoisoned was called %d times, want once", poisoned.runs)
	}
}

// loseLeases has the one run that is due taken by hosts that are never heard of
// again. The first lease is not lost until the second is taken.
func loseLeases(t *testing.T, k *enginetest.Kit, n int) {
	t.Helper()
	for i := range n {
		_, _, err := k.Store.Take(t.Context(), verification.TakeRequest{
			Kind: verification.WorkAdvance, Now: k.Clock.Now().Add(time.Duration(i) * time.Second), Max: 1, MaxPerTenant: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	k.Advance(time.Duration(n) * time.Second)
}

// poison counts runs that were ended.
type poison struct {
	engine.Observer
	runs int
}

func (*poison) RunStarted()                                  {}
func (*poison) RunEnded(verification.Status)                 {}
func (*poison) ProviderCalled(string, string, time.Duration) {}
func (p *poison) RunPoisoned()                               { p.runs++ }

func TestARunThatCannotEvenBeEndedIsSetAside(t *testing.T) {
	k := enginetest.New(t, func(_ *engine.Ports, o *engine.Options) { o.Lease = 10 * time.Second })
	front := operator(t, k, nil)
	w := k.Apply(chain("a"))
	v, err := front.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	loseLeases(t, k, 11)
	k.Engine.Wake()
	k.Advance(59 * time.Minute)
	wantStatus(t, k.Run(v.ID), verification.StatusInProgress)
	if n := len(k.Provider.Calls("a")); n != 0 {
		t.Errorf("the provider was called %d times, want never", n)
	}
}

func TestAWebhookThatIsSetWhileARunEndsIsFound(t *testing.T) {
	s := &meanwhile{}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { s.RunStore, p.Runs = p.Runs, s })
	w := k.Apply(onboarding())
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	s.do = func() {
		if _, err := k.Engine.SetWebhook(t.Context(), enginetest.Tenant, w.ID, "https://client.example/hooks"); err != nil {
			t.Error(err)
		}
	}
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	if told := k.Notices.All(); len(told) != 1 {
		t.Errorf("notices = %+v, want one: the webhook was set before the run ended", told)
	}
}

// meanwhile does something just before the next append.
type meanwhile struct {
	verification.RunStore
	do func()
}

func (m *meanwhile) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	if m.do != nil {
		m.do()
		m.do = nil
	}
	return m.RunStore.Append(ctx, t, id, seq, a)
}

func TestRunsThatCannotBeWrittenDownHoldUpNoOther(t *testing.T) {
	s := &refusing{}
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		s.RunStore, p.Runs = p.Runs, s
		o.Poll = time.Hour
	})
	d := onboarding()
	d.RunTTLSeconds = 60
	w := k.Apply(d)
	for n := range 450 {
		id := startFor(t, k, enginetest.Tenant, w, engine.StartRequest{ReferenceID: fmt.Sprint(n)})
		if n < 430 {
			s.refuse(id)
		}
	}
	k.Advance(2 * time.Minute)
	err := k.Engine.Sweep(t.Context())
	if !errors.Is(err, errDisk) {
		t.Errorf("Sweep = %v, want the failures of 430 runs", err)
	}
	if n := s.expired(); n != 20 {
		t.Errorf("%d runs were written down, want the 20 behind those that fail", n)
	}
}

// refusing refuses to save the expiry of some runs.
type refusing struct {
	verification.RunStore
	mu      sync.Mutex
	refused map[verification.RunID]bool
	saved   int
}

func (f *refusing) refuse(id verification.RunID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == nil {
		f.refused = map[verification.RunID]bool{}
	}
	f.refused[id] = true
}

func (f *refusing) expired() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.saved
}

func (f *refusing) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	f.mu.Lock()
	refused := f.refused[id]
	if !refused && a.Summary.Ended == verification.StatusExpired {
		f.saved++
	}
	f.mu.Unlock()
	if refused {
		return errDisk
	}
	return f.RunStore.Append(ctx, t, id, seq, a)
}

// between calls do after the second append.
type between struct {
	verification.RunStore
	appends int
	do      func(verification.RunID)
}

func (b *between) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	err := b.RunStore.Append(ctx, t, id, seq, a)
	if b.appends++; b.appends == 2 {
		b.do(id)
	}
	return err
}

func TestARunThatEndsBeforeItsNextCallIsNotCalled(t *testing.T) {
	b := &between{}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { b.RunStore, p.Runs = p.Runs, b })
	b.do = func(id verification.RunID) {
		if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, id); err != nil {
			t.Error(err)
		}
	}
	wantStatus(t, start(k, chain("a", "b", "c")), verification.StatusCancelled)
	if n := len(k.Provider.Calls("b")); n != 0 {
		t.Errorf("the provider was called %d times for a run that was over, want never", n)
	}
}
