// Signing in with a link or at the identity provider, signing out, and the page about
// the session.

package console

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
)

// home leads to the first page of the navigation.
func (c *console) home(w http.ResponseWriter, _ *http.Request, _ shell.Session) error {
	return shell.Redirect(w, c.shell.Base+"/queue")
}

// sessionPage shows who has signed in, and until when.
func (c *console) sessionPage(w http.ResponseWriter, _ *http.Request, s shell.Session) error {
	return c.shell.Render(w, s, http.StatusOK, "session", "session.title", nil)
}

// signInView is the data of the page signin.
type signInView struct {
	Start string // the URL of a sign-in at the identity provider; empty without one
	Note  *web.Note
}

// signInPage says how to sign in.
func (c *console) signInPage(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	return c.renderSignIn(w, s, http.StatusOK, nil, r.URL.Query().Get("next"))
}

func (c *console) renderSignIn(w http.ResponseWriter, s shell.Session, status int, note *web.Note, next string) error {
	view := signInView{Note: note}
	if c.opt.IdentityProvider != nil {
		view.Start = c.shell.Base + SignInPath + "/start?" + url.Values{"next": {c.local(next)}}.Encode()
	}
	return c.shell.Render(w, s, status, "signin", "signin.title", view)
}

// beginSignIn sends a person to the identity provider. It is a GET, because browsers apply
// form-action to the redirects after a post.
func (c *console) beginSignIn(w http.ResponseWriter, r *http.Request, _ shell.Session) error {
	if c.opt.IdentityProvider == nil {
		return verification.NotFound("page")
	}
	to, secrets, err := c.opt.IdentityProvider.Begin(r.Context())
	if err == nil {
		err = c.keepAttempt(w, r, to, attempt{secrets, c.local(r.URL.Query().Get("next"))})
	}
	if err != nil {
		return err
	}
	return shell.Redirect(w, to)
}

// finishSignIn takes the response of the identity provider.
func (c *console) finishSignIn(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	if c.opt.IdentityProvider == nil {
		return verification.NotFound("page")
	}
	s.Languages = c.shell.Catalogs.Links(s.Catalog, nil) // without the code of the provider
	name := attemptName(r.URL.Query().Get("state"))
	begun := c.attemptOf(r, name)
	if begun.secrets != "" {
		c.shell.SetCookie(w, name, "")
	}
	var who verification.Reviewer
	var idToken string
	err := c.opt.IdentityProvider.Matches(begun.secrets, r.URL.Query())
	if err == nil { // only then may it wait for the provider
		err = c.gates.calls.Try(r.Context(), clientOf(r), func() (err error) {
			who, idToken, err = c.opt.IdentityProvider.Finish(r.Context(), begun.secrets, r.URL.Query())
			return err
		})
	}
	switch {
	case errors.Is(err, verification.ErrUnauthenticated):
		s.Log.Info("sign-in refused", "error", err, "cause", causeOf(err))
		if c.identify(r, &s) == nil { // such as a reload of the callback
			return shell.Redirect(w, c.local(begun.wanted))
		}
		return c.renderSignIn(w, s, http.StatusUnauthorized, &web.Note{Tone: web.Bad, Text: s.Message("signin.refused")}, begun.wanted)
	case errors.Is(err, verification.ErrForbidden):
		s.Log.Info("sign-in refused", "error", err)
		return c.renderSignIn(w, s, http.StatusForbidden, &web.Note{Tone: web.Bad, Text: s.Message("signin.norole")}, begun.wanted)
	case err != nil:
		return err
	}
	if err := c.begin(w, r, s, who, c.opt.Session); err != nil {
		return err
	}
	if len(idToken) > maxIDToken {
		idToken = ""
	}
	c.shell.SetCookie(w, idTokenCookie, idToken)
	return shell.Redirect(w, c.local(begun.wanted))
}

// clientOf returns the address of the other end of the connection: a browser, or a proxy.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// maxIDToken is the longest ID token that is kept for signing out, in bytes, because
// browsers refuse cookies above 4 KiB. Without it the provider may ask whether to sign
// out.
const maxIDToken = 3500

