// Attempts to sign in at the identity provider, each in a cookie of its own.

package console

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	attemptLife    = 10 * time.Minute
	maxAttempts    = 5    // of one browser; a tab each
	maxAttemptSize = 2500 // bytes of all their cookies, so that a proxy with a limit of 8 KiB takes the header
	maxWanted      = 1000 // bytes of the path and the query that a sign-in leads back to
)

// attempt is one sign-in at the identity provider that a browser began.
type attempt struct {
	secrets string // of IdentityProvider.Begin; empty if the browser began none
	wanted  string // the path and the query that the person asked for
}

// attemptName returns the name of the cookie of the attempt with a state. The name is a hash,
// because callbacks have any text as their state.
func attemptName(state string) string {
	sum := sha256.Sum256([]byte(state))
	return attemptCookie + "-" + hex.EncodeToString(sum[:8])
}

// keepAttempt stores an attempt in the browser. The oldest attempts go, if there are too many.
func (c *console) keepAttempt(w http.ResponseWriter, r *http.Request, signIn string, a attempt) error {
	u, err := url.Parse(signIn)
	if err != nil {
		return err
	}
	if len(a.wanted) > maxWanted {
		a.wanted = c.local("")
	}
	value := a.secrets + "|" + base64.RawURLEncoding.EncodeToString([]byte(a.wanted))
	size, others := len(value), c.attemptCookies(r)
	for i, newer := len(others)-1, 1; i >= 0; i, newer = i-1, newer+1 { // browsers send the oldest cookie first
		if size += len(others[i].Value); newer >= maxAttempts || size > maxAttemptSize {
			c.shell.SetCookie(w, others[i].Name, "")
		}
	}
	c.shell.SetLastingCookie(w, attemptName(u.Query().Get("state")), value, attemptLife)
	return nil
}

// attemptOf returns the attempt that a callback belongs to.
func (c *console) attemptOf(r *http.Request, name string) (a attempt) {
	secrets, encoded, _ := strings.Cut(c.shell.Cookie(r, name), "|")
	wanted, _ := base64.RawURLEncoding.DecodeString(encoded)
	return attempt{secrets, string(wanted)}
}

// attemptCookies returns the cookies of attempts, named as for setCookie.
func (c *console) attemptCookies(r *http.Request) (found []*http.Cookie) {
	for _, cookie := range r.Cookies() {
		if cookie.Name = strings.TrimPrefix(cookie.Name, c.shell.CookieName("")); strings.HasPrefix(cookie.Name, attemptCookie+"-") {
			found = append(found, cookie)
		}
	}
	return found
}
