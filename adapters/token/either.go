// Bearer tokens of both kinds at one door.

package token

import (
	"context"
	"time"
)

// Either verifies bearer tokens that were issued here and, unless remote is nil,
// those of an OpenID Connect issuer. What a token says of its issuer chooses who
// verifies it, and nothing more: no token is tried by both, and one that names
// neither is refused without a fetch.
func Either(local *Bearers, remote *OIDC, now func() time.Time) func(ctx context.Context, raw string) (Bearer, error) {
	return func(ctx context.Context, raw string) (Bearer, error) {
		if remote != nil {
			if t, err := parseJWT(raw); err == nil {
				if iss, ok := t.claims.text("iss"); ok && iss == remote.opt.Issuer {
					return remote.Verify(ctx, raw)
				}
			}
		}
		return local.Verify(raw, now())
	}
}
