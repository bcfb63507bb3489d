// Out and back: where a check may lead its customer.

package workflow

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/verifyd/verifyd/verification/internal/texts"
)

const (
	maxRedirectHosts = 20
	maxHostName      = 253  // bytes
	maxRedirect      = 4096 // bytes of a URL
)

// RefusesRedirect returns why the check must not lead its customer to a URL; empty if it may. The reason names the host and
// nothing else of the URL.
func (n Node) RefusesRedirect(to string) string {
	if len(n.RedirectHosts) == 0 {
		return "the provider redirects the customer, and the node has no redirect_hosts"
	}
	u, err := url.Parse(to)
	switch {
	case err != nil || u.Host == "" || u.User != nil || len(to) > maxRedirect || strings.ContainsFunc(to, texts.IsControl):
		return fmt.Sprintf("the URL of the redirect must be absolute, without a user, and at most %d bytes", maxRedirect)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return fmt.Sprintf("the redirect to %q must be https, or http to a loopback host", u.Hostname())
	}
	host := strings.ToLower(u.Hostname())
	for _, declared := range n.RedirectHosts {
		if host == declared || strings.HasPrefix(declared, "*.") && strings.HasSuffix(host, declared[1:]) && host != declared[1:] {
			return ""
		}
	}
	return fmt.Sprintf("the redirect leads to %q, which is none of the redirect_hosts of the node", u.Hostname())
}

func loopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// redirects checks redirect_hosts.
func (v *validator) redirects(at string, n Node) {
	if n.Type == NodeCheck {
		v.length(at+".text", n.Text, 0, maxText)
	}
	at += ".redirect_hosts"
	if len(n.RedirectHosts) == 0 || !v.check(at, n.Type == NodeCheck && n.ForEach == "", "is for a check without for_each: remove it here") {
		return
	}
	v.check(at, len(n.RedirectHosts) <= maxRedirectHosts, "must be at most %d hosts", maxRedirectHosts)
	for i, host := range n.RedirectHosts {
		name, wild := strings.CutPrefix(host, "*.")
		v.check(fmt.Sprintf("%s[%d]", at, i), validHost(name) && (!wild || strings.Contains(name, ".")),
			"must be a host name in lower case, such as login.example.com, or *.example.com for all below it: without https://, port and path")
	}
}

func validHost(name string) bool {
	if name == "::1" {
		return true
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			return false
		}
	}
	return len(name) <= maxHostName
}
