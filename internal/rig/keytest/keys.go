// Package keytest has signing keys for tests, and writes them as JWKs with an independent
// implementation.
package keytest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/lestrrat-go/jwx/v3/jwk"
)

// Private returns a raw private key of each kind that signs, by the name of the kind. It
// returns the same keys at every call, and panics if there is no randomness.
var Private = sync.OnceValue(func() map[string]any { //nolint:gochecknoglobals // the keys are made once
	_, ed, edErr := ed25519.GenerateKey(rand.Reader)
	p256, p256Err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p384, p384Err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	rsa2048, rsaErr := rsa.GenerateKey(rand.Reader, 2048)
	if err := errors.Join(edErr, p256Err, p384Err, rsaErr); err != nil {
		panic(err)
	}
	return map[string]any{
		"Ed25519": ed, "P-256": p256, "P-384": p384, "RSA": rsa2048, "oct": []byte("a secret of thirty-two bytes, or more"),
	}
})

// Raw returns the key of Private with a kind.
func Raw[K any](t testing.TB, kind string) K {
	t.Helper()
	k, ok := Private()[kind].(K)
	if !ok {
		t.Fatalf("the key %s is a %T", kind, Private()[kind])
	}
	return k
}

// JWK writes a raw key as a JWK with further fields, each a name and a value. A value of nil
// removes the field.
func JWK(t testing.TB, raw any, fields ...any) map[string]any {
	t.Helper()
	k, err := jwk.Import(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		name := fmt.Sprint(fields[i])
		if m[name] = fields[i+1]; m[name] == nil {
			delete(m, name)
		}
	}
	return m
}

// Set writes JWKs as a set.
func Set(t testing.TB, keys ...map[string]any) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
