// One key: its kind, its algorithms, and the key of links that is derived from it.

package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

const (
	minRSABits     = 2048
	maxRSABits     = 8192
	minSecretBytes = 32
	maxIDBytes     = 200
)

// hint identifies in a link token the key that signed it. It is derived from the
// key, so that a new kid does not change the links.
type hint [8]byte

type key struct {
	id      string
	alg     jwa.SignatureAlgorithm // the only one that it signs and verifies with
	jwk     jwk.Key                // with kid, alg and use
	private any                    // ed25519.PrivateKey, *ecdsa.PrivateKey, *rsa.PrivateKey or []byte
	public  any                    // ed25519.PublicKey, *ecdsa.PublicKey, *rsa.PublicKey or []byte
	link    []byte                 // the MAC key of links
	hint    hint
}

var (
	errUnsupported = errors.New("it is not a valid key of a supported kind: OKP Ed25519, EC P-256 or P-384, RSA of 2048 bits or more, oct of 32 bytes or more")
	errMismatch    = errors.New("its private and public half do not belong together")
)

func newKey(parsed jwk.Key) (*key, error) {
	if private, err := jwk.IsPrivateKey(parsed); err == nil && !private && parsed.KeyType() != jwa.OctetSeq() {
		return nil, errors.New("it is only the public half of a key")
	}
	if use, ok := parsed.KeyUsage(); ok && use != string(jwk.ForSignature) {
		return nil, fmt.Errorf("its use is %q: it must be sig, or left out", use)
	}
	k := &key{}
	if jwk.Export(parsed, &k.private) != nil {
		return nil, errUnsupported
	}
	secret, err := k.check()
	if err != nil {
		return nil, err
	}
	algs := algorithms(k.public)
	k.alg = algs[0]
	if named, ok := parsed.Algorithm(); ok {
		i := slices.IndexFunc(algs, func(a jwa.SignatureAlgorithm) bool { return a.String() == named.String() })
		if i < 0 {
			return nil, fmt.Errorf("its alg is %q: it must be one of %v, or left out", named.String(), algs)
		}
		k.alg = algs[i]
	}
	if k.symmetric() && len(secret) < macBytes(k.alg) {
		return nil, fmt.Errorf("the algorithm %s needs a secret of %d bytes", k.alg, macBytes(k.alg))
	}
	if err := k.derive(secret, parsed.KeyType()); err != nil {
		return nil, err
	}
	return k, k.name(parsed)
}

// check validates the private key, sets the public key, and returns the secret
// that the key of links is derived from.
func (k *key) check() (secret []byte, err error) {
	if signer, ok := k.private.(crypto.Signer); ok {
		k.public = signer.Public()
	}
	switch private := k.private.(type) {
	case ed25519.PrivateKey:
		return private.Seed(), nil
	case *ecdsa.PrivateKey:
		if private.Curve != elliptic.P256() && private.Curve != elliptic.P384() {
			return nil, errors.New("its curve must be P-256 or P-384")
		}
		if secret, err = private.Bytes(); err != nil {
			return nil, errMismatch
		}
		if same, err := ecdsa.ParseRawPrivateKey(private.Curve, secret); err != nil || !same.Equal(private) {
			return nil, errMismatch
		}
		return secret, nil
	case *rsa.PrivateKey:
		if bits := private.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return nil, fmt.Errorf("it has %d bits: it must have %d to %d", bits, minRSABits, maxRSABits)
		}
		if private.Validate() != nil {
			return nil, errMismatch
		}
		private.Precompute()
		return private.D.Bytes(), nil
	case []byte:
		if len(private) < minSecretBytes {
			return nil, fmt.Errorf("its secret is shorter than %d bytes", minSecretBytes)
		}
		k.public = private
		return private, nil
	}
	return nil, errUnsupported
}

// derive sets the MAC key of links and its hint. The label separates them from
// every other use of the key.
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

// name sets the JWK with its kid, alg and use. The kid defaults to the
// thumbprint of the key.
func (k *key) name(parsed jwk.Key) error {
	named, err := parsed.Clone()
	if err != nil {
		return errors.New("it cannot be copied")
	}
	id, _ := named.KeyID()
	err = errors.Join(jwk.AssignKeyID(named, jwk.WithForceAssign(id == "")),
		named.Set(jwk.AlgorithmKey, k.alg), named.Set(jwk.KeyUsageKey, jwk.ForSignature))
	if err != nil {
		return errors.New("it cannot be given a kid, an alg and a use")
	}
	k.id, _ = named.KeyID()
	if len(k.id) > maxIDBytes {
		return fmt.Errorf("its kid is longer than %d bytes", maxIDBytes)
	}
	k.jwk = named
	return nil
}

func (k *key) symmetric() bool {
	_, ok := k.private.([]byte)
	return ok
}

// macBytes returns the shortest secret of an HMAC algorithm. See RFC 7518,
// section 3.2.
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

// algorithms returns what a public key or a secret can verify, the default
// first; none for a private key and for one of an unsupported kind or size.
func algorithms(public any) []jwa.SignatureAlgorithm {
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
	case []byte:
		return []jwa.SignatureAlgorithm{jwa.HS256(), jwa.HS384(), jwa.HS512()}
	}
	return nil
}
