// An identity provider that answers as a test says.

package console_test

import (
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
}

// Begin implements console.IdentityProvider.
func (p *provider) Begin(context.Context) (string, string, error) {
	p.n++
	p.state = "state-" + strconv.Itoa(p.n)
	return "https://id.example/begin?state=" + p.state, p.state, p.err
}

// Finish implements console.IdentityProvider.
func (p *provider) Finish(_ context.Context, attempt string, answer url.Values) (verification.Reviewer, string, error) {
	if p.err != nil {
		return verification.Reviewer{}, "", p.err
	}
	if attempt == "" || attempt != answer.Get("state") {
		return verification.Reviewer{}, "", &verification.Error{Kind: verification.ErrUnauthenticated}
	}
	return p.who, "the-id-token", nil
}

// SignOutURL implements console.IdentityProvider.
func (p *provider) SignOutURL(_ context.Context, idToken string) (string, error) {
	return "https://id.example/end?hint=" + idToken, p.err
}
