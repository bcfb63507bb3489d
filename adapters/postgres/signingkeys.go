// The keys that sign links and tokens, one set for all hosts.

package postgres

import "context"

// fleetSigningKeys is what the key set is kept under.
const fleetSigningKeys = "signing_keys"

// SigningKeys returns the set of keys that all hosts on this database share, in
// the form that fresh gave it. fresh is asked when there is none yet; of hosts
// that come at once one has its set kept, and all are given that one.
func (s *Store) SigningKeys(ctx context.Context, fresh func() ([]byte, error)) ([]byte, error) {
	keys, err := s.signingKeys(ctx)
	if !missing(err) {
		return keys, translate("load the signing keys", err)
	}
	made, err := fresh()
	if err != nil {
		return nil, err
	}
	if !plain(string(made)) {
		return nil, unkept("signing keys")
	}
	const keep = "INSERT INTO verifyd.fleet (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"
	if err := s.settle(ctx, "keep the signing keys", noTenant, keep, fleetSigningKeys, string(made)); err != nil {
		return nil, err
	}
	keys, err = s.signingKeys(ctx)
	return keys, translate("load the signing keys", err)
}

// noTenant is whose the keys are.
const noTenant = ""

func (s *Store) signingKeys(ctx context.Context) ([]byte, error) {
	var keys string
	err := s.one(ctx, noTenant, "SELECT value FROM verifyd.fleet WHERE name = $1", []any{fleetSigningKeys}, &keys)
	if err != nil {
		return nil, err
	}
	return []byte(keys), nil
}