// begin sets a new session, whatever the browser had before.
func (c *console) begin(w http.ResponseWriter, r *http.Request, s shell.Session, who verification.Reviewer, ttl time.Duration) error {
	_, err := c.shell.Engine.TenantName(r.Context(), who.Tenant)
	if errors.Is(err, verification.ErrNotFound) {
		err = verification.Forbidden("sign-in", "there is no such tenant")
	}
	if err != nil {
		return err
	}
	token, err := c.opt.Tokens.IssueSession(who, ttl)
	if err != nil {
		return err
	}
	c.shell.SetCookie(w, sessionCookie, token)
	s.Log.Info("signed in", "tenant", who.Tenant, "role", who.Role)
	return nil
}

// linkView is the data of the page link.
type linkView struct {
	Name   string // of the person
	Tenant string
	Action string
}

// linkPage asks the person to confirm, so that a program that only follows the link,
// such as a mail scanner, does not use it up.
func (c *console) linkPage(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	link, tenant, err := c.openLink(r)
	if err != nil {
		return c.refuseLink(w, s, err)
	}
	return c.shell.Render(w, s, http.StatusOK, "link", "link.title", linkView{
		Name: link.Name, Tenant: tenant, Action: c.shell.Base + SignInPath + "/link/" + tokenOf(r),
	})
}

// useLink signs a person in.
func (c *console) useLink(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	link, _, err := c.openLink(r)
	if err == nil {
		err = c.shell.Engine.UseSignInLink(r.Context(), link)
	}
	if err != nil {
		return c.refuseLink(w, s, err)
	}
	if err := c.begin(w, r, s, link.Reviewer, link.Session); err != nil {
		return err
	}
	c.shell.SetCookie(w, idTokenCookie, "")
	return shell.Redirect(w, c.shell.Base+"/")
}

// openLink returns the link of a request and the name of its tenant.
func (c *console) openLink(r *http.Request) (link verification.SignInLink, tenant string, err error) {
	err = c.gates.tokens.Try(r.Context(), "", func() (err error) {
		link, err = c.opt.Tokens.OpenSignInLink(tokenOf(r))
		return err
	})
	if err == nil {
		tenant, err = c.shell.Engine.TenantName(r.Context(), link.Tenant)
	}
	return link, tenant, err
}

// tokenOf returns the token of a sign-in link.
func tokenOf(r *http.Request) string { return web.LinkToken(r, chi.URLParam(r, "token")) }

// refuseLink says that a link is of no use: it was used, has expired, or was never
// issued.
func (c *console) refuseLink(w http.ResponseWriter, s shell.Session, err error) error {
	if errors.Is(err, verification.ErrUnauthenticated) || errors.Is(err, verification.ErrNotFound) {
		s.Log.Info("sign-in link refused", "error", err)
		return c.renderSignIn(w, s, http.StatusUnauthorized, &web.Note{Tone: web.Bad, Text: s.Message("link.refused")}, "")
	}
	return err
}

// signedOutView is the data of the page signedout.
type signedOutView struct {
	Provider string // the URL at which to sign out of the identity provider
}

// signOutTimeout is how long a sign-out waits for the identity provider.
const signOutTimeout = 2 * time.Second

// signOut ends the session in this browser, and offers to end that at the identity provider.
func (c *console) signOut(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	idToken := c.shell.Cookie(r, idTokenCookie)
	for _, name := range []string{sessionCookie, idTokenCookie, shell.FlashCookie} {
		c.shell.SetCookie(w, name, "")
	}
	for _, begun := range c.attemptCookies(r) {
		c.shell.SetCookie(w, begun.Name, "")
	}
	var to string
	if c.opt.IdentityProvider != nil {
		ctx, cancel := context.WithTimeout(r.Context(), signOutTimeout)
		defer cancel()
		var err error
		if to, err = c.opt.IdentityProvider.SignOutURL(ctx, idToken); err != nil {
			s.Log.Warn("the identity provider has no page to sign out", "error", err)
		}
	}
	return c.shell.Render(w, s, http.StatusOK, "signedout", "signedout.title", signedOutView{Provider: to})
}

// causeOf returns the cause of an expected failure, for the log.
func causeOf(err error) error {
	if e, ok := errors.AsType[*verification.Error](err); ok {
		return e.Cause
	}
	return nil
}
