// Callbacks: the vendor reports a result.

package rest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

type callback struct {
	header string
	secret string
	signed bool // the header is the HMAC of the body; otherwise the secret itself
}

func (c *compiler) callback(p *compiled, d config) {
	if d.Callback == nil {
		return
	}
	const at = "callback"
	switch signature, static := d.Callback.HMAC, d.Callback.Header; {
	case (signature == nil) == (static == nil):
		c.problem(at, "must have exactly one of hmac_sha256 and header")
	case signature != nil:
		c.headerName("callback.hmac_sha256.header", signature.Header)
		p.callback = &callback{signature.Header, c.fixed("callback.hmac_sha256.secret", signature.Secret), true}
	default:
		c.headerName("callback.header.name", static.Name)
		p.callback = &callback{static.Name, c.fixed("callback.header.value", static.Value), false}
	}
	if d.Response.Pending == "" && d.Response.Redirect == "" {
		c.problem(at, "a callback needs response.pending or response.redirect")
	}
	if !c.reads["request.callback_url"] && !c.reads["request"] {
		c.problem(at, "the request must send ${request.callback_url} to the vendor")
	}
}

// forged returns what is wrong with a callback that is not from the vendor, and nothing
// for a genuine one. A signature is the HMAC-SHA256 of the body in hexadecimal or base64,
// with or without "sha256=".
func (c *callback) forged(header http.Header, body []byte) string {
	given := header.Get(c.header)
	switch {
	case given == "":
		return "it has no header " + c.header
	case !c.signed && hmac.Equal([]byte(given), []byte(c.secret)):
		return ""
	case !c.signed:
		return "the value of " + c.header + " does not match"
	}
	given = strings.TrimPrefix(given, "sha256=")
	sum, err := hex.DecodeString(given)
	if err != nil {
		if sum, err = base64.StdEncoding.DecodeString(given); err != nil {
			return "the signature in " + c.header + " is neither hexadecimal nor base64"
		}
	}
	mac := hmac.New(sha256.New, []byte(c.secret))
	mac.Write(body)
	if !hmac.Equal(sum, mac.Sum(nil)) {
		return "the signature in " + c.header + " does not match"
	}
	return ""
}

// ReceiveCallback returns OutcomePending for a genuine callback if the provider can
// poll. Otherwise the section response says what the callback means.
func (r *receiver) ReceiveCallback(_ context.Context, poll verification.PollRequest, c verification.Callback) (verification.CheckResult, error) {
	return r.current.Load().receive(poll, c)
}

func (p *compiled) receive(r verification.PollRequest, c verification.Callback) (verification.CheckResult, error) {
	problem := "the provider has no secrets"
	if p.opt.Secret != nil {
		problem = p.callback.forged(c.Header, c.Body)
	}
	if problem != "" {
		return verification.CheckResult{}, &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "callback", Message: problem}
	}
	if p.poll != nil {
		return verification.CheckResult{Outcome: verification.OutcomePending, Handle: r.Handle}, nil
	}
	a := newResponse(http.StatusOK, c.Header, c.Body, p.limits.ResponseBytes)
	result, err := p.check.response.result(a, variables(r.CheckRequest, r.Handle), r.Needs)
	if err != nil {
		return result, verification.Invalid("callback", err.Error())
	}
	return result, nil
}
