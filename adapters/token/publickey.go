// The public keys of an issuer: which of them verify, and what.

package token

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

// publicKey is one key that verifies.
type publicKey struct {
	id     string // may be empty
	algs   []jwa.SignatureAlgorithm
	public any // ed25519.PublicKey, *ecdsa.PublicKey or *rsa.PublicKey
}

// publicKeys are those of one key set that verify. They never change.
type publicKeys []publicKey

// readPublicKeys reads a JWK set. A key that cannot verify here, because of its
// kind, its use or its algorithm, or that is not sound, is passed over, and so is
// a second one of a kid. So an empty set is a set: it verifies nothing.
func readPublicKeys(raw []byte) (publicKeys, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil || set.Keys == nil {
		return nil, errors.New(`it is not a JWK set: {"keys": [...]}`)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("it holds more than %d keys", maxKeys)
	}
	keys := make(publicKeys, 0, len(set.Keys))
	for _, one := range set.Keys {
		k, ok := readPublicKey(one)
		if ok && (k.id == "" || !slices.ContainsFunc(keys, func(other publicKey) bool { return other.id == k.id })) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

func readPublicKey(raw []byte) (publicKey, bool) {
	parsed, err := jwk.ParseKey(raw)
	if err != nil {
		return publicKey{}, false
	}
	if use, ok := parsed.KeyUsage(); ok && use != string(jwk.ForSignature) {
		return publicKey{}, false
	}
	if ops, ok := parsed.KeyOps(); ok && !slices.Contains(ops, jwk.KeyOpVerify) {
		return publicKey{}, false
	}
	var k publicKey
	k.id, _ = parsed.KeyID()
	if err := jwk.Export(parsed, &k.public); err != nil {
		return publicKey{}, false
	}
	if k.algs = algorithmsOf(k.public); len(k.algs) == 0 {
		return publicKey{}, false
	}
	if named, ok := parsed.Algorithm(); ok {
		only, fits := k.algorithm(named.String())
		k.algs = []jwa.SignatureAlgorithm{only}
		return k, fits
	}
	return k, true
}

// find tells which key has this kid. Without a kid it is the only key.
func (s publicKeys) find(kid string) (publicKey, bool) {
	if kid == "" {
		if len(s) != 1 {
			return publicKey{}, false
		}
		return s[0], true
	}
	i := slices.IndexFunc(s, func(k publicKey) bool { return k.id == kid })
	if i < 0 {
		return publicKey{}, false
	}
	return s[i], true
}

// algorithm finds one of those that the key may be used with.
func (k publicKey) algorithm(name string) (jwa.SignatureAlgorithm, bool) {
	i := slices.IndexFunc(k.algs, func(a jwa.SignatureAlgorithm) bool { return a.String() == name })
	if i < 0 {
		return jwa.SignatureAlgorithm{}, false
	}
	return k.algs[i], true
}

// algorithmsOf lists what a key can verify by its kind; none for one that is
// private, secret, too short, too long, or of another kind.
func algorithmsOf(public any) []jwa.SignatureAlgorithm {
	switch k := public.(type) {
	case ed25519.PublicKey:
		return []jwa.SignatureAlgorithm{jwa.EdDSA(), jwa.EdDSAEd25519()}
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return []jwa.SignatureAlgorithm{jwa.ES256()}
		case elliptic.P384():
			return []jwa.SignatureAlgorithm{jwa.ES384()}
		case elliptic.P521():
			return []jwa.SignatureAlgorithm{jwa.ES512()}
		}
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits >= minRSABits && bits <= maxRSABits {
			return []jwa.SignatureAlgorithm{jwa.RS256(), jwa.RS384(), jwa.RS512(), jwa.PS256(), jwa.PS384(), jwa.PS512()}
		}
	}
	return nil
}

// asymmetric tells whether an algorithm is one of those above, so that a token
// with another one is refused before its key is looked for.
func asymmetric(alg string) bool {
	switch alg {
	case "EdDSA", "Ed25519", "ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512":
		return true
	default:
		return false
	}
}
