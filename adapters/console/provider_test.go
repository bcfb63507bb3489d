// An identity provider that answers as a test says.

package console_test

import (
	"cmp"
	"context"
	"net/url"
	"strconv"

	"github.com/verifyd/verifyd/verification"
)

func escape(s string) string { return url.QueryEscape(s) }

// provider signs in one person, or refuses with an error.
type provider struct {
	who   verification.Reviewer
	err   error
	state string // of the latest attempt
	n     int
	loose bool // every response matches

	hang    chan struct{} // until it is closed, Finish and SignOutURL wait; nil for no wait
	hanging chan struct{} // receives when one of them begins to wait
}

// wait waits for hang, or until ctx ends.
func (p *provider) wait(ctx context.Context) error {
	if p.hang == nil {
		return nil
	}
	p.hanging <- struct{}{}
	select {
	case <-p.hang:
		return nil
	case <-ctx.Done():
		return verification.Unavailable("sign-in", "the issuer does not answer")
	}
}

// Begin implements console.IdentityProvider.
func (p *provider) Begin(context.Context) (string, string, error) {
	p.n++
	p.state = "state-" + strconv.Itoa(p.n)
	return "https://id.example/begin?state=" + p.state, p.state, p.err
}

// Matches implements console.IdentityProvider.
func (p *provider) Matches(attempt string, answer url.Values) error {
	if p.loose || attempt != "" && attempt == answer.Get("state") {
		return nil
	}
	return &verification.Error{Kind: verification.ErrUnauthenticated}
}

// Finish implements console.IdentityProvider.
func (p *provider) Finish(ctx context.Context, _ string, _ url.Values) (verification.Reviewer, string, error) {
	if err := cmp.Or(p.err, p.wait(ctx)); err != nil {
		return verification.Reviewer{}, "", err
	}
	return p.who, "the-id-token", nil
}

// SignOutURL implements console.IdentityProvider.
func (p *provider) SignOutURL(ctx context.Context, idToken string) (string, error) {
	if err := p.wait(ctx); err != nil {
		return "", err
	}
	return "https://id.example/end?hint=" + idToken, p.err
}
