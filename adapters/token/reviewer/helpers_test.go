// Keys and links for the tests.

package reviewer_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwk"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

var aLink = verification.Link{
	RunRef:     verification.RunRef{Tenant: aTenant, Run: "0191f3c0-1111-7000-8000-00000000000b"},
	WaitNumber: 7,
	ExpiresAt:  time.Date(2026, 11, 20, 13, 4, 5, 678901000, time.UTC),
}

func sign(t testing.TB, l *token.Links, link verification.Link) string {
	t.Helper()
	signed, err := l.SignLink(link)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// private returns a raw private key of each kind that signs, always the same ones.
var private = sync.OnceValue(func() map[string]any {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(err)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(err)
	rsa2048, err := rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	return map[string]any{
		"Ed25519": ed, "P-256": p256, "P-384": p384, "RSA": rsa2048, "oct": []byte("a secret of thirty-two bytes, or more"),
	}
})

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// rawKey is a key with its kind.
func rawKey[K any](t testing.TB, kind string) K {
	t.Helper()
	k, ok := private()[kind].(K)
	if !ok {
		t.Fatalf("the key %s is a %T", kind, private()[kind])
	}
	return k
}

// jwkOf writes a raw key as a JWK with further fields.
func jwkOf(t testing.TB, raw any, fields ...any) map[string]any {
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

func set(t testing.TB, keys ...map[string]any) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func read(t testing.TB, keys ...map[string]any) *token.Keys {
	t.Helper()
	k, err := token.ReadKeys(set(t, keys...))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func b64(n int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\x07", n)))
}
