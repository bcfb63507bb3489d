package token_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/keytest"
	"github.com/verifyd/verifyd/verification"
)

var aLink = verification.Link{
	RunRef:     verification.RunRef{Tenant: "0191f3c0-0000-7000-8000-00000000000a", Run: "0191f3c0-1111-7000-8000-00000000000b"},
	WaitNumber: 7,
	ExpiresAt:  time.Date(2026, 11, 20, 13, 4, 5, 678901000, time.UTC),
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func sign(t testing.TB, l token.Links, link verification.Link) string {
	t.Helper()
	signed, err := l.SignLink(link)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestALinkReadsBackEqualUnderAnyKey(t *testing.T) {
	uuid := rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	for kind, raw := range keytest.Private() {
		links := token.NewLinks(read(t, keytest.JWK(t, raw)))
		t.Run(kind, rapid.MakeCheck(func(t *rapid.T) {
			want := verification.Link{
				RunRef: verification.RunRef{
					Tenant: verification.TenantID(uuid.Draw(t, "tenant")), Run: verification.RunID(uuid.Draw(t, "run")),
				},
				WaitNumber: rapid.IntRange(0, math.MaxUint32).Draw(t, "wait"),
			}
			if rapid.Bool().Draw(t, "expires") {
				want.ExpiresAt = time.UnixMicro(rapid.Int64Range(-62135596800e6+1, 253402300799e6).Draw(t, "at")).UTC()
			}
			signed, err := links.SignLink(want)
			if err != nil {
				t.Fatal(err)
			}
			if len(signed) != 92 || strings.Trim(signed, alphabet) != "" {
				t.Errorf("the token %q does not have 92 characters that a URL can hold", signed)
			}
			if again, err := links.SignLink(want); err != nil || again != signed {
				t.Errorf("a second call signs %q, %v; want %q", again, err, signed)
			}
			got, err := links.OpenLink(signed)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v; link (-want +got):\n%s", err, diff)
			}
		}))
	}
}

func TestTheSameLinkHasTheSameTokenForEver(t *testing.T) {
	links := token.NewLinks(read(t, map[string]any{"kty": "oct", "k": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY", "kid": "old"}))
	const want = "AU0_Gc8YcOGJAZHzwAAAcACAAAAAAAAACgGR88AREXAAgAAAAAAAAAsAAAAHAAZgtOECdzUztHhK8St_hSDyEm1K12Ja"
	if got := sign(t, links, aLink); got != want {
		t.Errorf("signed %s, want %s: links that were sent must stay valid", got, want)
	}
	// Another zone, and less than a microsecond, change nothing; nor does the kid.
	same := aLink
	same.ExpiresAt = aLink.ExpiresAt.In(time.FixedZone("east", 3600)).Add(999)
	renamed := token.NewLinks(read(t, map[string]any{"kty": "oct", "k": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY", "kid": "new"}))
	if got := sign(t, renamed, same); got != want {
		t.Errorf("signed %s, want %s", got, want)
	}
}

func TestTwoLinksHaveTwoTokens(t *testing.T) {
	links := token.NewLinks(read(t, keytest.JWK(t, keytest.Private()["Ed25519"])))
	other := token.NewLinks(read(t, keytest.JWK(t, keytest.Private()["oct"])))
	seen := map[string]bool{sign(t, other, aLink): true}
	changed := []func(*verification.Link){
		func(*verification.Link) {},
		func(l *verification.Link) { l.WaitNumber++ },
		func(l *verification.Link) { l.ExpiresAt = time.Time{} },
		func(l *verification.Link) { l.ExpiresAt = time.Unix(0, 0) },
		func(l *verification.Link) { l.ExpiresAt = l.ExpiresAt.Add(time.Microsecond) },
		func(l *verification.Link) {
			l.Tenant, l.Run = verification.TenantID(l.Run), verification.RunID(l.Tenant)
		},
	}
	for _, change := range changed {
		l := aLink
		change(&l)
		seen[sign(t, links, l)] = true
	}
	if len(seen) != len(changed)+1 {
		t.Errorf("%d tokens, want %d", len(seen), len(changed)+1)
	}
}

func TestInvalidLinksAreNotSigned(t *testing.T) {
	links := token.NewLinks(read(t, keytest.JWK(t, keytest.Private()["oct"])))
	for name, change := range map[string]func(*verification.Link){
		"no tenant":        func(l *verification.Link) { l.Tenant = "" },
		"upper case":       func(l *verification.Link) { l.Run = verification.RunID(strings.ToUpper(string(l.Run))) },
		"not hexadecimal":  func(l *verification.Link) { l.Run = "0191f3c0-1111-7000-8000-00000000000g" },
		"dashes elsewhere": func(l *verification.Link) { l.Run = "0191f3c01-111-7000-8000-00000000000b" },
		"no dashes":        func(l *verification.Link) { l.Run = "0191f3c011117000800000000000000b0000" },
		"a wait below 0":   func(l *verification.Link) { l.WaitNumber = -1 },
		"a wait too large": func(l *verification.Link) { l.WaitNumber = math.MaxUint32 + 1 },
		"a year too late":  func(l *verification.Link) { l.ExpiresAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"a year too early": func(l *verification.Link) { l.ExpiresAt = time.Date(-300000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"a time far away":  func(l *verification.Link) { l.ExpiresAt = time.Unix(math.MaxInt64/2, 0) },
	} {
		l := aLink
		change(&l)
		if signed, err := links.SignLink(l); err == nil {
			t.Errorf("%s: signed %s", name, signed)
		}
	}
}

func TestKeysRotate(t *testing.T) {
	old, fresh := keytest.JWK(t, keytest.Private()["P-256"]), keytest.JWK(t, keytest.Private()["Ed25519"])
	before, during := token.NewLinks(read(t, old)), token.NewLinks(read(t, fresh, old))
	after := token.NewLinks(read(t, fresh))
	signed := sign(t, before, aLink)
	if got, err := during.OpenLink(signed); err != nil || got != aLink {
		t.Errorf("while the old key is kept: %+v, %v", got, err)
	}
	if sign(t, during, aLink) != sign(t, after, aLink) {
		t.Error("another key than the first one signs")
	}
	if _, err := after.OpenLink(signed); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("once the old key is gone: %v, want ErrInvalid", err)
	}
}

func TestEveryChangeOfALinkIsRefused(t *testing.T) {
	links := token.NewLinks(read(t, keytest.JWK(t, keytest.Private()["Ed25519"])))
	signed := sign(t, links, aLink)
	refuse := func(changed string) {
		t.Helper()
		link, err := links.OpenLink(changed)
		var refused *verification.Error
		if !errors.As(err, &refused) || !errors.Is(err, verification.ErrInvalid) || refused.Subject != "link" {
			t.Fatalf("OpenLink(%q) = %+v, %v; want an ErrInvalid about a link", changed, link, err)
		}
		if link != (verification.Link{}) {
			t.Fatalf("OpenLink(%q) returns %+v beside its error", changed, link)
		}
	}
	for i := range len(signed) {
		for c := range 256 { // every bit, and every other character
			if byte(c) != signed[i] {
				refuse(signed[:i] + string([]byte{byte(c)}) + signed[i+1:])
			}
		}
		refuse(signed[:i])
		refuse(signed[:i] + signed[i+1:])
		refuse(signed[:i] + "\n" + signed[i:])
		refuse(signed[:i] + "\n" + signed[i+1:])
	}
	for _, garbage := range []string{
		"", "=", signed + "=", signed + "A", signed + "AAAA", " " + signed, signed + "\r\n", signed + "====", strings.ToUpper(signed), strings.ToLower(signed),
		signed + "." + signed, strings.Repeat("A", 92), strings.Repeat("A", 1<<20), strings.Repeat("é", 46), "AQ" + strings.Repeat("\n", 90),
	} {
		refuse(garbage)
	}
}

func FuzzOpenLink(f *testing.F) {
	links := token.NewLinks(read(f, keytest.JWK(f, keytest.Private()["oct"]), keytest.JWK(f, keytest.Private()["Ed25519"])))
	f.Add(sign(f, links, aLink))
	f.Add("")
	f.Add(strings.Repeat("-", 92))
	f.Fuzz(func(t *testing.T, raw string) {
		link, err := links.OpenLink(raw)
		if err != nil {
			if !errors.Is(err, verification.ErrInvalid) {
				t.Errorf("OpenLink(%q): %v, want ErrInvalid", raw, err)
			}
			return
		}
		if signed, err := links.SignLink(link); err != nil || signed != raw {
			t.Errorf("OpenLink accepts %q, and would sign %q, %v", raw, signed, err)
		}
	})
}

func BenchmarkSignLink(b *testing.B) {
	links := token.NewLinks(read(b, keytest.JWK(b, keytest.Private()["Ed25519"])))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := links.SignLink(aLink); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenLink(b *testing.B) {
	links := token.NewLinks(read(b, keytest.JWK(b, keytest.Private()["Ed25519"])))
	signed := sign(b, links, aLink)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := links.OpenLink(signed); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleLinks() {
	keys, err := token.NewKeys()
	if err != nil {
		fmt.Println(err)
		return
	}
	links := token.NewLinks(keys)
	signed, err := links.SignLink(aLink)
	if err != nil {
		fmt.Println(err)
		return
	}
	link, err := links.OpenLink(signed)
	fmt.Println(len(signed), link.Run, link.WaitNumber, err)
	_, err = links.OpenLink(signed[1:])
	fmt.Println(err)
	// Output:
	// 92 0191f3c0-1111-7000-8000-00000000000b 7 <nil>
	// link: it was not issued here
}

func TestACallbackTokenIsNoLink(t *testing.T) {
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	links := token.NewLinks(keys)
	want := verification.CallbackTarget{RunRef: aLink.RunRef, WaitNumber: aLink.WaitNumber}
	signed, err := links.SignCallback(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := links.OpenCallback(signed); err != nil || got != want {
		t.Errorf("OpenCallback = %+v, %v, want %+v", got, err, want)
	}
	if _, err := links.OpenLink(signed); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("OpenLink of a callback token = %v, want it refused", err)
	}
	if _, err := links.OpenCallback(sign(t, links, aLink)); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("OpenCallback of a link token = %v, want it refused", err)
	}
}
