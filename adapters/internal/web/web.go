// Package web holds what the customer's pages (adapters/journey) and the
// reviewer's pages (adapters/console) share: the design, templates of components,
// icons, the message catalogs, the serving of assets, and the security headers.
//
// The design is the style sheet assets/web.css. Its custom properties are the
// design tokens: colours (light and dark), spacing, sizes. A page links web.css
// before a style sheet of its own, which uses the tokens and defines no colour.
// TestTheGalleryIsAccessible renders every component; testdata/gallery.html shows
// how each is written.
package web

import (
	"net/http"
	"strings"
)

// Policy is what differs between the security headers of the pages.
type Policy struct {
	// Permissions is the Permissions-Policy header, such as "camera=(self)".
	Permissions string
	// Referrer is the Referrer-Policy header. It is no-referrer for pages with a
	// credential in their path.
	Referrer string
}

// Secure returns a middleware that sets the security headers of every response. A
// page loads nothing from another site, has no inline script or style, cannot be
// framed, and is not cached; a handler may replace Cache-Control.
func (p Policy) Secure(next http.Handler) http.Handler {
	content := strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
		"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	}, "; ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", content)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", p.Referrer)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", p.Permissions)
		next.ServeHTTP(w, r)
	})
}
