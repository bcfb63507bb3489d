// offline.email: an email address.

package offline

import (
	_ "embed"
	"net/mail"
	"strings"
	"time"

	"golang.org/x/net/idna"
	"golang.org/x/text/secure/precis"
)

//go:embed disposable_domains.txt
var disposableDomains string

type emailWith struct {
	Address         string `json:"address"`
	AllowDisposable bool   `json:"allow_disposable"`
}

// The limits of RFC 5321, section 4.5.3.1, in octets.
const (
	maxLocalPart = 64
	maxDomain    = 255
	maxAddress   = 254 // a path of 256 without its brackets
)

// newEmailJudge reads the list of disposable domains. The syntax is that of RFC 5321
// and, for addresses outside ASCII, RFC 6531.
func newEmailJudge() judge[emailWith] {
	disposable := map[string]bool{}
	for line := range strings.Lines(disposableDomains) {
		if domain := strings.TrimSpace(line); domain != "" && domain[0] != '#' {
			disposable[domain] = true
		}
	}
	domains := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))
	return func(w emailWith, _ time.Time) (map[string]any, reason, error) {
		local, domain, why := splitAddress(strings.TrimSpace(w.Address))
		if why != "" {
			return nil, why, nil
		}
		domain, ok := hostName(domains, domain)
		if !ok {
			return nil, "domain", nil
		}
		if len(domain) > maxDomain || len(local)+1+len(domain) > maxAddress {
			return nil, reasonLength, nil
		}
		data := map[string]any{
			"address": local + "@" + domain, "domain": domain,
			"disposable": isDisposable(disposable, domain),
		}
		if data["disposable"] == true && !w.AllowDisposable {
			return data, "disposable", nil
		}
		return data, "", nil
	}
}

// splitAddress returns the two parts of an address, without a display name, comments
// or brackets.
func splitAddress(address string) (local, domain string, why reason) {
	if address == "" {
		return "", "", reasonEmpty
	}
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return "", "", "syntax"
	}
	local, domain = address[:at], address[at+1:]
	if len(local) > maxLocalPart || len(domain) > maxDomain {
		return "", "", reasonLength
	}
	// The parser reads the addresses of a message header, which may be longer than
	// those of RFC 5321: only what it would write itself is accepted.
	parsed, err := mail.ParseAddress(address)
	if err != nil || (&mail.Address{Address: parsed.Address}).String() != "<"+address+">" {
		return "", "", "syntax"
	}
	// Characters that nobody sees, and others that are not for identifiers.
	if _, err := precis.OpaqueString.String(local); err != nil {
		return "", "", "syntax"
	}
	return local, domain, ""
}

// hostName returns the name of a host in ASCII. ok is false if the name is not valid,
// has no dot, or ends with what cannot be a top-level domain: these have two letters or
// more, or begin with xn-- (RFC 1123, section 2.1; RFC 3696, section 2).
func hostName(names *idna.Profile, domain string) (host string, ok bool) {
	host, err := names.ToASCII(domain)
	dot := strings.LastIndexByte(host, '.')
	if err != nil || dot <= 0 {
		return host, false
	}
	top := host[dot+1:]
	notLetter := func(r rune) bool { return r < 'a' || r > 'z' }
	return host, strings.HasPrefix(top, "xn--") || len(top) > 1 && !strings.ContainsFunc(top, notLetter)
}

// isDisposable reports whether the list has a domain or one above it.
func isDisposable(list map[string]bool, domain string) bool {
	for domain != "" {
		if list[domain] {
			return true
		}
		_, domain, _ = strings.Cut(domain, ".")
	}
	return false
}
