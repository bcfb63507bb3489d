// Access: every route with the role that it needs, and the check of each request.

package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
)

// handler answers a request of a route, or returns the error to answer with. The
// session belongs to a person with the role of the route, or to a visitor if the
// route needs none. The form of a post is parsed.
type handler func(w http.ResponseWriter, r *http.Request, s shell.Session) error

// route is one row of the table.
type route struct {
	method  string              // GET rows also answer HEAD
	pattern string              // of the path, below the path of the console
	roles   []verification.Role // the role of the person must include one of them; none for a route that needs no session
	handle  handler
}

// queueEvents is the pattern of the only response that is a stream.
const queueEvents = "/queue/events"

// openTo reports whether a person with a role may call the route.
func (row route) openTo(r verification.Role) bool { return slices.ContainsFunc(row.roles, r.Includes) }

// table returns every route. A request is checked against its row before the handler
// is called, and nowhere else.
func (c *console) table() []route {
	const (
		get  = http.MethodGet
		post = http.MethodPost
	)
	var (
		nobody   []verification.Role
		viewer   = []verification.Role{verification.RoleViewer}
		reviewer = []verification.Role{verification.RoleReviewer}
		admin    = []verification.Role{verification.RoleAdmin}
		auditor  = []verification.Role{verification.RoleAuditor, verification.RoleAdmin} // see Role.Audits
	)
	return []route{
		{get, "/assets/*", nobody, c.serveAsset},
		{get, SignInPath, nobody, c.signInPage},
		{get, SignInPath + "/start", nobody, c.beginSignIn},
		{get, CallbackPath, nobody, c.finishSignIn},
		{get, SignInPath + "/link/{token}", nobody, c.linkPage},
		{post, SignInPath + "/link/{token}", nobody, c.useLink},
		{post, "/sign-out", nobody, c.signOut},

		{get, "/", viewer, c.home},
		{get, "/session", viewer, c.sessionPage},

		{get, "/queue", viewer, c.queue.Show},
		{post, "/queue/search", viewer, c.queue.Search},
		{get, queueEvents, viewer, c.queue.Events},
		{post, "/palette", viewer, c.queue.Find},
		{post, "/queue/views", viewer, c.queue.SaveView},
		{post, "/queue/declined", reviewer, c.queue.CloseDeclined},
		{get, "/queue/next", reviewer, c.queue.NextForMe},
		{get, "/runs/{run}", viewer, c.runpage.Show},
		{get, "/runs/{run}/next", viewer, c.runpage.Skip},
		{get, "/runs/{run}/documents/{document}", viewer, c.runpage.Document},
		{get, "/runs/{run}/documents/{document}/page", viewer, c.runpage.FirstPage},
		{get, "/runs/{run}/report.pdf", viewer, c.runpage.Report},
		{get, "/runs/{run}/report.pdf.jws", viewer, c.runpage.ReportSignature},
		{post, "/runs/{run}/claim", reviewer, c.runpage.Claim},
		{post, "/runs/{run}/release", reviewer, c.runpage.Release},
		{post, "/runs/{run}/verdict", reviewer, c.runpage.GiveVerdict},
		{post, "/runs/{run}/again", reviewer, c.runpage.AskAgain},
		{post, "/runs/{run}/hits", reviewer, c.runpage.DecideHits},
		{post, "/runs/{run}/cancel", reviewer, c.runpage.Cancel},
		{post, "/runs/{run}/redact", admin, c.runpage.Redact},
		{post, "/runs/{run}/hold", admin, c.runpage.Hold},
		{post, "/runs/{run}/hold/end", admin, c.runpage.EndHold},
		{post, "/runs/{run}/restrict", admin, c.runpage.Restrict(false)},
		{post, "/runs/{run}/restrict/end", admin, c.runpage.Restrict(true)},
		{post, personRoute, admin, c.runpage.Person},
		{post, "/runs/{run}/notes", reviewer, c.runpage.AddNote},
		{post, "/runs/{run}/corrections", reviewer, c.runpage.Correct},
		{post, "/runs/{run}/assign", reviewer, c.runpage.Assign},

		{get, "/numbers", viewer, c.numbers.Show},
		{get, "/numbers/runs.csv", viewer, c.numbers.Table("runs")},
		{get, "/numbers/steps.csv", viewer, c.numbers.Table("steps")},
		{get, "/numbers/verdicts.csv", viewer, c.numbers.Table("verdicts")},
		{get, "/numbers/queue.csv", viewer, c.numbers.Table("queue")},
		{get, "/numbers/outcomes.csv", viewer, c.numbers.Table("outcomes")},
		{get, "/numbers/checks.csv", viewer, c.numbers.Table("checks")},
		{get, "/numbers/reasons.csv", viewer, c.numbers.Table("reasons")},
		{get, "/numbers/reviewers.csv", auditor, c.numbers.Table("reviewers")},
		{get, "/numbers/latency.csv", viewer, c.numbers.Table("latency")},
		{get, "/numbers/failures.csv", viewer, c.numbers.Table("failures")},
		{get, "/deliveries", viewer, c.queue.ShowDeliveries},
		{post, "/deliveries/{run}/send", admin, c.queue.Redeliver},
		{get, "/runs", viewer, c.queue.ShowRuns},
		{post, "/runs/search", viewer, c.queue.SearchRuns},
		{post, "/runs/redact", admin, c.queue.RedactRuns},
		{get, "/runs/kept", auditor, c.queue.ShowKept},
		{get, "/audit", auditor, c.audit.Show},
		{post, "/audit/search", auditor, c.audit.Search},
		{get, "/audit.ndjson", auditor, c.audit.Export},
		{get, "/workflows", viewer, c.workflows.List},
		{get, "/workflows/{workflow}", viewer, c.workflows.Show},
	}
}

