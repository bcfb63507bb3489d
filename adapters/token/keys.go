// The signing keys of this installation.

package token

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	maxSetBytes = 1 << 20
	maxKeys     = 100
)

// Keys are the keys that sign and verify. They may be shared, and Replace replaces them for
// all who share them. Only PrivateJWKS and Key.Private
// reveal them.
type Keys struct {
	now      atomic.Pointer[keySet]
	replaced atomic.Uint64 // how often
}

// keySet is a set of keys. It is immutable.
type keySet struct {
	list   []*Key // the first one signs
	byID   map[string]*Key
	byHint map[hint]*Key
}

func (k *Keys) set() *keySet { return k.now.Load() }

// Replace replaces the keys with the keys of another set, at once for everything that signs or
// verifies with k.
func (k *Keys) Replace(by *Keys) {
	k.now.Store(by.set())
	k.replaced.Add(1)
}

// Generation returns a number that changes when the keys are replaced.
func (k *Keys) Generation() uint64 { return k.replaced.Load() }

// Append returns the keys, followed by the keys of another set. It fails if both have a key.
func (k *Keys) Append(more *Keys) (*Keys, error) {
	return newKeys(slices.Concat(k.set().list, more.set().list))
}

// SigningWith returns the keys with the one with this kid first, so that it signs.
func (k *Keys) SigningWith(kid string) (*Keys, error) {
	first, ok := k.set().byID[kid]
	if !ok {
		return nil, fmt.Errorf("signing keys: there is no key with the kid %q (there are: %s)", kid, strings.Join(k.IDs(), ", "))
	}
	others := slices.DeleteFunc(slices.Clone(k.set().list), func(one *Key) bool { return one == first })
	return newKeys(append([]*Key{first}, others...))
}

// NewKeys returns a set of one new Ed25519 key. Its kid does not begin with a hyphen, so that
// no command takes it for a flag.
func NewKeys() (*Keys, error) {
	for range 100 {
		keys, err := randomKeys()
		if err != nil || !strings.HasPrefix(keys.IDs()[0], "-") { // 1 of 64 does
			return keys, err
		}
	}
	return nil, errors.New("make a signing key: each of 100 has a kid that begins with a hyphen; is the source of random numbers broken?")
}

func randomKeys() (*Keys, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString
	raw, err := json.Marshal(map[string]any{"keys": []map[string]string{{
		"kty": typeOKP, "crv": curveEd25519, "d": text(private.Seed()), "x": text(public),
	}}})
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	return ReadKeys(raw)
}

// ReadKeys reads a JWK set of private keys: OKP Ed25519, EC P-256 or P-384, RSA
// of 2048 bits or more, and oct of 32 bytes or more. A key without a kid gets
// its thumbprint as its kid. An error names the invalid key and quotes nothing
// of its content.
func ReadKeys(raw []byte) (*Keys, error) {
	if len(raw) > maxSetBytes {
		return nil, errors.New("signing keys: the JWK set is larger than 1 MiB")
	}
	set, err := SplitSet(raw)
	if err != nil {
		return nil, fmt.Errorf("signing keys: %w", err)
	}
	if n := len(set); n == 0 || n > maxKeys {
		return nil, fmt.Errorf("signing keys: a JWK set must hold 1 to %d keys", maxKeys)
	}
	list := make([]*Key, 0, len(set))
	for i, one := range set {
		parsed, err := parseJWK(one)
		if err != nil {
			return nil, fmt.Errorf("signing keys: key %d: %w", i+1, err)
		}
		k, err := newKey(parsed)
		if err != nil {
			name := ""
			if id, ok := parsed.text("kid"); ok {
				name = fmt.Sprintf(" (kid %q)", id)
			}
			return nil, fmt.Errorf("signing keys: key %d%s: %w", i+1, name, err)
		}
		list = append(list, k)
	}
	return newKeys(list)
}

// SplitSet returns the keys of a JWK set, not yet parsed, so that an invalid key does
// not fail the whole set.
func SplitSet(raw []byte) ([]json.RawMessage, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil || set.Keys == nil {
		return nil, errors.New(`it is not a JWK set: {"keys": [...]}`)
	}
	return set.Keys, nil
}

func newKeys(list []*Key) (*Keys, error) {
	if len(list) > maxKeys {
		return nil, fmt.Errorf("signing keys: a JWK set must hold 1 to %d keys", maxKeys)
	}
	set := &keySet{list: list, byID: make(map[string]*Key, len(list)), byHint: make(map[hint]*Key, len(list))}
	for i, k := range list {
		switch {
		case set.byID[k.id] != nil:
			return nil, fmt.Errorf("signing keys: key %d: another key has the kid %q", i+1, k.id)
		case set.byHint[k.hint] != nil:
			return nil, fmt.Errorf("signing keys: key %d (kid %q): the same key is listed under another kid", i+1, k.id)
		}
		set.byID[k.id], set.byHint[k.hint] = k, k
	}
	keys := &Keys{}
	keys.now.Store(set)
	return keys, nil
}

// Signing returns the key that signs.
func (k *Keys) Signing() *Key { return k.set().list[0] }

// Find returns the key with this kid.
func (k *Keys) Find(kid string) (*Key, bool) {
	one, ok := k.set().byID[kid]
	return one, ok
}

// IDs returns the kids; the first names the key that signs.
func (k *Keys) IDs() []string {
	list := k.set().list
	ids := make([]string, 0, len(list))
	for _, one := range list {
		ids = append(ids, one.id)
	}
	return ids
}

// PrivateJWKS returns the set with all secrets, as ReadKeys reads it, for
// storage only.
func (k *Keys) PrivateJWKS() ([]byte, error) {
	list := k.set().list
	set := make([]jwk, 0, len(list))
	for _, one := range list {
		set = append(set, one.jwk)
	}
	raw, err := json.Marshal(map[string]any{"keys": set})
	if err != nil {
		return nil, fmt.Errorf("write the signing keys: %w", err)
	}
	return raw, nil
}

// Format prints only the number of keys, whatever the verb, so that the keys do
// not reach a log.
func (k *Keys) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, fmt.Sprintf("token.Keys(%d)", len(k.set().list)))
}
