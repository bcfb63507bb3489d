// Authentication, authorization and the rate limit.

package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/httprate"

	"github.com/verifyd/verifyd/verification"
)

// caller identifies an authenticated client or reviewer.
type caller struct {
	tenant   verification.TenantID
	name     string // recorded with a verdict; the API does not show it
	identity string // of a reviewer; empty for a client, which is a program
}

// actor returns the caller as the audit trail names it.
func (c caller) actor() verification.Actor {
	if c.identity != "" {
		return verification.ReviewerActor(verification.Person{Identity: c.identity, Name: c.name})
	}
	return verification.Actor{Kind: verification.ActorAccount, ID: c.name}
}

// admit checks credentials, the state of the account, the surface and the rate
// limit, in this order.
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
	case !account.Allows(rule.surfaceOf(r)):
		return caller{}, refusedSurface(rule.surfaceOf(r))
	case a.tooMany(r, "client "+account.ClientID):
		return caller{}, errTooMany
	}
	return caller{tenant: account.Tenant, name: account.ClientID}, nil
}

// refusedSurface returns errSurface for a surface, which the log and a header name.
func refusedSurface(s verification.Surface) *refusal {
	return &refusal{status: errSurface.status, body: errSurface.body, surface: s}
}

// surfaceOf returns the surface of a request. Of two values of for, which are refused later, the
// first one counts.
func (r rule) surfaceOf(q *http.Request) verification.Surface {
	if r.report && q.URL.Query().Get("for") == "file" {
		return verification.SurfaceFiles
	}
	return r.surface
}

// admitBearer checks the dashboard access token of a reviewer.
func (a *api) admitBearer(r *http.Request, token string) (caller, error) {
	who, err := a.opt.Bearers(r.Context(), token)
	switch {
	case errors.Is(err, verification.ErrUnauthenticated):
		return caller{}, errWrongCredentials
	case errors.Is(err, verification.ErrForbidden):
		return caller{}, refusedSurface(verification.SurfaceSignals)
	case err != nil:
		return caller{}, err
	case a.tooMany(r, "reviewer "+string(who.Tenant)+" "+who.Identity):
		return caller{}, errTooMany
	}
	return caller{tenant: who.Tenant, name: who.Name, identity: who.Identity}, nil
}

// given reports whether a header has a value that is not empty.
func given(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return v != "" })
}

// bearer returns the token of the Authorization header; empty without one.
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

// newLimiter returns a limiter of requests per second; nil for no limit.
func newLimiter(perSecond int) *httprate.RateLimiter {
	if perSecond <= 0 {
		return nil
	}
	return httprate.NewRateLimiter(perSecond, time.Second, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
}

func (a *api) tooMany(r *http.Request, key string) bool {
	return a.limiter != nil && a.limiter.OnLimit(nil, r, key)
}