const (
	maxForm     = 1 << 20          // of a post, in bytes
	postTimeout = 30 * time.Second // for the work of a post
	// personRoute sends a file that may be long. It ends when the browser leaves, or with the response.
	personRoute = "/runs/{run}/person"
)

// guard returns the handler of a row. It checks, in this order: the origin of a post,
// its size, the session, the role.
func (c *console) guard(row route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && row.pattern != personRoute { // a change is completed even if the browser leaves
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), postTimeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		s := c.shell.Visitor(w, r)
		err := c.admit(w, r, row, &s)
		if err == nil {
			if s.SignedIn() {
				r = r.WithContext(verification.WithActor(r.Context(), s.Actor()))
			}
			err = row.handle(w, r, s)
		}
		if err != nil {
			c.refuse(w, r, s, err)
		}
	}
}

// admit returns the error to refuse a request with, or completes its session.
func (c *console) admit(w http.ResponseWriter, r *http.Request, row route, s *shell.Session) error {
	if r.Method == http.MethodPost {
		if c.origin.Check(r) != nil {
			return web.ErrCrossSite
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				return web.ErrTooLarge
			}
			return &verification.Error{Kind: verification.ErrInvalid, Subject: "form", Cause: err}
		}
	}
	if len(row.roles) == 0 {
		return nil
	}
	if err := c.identify(r, s); err != nil {
		return err
	}
	if by := r.PostForm.Get(personField); by != "" && by != s.Key() {
		return errOtherPerson
	}
	if !row.openTo(s.Role) {
		return verification.Forbidden("page", "it needs the role "+string(row.roles[0]))
	}
	return nil
}

// methodNotAllowed answers a known path that was called with a wrong method.
func (c *console) methodNotAllowed(w http.ResponseWriter, r *http.Request, _ shell.Session) error {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if c.routes.Match(chi.NewRouteContext(), method, shell.PathOf(r)) {
			w.Header().Add("Allow", method)
		}
	}
	return web.ErrMethod
}

// local returns to if it is the path of a page of the console, which may have a query.
// Otherwise it returns the path of the home page.
func (c *console) local(to string) string {
	plain := !strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' })
	path, _, _ := strings.Cut(to, "?")
	inside := path == c.shell.Base || strings.HasPrefix(path, c.shell.Base+"/")
	if !plain || !inside || strings.HasPrefix(to, "//") || strings.Contains(path, "/.") || strings.Contains(path, "//") || strings.ContainsAny(path, "%#") {
		return c.shell.Base + "/"
	}
	return to
}
