// The signing keys that the hosts of a database share.

package token

import "context"

// KeyStore is a database that holds the key set of its hosts, such as a postgres.Store.
type KeyStore interface {
	// SigningKeys returns the key set. If there is none, it saves the one that
	// newSet returns.
	SigningKeys(ctx context.Context, newSet func() ([]byte, error)) ([]byte, error)
}

// SharedKeys returns the keys of a database, which has a new key if it had none. All
// processes on the database get the same keys.
func SharedKeys(ctx context.Context, s KeyStore) (*Keys, error) {
	raw, err := s.SigningKeys(ctx, func() ([]byte, error) {
		keys, err := NewKeys()
		if err != nil {
			return nil, err
		}
		return keys.PrivateJWKS()
	})
	if err != nil {
		return nil, err
	}
	return ReadKeys(raw)
}
