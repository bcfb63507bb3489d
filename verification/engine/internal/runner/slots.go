// Slots: workers, and calls of providers, of each provider and of all together.

package runner

import (
	"context"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/verification"
)

// slots are the limits of the work that a host does at once. They need no lock of the runner.
type slots struct {
	workers   *fair.Limiter // held while the engine works on a run
	notices   *fair.Limiter // held while the engine works on a notice, but not while it is sent
	calls     callSlots     // held while a provider is called
	providers map[providerKey]providerSlots
}

// providerKey identifies a provider. The tenant is empty for one of all tenants.
type providerKey struct {
	tenant verification.TenantID
	name   string
}

// callSlots are slots for calls. Three quarters of them may be used by runs that call several providers at once: such runs
// that begin together also end together, and in between a run with one call would find no free slot.
type callSlots struct{ all, together *fair.Limiter }

func newCallSlots(c Config, n, perTenant int) callSlots {
	s := callSlots{fair.NewLimiter(n, perTenant), fair.NewLimiter(max(1, n*3/4), perTenant)}
	s.all.OnWait(c.Activity.Leave, c.Activity.Enter)
	s.together.OnWait(c.Activity.Leave, c.Activity.Enter)
	return s
}

// acquire waits for n slots. together is for one of several calls of a run.
func (s callSlots) acquire(ctx context.Context, t verification.TenantID, n int, together bool) (release func(), err error) {
	if !together {
		return s.all.AcquireN(ctx, string(t), n)
	}
	ofTogether, err := s.together.AcquireN(ctx, string(t), n)
	if err != nil {
		return nil, err
	}
	ofAll, err := s.all.AcquireN(ctx, string(t), n)
	if err != nil {
		ofTogether()
		return nil, err
	}
	return func() { ofAll(); ofTogether() }, nil
}

// providerSlots are the limits of one provider.
type providerSlots struct {
	callSlots

	waitTurn func(context.Context) error // nil for a provider without a rate
}

func newSlots(c Config) slots {
	s := slots{
		workers:   fair.NewLimiter(c.Workers, max(1, c.Workers*3/4)),
		notices:   fair.NewLimiter(max(1, c.Workers/2), max(1, c.Workers/tenantShare)),
		calls:     newCallSlots(c, c.Calls, max(1, c.Calls/tenantShare)),
		providers: map[providerKey]providerSlots{},
	}
	s.notices.OnWait(c.Activity.Leave, c.Activity.Enter)
	for name, p := range c.Providers {
		s.providers[providerKey{name: name}] = newProviderSlots(c, "", p)
	}
	for t, own := range c.TenantProviders {
		for name, p := range own {
			s.providers[providerKey{t, name}] = newProviderSlots(c, t, p)
		}
	}
	return s
}

// newProviderSlots returns the limits of a provider of a tenant, or of all: its own if it
// has any, and a share of all calls. One tenant may use a quarter of the calls to a provider
// that it shares with others, or three quarters of a limit of the provider's own, at least
// one.
func newProviderSlots(c Config, owner verification.TenantID, p verification.Provider) (s providerSlots) {
	n := max(1, c.Calls/providerShare)
	perTenant := max(1, n/tenantShare)
	if l, ok := p.(verification.CallLimiter); ok {
		n = min(n, max(1, l.MaxCalls()))
		perTenant, s.waitTurn = max(1, n*3/4), l.WaitTurn
	}
	if owner != "" {
		perTenant = n
	}
	s.callSlots = newCallSlots(c, n, perTenant)
	return s
}

// of returns the limits of a provider of a tenant; ok is false for an unknown one, whose
// call fails.
func (s slots) of(t verification.TenantID, provider string) (p providerSlots, ok bool) {
	if p, ok = s.providers[providerKey{t, provider}]; ok {
		return p, true
	}
	p, ok = s.providers[providerKey{name: provider}]
	return p, ok
}

// AcquireWorker waits for a worker slot, which is held while the engine works on a run.
func (r *Runner) AcquireWorker(ctx context.Context, t verification.TenantID) (release func(), err error) {
	return r.slots.workers.Acquire(ctx, string(t))
}

// AcquireNotice waits for a notice slot, which is held while the engine works on a notice: a
// tenant whose runs all end at once would otherwise use every connection of the database.
func (r *Runner) AcquireNotice(ctx context.Context, t verification.TenantID) (release func(), err error) {
	return r.slots.notices.Acquire(ctx, string(t))
}

// AcquireCall acquires n slots for the only call of a run. If it has to wait for them, it calls waits before. It returns ErrHandOver
// when the host stops, and another error when the run ends.
func (r *Runner) AcquireCall(j *Job, provider string, n int, waits func()) (release func(), err error) {
	if !r.Closing() {
		if release, ok := r.slots.try(j.Ref.Tenant, provider, n); ok {
			return release, nil
		}
	}
	waits()
	r.mu.Lock()
	if r.closing {
		r.mu.Unlock()
		return nil, ErrHandOver
	}
	j.queued = true
	ctx := j.ctx
	r.mu.Unlock()
	release, err = r.slots.acquire(ctx, j.Ref.Tenant, provider, n, false)
	r.mu.Lock()
	defer r.mu.Unlock()
	j.queued = false
	if err != nil && r.closing {
		return nil, ErrHandOver
	}
	return release, err
}

// AcquireOneOf waits, until ctx ends or the host stops, for n slots for one of several calls of a run.
func (r *Runner) AcquireOneOf(ctx context.Context, t verification.TenantID, provider string, n int) (release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.open, cancel)()
	return r.slots.acquire(ctx, t, provider, n, true)
}

// try acquires n slots for a call without waiting.
func (s slots) try(t verification.TenantID, provider string, n int) (release func(), ok bool) {
	ofProvider := func() {}
	if p, known := s.of(t, provider); known {
		if p.waitTurn != nil {
			return nil, false
		}
		if ofProvider, ok = p.all.TryAcquireN(string(t), n); !ok {
			return nil, false
		}
	}
	all, ok := s.calls.all.TryAcquireN(string(t), n)
	if !ok {
		ofProvider()
		return nil, false
	}
	return func() { all(); ofProvider() }, true
}

// acquire waits for slots of the provider, then for its turn, then for slots of all calls.
func (s slots) acquire(ctx context.Context, t verification.TenantID, provider string, n int, together bool) (release func(), err error) {
	ofProvider := func() {}
	if p, known := s.of(t, provider); known {
		if ofProvider, err = p.acquire(ctx, t, n, together); err != nil {
			return nil, err
		}
		if p.waitTurn != nil {
			if err := p.waitTurn(ctx); err != nil {
				ofProvider()
				return nil, err
			}
		}
	}
	all, err := s.calls.acquire(ctx, t, n, together)
	if err != nil {
		ofProvider()
		return nil, err
	}
	return func() { all(); ofProvider() }, nil
}
