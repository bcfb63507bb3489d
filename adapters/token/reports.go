// Signatures of printed reports.

package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// reportKey signs reports. It is derived from a signing key, and used for nothing else.
type reportKey struct {
	private ed25519.PrivateKey
	header  string          // of the JWS, in base64url
	public  json.RawMessage // the public key, as a JWK
}

func newReportKey(seed []byte) (k reportKey, err error) {
	k.private = ed25519.NewKeyFromSeed(seed)
	kid, err := thumbprint(k.private)
	if err != nil {
		return k, err
	}
	const alg = "EdDSA"
	text := base64.RawURLEncoding.EncodeToString
	header, err := json.Marshal(map[string]string{"alg": alg, "kid": kid}) // sorts the names
	if err != nil {
		return k, err
	}
	k.header = text(header)
	k.public, err = json.Marshal(map[string]string{
		"kty": typeOKP, "crv": curveEd25519, "x": text(k.private[ed25519.SeedSize:]), "kid": kid, "alg": alg, "use": useSignature,
	})
	return k, err
}

// Reports signs printed reports. It is an httpapi.ReportSigner. See
// docs/reports.md, "Signature".
type Reports interface {
	// SignReport returns the signature of a file: a compact JWS with detached content (RFC 7515,
	// appendix F), whose algorithm is EdDSA and whose kid is the thumbprint (RFC 7638) of the key.
	// The same file has the same signature as long as the first key is the same. It never fails.
	SignReport(pdf []byte) ([]byte, error)
	// ReportKeys returns the JWK set of the public keys that verify signatures of reports: one
	// for each of keys, in their order.
	ReportKeys() ([]byte, error)
}

type reports struct{ keys *Keys }

// NewReports returns a signer that signs with the key of reports of the first of keys.
func NewReports(keys *Keys) Reports { return &reports{keys} }

func (r *reports) SignReport(pdf []byte) ([]byte, error) {
	k := r.keys.Signing().report
	input := make([]byte, 0, len(k.header)+1+base64.RawURLEncoding.EncodedLen(len(pdf)))
	input = append(append(input, k.header...), '.')
	input = base64.RawURLEncoding.AppendEncode(input, pdf)
	signature := ed25519.Sign(k.private, input)
	return base64.RawURLEncoding.AppendEncode([]byte(k.header+".."), signature), nil
}

func (r *reports) ReportKeys() ([]byte, error) {
	list := r.keys.set().list
	public := make([]json.RawMessage, 0, len(list))
	for _, k := range list {
		public = append(public, k.report.public)
	}
	raw, err := json.Marshal(map[string]any{"keys": public})
	if err != nil {
		return nil, fmt.Errorf("write the public keys of reports: %w", err)
	}
	return raw, nil
}
