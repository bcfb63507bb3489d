// Cookies: the language, the zone, and what the next page says.

package shell

import (
	"net/http"
	"time"
)

// The cookies of every page. The names of all but zoneCookie, which a script sets, begin with
// __Host- where the console is served over TLS, so that no other host can set them.
const (
	FlashCookie    = "verifyd-flash" // what Done says
	languageCookie = "verifyd-language"
	zoneCookie     = "tz" // an IANA name such as Asia/Kolkata
)

// SetCookie sets a cookie that ends with the browser; an empty value removes it.
func (sh *Shell) SetCookie(w http.ResponseWriter, name, value string) {
	sh.SetLastingCookie(w, name, value, 0)
}

// SetLastingCookie sets a cookie that lasts; for 0 it is as by SetCookie.
func (sh *Shell) SetLastingCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	cookie := &http.Cookie{
		Name: sh.CookieName(name), Value: value, Path: "/", MaxAge: int(lasts.Seconds()),
		HttpOnly: true, Secure: sh.Secure, SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// Cookie returns the value of a cookie; empty without one.
func (sh *Shell) Cookie(r *http.Request, name string) string {
	cookie, err := r.Cookie(sh.CookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// CookieName returns the name of a cookie in the browser.
func (sh *Shell) CookieName(name string) string {
	if sh.Secure && name != zoneCookie {
		return "__Host-" + name
	}
	return name
}
