// What goes with every page: the token stays out of caches, referrers and frames.

package journey

import (
	"net/http"
	"strings"
)

// guard sets the headers of every answer. The token in the path is the whole
// credential, so nothing here may load from, point to or be shown inside
// another site.
func guard(next http.Handler) http.Handler {
	policy := strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
		"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	}, "; ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(self), geolocation=(self), microphone=(), payment=(), usb=()")
		next.ServeHTTP(w, r)
	})
}

// crossSite tells whether another site made the browser send this. A browser
// that sends no Sec-Fetch-Site (an old one, or any on plain HTTP) writes
// "Origin: null" for our own forms, because the pages send no referrer: that
// tells nothing, and the token in the path is what counts.
func (s *site) crossSite(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "null" {
		return false
	}
	return s.origin.Check(r) != nil
}
