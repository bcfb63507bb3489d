// Private keys as JWKs, RFC 7517 and RFC 7518, section 6.

package token

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// The types of keys, the values of kty.
const (
	typeOKP = "OKP"
	typeEC  = "EC"
	typeRSA = "RSA"
	typeOct = "oct"
)

const curveEd25519 = "Ed25519"

// jwk is a JWK. Fields that are not ours are kept as they are.
type jwk map[string]json.RawMessage

// parseJWK reads a JWK. Its fields with names that we know must be texts.
func parseJWK(raw []byte) (jwk, error) {
	var j jwk
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, errUnsupported
	}
	for _, name := range []string{"kty", "crv", "kid", "use", "alg", "k", "d", "x", "y", "n", "e", "p", "q", "dp", "dq", "qi"} {
		if _, ok := j.text(name); !ok && j[name] != nil {
			return nil, errUnsupported
		}
	}
	switch kty, _ := j.text("kty"); kty {
	case typeOKP, typeEC, typeRSA, typeOct:
		return j, nil
	}
	return nil, errUnsupported
}

// text returns a field that is a text.
func (j jwk) text(name string) (string, bool) {
	var value any
	if json.Unmarshal(j[name], &value) != nil {
		return "", false
	}
	text, ok := value.(string)
	return text, ok
}

// bytes returns a field that is bytes in base64, with or without padding, in either
// alphabet; nil if it is missing or invalid.
func (j jwk) bytes(name string) []byte {
	text, ok := j.text(name)
	if !ok {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "=")))
	if err != nil {
		return nil
	}
	return raw
}

// number returns a field that is a number; nil if it is missing or invalid.
func (j jwk) number(name string) *big.Int {
	if raw := j.bytes(name); raw != nil {
		return new(big.Int).SetBytes(raw)
	}
	return nil
}

// export returns the key: an ed25519.PrivateKey, *ecdsa.PrivateKey, *rsa.PrivateKey or []byte.
func (j jwk) export() (any, error) {
	switch kty, _ := j.text("kty"); kty {
	case typeOKP:
		return j.ed25519()
	case typeEC:
		return j.ecdsa()
	case typeRSA:
		return j.rsa()
	}
	if secret := j.bytes("k"); secret != nil {
		return secret, nil
	}
	return nil, errUnsupported
}

func (j jwk) ed25519() (any, error) {
	curve, _ := j.text("crv")
	seed := j.bytes("d")
	if curve != curveEd25519 || len(seed) != ed25519.SeedSize {
		return nil, errUnsupported
	}
	private := ed25519.NewKeyFromSeed(seed)
	if public, ok := private.Public().(ed25519.PublicKey); !ok || !public.Equal(ed25519.PublicKey(j.bytes("x"))) {
		return nil, errUnsupported
	}
	return private, nil
}

func (j jwk) ecdsa() (any, error) {
	var curve elliptic.Curve
	switch name, _ := j.text("crv"); name {
	case elliptic.P256().Params().Name:
		curve = elliptic.P256()
	case elliptic.P384().Params().Name:
		curve = elliptic.P384()
	case elliptic.P521().Params().Name:
		return nil, errors.New("its curve must be P-256 or P-384")
	default:
		return nil, errUnsupported
	}
	size := curve.Params().BitSize / 8
	x, y, d := j.number("x"), j.number("y"), j.number("d")
	if x == nil || y == nil || d == nil || x.BitLen() > size*8 || y.BitLen() > size*8 {
		return nil, errUnsupported
	}
	const uncompressed = 4
	point := append([]byte{uncompressed}, x.FillBytes(make([]byte, size))...)
	public, err := ecdsa.ParseUncompressedPublicKey(curve, append(point, y.FillBytes(make([]byte, size))...))
	if err != nil {
		return nil, errUnsupported
	}
	if d.BitLen() > size*8 {
		return nil, errMismatch
	}
	private, err := ecdsa.ParseRawPrivateKey(curve, d.FillBytes(make([]byte, size)))
	if err != nil || !private.PublicKey.Equal(public) {
		return nil, errMismatch
	}
	return private, nil
}

func (j jwk) rsa() (any, error) {
	const minExponent = 3
	n, e, d, p, q := j.number("n"), j.number("e"), j.number("d"), j.number("p"), j.number("q")
	if n == nil || e == nil || d == nil || p == nil || q == nil ||
		n.BitLen() < minRSABits || e.BitLen() >= strconv.IntSize || e.Bit(0) == 0 || e.Int64() < minExponent {
		return nil, errUnsupported
	}
	private := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: n, E: int(e.Int64())}, D: d, Primes: []*big.Int{p, q}}
	private.Precomputed.Dp, private.Precomputed.Dq, private.Precomputed.Qinv = j.number("dp"), j.number("dq"), j.number("qi")
	return private, nil
}

// thumbprint returns the thumbprint of a key. See RFC 7638.
func thumbprint(private any) (string, error) {
	fields := map[string]string{}
	text := base64.RawURLEncoding.EncodeToString
	switch k := private.(type) {
	case ed25519.PrivateKey:
		fields["kty"], fields["crv"], fields["x"] = typeOKP, curveEd25519, text(k[ed25519.SeedSize:])
	case *ecdsa.PrivateKey:
		point, err := k.PublicKey.Bytes()
		if err != nil {
			return "", err
		}
		x, y := point[1:1+len(point)/2], point[1+len(point)/2:]
		fields["kty"], fields["crv"], fields["x"], fields["y"] = typeEC, k.Curve.Params().Name, text(x), text(y)
	case *rsa.PrivateKey:
		fields["kty"], fields["n"], fields["e"] = typeRSA, text(k.N.Bytes()), text(big.NewInt(int64(k.E)).Bytes())
	case []byte:
		fields["kty"], fields["k"] = typeOct, text(k)
	}
	canonical, err := json.Marshal(fields) // sorts the names
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return text(sum[:]), nil
}
