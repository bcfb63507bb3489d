package verification_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
)

// acme has an allowlist with a path, a whole host, and a port.
func acme() verification.Tenant {
	return verification.Tenant{RedirectAllowlist: []string{
		"https://app.acme.example/verify", "https://kyc.acme.example/", "http://localhost:3000/done/",
		"https://[2001:db8::1]/a", "https://bücher.example", "not a url\x7f", "https://", "/relative",
	}}
}

func TestRedirectIsAllowedByTheTenantsList(t *testing.T) {
	for _, uri := range []string{
		"https://app.acme.example/verify",
		"https://app.acme.example/verify/",
		"https://app.acme.example/verify/done?a=1&b=https://evil.example/#top",
		"https://app.acme.example/verify?next=..%2f..",
		"https://app.acme.example/verify/a.b/..c/...",
		"https://app.acme.example/verify/%C3%A9",
		"https://app.acme.example/verify//x",
		"https://app.acme.example/%76erify",
		"HTTPS://APP.ACME.EXAMPLE/verify",
		"https://app.acme.example:443/verify",
		"https://kyc.acme.example",
		"https://kyc.acme.example?done",
		"https://kyc.acme.example/any/where@all",
		"http://localhost:3000/done",
		"https://[2001:db8::1]/a/b",
	} {
		if err := acme().ValidateRedirect(uri); err != nil {
			t.Errorf("ValidateRedirect(%s) = %v, want it allowed", uri, err)
		}
	}
}

func TestRedirectIsRefusedOtherwise(t *testing.T) {
	const form, long, plain, list = "must be an absolute http(s) URL", "must be at most 2048 characters",
		"must be a plain URL: printable ASCII without spaces, user information, backslashes, an empty port, dot segments, or escapes of separators, dots, percent signs, NUL and line breaks, or that are not UTF-8",
		"is not in the tenant's redirect allowlist"
	for _, c := range []struct{ name, uri, want string }{
		{"nothing", "", form},
		{"relative", "/verify", form},
		{"without a scheme", "//app.acme.example/verify", form},
		{"without slashes", "https:app.acme.example/verify", form},
		{"one slash", "https:/app.acme.example/verify", form},
		{"three slashes", "https:///app.acme.example/verify", form},
		{"no host but a port", "https://:443/", form},
		{"another scheme", "javascript://app.acme.example/verify", form},
		{"a file", "file:///app.acme.example/verify", form},
		{"a port that is no number", "https://app.acme.example:x/verify", form},
		{"a line break", "https://app.acme.example/verify\r\nLocation: https://evil.example", form},
		{"a bad escape", "https://app.acme.example/verify/%zz", form},
		{"long", "https://app.acme.example/verify?" + strings.Repeat("x", 2048), long},
		{"not long by its characters", "https://app.acme.example/verify?" + strings.Repeat("é", 2000), plain},
		{"http for https", "http://app.acme.example/verify", list},
		{"another host", "https://evil.example/verify", list},
		{"a host below", "https://www.app.acme.example/verify", list},
		{"a host above", "https://acme.example/verify", list},
		{"the host as a suffix", "https://evilapp.acme.example/verify", list},
		{"the host as a prefix", "https://app.acme.example.evil.example/verify", list},
		{"the root's dot", "https://app.acme.example./verify", list},
		{"another port", "https://app.acme.example:8443/verify", list},
		{"no port", "http://localhost/done", list},
		{"a port with a zero before it", "https://app.acme.example:0443/verify", list},
		{"a path beside", "https://app.acme.example/verifyevil", list},
		{"a path above", "https://app.acme.example/", list},
		{"a path in capitals", "https://app.acme.example/VERIFY", list},
		{"no path", "https://app.acme.example", list},
		{"the host as user information", "https://app.acme.example@evil.example/verify", plain},
		{"user information", "https://user@app.acme.example/verify", plain},
		{"empty user information", "https://@app.acme.example/verify", plain},
		{"a password", "https://app.acme.example:x@evil.example/verify", plain},
		{"a backslash for a slash", `https://app.acme.example\@evil.example/verify`, form},
		{"a backslash in the path", `https://app.acme.example/verify\..\x`, plain},
		{"a port that is missing", "https://app.acme.example:/verify", plain},
		{"dot segments", "https://app.acme.example/verify/../x", plain},
		{"one dot", "https://app.acme.example/verify/./x", plain},
		{"dots at the end", "https://app.acme.example/verify/..", plain},
		{"dots with parameters", "https://app.acme.example/verify/..;a=1/x", plain},
		{"encoded dots", "https://app.acme.example/verify/%2e%2E/x", plain},
		{"half encoded dots", "https://app.acme.example/verify/.%2e/x", plain},
		{"an encoded slash", "https://app.acme.example/verify%2fx", plain},
		{"an encoded backslash", "https://app.acme.example/verify/%5c..%5cx", plain},
		{"encoded twice", "https://app.acme.example/verify/%252e%252e/x", plain},
		{"an encoded NUL", "https://app.acme.example/verify/%00", plain},
		{"an encoded line break", "https://app.acme.example/verify/%0d%0aLocation:x", plain},
		{"overlong dots", "https://app.acme.example/verify/%c0%ae%C0%AE/x", plain},
		{"half a character", "https://app.acme.example/verify/%e2%82", plain},
		{"a space", "https://app.acme.example/verify/a b", plain},
		{"a look-alike", "https://аpp.acme.example/verify", plain}, // the first letter is Cyrillic
		{"an encoded look-alike", "https://%E2%84%AAyc.acme.example/", plain},
		{"another script, even where it is listed", "https://bücher.example/", plain},
		{"an encoded host", "https://b%C3%BCcher.example/", plain},
		{"a wide full stop", "https://app.acme。example/verify", plain},
		{"a zone", "https://[2001:db8::1%25eth0]/a", plain},
	} {
		err := acme().ValidateRedirect(c.uri)
		if err == nil {
			t.Errorf("%s: ValidateRedirect(%s) allows it", c.name, c.uri)
			continue
		}
		want := []verification.FieldError{{Name: "redirect_uri", Message: c.want}}
		if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
			t.Errorf("%s: ValidateRedirect(%s) (-want +got):\n%s", c.name, c.uri, diff)
		}
	}
	if err := (verification.Tenant{}).ValidateRedirect("https://app.acme.example/verify"); err == nil {
		t.Error("a tenant without a list allows a redirect")
	}
}

