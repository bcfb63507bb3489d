// Who calls, and whether that account may.

package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/httprate"

	"github.com/verifyd/verifyd/verification"
)

// caller is whoever was admitted.
type caller struct {
	tenant verification.TenantID
	name   string // kept in the history of a verdict, shown nowhere
}

// admit checks credentials, account state, surface and rate limit, in this
// order.
func (a *api) admit(r *http.Request, rule rule) (caller, error) {
	id, key := r.Header["Client-Id"], r.Header["X-Api-Key"]
	if rule.bearer && !given(id) && !given(key) {
		if token := bearer(r); token != "" {
			return a.admitBearer(r, token)
		}
	}
	switch {
	case !given(id) || !given(key):
		return caller{}, errMissingCredentials
	case len(id) > 1 || len(key) > 1:
		return caller{}, errWrongCredentials
	}
	account, err := a.engine.Authenticate(r.Context(), id[0], key[0])
	switch {
	case err != nil:
		return caller{}, err
	case account.Disabled:
		return caller{}, errDisabled
	case !account.Allows(rule.surface):
		return caller{}, errSurface
	case a.tooMany(r, "client "+account.ClientID):
		return caller{}, errTooMany
	}
	return caller{tenant: account.Tenant, name: account.ClientID}, nil
}

// admitBearer admits a reviewer by the access token of the dashboard.
func (a *api) admitBearer(r *http.Request, token string) (caller, error) {
	tenant, reviewer, err := a.opt.Bearers(r.Context(), token)
	switch {
	case errors.Is(err, verification.ErrUnauthenticated):
		return caller{}, errWrongCredentials
	case err != nil:
		return caller{}, err
	case a.tooMany(r, "reviewer "+string(tenant)+" "+reviewer):
		return caller{}, errTooMany
	}
	return caller{tenant: tenant, name: reviewer}, nil
}

// given tells whether a header was sent with something in it.
func given(values []string) bool {
	for _, v := range values {
		if v != "" {
			return true
		}
	}
	return false
}

// bearer is the token of an Authorization header; empty without one.
func bearer(r *http.Request) string {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// newLimiter counts requests by the second; nil counts none.
func newLimiter(perSecond int) *httprate.RateLimiter {
	if perSecond <= 0 {
		return nil
	}
	return httprate.NewRateLimiter(perSecond, time.Second, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
}

func (a *api) tooMany(r *http.Request, key string) bool {
	return a.limiter != nil && a.limiter.OnLimit(nil, r, key)
}
