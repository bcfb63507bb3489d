// The public keys of an OpenID Connect issuer.

package reviewer

import (
	"fmt"
	"slices"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"

	"github.com/verifyd/verifyd/adapters/token"
)

// maxKeys is the most keys of a set that are read.
const maxKeys = 100

type publicKey struct {
	id     string // may be empty
	algs   []string
	public any // ed25519.PublicKey, *ecdsa.PublicKey or *rsa.PublicKey
}

// publicKeys are the keys of an issuer. They are immutable.
type publicKeys []publicKey

// readPublicKeys reads a JWK set. It skips a key that cannot verify because of
// its kind, use, operations or algorithm, an invalid key, and a second key with
// the same kid. An empty set is valid.
func readPublicKeys(raw []byte) (publicKeys, error) {
	set, err := token.SplitSet(raw)
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
	k.algs = token.Algorithms(k.public)
	if named, ok := parsed.Algorithm(); ok {
		k.algs = slices.DeleteFunc(k.algs, func(a string) bool { return a != named.String() })
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
