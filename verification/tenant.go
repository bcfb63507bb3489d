// Tenants, and the URLs that they may redirect to.

package verification

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification/internal/texts"
)

// Tenant is a client organization of the service. No tenant sees anything of
// another.
type Tenant struct {
	ID   TenantID
	Name string
	// Zone is the name of the tenant's time zone in the IANA database, such as
	// Asia/Kolkata; empty for UTC. A run keeps the zone with which it starts.
	Zone string
	// RedirectAllowlist holds absolute URLs. A redirect_uri must have the scheme,
	// host and port of one of them, and a path at or below its path.
	RedirectAllowlist []string
	// WebhookSecret signs lifecycle webhooks; see ValidateWebhookSecret.
	WebhookSecret string
	// PreviousWebhookSecret also signs them during a rotation; empty for none.
	PreviousWebhookSecret string
	// Colour is the colour of the tenant's journey pages, as #rrggbb; empty for
	// the default.
	Colour string
	// Logo is shown on the journey pages instead of the name.
	Logo Logo
	// Links are at the bottom of the journey pages.
	Links PageLinks
	// Retention is the policy for the runs of all workflows: see Retention.Merge.
	Retention Retention
}

// PageLinks are links at the bottom of a tenant's journey pages; an empty one is left
// out.
type PageLinks struct {
	Privacy string // the URL of the privacy notice; see ValidatePageURL
	Help    string // the URL of a help page
	Legal   string // the URL of the legal notice
	Phone   string // a phone number; see ValidatePhone
}

// MaxLogoBytes is the maximum size of a logo: 128 KiB.
const MaxLogoBytes = 128 << 10

// Logo is a tenant's picture on its pages: a PNG or a JPEG.
type Logo struct {
	// Name is the start of the content's SHA-256 and a file extension, such as
	// 9f86d081884c7d65.png; empty for no logo.
	Name string
	// Content is empty where only the name is known: see store.Tables.
	Content []byte
}

// NewLogo returns the logo with a content of the media type image/png or image/jpeg.
func NewLogo(mediaType string, content []byte) Logo {
	sum := sha256.Sum256(content)
	return Logo{Name: fmt.Sprintf("%x.%s", sum[:8], strings.TrimPrefix(mediaType, "image/")), Content: content}
}

// MediaType returns image/png or image/jpeg.
func (l Logo) MediaType() string {
	_, kind, _ := strings.Cut(l.Name, ".")
	return "image/" + kind
}

// ValidatePageURL returns ErrInvalid unless a page may link to s: an absolute http(s) URL
// of at most 2048 characters without user information.
func ValidatePageURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return InvalidField("tenant", "url", "must be an absolute http(s) URL without user information")
	}
	if utf8.RuneCountInString(s) > texts.MaxURL {
		return InvalidField("tenant", "url", texts.TooLong(texts.MaxURL))
	}
	return nil
}

// maxPhone bounds the phone number of a tenant, in characters.
const maxPhone = 40

// ValidatePhone returns ErrInvalid unless s is a phone number as people write it, such as
// +91 98765 43210, of at most 40 characters.
func ValidatePhone(s string) error {
	if number, ok := CleanPhone(s); !ok || len(number) > maxPhone {
		return InvalidField("tenant", "phone", "must be a phone number")
	}
	return nil
}

// ValidateRedirect returns ErrInvalid unless the tenant may send a customer to uri.
// It refuses what browsers and parsers interpret differently: characters outside
// printable ASCII, spaces, backslashes, user information, an empty port, dot segments,
// and escapes in the path that are separators, dots, percent signs, NUL or line
// breaks, or are not UTF-8, such as overlong dots.
func (t Tenant) ValidateRedirect(uri string) error {
	refused := func(message string) error { return InvalidField("run", "redirect_uri", message) }
	u, err := url.Parse(uri)
	switch {
	case err != nil, u.Hostname() == "", u.Scheme != "http" && u.Scheme != "https":
		return refused("must be an absolute http(s) URL")
	case utf8.RuneCountInString(uri) > texts.MaxURL:
		return refused(texts.TooLong(texts.MaxURL))
	case ambiguousURL(uri, u):
		return refused("must be a plain URL: printable ASCII without spaces, user information, backslashes, an empty port, dot segments, or escapes of separators, dots, percent signs, NUL and line breaks, or that are not UTF-8")
	}
	for _, allowed := range t.RedirectAllowlist {
		a, err := url.Parse(allowed)
		if err == nil && sameOrigin(a, u) && pathUnder(a.Path, u.Path) {
			return nil
		}
	}
	return refused("is not in the tenant's redirect allowlist")
}

func ambiguousURL(raw string, u *url.URL) bool {
	for _, c := range raw {
		if c <= ' ' || c == '\\' || c > 0x7e {
			return true
		}
	}
	// The authority must be the host and nothing else: no user information, and no
	// escapes that a parser would turn into another host.
	_, authority, _ := strings.Cut(raw, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	if u.User != nil || authority != u.Host || strings.ContainsAny(u.Host, "@%") || strings.HasSuffix(u.Host, ":") {
		return true
	}
	if !utf8.ValidString(u.Path) {
		return true
	}
	path := strings.ToLower(u.EscapedPath())
	for _, bad := range []string{"%2f", "%5c", "%2e", "%00", "%25", "%0a", "%0d"} {
		if strings.Contains(path, bad) {
			return true
		}
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
			return true
		}
	}
	return false
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// pathUnder reports whether path is root or lies below it, at a slash.
func pathUnder(root, path string) bool {
	root = strings.TrimSuffix(root, "/")
	return root == "" || path == root || strings.HasPrefix(path, root+"/")
}
