// Sessions: who makes a request, in which language and time zone.

package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"time"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/verification"
)

// session is the person of a request. The templates call its methods.
type session struct {
	// Reviewer is the zero value for a visitor who has not signed in.
	verification.Reviewer
	web.Catalog // the language

	TenantName string
	Expires    time.Time // the end of the session
	Zone       *time.Location
	Languages  []web.LanguageLink // the other ones
	Base       string             // the path of the console

	path       string       // of the request, below Base
	drawsPages bool         // the first pages of PDFs are shown
	flash      string       // the cookie of done
	log        *slog.Logger // with the id of the request
}

// SignedIn reports whether the person has signed in.
func (s session) SignedIn() bool { return s.Tenant != "" }

// Key names the person among the people of all tenants. People with the same key are one
// person, as verification.Person.Is says.
func (s session) Key() string {
	return string(s.Tenant) + " " + s.Person().Key()
}

// May reports whether the person has at least this role.
func (s session) May(role verification.Role) bool { return s.Role.Includes(role) }

// instant is a time for the template "time".
type instant struct{ Machine, Text string }

// At returns a time in the zone of the person, as in 2026-11-22 18:04.
func (s session) At(t time.Time) instant {
	return instant{Machine: t.UTC().Format(time.RFC3339), Text: t.In(s.Zone).Format("2006-01-02 15:04")}
}

// The cookies. The names of all but zoneCookie, which a script sets, begin with
// __Host- where the console is served over TLS, so that no other host can set them.
const (
	sessionCookie  = "verifyd-session"  // a token of Tokens
	attemptCookie  = "verifyd-sign-in"  // the beginning of the name; see attempt.go
	idTokenCookie  = "verifyd-id-token" // for signing out of the identity provider
	languageCookie = "verifyd-language"
	flashCookie    = "verifyd-flash"
	zoneCookie     = "tz" // an IANA name such as Asia/Kolkata
)

// setCookie sets a cookie that ends with the browser; an empty value removes it.
func (c *console) setCookie(w http.ResponseWriter, name, value string) {
	c.setLastingCookie(w, name, value, 0)
}

// setLastingCookie sets a cookie that lasts; for 0 it is as by setCookie.
func (c *console) setLastingCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	cookie := &http.Cookie{
		Name: c.cookieName(name), Value: value, Path: "/", MaxAge: int(lasts.Seconds()),
		HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// cookie returns the value of a cookie; empty without one.
func (c *console) cookie(r *http.Request, name string) string {
	cookie, err := r.Cookie(c.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (c *console) cookieName(name string) string {
	if c.secure && name != zoneCookie {
		return "__Host-" + name
	}
	return name
}

// visitor returns the session of a person who has not been identified. A language in
// the query is remembered.
func (c *console) visitor(w http.ResponseWriter, r *http.Request) session {
	chosen := c.cookie(r, languageCookie)
	if asked := r.URL.Query().Get("lang"); asked != "" && asked != chosen {
		chosen = asked
		if known := c.catalogs.Choose(asked, nil); known.Lang() == asked {
			c.setCookie(w, languageCookie, asked)
		}
	}
	s := session{Catalog: c.catalogs.Choose(chosen, r.Header), Zone: zoneOf(c.cookie(r, zoneCookie)), Base: c.base, path: pathOf(r), drawsPages: c.opt.Pages != nil, flash: c.cookie(r, flashCookie), log: web.Log(w, c.opt.Log)}
	if r.Method != http.MethodPost { // a link would lose the page of a post
		s.Languages = c.catalogs.Links(s.Catalog, r.URL.Query())
	}
	return s
}

const maxZone = 64 // bytes of the name of a time zone

// zoneOf returns the time zone of a name, or UTC if there is none.
func zoneOf(name string) *time.Location {
	if len(name) > maxZone || name == "Local" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// identify fills in the person of the session cookie. ErrUnauthenticated is returned
// without one, and when it has expired.
func (c *console) identify(r *http.Request, s *session) error {
	raw := c.cookie(r, sessionCookie)
	if raw == "" {
		return &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "session"}
	}
	who, expires, err := c.session(r.Context(), raw)
	if err != nil {
		return err
	}
	name, err := c.engine.TenantName(r.Context(), who.Tenant)
	if err != nil {
		return err
	}
	s.Reviewer, s.Expires, s.TenantName = who, expires, name
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
