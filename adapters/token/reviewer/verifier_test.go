package reviewer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/keytest"
	"github.com/verifyd/verifyd/verification"
)

func TestTheIssClaimSelectsTheVerifier(t *testing.T) {
	local := reviewer.NewIssuer(read(t, keytest.JWK(t, keytest.Private()["P-256"])))
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	verify := reviewer.NewVerifier(local, i.verifier(t), i.clock.now)

	got, err := verify(t.Context(), issue(t, local))
	if want, _ := local.Verify(issue(t, local), noon); err != nil || !cmp.Equal(got, want) || got.Tenant != aTenant {
		t.Errorf("a token of our own: %+v, %v; want %+v", got, err, want)
	}
	i.wantRequests(t, 0, 0)
	if got, err := verify(t.Context(), edToken(t, "k", i.claims())); err != nil || got.Name != "ada@example.com" {
		t.Errorf("a token of the issuer: %+v, %v", got, err)
	}
	i.wantRequests(t, 1, 1)
}

func TestATokenOfAnUnknownIssuerIsRefusedWithoutAFetch(t *testing.T) {
	ed := keytest.Private()["Ed25519"]
	keys := read(t, keytest.JWK(t, ed, "kid", "k"))
	i := newIssuer(t, publicOf(t, ed, "kid", "k"))
	verify := reviewer.NewVerifier(reviewer.NewIssuer(keys), i.verifier(t), i.clock.now)
	link := sign(t, token.NewLinks(keys), aLink)
	for name, raw := range map[string]string{
		"empty":                 "",
		"garbage":               "a.b.c",
		"a link":                link,
		"another issuer":        edToken(t, "k", i.claims("iss", "https://id.example")),
		"no issuer":             edToken(t, "k", i.claims("iss", nil)),
		"we are not the issuer": edToken(t, "k", i.claims("iss", localIssuer)),
		"issuers":               edToken(t, "k", i.claims("iss", []string{i.URL})),
		"an issuer like it":     edToken(t, "k", i.claims("iss", i.URL+"/")),
		"it has expired":        edToken(t, "k", i.claims("exp", 1)),
		"another audience":      edToken(t, "k", i.claims("aud", localAudience)),
	} {
		b, err := verify(t.Context(), raw)
		if !errors.Is(err, verification.ErrUnauthenticated) || !reflect.DeepEqual(b, reviewer.Claims{}) {
			t.Errorf("%s: %+v, %v; want ErrUnauthenticated", name, b, err)
		}
	}
	i.wantRequests(t, 0, 0)
}

func TestWithoutAnIssuerOnlyLocalTokensAreValid(t *testing.T) {
	local := reviewer.NewIssuer(read(t, keytest.JWK(t, keytest.Private()["Ed25519"], "kid", "k")))
	verify := reviewer.NewVerifier(local, nil, newManualClock().now)
	if _, err := verify(t.Context(), issue(t, local)); err != nil {
		t.Errorf("a token of our own: %v", err)
	}
	if b, err := verify(t.Context(), edToken(t, "k", claimsOf(farIssuer, noon))); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("a token of some issuer: %+v, %v; want ErrUnauthenticated", b, err)
	}
}

func ExampleNewVerifier() {
	keys, err := token.NewKeys()
	if err != nil {
		fmt.Println(err)
		return
	}
	now := newManualClock().now
	remote, err := reviewer.NewOIDC(reviewer.OIDCOptions{
		Issuer: "https://id.example/realms/one", Audience: "verifyd-dashboard", Now: now,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remote.Close()
	local := reviewer.NewIssuer(keys)
	verify := reviewer.NewVerifier(local, remote, now)

	raw, err := local.Issue(verification.Reviewer{Tenant: aTenant, Name: "ada", Role: verification.RoleReviewer}, 8*time.Hour, now())
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := verify(context.Background(), raw)
	fmt.Println(b.Name, b.Role, err)
	// Output: ada reviewer <nil>
}
