// The command about printed reports.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
)

type reportCommands struct {
	Verify reportVerify `cmd:"" help:"Verify the signature of a printed report." see:"reports.md#signature"`
}

type reportVerify struct {
	PDF  string `arg:"" name:"pdf" help:"The printed report."`
	JWS  string `arg:"" name:"jws" help:"Its signature."`
	Keys string `required:"" placeholder:"FILE" help:"Public keys of the hosts, from their /.well-known/jwks.json."`
}

// Run prints the kid of the key that signed the file.
func (c reportVerify) Run(_ context.Context, s *session) error {
	pdf, err := os.ReadFile(c.PDF)
	if err != nil {
		return err
	}
	signature, err := os.ReadFile(c.JWS)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(c.Keys)
	if err != nil {
		return err
	}
	keys, err := jwk.Parse(raw)
	if err != nil {
		return fmt.Errorf("--keys: %s is not a JWK set of public keys", c.Keys)
	}
	kid, err := verifyReport(pdf, bytes.TrimSpace(signature), keys)
	if err != nil {
		fmt.Fprintf(s.stderr, "%s: %v\n", c.PDF, err)
		return errProblems
	}
	return s.say(false, nil, "%s: signed by the key %s", c.PDF, oneLine(kid))
}

// verifyReport returns the kid of the key that signed a file.
func verifyReport(pdf, signature []byte, keys jwk.Set) (kid string, err error) {
	message, err := jws.Parse(signature, jws.WithCompact())
	if err != nil || len(message.Payload()) > 0 || len(message.Signatures()) != 1 {
		return "", errors.New("the signature is not a compact JWS with detached content")
	}
	kid, _ = message.Signatures()[0].ProtectedHeaders().KeyID()
	key, ok := keys.LookupKeyID(kid)
	if !ok {
		return "", fmt.Errorf("the key of the signature, %s, is not in --keys", oneLine(kid))
	}
	// The header only selects the key; the algorithm is ours.
	if _, err := jws.Verify(signature, jws.WithKey(jwa.EdDSA(), key), jws.WithDetachedPayload(pdf)); err != nil {
		return "", errors.New("the signature is not of this file: the file or the signature was changed, or they belong to different reports")
	}
	return kid, nil
}
