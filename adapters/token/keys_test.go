package token_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lestrrat-go/jwx/v3/jwk"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/keytest"
)

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

func TestEveryKindOfKeyReadsAndWritesBack(t *testing.T) {
	for kind, raw := range keytest.Private() {
		t.Run(kind, func(t *testing.T) {
			keys := read(t, keytest.JWK(t, raw))
			stored, err := keys.PrivateJWKS()
			if err != nil {
				t.Fatal(err)
			}
			again, err := token.ReadKeys(stored)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(keys.IDs(), again.IDs()); diff != "" {
				t.Errorf("kids (-before +after):\n%s", diff)
			}
			before, err := token.NewLinks(keys).SignLink(aLink)
			if err != nil {
				t.Fatal(err)
			}
			if after, err := token.NewLinks(again).SignLink(aLink); err != nil || before != after {
				t.Errorf("a key that was stored signs %s, before %s; %v", after, before, err)
			}
			if twice, err := again.PrivateJWKS(); err != nil || string(twice) != string(stored) {
				t.Errorf("stored a second time it reads\n%s, before\n%s; %v", twice, stored, err)
			}
		})
	}
}

func TestAKeyWithoutAKidIsNamedByItsThumbprint(t *testing.T) {
	// The key of RFC 8037, appendix A, with its thumbprint there.
	keys, err := token.ReadKeys([]byte(`{"keys": [{"kty": "OKP", "crv": "Ed25519",
		"d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := keys.IDs(), []string{"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"}; !slices.Equal(got, want) {
		t.Errorf("IDs() = %q, want %q", got, want)
	}
}

// The set was read and written with jwx until tokens of reviewers had a package of their own.
func TestKeysReadAndWriteAsJWXDoes(t *testing.T) {
	ed := keytest.JWK(t, keytest.Private()["Ed25519"])
	padded := keytest.JWK(t, keytest.Private()["oct"], "k", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xfb\xef\xbe?", 8)+"!")))
	kinds := []map[string]any{ed, padded, keytest.JWK(t, keytest.Private()["RSA"], "key_ops", []string{"sign"}), keytest.JWK(t, keytest.Private()["P-256"], "team", "risk")}
	for range 300 { // some have coordinates with a leading zero
		k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		must(err)
		kinds = append(kinds, keytest.JWK(t, k))
	}
	for _, one := range kinds {
		stored, err := read(t, one).PrivateJWKS()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(one)
		must(err)
		want, err := jwk.ParseKey(raw)
		must(err)
		must(jwk.AssignKeyID(want))
		got, err := jwk.Parse(stored)
		if err != nil || got.Len() != 1 {
			t.Fatalf("jwx reads %d keys of %s, %v", got.Len(), stored, err)
		}
		var wantRaw, gotRaw any
		wrote, _ := got.Key(0)
		must(jwk.Export(want, &wantRaw))
		must(jwk.Export(wrote, &gotRaw))
		wantID, _ := want.KeyID()
		if gotID, _ := wrote.KeyID(); gotID != wantID || !reflect.DeepEqual(gotRaw, wantRaw) || len(wrote.Keys()) != len(want.Keys())+2 {
			t.Errorf("%v is written as %s, want the kid %s and the same key", one, stored, wantID)
		}
		if own := read(t, one).Signing().Private(); !equal(own, wantRaw) {
			t.Errorf("%v is read as another key", one)
		}
	}
}

// equal reports whether two private keys are the same.
func equal(a, b any) bool {
	if k, ok := a.(interface{ Equal(crypto.PrivateKey) bool }); ok {
		return k.Equal(b)
	}
	return reflect.DeepEqual(a, b)
}

func TestANewKeyIsEd25519AndUnique(t *testing.T) {
	one, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	other, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(one.IDs(), other.IDs()) {
		t.Error("two fresh keys have one kid")
	}
	stored, err := one.PrivateJWKS()
	if err != nil {
		t.Fatal(err)
	}
	again, err := token.ReadKeys(stored)
	if err != nil || !slices.Equal(one.IDs(), again.IDs()) || !strings.Contains(string(stored), `"Ed25519"`) {
		t.Errorf("a fresh key reads back as %v, want %v; %v", again, one.IDs(), err)
	}
}

func TestFormattedKeysHideTheirSecrets(t *testing.T) {
	keys := read(t, keytest.JWK(t, keytest.Private()["oct"]))
	links, bearers := token.NewLinks(keys), reviewer.NewIssuer(keys)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("keys", "keys", keys, "links", links, "bearers", bearers, "key", keys.Signing())
	slog.New(slog.NewJSONHandler(&log, nil)).Info("keys", "keys", keys, "links", links, "bearers", bearers, "key", keys.Signing())
	fmt.Fprintf(&log, "%v %+v %#v %s %x %d", keys, keys, keys, keys, keys, keys)
	fmt.Fprintf(&log, "%v %+v %#v %s %x %d", keys.Signing(), keys.Signing(), keys.Signing(), keys.Signing(), keys.Signing(), keys.Signing())
	secret := keytest.Raw[[]byte](t, "oct")
	for _, shown := range []string{
		string(secret), base64.RawURLEncoding.EncodeToString(secret), fmt.Sprintf("%x", secret), strings.Trim(fmt.Sprintf("%d", secret), "[]"),
	} {
		if strings.Contains(log.String(), shown) {
			t.Errorf("a secret shows in %s", log.String())
		}
	}
}

func TestInvalidKeysAreRefusedByName(t *testing.T) {
	ed, p256 := keytest.JWK(t, keytest.Private()["Ed25519"]), keytest.JWK(t, keytest.Private()["P-256"])
	_, otherEd, err := ed25519.GenerateKey(rand.Reader)
	must(err)
	other := keytest.JWK(t, otherEd)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	must(err)
	otherEC, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	torn := *keytest.Raw[*rsa.PrivateKey](t, "RSA")
	torn.D = new(big.Int).Add(torn.D, big.NewInt(2))
	rsa1024, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // a key that is to be refused
	must(err)
	with := func(m map[string]any, fields ...any) map[string]any {
		n := map[string]any{}
		for k, v := range m {
			n[k] = v
		}
		for i := 0; i < len(fields); i += 2 {
			n[fmt.Sprint(fields[i])] = fields[i+1]
		}
		return n
	}
	public := func(raw map[string]any) map[string]any {
		n := with(raw, "kid", "public")
		delete(n, "d")
		return n
	}
	many := make([]map[string]any, 101)
	number := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }
	small := map[string]any{
		"kty": "RSA", "e": "AQAB", "n": number(rsa1024.N), "d": number(rsa1024.D),
		"p": number(rsa1024.Primes[0]), "q": number(rsa1024.Primes[1]),
		"dp": number(rsa1024.Precomputed.Dp), "dq": number(rsa1024.Precomputed.Dq), "qi": number(rsa1024.Precomputed.Qinv),
	}
	large := keytest.JWK(t, keytest.Private()["RSA"], "n", base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 1025)))
	const unsound = "key 1: it is not a valid key of a supported kind: OKP Ed25519, EC P-256 or P-384, RSA of 2048 bits or more, oct of 32 bytes or more"
	tests := map[string]struct {
		raw  []byte
		want string
	}{
		"not JSON":                {[]byte("-----BEGIN PRIVATE KEY-----"), `it is not a JWK set: {"keys": [...]}`},
		"a key and no set":        {[]byte(`{"kty": "oct", "k": "AAAA"}`), `it is not a JWK set: {"keys": [...]}`},
		"empty":                   {keytest.Set(t), `it is not a JWK set: {"keys": [...]}`},
		"none":                    {[]byte(`{"keys": []}`), "a JWK set must hold 1 to 100 keys"},
		"many":                    {keytest.Set(t, many...), "a JWK set must hold 1 to 100 keys"},
		"large":                   {[]byte(strings.Repeat(" ", 1<<20+1)), "the JWK set is larger than 1 MiB"},
		"no key type":             {[]byte(`{"keys": [{"d": "AAAA"}]}`), unsound},
		"null":                    {[]byte(`{"keys": [null]}`), unsound},
		"public Ed25519":          {keytest.Set(t, ed, public(ed)), `key 2 (kid "public"): it is only the public half of a key`},
		"public P-256":            {keytest.Set(t, public(p256)), `key 1 (kid "public"): it is only the public half of a key`},
		"public RSA":              {keytest.Set(t, keytest.JWK(t, keytest.Raw[*rsa.PrivateKey](t, "RSA").Public())), "key 1: it is only the public half of a key"},
		"P-521":                   {keytest.Set(t, keytest.JWK(t, p521)), "key 1: its curve must be P-256 or P-384"},
		"short secret":            {keytest.Set(t, keytest.JWK(t, []byte("31 bytes are not long enough..."))), "key 1: its secret is shorter than 32 bytes"},
		"short secret for HS512":  {keytest.Set(t, keytest.JWK(t, keytest.Private()["oct"], "alg", "HS512")), "key 1: the algorithm HS512 needs a secret of 64 bytes"},
		"halves of two Ed25519":   {keytest.Set(t, with(ed, "x", other["x"])), unsound},
		"halves of two P-256":     {keytest.Set(t, with(p256, "x", keytest.JWK(t, otherEC)["x"], "y", keytest.JWK(t, otherEC)["y"])), "key 1: its private and public half do not belong together"},
		"RSA that does not match": {keytest.Set(t, keytest.JWK(t, &torn)), "key 1: its private and public half do not belong together"},
		"small RSA":               {keytest.Set(t, small), unsound},
		"large RSA":               {keytest.Set(t, large), "key 1: it has 8200 bits: it must have 2048 to 8192"},
		"encryption":              {keytest.Set(t, with(ed, "use", "enc")), `key 1: its use is "enc": it must be sig, or left out`},
		"wrong algorithm":         {keytest.Set(t, with(p256, "alg", "RS256")), `key 1: its alg is "RS256": it must be one of [ES256], or left out`},
		"no algorithm":            {keytest.Set(t, with(ed, "alg", "none")), `key 1: its alg is "none": it must be one of [EdDSA Ed25519], or left out`},
		"long kid":                {keytest.Set(t, with(ed, "kid", strings.Repeat("k", 201))), "its kid is longer than 200 bytes"},
		"two of one kid":          {keytest.Set(t, with(ed, "kid", "k"), with(p256, "kid", "k")), `key 2: another key has the kid "k"`},
		"one key twice":           {keytest.Set(t, ed, ed), `key 2: another key has the kid "` + read(t, ed).IDs()[0] + `"`},
		"one key under two kids":  {keytest.Set(t, with(ed, "kid", "a"), with(ed, "kid", "b")), `key 2 (kid "b"): the same key is listed under another kid`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			keys, err := token.ReadKeys(test.raw)
			if err == nil {
				t.Fatalf("ReadKeys = %v, want an error", keys.IDs())
			}
			if !strings.HasPrefix(err.Error(), "signing keys: ") || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("error %q, want %q", err, test.want)
			}
		})
	}
}

func TestOtherKindsOfKeyAreRefused(t *testing.T) {
	for _, raw := range []string{
		`{"kty": "OKP", "crv": "X25519", "d": "` + b64(32) + `", "x": "` + b64(32) + `"}`,
		`{"kty": "OKP", "crv": "Ed448", "d": "` + b64(57) + `", "x": "` + b64(57) + `"}`,
		`{"kty": "EC", "crv": "secp256k1", "d": "` + b64(32) + `", "x": "` + b64(32) + `", "y": "` + b64(32) + `"}`,
		`{"kty": "EC", "crv": "P-256", "d": "` + b64(32) + `", "x": "` + b64(32) + `", "y": "` + b64(32) + `"}`,
		`{"kty": "RSA", "n": "` + b64(256) + `", "e": "AQAB", "d": "` + b64(256) + `"}`,
		`{"kty": "quantum", "k": "` + b64(32) + `"}`,
		`{"kty": "OKP", "crv": "Ed25519", "d": "` + b64(31) + `", "x": "` + b64(32) + `"}`,
	} {
		if _, err := token.ReadKeys([]byte(`{"keys": [` + raw + `]}`)); err == nil || strings.Contains(err.Error(), b64(31)[:20]) {
			t.Errorf("%.40s...: %v, want an error without the key in it", raw, err)
		}
	}
}

func b64(n int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\x07", n)))
}

func TestNoNewKeyLooksLikeAFlag(t *testing.T) {
	for range 500 {
		keys, err := token.NewKeys()
		if err != nil {
			t.Fatal(err)
		}
		if id := keys.IDs()[0]; strings.HasPrefix(id, "-") {
			t.Fatalf("a new key has the kid %q", id)
		}
	}
}
