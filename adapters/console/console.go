// Package console serves the reviewer's console: the pages on which reviewers work
// through the queue, read runs and give verdicts, and on which operators see how the
// service is doing.
//
// Every page works without JavaScript. The table in access.go has every route with
// the role that it needs; a handler gets the session of a person, which names the
// tenant, and never takes a tenant from a URL. Everything that a page shows or does is
// a use case of the engine. The pages of a capability stand with their templates in a
// package below internal, on the shell that all of them share; styles and scripts are in
// assets, texts in messages. See docs/console.md.
package console

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/verifyd/verifyd/adapters/console/internal/audit"
	"github.com/verifyd/verifyd/adapters/console/internal/numbers"
	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/runpage"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/console/internal/workflows"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

//go:embed assets/* messages/*.json page/*.html page/shared/*.html
var files embed.FS

// Tokens issues and verifies the tokens of the console.
type Tokens interface {
	// IssueSession returns a token that VerifySession accepts for ttl. No two tokens
	// are the same.
	IssueSession(r verification.Reviewer, ttl time.Duration) (token string, err error)
	// VerifySession returns the reviewer of a token and when it expires, or
	// ErrUnauthenticated. Without an identity, the name is the identity.
	VerifySession(token string) (r verification.Reviewer, expires time.Time, err error)
	// OpenSignInLink returns the link of a token, or ErrUnauthenticated. It does not
	// know whether the link was used.
	OpenSignInLink(token string) (verification.SignInLink, error)
}

// IdentityProvider is where reviewers sign in, such as an OpenID Connect issuer.
type IdentityProvider interface {
	// Begin returns the URL at which a person signs in, and the secrets of this
	// attempt, which fit into a cookie. The URL, and the response to the attempt, have its
	// state in the parameter state.
	Begin(ctx context.Context) (signIn, attempt string, err error)
	// Matches returns ErrUnauthenticated unless a response belongs to the attempt. It calls
	// nobody. The response is the query with which the provider sent the browser back.
	Matches(attempt string, response url.Values) error
	// Finish returns the reviewer who signed in, and the ID token for SignOutURL. It returns
	// ErrUnauthenticated if the response does not belong to the attempt or the provider
	// refused the person, ErrForbidden if the person has no role, and ErrUnavailable
	// if the provider does not answer.
	Finish(ctx context.Context, attempt string, response url.Values) (r verification.Reviewer, idToken string, err error)
	// SignOutURL returns the URL at which a person signs out of the provider, or "" if
	// there is none. The ID token may be empty. It must return when ctx ends, which is
	// soon: the person waits, and has signed out of the console already.
	SignOutURL(ctx context.Context, idToken string) (string, error)
}

// PageDrawer draws the first page of a PDF.
type PageDrawer interface {
	// DrawPage returns the first page of a document of a tenant, a PDF with this content, as a
	// JPEG. It returns ErrInvalid if the page cannot be drawn, and ErrUnavailable if too
	// many others are being drawn. It need not read the content.
	DrawPage(ctx context.Context, t verification.TenantID, d verification.Document, content io.Reader) ([]byte, error)
}

// Options configure New. URL, Store, Tokens and Now are required.
type Options struct {
	// URL is where browsers reach the handler, such as https://verify.example/console.
	// With https, cookies are sent over TLS only.
	URL string
	// Store is the store of the engine.
	Store  store.Store
	Tokens Tokens
	// Generation changes with the keys of Tokens: a session that was verified before is then
	// verified again. nil means that the keys never change.
	Generation func() uint64
	// IdentityProvider is where reviewers sign in; with nil they sign in with links only.
	IdentityProvider IdentityProvider
	// Session is how long a session that began at the identity provider lasts; 0 means 8 hours.
	// A link says how long its session lasts.
	Session time.Duration
	// Teams are the teams that runs are assigned and escalated to, beside those of the person.
	// The people of all tenants see them.
	Teams []string
	// Documents has the uploads of customers, for the file of a person. With nil, no file of a run with
	// uploads can be made.
	Documents verification.DocumentStore
	// Pages draws the first page of PDFs; with nil they are only downloaded.
	Pages PageDrawer
	// SignReport returns the detached signature of a printed report, as token.Reports does; with
	// nil the console has no signatures.
	SignReport func(pdf []byte) ([]byte, error)
	// Now is the clock of the engine, and of the sessions.
	Now func() time.Time
	// Log receives messages for operators; nil discards them.
	Log *slog.Logger
	// Stopping is closed when the host stops: live updates then end. nil means never.
	Stopping <-chan struct{}
}

