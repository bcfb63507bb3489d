// Slots for calls of providers: of each provider, and of all together.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/verification"
)

// providerKey identifies a provider. The tenant is empty for one of all tenants.
type providerKey struct {
	tenant verification.TenantID
	name   string
}

// providerSlots are the limits of one provider.
type providerSlots struct {
	*fair.Limiter
	waitTurn func(context.Context) error // nil for a provider without a rate
}

// addProvider sets the limits of a provider: its own if it has any, and a share of
// all calls. One tenant may use a quarter of the calls to a provider that it shares
// with others, or three quarters of a limit of the provider's own, at least one.
func (r *runner) addProvider(key providerKey, p verification.Provider) {
	n := max(1, r.e.opt.Calls/providerShare)
	perTenant := max(1, n/tenantShare)
	var s providerSlots
	if l, ok := p.(verification.CallLimiter); ok {
		n = min(n, max(1, l.MaxCalls()))
		perTenant, s.waitTurn = max(1, n*3/4), l.WaitTurn
	}
	if key.tenant != "" {
		perTenant = n
	}
	s.Limiter = fair.NewLimiter(n, perTenant)
	s.OnWait(r.clock.Leave, r.clock.Enter)
	r.providers[key] = s
}

// slotsOf returns the limits of a provider of a tenant; ok is false for an unknown
// one, whose call fails.
func (r *runner) slotsOf(t verification.TenantID, provider string) (s providerSlots, ok bool) {
	key := providerKey{name: provider}
	if _, own := r.e.provider(t, provider); own {
		key.tenant = t
	}
	s, ok = r.providers[key]
	return s, ok
}

// tryCall acquires slots without waiting.
func (r *runner) tryCall(t verification.TenantID, provider string, n int) (release func(), ok bool) {
	if r.isClosing() {
		return nil, false
	}
	ofProvider := func() {}
	if s, known := r.slotsOf(t, provider); known {
		if s.waitTurn != nil {
			return nil, false
		}
		if ofProvider, ok = s.TryAcquireN(string(t), n); !ok {
			return nil, false
		}
	}
	all, ok := r.calls.TryAcquireN(string(t), n)
	if !ok {
		ofProvider()
		return nil, false
	}
	return func() { all(); ofProvider() }, true
}

// acquireSlots waits for slots of the provider, then for its turn, then for slots of
// all calls.
func (r *runner) acquireSlots(ctx context.Context, t verification.TenantID, provider string, n int) (release func(), err error) {
	ofProvider := func() {}
	if s, known := r.slotsOf(t, provider); known {
		if ofProvider, err = s.AcquireN(ctx, string(t), n); err != nil {
			return nil, err
		}
		if s.waitTurn != nil {
			if err := s.waitTurn(ctx); err != nil {
				ofProvider()
				return nil, err
			}
		}
	}
	all, err := r.calls.AcquireN(ctx, string(t), n)
	if err != nil {
		ofProvider()
		return nil, err
	}
	return func() { all(); ofProvider() }, nil
}
