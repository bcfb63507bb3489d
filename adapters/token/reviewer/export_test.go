// The tokens of the issuer alone, for tests.

package reviewer

import "context"

// Verify returns the claims of a token for the audience.
func (o *OIDC) Verify(ctx context.Context, raw string) (Claims, error) {
	t, err := parse(raw, maxToken)
	if err != nil {
		return Claims{}, err
	}
	return o.verify(ctx, t, o.opt.Audience)
}