const defaultSession = 8 * time.Hour

// CallbackPath and SignInPath are where an IdentityProvider sends browsers back to, below
// Options.URL: with the response to a sign-in, and after signing out.
const (
	CallbackPath = "/sign-in/callback"
	SignInPath   = "/sign-in"
)

// console is the state of the handler.
type console struct {
	shell     *shell.Shell
	numbers   *numbers.Pages
	queue     *queue.Pages
	workflows *workflows.Pages
	runpage   *runpage.Pages
	audit     *audit.Pages
	opt       Options
	origin    *http.CrossOriginProtection
	gates     gates
	routes    chi.Routes
}

// New returns the handler of the console, to be mounted at the path of o.URL.
func New(e *engine.Engine, o Options) (http.Handler, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("console: the option URL %q is not an absolute URL", o.URL)
	case o.Tokens == nil || o.Now == nil || o.Store == nil:
		return nil, errors.New("console: the options Store, Tokens and Now are required")
	}
	o.Session = cmp.Or(o.Session, defaultSession)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c := &console{
		opt: o, origin: http.NewCrossOriginProtection(), gates: newGates(),
	}
	// A proxy may change the host of a request; the origin comes from the URL.
	site := u.Scheme + "://" + u.Host
	if err := c.origin.AddTrustedOrigin(site); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	s := shell.Config{Engine: e, Base: strings.TrimSuffix(u.EscapedPath(), "/"), Secure: u.Scheme == "https", Log: o.Log}
	if s.Catalogs, err = web.ReadCatalogs(files); err != nil {
		return nil, err
	}
	if s.Assets, err = web.NewAssets(files, drawing.Assets()); err != nil {
		return nil, err
	}
	if c.shell, err = shell.New(s, files); err != nil {
		return nil, err
	}
	d := desk.New(e, o.Store, o.Now, o.Log)
	if c.queue, err = queue.New(c.shell, d, o.Now, o.Stopping); err != nil {
		return nil, err
	}
	if c.numbers, err = numbers.New(c.shell, d); err != nil {
		return nil, err
	}
	if c.audit, err = audit.New(c.shell, o.Store, o.Now); err != nil {
		return nil, err
	}
	if c.workflows, err = workflows.New(c.shell, d); err != nil {
		return nil, err
	}
	run := runpage.Config{Desk: d, Queue: c.queue, Site: site, Teams: o.Teams, Documents: o.Documents, SignReport: o.SignReport}
	if o.Pages != nil {
		run.DrawPage = o.Pages.DrawPage
	}
	if c.runpage, err = runpage.New(c.shell, run); err != nil {
		return nil, err
	}
	return c.router(), nil
}

// compression is the level at which pages are compressed: a higher one costs time and saves little.
const compression = 5

// router returns the handler of all routes of the table.
func (c *console) router() http.Handler {
	r := chi.NewRouter()
	compress := middleware.Compress(compression,
		"text/html", "text/css", "text/javascript", "image/svg+xml", "application/json", "application/x-ndjson", "text/csv")
	r.Use(web.Policy{Permissions: "camera=(), geolocation=(), microphone=(), payment=(), usb=()", Referrer: "same-origin"}.Secure)
	for _, row := range c.table() {
		on := r.With(compress)
		if row.pattern == queueEvents { // compress does not flush a writer that it has to unwrap
			on = r
		}
		on.Method(row.method, row.pattern, c.guard(row))
		if row.method == http.MethodGet {
			on.Method(http.MethodHead, row.pattern, c.guard(row))
		}
	}
	unknown := route{roles: []verification.Role{verification.RoleViewer}, handle: func(_ http.ResponseWriter, _ *http.Request, _ shell.Session) error {
		return verification.NotFound("page")
	}}
	r.NotFound(c.guard(unknown))
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		c.guard(route{roles: unknown.roles, handle: c.methodNotAllowed})(w, r)
	})
	c.routes = r
	return r
}

// serveAsset writes a style sheet, a script or an icon.
func (c *console) serveAsset(w http.ResponseWriter, r *http.Request, _ shell.Session) error {
	c.shell.Assets.Serve(w, r, strings.TrimPrefix(shell.PathOf(r), "/assets/"))
	return nil
}