func FuzzValidateRedirect(f *testing.F) {
	for _, seed := range []string{
		"https://app.acme.example/verify", "https://APP.acme.example:443/verify/x?y#z", "https://a@app.acme.example/verify",
		`https://app.acme.example\@evil.example`, "https://kyc.acme.example", "https://%E2%84%AAyc.acme.example/",
		"https://:443/", "https://app.acme.example/verify/..;/x", "http://localhost:3000/done", "https://[2001:db8::1]/a",
		"https://app.acme.example/verify/%c0%ae%c0%ae/x",
	} {
		f.Add(seed)
	}
	allowed := map[string]string{ // authority to path
		"https app.acme.example": "/verify", "https kyc.acme.example": "", "http localhost:3000": "/done", "https [2001:db8::1]": "/a",
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if acme().ValidateRedirect(uri) != nil {
			return
		}
		// A browser takes as the host everything between the slashes and the next
		// of these characters.
		scheme, rest, _ := strings.Cut(strings.ToLower(uri), "://")
		authority := rest
		if end := strings.IndexAny(rest, `/\?#`); end >= 0 {
			authority = rest[:end]
		}
		if scheme == "https" {
			authority = strings.TrimSuffix(authority, ":443")
		}
		if u, err := url.Parse(uri); err == nil && !utf8.ValidString(u.Path) {
			t.Fatalf("ValidateRedirect allows escapes that are not UTF-8: %q", uri)
		}
		path, ok := allowed[scheme+" "+authority]
		u, err := url.Parse(uri)
		if !ok || err != nil || u.User != nil {
			t.Fatalf("ValidateRedirect allows %q: %q at %q, %v", uri, scheme, authority, err)
		}
		if strings.Contains(u.Path, "/../") || path != "" && u.Path != path && !strings.HasPrefix(u.Path, path+"/") {
			t.Errorf("ValidateRedirect allows the path %q", u.Path)
		}
	})
}
