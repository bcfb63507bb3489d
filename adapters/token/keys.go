// The signing keys of this installation, and the public keys of an issuer.

package token

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

const (
	maxSetBytes = 1 << 20
	maxKeys     = 100
)

// Keys are the keys that sign and verify. They may be shared, and Replace replaces them for
// all who share them. Only PrivateJWKS reveals them.
type Keys struct {
	now      atomic.Pointer[keySet]
	replaced atomic.Uint64 // how often
}

// keySet is a set of keys. It is immutable.
type keySet struct {
	list   []*key // the first one signs
	byID   map[string]*key
	byHint map[hint]*key
}

func (k *Keys) set() *keySet { return k.now.Load() }

// Replace replaces the keys with those of another set, at once for everything that signs or
// verifies with k.
func (k *Keys) Replace(by *Keys) {
	k.now.Store(by.set())
	k.replaced.Add(1)
}

// Generation returns a number that changes when the keys are replaced.
func (k *Keys) Generation() uint64 { return k.replaced.Load() }

// Append returns the keys with those of another set after them. It fails if both have a key.
func (k *Keys) Append(more *Keys) (*Keys, error) {
	return newKeys(slices.Concat(k.set().list, more.set().list))
}

// SigningWith returns the keys with the one with this kid first, so that it signs.
func (k *Keys) SigningWith(kid string) (*Keys, error) {
	first, ok := k.set().byID[kid]
	if !ok {
		return nil, fmt.Errorf("signing keys: there is no key with the kid %q (there are: %s)", kid, strings.Join(k.IDs(), ", "))
	}
	others := slices.DeleteFunc(slices.Clone(k.set().list), func(one *key) bool { return one == first })
	return newKeys(append([]*key{first}, others...))
}

// NewKeys returns a set of one new Ed25519 key.
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
// its thumbprint as its kid. An error names the invalid key and quotes nothing
// of its content.
func ReadKeys(raw []byte) (*Keys, error) {
	if len(raw) > maxSetBytes {
		return nil, errors.New("signing keys: the JWK set is larger than 1 MiB")
	}
	set, err := splitSet(raw)
	if err != nil {
		return nil, fmt.Errorf("signing keys: %w", err)
	}
	if n := len(set); n == 0 || n > maxKeys {
		return nil, fmt.Errorf("signing keys: a JWK set must hold 1 to %d keys", maxKeys)
	}
	list := make([]*key, 0, len(set))
	for i, one := range set {
		parsed, err := jwk.ParseKey(one)
		if err != nil {
			return nil, fmt.Errorf("signing keys: key %d: %w", i+1, errUnsupported)
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

// splitSet returns the keys of a JWK set, not yet parsed, so that an invalid key does
// not fail the whole set.
func splitSet(raw []byte) ([]json.RawMessage, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil || set.Keys == nil {
		return nil, errors.New(`it is not a JWK set: {"keys": [...]}`)
	}
	return set.Keys, nil
}

func newKeys(list []*key) (*Keys, error) {
	if len(list) > maxKeys {
		return nil, fmt.Errorf("signing keys: a JWK set must hold 1 to %d keys", maxKeys)
	}
	set := &keySet{list: list, byID: make(map[string]*key, len(list)), byHint: make(map[hint]*key, len(list))}
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

// IDs returns the kids; the first is that of the key that signs.
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
	set := jwk.NewSet()
	for _, one := range k.set().list {
		if err := set.AddKey(one.jwk); err != nil {
			return nil, fmt.Errorf("write the signing keys: %w", err)
		}
	}
	return json.Marshal(set)
}

// Format prints only the number of keys, whatever the verb, so that the keys do
// not reach a log.
func (k *Keys) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, fmt.Sprintf("token.Keys(%d)", len(k.set().list)))
}

type publicKey struct {
	id     string // may be empty
	algs   []jwa.SignatureAlgorithm
	public any // ed25519.PublicKey, *ecdsa.PublicKey or *rsa.PublicKey
}

// publicKeys are the keys of an issuer. They are immutable.
type publicKeys []publicKey

// readPublicKeys reads a JWK set. It skips a key that cannot verify because of
// its kind, use, operations or algorithm, an invalid key, and a second key with
// the same kid. An empty set is valid.
func readPublicKeys(raw []byte) (publicKeys, error) {
	set, err := splitSet(raw)
	if err != nil {
		return nil, err
	}
	if len(set) > maxKeys {
		return nil, fmt.Errorf("it holds more than %d keys", maxKeys)
	}
	keys := make(publicKeys, 0, len(set))
	for _, one := range set {
		k, ok := readPublicKey(one)
		if ok && (k.id == "" || !slices.ContainsFunc(keys, func(other publicKey) bool { return other.id == k.id })) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

func readPublicKey(raw []byte) (k publicKey, ok bool) {
	parsed, err := jwk.ParseKey(raw)
	if err != nil || parsed.KeyType() == jwa.OctetSeq() || jwk.Export(parsed, &k.public) != nil {
		return k, false
	}
	if use, ok := parsed.KeyUsage(); ok && use != string(jwk.ForSignature) {
		return k, false
	}
	if ops, ok := parsed.KeyOps(); ok && !slices.Contains(ops, jwk.KeyOpVerify) {
		return k, false
	}
	k.id, _ = parsed.KeyID()
	k.algs = algorithms(k.public)
	if named, ok := parsed.Algorithm(); ok {
		k.algs = slices.DeleteFunc(k.algs, func(a jwa.SignatureAlgorithm) bool { return a.String() != named.String() })
	}
	return k, len(k.algs) > 0
}

// find returns the key with a kid, or the only key if kid is empty.
func (s publicKeys) find(kid string) (publicKey, bool) {
	if kid == "" && len(s) == 1 {
		return s[0], true
	}
	i := slices.IndexFunc(s, func(k publicKey) bool { return kid != "" && k.id == kid })
	if i < 0 {
		return publicKey{}, false
	}
	return s[i], true
}
