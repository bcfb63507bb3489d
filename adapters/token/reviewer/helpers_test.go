// Keys and links for the tests.

package reviewer_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/keytest"
	"github.com/verifyd/verifyd/verification"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

var aLink = verification.Link{
	RunRef:     verification.RunRef{Tenant: aTenant, Run: "0191f3c0-1111-7000-8000-00000000000b"},
	WaitNumber: 7,
	ExpiresAt:  time.Date(2026, 11, 20, 13, 4, 5, 678901000, time.UTC),
}

func sign(t testing.TB, l token.Links, link verification.Link) string {
	t.Helper()
	signed, err := l.SignLink(link)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func read(t testing.TB, keys ...map[string]any) *token.Keys {
	t.Helper()
	k, err := token.ReadKeys(keytest.Set(t, keys...))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func b64(n int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\x07", n)))
}
