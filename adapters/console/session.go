// Sessions: who makes a request, in which language and time zone.

package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/verification"
)

// The cookies of a session. See also package shell.
const (
	sessionCookie = "verifyd-session"  // a token of Tokens
	attemptCookie = "verifyd-sign-in"  // the beginning of the name; see attempt.go
	idTokenCookie = "verifyd-id-token" // for signing out of the identity provider
)

// identify fills in the person of the session cookie. ErrUnauthenticated is returned
// without one, and when it has expired.
func (c *console) identify(r *http.Request, s *shell.Session) error {
	raw := c.shell.Cookie(r, sessionCookie)
	if raw == "" {
		return &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "session"}
	}
	who, expires, err := c.session(r.Context(), raw)
	if err != nil {
		return err
	}
	name, err := c.shell.Engine.TenantName(r.Context(), who.Tenant)
	if err != nil {
		return err
	}
	s.Reviewer, s.Expires, s.TenantName, s.Describe = who, expires, name, c.shell.Engine.Describer(who.Tenant)
	s.Identity = cmp.Or(s.Identity, s.Name)
	return nil
}

// provenSession is the person of a session token, with the generation of the keys with
// which it was verified.
type provenSession struct {
	verification.Reviewer
	expires time.Time
	keys    uint64
}

// gates bound what people who are not signed in can make this host do.
type gates struct {
	tokens *fair.Gate[[sha256.Size]byte, provenSession] // sessions and sign-in links
	calls  *fair.Gate[string, struct{}]                 // calls of the identity provider, by address
}

const (
	maxUnproven    = 4  // tokens verified at once
	maxCalls       = 64 // calls of the identity provider at once
	maxClientCalls = 48 // those from one address, which may be a proxy
)

func newGates() gates {
	busy := verification.Unavailable("session", "too many sign-ins wait, or wrong tokens are being refused; try again")
	return gates{
		tokens: fair.NewGate[[sha256.Size]byte, provenSession](maxUnproven, 0, busy),
		calls:  fair.NewGate[string, struct{}](maxCalls, maxClientCalls, busy),
	}
}

// session returns the reviewer of a session token. One that was verified before is
// verified again only after its end, or when the keys have changed.
func (c *console) session(ctx context.Context, raw string) (verification.Reviewer, time.Time, error) {
	hash, keys := sha256.Sum256([]byte(raw)), uint64(0)
	if c.opt.Generation != nil {
		keys = c.opt.Generation()
	}
	if p, ok := c.gates.tokens.Proven(hash); ok && p.keys == keys && c.opt.Now().Before(p.expires) {
		return p.Reviewer, p.expires, nil
	}
	p, err := c.gates.tokens.Check(ctx, "", hash, func() (provenSession, error) {
		who, expires, err := c.opt.Tokens.VerifySession(raw)
		return provenSession{who, expires, keys}, err
	})
	return p.Reviewer, p.expires, err
}
