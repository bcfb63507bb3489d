// Tenants, the accounts that act for them, and where they may send people.

package verification

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tenant is a customer of the service. Nothing of one tenant is visible to
// another.
type Tenant struct {
	ID   TenantID
	Name string
	// RedirectAllowlist are absolute URLs. A redirect_uri must have the same
	// scheme, host and port as one of them, and a path at or under its path.
	RedirectAllowlist []string
	// WebhookSecret signs lifecycle webhooks, in the whsec_ form.
	WebhookSecret string
	// PreviousWebhookSecret signs them, too, while receivers change over;
	// empty for none.
	PreviousWebhookSecret string
	// Colour is that of the tenant's journey pages, as #rrggbb; empty for the
	// pages' own.
	Colour string
}

// Surface is a family of routes that an account may be authorized for.
type Surface string

// The surfaces.
const (
	SurfaceWorkflows Surface = "workflows" // list and read workflows, set a webhook
	SurfaceRuns      Surface = "runs"      // start, list, read, report, cancel
	SurfaceSignals   Surface = "signals"   // deliver a signal
)

// Surfaces lists all of them.
func Surfaces() []Surface { return []Surface{SurfaceWorkflows, SurfaceRuns, SurfaceSignals} }

// MinAPIKeyLength is the fewest characters of an API key.
const MinAPIKeyLength = 20

// Account is a pair of credentials that acts for a tenant.
type Account struct {
	ClientID string
	Tenant   TenantID
	// KeyHash is HashAPIKey of the key; the key itself is not kept.
	KeyHash  [32]byte
	Disabled bool
	Surfaces []Surface
}

// Allows tells whether the account may use a surface.
func (a Account) Allows(s Surface) bool { return slices.Contains(a.Surfaces, s) }

// HashAPIKey is how a key is kept. Keys are long and random, so a plain
// SHA-256 resists guessing.
func HashAPIKey(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// MaxURL is the longest redirect_uri or lifecycle_webhook_url, in characters.
const MaxURL = 2048

// CheckRedirect returns an error unless the tenant may send an end user to uri.
// It refuses what browsers and parsers read in different ways: user information,
// backslashes, control characters, encoded slashes, backslashes and dots, dot
// segments, and escapes in the path that are not UTF-8, such as overlong dots.
func (t Tenant) CheckRedirect(uri string) error {
	refused := func(message string) error { return invalid("run", "redirect_uri", message) }
	u, err := url.Parse(uri)
	switch {
	case err != nil, u.Hostname() == "", u.Scheme != "http" && u.Scheme != "https":
		return refused("must be an absolute http(s) URL")
	case utf8.RuneCountInString(uri) > MaxURL:
		return refused(fmt.Sprintf("must be at most %d characters", MaxURL))
	case ambiguousURL(uri, u):
		return refused("must be a plain URL: no user information, backslash, dot segment, encoded separator or escape that is not UTF-8")
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
	// What stands between the slashes must be the host and nothing else: no user
	// information, and no escapes that a parser would turn into another host.
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

// pathUnder tells whether path is root or lies below it, at a slash.
func pathUnder(root, path string) bool {
	root = strings.TrimSuffix(root, "/")
	return root == "" || path == root || strings.HasPrefix(path, root+"/")
}
