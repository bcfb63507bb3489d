// One key: its kind, its algorithms, and the keys of links and reports that are derived from it.

package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

const (
	minRSABits     = 2048
	maxRSABits     = 8192
	minSecretBytes = 32
	maxIDBytes     = 200
	useSignature   = "sig"
)

// hint identifies in a link token the key that signed it. It is derived from the
// key, so that a new kid does not change the links.
type hint [8]byte

// Key is one of Keys, for packages that sign other tokens with it. Printing it reveals nothing.
type Key struct {
	id      string
	alg     string
	jwk     jwk // with kid, alg and use
	private any
	public  any
	link    []byte // the MAC key of links
	hint    hint
	report  reportKey
}

// ID returns the kid, 1 to 200 bytes.
func (k *Key) ID() string { return k.id }

// Algorithm returns the name of the JWS algorithm, such as EdDSA, the only one that the key
// signs and verifies with.
func (k *Key) Algorithm() string { return k.alg }

// Private returns an ed25519.PrivateKey, *ecdsa.PrivateKey, *rsa.PrivateKey or []byte. It
// must not be changed.
func (k *Key) Private() any { return k.private }

// Public returns an ed25519.PublicKey, *ecdsa.PublicKey, *rsa.PublicKey or, for a secret, the
// same []byte as Private.
func (k *Key) Public() any { return k.public }

// Format prints only the kid, whatever the verb, so that the key does not reach a log.
func (k *Key) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, fmt.Sprintf("token.Key(%q)", k.id))
}

var (
	errUnsupported = errors.New("it is not a valid key of a supported kind: OKP Ed25519, EC P-256 or P-384, RSA of 2048 bits or more, oct of 32 bytes or more")
	errMismatch    = errors.New("its private and public half do not belong together")
)

func newKey(parsed jwk) (*Key, error) {
	kty, _ := parsed.text("kty")
	if d, _ := parsed.text("d"); d == "" && kty != typeOct {
		return nil, errors.New("it is only the public half of a key")
	}
	if use, ok := parsed.text("use"); ok && use != useSignature {
		return nil, fmt.Errorf("its use is %q: it must be sig, or left out", use)
	}
	private, err := parsed.export()
	if err != nil {
		return nil, err
	}
	k := &Key{private: private}
	secret, err := k.check()
	if err != nil {
		return nil, err
	}
	algs := Algorithms(k.public)
	k.alg = algs[0]
	if named, ok := parsed.text("alg"); ok {
		if !slices.Contains(algs, named) {
			return nil, fmt.Errorf("its alg is %q: it must be one of %v, or left out", named, algs)
		}
		k.alg = named
	}
	if k.symmetric() && len(secret) < macBytes(k.alg) {
		return nil, fmt.Errorf("the algorithm %s needs a secret of %d bytes", k.alg, macBytes(k.alg))
	}
	if err := k.derive(secret, kty); err != nil {
		return nil, err
	}
	return k, k.name(parsed)
}

// check validates the private key, sets the public key, and returns the secret
// that the keys of links and reports are derived from.
func (k *Key) check() (secret []byte, err error) {
	if signer, ok := k.private.(crypto.Signer); ok {
		k.public = signer.Public()
	}
	switch private := k.private.(type) {
	case ed25519.PrivateKey:
		return private.Seed(), nil
	case *ecdsa.PrivateKey:
		return private.Bytes()
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

// derive sets the MAC key of links, its hint, and the key of reports. The labels separate
// them from each other and from every other use of the key.
func (k *Key) derive(secret []byte, kind string) error {
	const macKey = sha256.Size
	out, err := hkdf.Key(sha256.New, secret, nil, "verifyd journey link 1 "+kind, macKey+len(k.hint))
	if err != nil {
		return fmt.Errorf("derive the key of links: %w", err)
	}
	k.link = out[:macKey]
	copy(k.hint[:], out[macKey:])
	seed, err := hkdf.Key(sha256.New, secret, nil, "verifyd report signature 1 "+kind, ed25519.SeedSize)
	if err != nil {
		return fmt.Errorf("derive the key of reports: %w", err)
	}
	if k.report, err = newReportKey(seed); err != nil {
		return fmt.Errorf("derive the key of reports: %w", err)
	}
	return nil
}

// name sets the JWK with its kid, alg and use. The kid defaults to the
// thumbprint of the key.
func (k *Key) name(parsed jwk) (err error) {
	if k.id, _ = parsed.text("kid"); k.id == "" {
		if k.id, err = thumbprint(k.private); err != nil {
			return fmt.Errorf("its thumbprint cannot be computed: %w", err)
		}
	}
	if len(k.id) > maxIDBytes {
		return fmt.Errorf("its kid is longer than %d bytes", maxIDBytes)
	}
	k.jwk = maps.Clone(parsed)
	for name, value := range map[string]string{"kid": k.id, "alg": k.alg, "use": useSignature} {
		if k.jwk[name], err = json.Marshal(value); err != nil {
			return fmt.Errorf("it cannot be given a %s: %w", name, err)
		}
	}
	return nil
}

func (k *Key) symmetric() bool {
	_, ok := k.private.([]byte)
	return ok
}

// macBytes returns the shortest secret of an HMAC algorithm. See RFC 7518,
// section 3.2.
func macBytes(alg string) int {
	switch alg {
	case "HS512":
		return 64
	case "HS384":
		return 48
	default:
		return minSecretBytes
	}
}

// Algorithms returns the names of the JWS algorithms that a public key or a secret can verify,
// the default first; none for a private key and for one of an unsupported kind or size.
func Algorithms(public any) []string {
	switch k := public.(type) {
	case ed25519.PublicKey:
		return []string{"EdDSA", "Ed25519"}
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return []string{"ES256"}
		case elliptic.P384():
			return []string{"ES384"}
		case elliptic.P521():
			return []string{"ES512"}
		}
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits >= minRSABits && bits <= maxRSABits {
			return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
		}
	case []byte:
		return []string{"HS256", "HS384", "HS512"}
	}
	return nil
}
