// The signing keys: a JWK set of private keys.

package token

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lestrrat-go/jwx/v3/jwk"
)

// The bounds of a key set.
const (
	maxSetBytes = 1 << 20
	maxKeys     = 100
)

// Keys are the keys that sign and check. They never change, and may be shared.
// Nothing but PrivateJWKS tells what they hold.
type Keys struct {
	list []*key // the first one signs
	byID map[string]*key
}

// NewKeys makes a set of one fresh Ed25519 key.
func NewKeys() (*Keys, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	imported, err := jwk.Import(private)
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	k, err := newKey(imported)
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	return newKeys([]*key{k})
}

// ReadKeys reads a JWK set of private keys: OKP Ed25519, EC P-256 or P-384, RSA
// of 2048 bits or more, and oct of 32 bytes or more. A key without a kid gets
// its thumbprint as one. The error names the key at fault, and tells nothing of
// its content.
func ReadKeys(raw []byte) (*Keys, error) {
	if len(raw) > maxSetBytes {
		return nil, errors.New("signing keys: the JWK set is larger than 1 MiB")
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil || set.Keys == nil {
		return nil, errors.New(`signing keys: it is not a JWK set: {"keys": [...]}`)
	}
	if n := len(set.Keys); n == 0 || n > maxKeys {
		return nil, fmt.Errorf("signing keys: a JWK set must hold 1 to %d keys", maxKeys)
	}
	list := make([]*key, 0, len(set.Keys))
	for i, one := range set.Keys {
		parsed, err := jwk.ParseKey(one)
		if err != nil {
			return nil, fmt.Errorf("signing keys: key %d: it is not a sound key of a kind that signs here: %s", i+1, kinds)
		}
		k, err := newKey(parsed)
		if err != nil {
			name := ""
			if id, ok := parsed.KeyID(); ok {
				name = fmt.Sprintf(" (kid %q)", id)
			}
			return nil, fmt.Errorf("signing keys: key %d%s: %w", i+1, name, err)
		}
		list = append(list, k)
	}
	return newKeys(list)
}

func newKeys(list []*key) (*Keys, error) {
	keys := &Keys{list: list, byID: make(map[string]*key, len(list))}
	hints := make(map[hint]bool, len(list))
	for i, k := range list {
		switch {
		case keys.byID[k.id] != nil:
			return nil, fmt.Errorf("signing keys: key %d: the kid %q is there twice", i+1, k.id)
		case hints[k.hint]:
			return nil, fmt.Errorf("signing keys: key %d (kid %q): the same key is there under another kid", i+1, k.id)
		}
		keys.byID[k.id], hints[k.hint] = k, true
	}
	return keys, nil
}

// IDs lists the kids; the first one is that of the key that signs.
func (k *Keys) IDs() []string {
	ids := make([]string, 0, len(k.list))
	for _, one := range k.list {
		ids = append(ids, one.id)
	}
	return ids
}

// PrivateJWKS is the set with all its secrets, as ReadKeys reads it: for
// keeping, and for nothing else.
func (k *Keys) PrivateJWKS() ([]byte, error) {
	return k.marshal(func(one *key) (jwk.Key, error) { return one.jwk, nil })
}

// JWKS is the set of the public keys, for whoever checks bearer tokens
// elsewhere. A symmetric key has no public half, and is left out.
func (k *Keys) JWKS() ([]byte, error) {
	return k.marshal(func(one *key) (jwk.Key, error) {
		if one.symmetric() {
			return nil, nil
		}
		return one.jwk.PublicKey()
	})
}

func (k *Keys) marshal(half func(*key) (jwk.Key, error)) ([]byte, error) {
	set := struct {
		Keys []jwk.Key `json:"keys"`
	}{Keys: []jwk.Key{}}
	for _, one := range k.list {
		h, err := half(one)
		if err != nil {
			return nil, fmt.Errorf("write the key %q: %w", one.id, err)
		}
		if h != nil {
			set.Keys = append(set.Keys, h)
		}
	}
	raw, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("write the signing keys: %w", err)
	}
	return raw, nil
}

// Format prints how many keys there are, whatever the verb: the keys must not
// get into a log.
func (k *Keys) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, fmt.Sprintf("token.Keys(%d)", len(k.list)))
}
