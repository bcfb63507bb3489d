// One signing key: what it may be, and what is derived from it.

package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

// The bounds of a key.
const (
	minRSABits     = 2048
	maxRSABits     = 8192
	minSecretBytes = 32
	maxIDBytes     = 200
)

// hint tells in a link token which key made it. It is derived from the key, so
// that a new kid does not change the links.
type hint [8]byte

// key is one private key, found to be sound.
type key struct {
	id      string
	alg     jwa.SignatureAlgorithm // the only one it signs and checks with
	jwk     jwk.Key                // with kid, alg and use
	private any                    // ed25519.PrivateKey, *ecdsa.PrivateKey, *rsa.PrivateKey or []byte
	public  any
	link    []byte // the MAC key of links
	hint    hint
}

func newKey(parsed jwk.Key) (*key, error) {
	if private, err := jwk.IsPrivateKey(parsed); err == nil && !private {
		if parsed.KeyType() != jwa.OctetSeq() {
			return nil, errors.New("it is only the public half of a key")
		}
	}
	if use, ok := parsed.KeyUsage(); ok && use != string(jwk.ForSignature) {
		return nil, fmt.Errorf("its use is %q: it must be sig, or left out", use)
	}
	k := &key{}
	secret, algs, err := k.material(parsed)
	if err != nil {
		return nil, err
	}
	if k.alg, err = algorithm(parsed, algs); err != nil {
		return nil, err
	}
	if k.symmetric() && len(secret) < macBytes(k.alg) {
		return nil, fmt.Errorf("the algorithm %s needs a secret of %d bytes", k.alg, macBytes(k.alg))
	}
	if err := k.derive(secret, parsed.KeyType()); err != nil {
		return nil, err
	}
	return k, k.name(parsed)
}

// material takes the raw key out of the JWK, checks it, and lists the
// algorithms it can be used with, the usual one first.
func (k *key) material(parsed jwk.Key) (secret []byte, algs []jwa.SignatureAlgorithm, err error) {
	var raw any
	if err := jwk.Export(parsed, &raw); err != nil {
		return nil, nil, errors.New("it is not a sound key of a kind that signs here: " + kinds)
	}
	k.private = raw
	switch raw := raw.(type) {
	case ed25519.PrivateKey:
		k.public = raw.Public()
		return raw.Seed(), []jwa.SignatureAlgorithm{jwa.EdDSA(), jwa.EdDSAEd25519()}, nil
	case *ecdsa.PrivateKey:
		return k.elliptic(raw)
	case *rsa.PrivateKey:
		return k.rsa(raw)
	case []byte:
		if len(raw) < minSecretBytes {
			return nil, nil, fmt.Errorf("its secret is shorter than %d bytes", minSecretBytes)
		}
		k.public = raw
		return raw, []jwa.SignatureAlgorithm{jwa.HS256(), jwa.HS384(), jwa.HS512()}, nil
	default:
		return nil, nil, errors.New("it is not a sound key of a kind that signs here: " + kinds)
	}
}

const kinds = "OKP Ed25519, EC P-256 or P-384, RSA of 2048 bits or more, oct of 32 bytes or more"

var errTorn = errors.New("its private and public half do not belong together")

func (k *key) elliptic(raw *ecdsa.PrivateKey) (secret []byte, algs []jwa.SignatureAlgorithm, err error) {
	switch raw.Curve {
	case elliptic.P256():
		algs = []jwa.SignatureAlgorithm{jwa.ES256()}
	case elliptic.P384():
		algs = []jwa.SignatureAlgorithm{jwa.ES384()}
	default:
		return nil, nil, errors.New("its curve must be P-256 or P-384")
	}
	if secret, err = raw.Bytes(); err != nil {
		return nil, nil, errTorn
	}
	whole, err := ecdsa.ParseRawPrivateKey(raw.Curve, secret)
	if err != nil || !whole.Equal(raw) {
		return nil, nil, errTorn
	}
	k.public = &raw.PublicKey
	return secret, algs, nil
}

func (k *key) rsa(raw *rsa.PrivateKey) (secret []byte, algs []jwa.SignatureAlgorithm, err error) {
	if bits := raw.N.BitLen(); bits < minRSABits || bits > maxRSABits {
		return nil, nil, fmt.Errorf("it has %d bits: it must have %d to %d", bits, minRSABits, maxRSABits)
	}
	if raw.Validate() != nil {
		return nil, nil, errTorn
	}
	raw.Precompute()
	k.public = &raw.PublicKey
	return raw.D.Bytes(), []jwa.SignatureAlgorithm{
		jwa.RS256(), jwa.RS384(), jwa.RS512(), jwa.PS256(), jwa.PS384(), jwa.PS512(),
	}, nil
}

// algorithm is the one the JWK names, else the usual one.
func algorithm(parsed jwk.Key, algs []jwa.SignatureAlgorithm) (jwa.SignatureAlgorithm, error) {
	named, ok := parsed.Algorithm()
	if !ok {
		return algs[0], nil
	}
	i := slices.IndexFunc(algs, func(a jwa.SignatureAlgorithm) bool { return a.String() == named.String() })
	if i < 0 {
		return algs[0], fmt.Errorf("its alg is %q: it must be one of %v, or left out", named.String(), algs)
	}
	return algs[i], nil
}

// derive makes the MAC key of links and its hint. The label keeps them apart
// from every other use of the key.
func (k *key) derive(secret []byte, kind jwa.KeyType) error {
	const macKey = sha256.Size
	out, err := hkdf.Key(sha256.New, secret, nil, "verifyd journey link 1 "+kind.String(), macKey+len(k.hint))
	if err != nil {
		return fmt.Errorf("derive the key of links: %w", err)
	}
	k.link = out[:macKey]
	copy(k.hint[:], out[macKey:])
	return nil
}

// name keeps the JWK, with its kid and what it is for.
func (k *key) name(parsed jwk.Key) error {
	id, ok := parsed.KeyID()
	if !ok || id == "" {
		thumb, err := parsed.Thumbprint(crypto.SHA256)
		if err != nil {
			return errors.New("its thumbprint cannot be made")
		}
		id = base64.RawURLEncoding.EncodeToString(thumb)
	}
	if len(id) > maxIDBytes {
		return fmt.Errorf("its kid is longer than %d bytes", maxIDBytes)
	}
	kept, err := parsed.Clone()
	if err != nil {
		return errors.New("it cannot be copied")
	}
	for name, value := range map[string]any{jwk.KeyIDKey: id, jwk.AlgorithmKey: k.alg, jwk.KeyUsageKey: jwk.ForSignature} {
		if err := kept.Set(name, value); err != nil {
			return fmt.Errorf("it cannot be given its %s", name)
		}
	}
	k.id, k.jwk = id, kept
	return nil
}

func (k *key) symmetric() bool {
	_, is := k.private.([]byte)
	return is
}

// macBytes is the shortest secret of an HMAC algorithm. See RFC 7518, section 3.2.
func macBytes(alg jwa.SignatureAlgorithm) int {
	switch alg {
	case jwa.HS512():
		return 64
	case jwa.HS384():
		return 48
	default:
		return minSecretBytes
	}
}
