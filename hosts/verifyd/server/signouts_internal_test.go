// Tests of reviewers who were signed out.

package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
)

func TestTokensUntilASignOutAreRefused(t *testing.T) {
	const tenant, other verification.TenantID = "0191f3c0-0000-7000-8000-00000000000a", "0191f3c0-0000-7000-8000-00000000000b"
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	out := time.Now().UTC().Truncate(time.Second)
	outs := &signOuts{read: func(context.Context) ([]pgadmin.SignOut, error) {
		return []pgadmin.SignOut{{Tenant: tenant, Identity: "asha", At: out}}, nil
	}}
	local := reviewer.NewIssuer(keys)
	r := &reviewers{keys: keys, local: local, now: func() time.Time { return out.Add(5 * time.Second) }, outs: outs}
	for _, tt := range []struct {
		name    string
		who     verification.Reviewer
		issued  time.Time
		refused bool
	}{
		{"a minute before", verification.Reviewer{Tenant: tenant, Name: "asha"}, out.Add(-time.Minute), true},
		{"in the same second", verification.Reviewer{Tenant: tenant, Name: "asha"}, out.Add(time.Second - 1), true},
		{"a second after", verification.Reviewer{Tenant: tenant, Name: "asha"}, out.Add(time.Second), false},
		{"under another name", verification.Reviewer{Tenant: tenant, Identity: "asha", Name: "Asha R."}, out.Add(-time.Minute), true},
		{"another person of this name", verification.Reviewer{Tenant: tenant, Identity: "https://login.example#1", Name: "asha"}, out.Add(-time.Minute), false},
		{"another tenant", verification.Reviewer{Tenant: other, Name: "asha"}, out.Add(-time.Minute), false},
	} {
		tt.who.Role = verification.RoleReviewer
		session, err := local.Issue(tt.who, time.Hour, tt.issued)
		if err != nil {
			t.Fatal(err)
		}
		link, err := local.IssueSignInLink(tt.who, time.Hour, tt.issued)
		if err != nil {
			t.Fatal(err)
		}
		_, bearing := r.bearer(t.Context(), session)
		_, _, inSession := r.VerifySession(session)
		_, opening := r.OpenSignInLink(link)
		for use, err := range map[string]error{"a bearer token": bearing, "a session": inSession, "a sign-in link": opening} {
			if errors.Is(err, verification.ErrUnauthenticated) != tt.refused || err != nil && !tt.refused {
				t.Errorf("%s, %s: %v, want it refused: %t", tt.name, use, err, tt.refused)
			}
		}
	}
	before := outs.generation()
	outs.at, outs.read = time.Time{}, func(context.Context) ([]pgadmin.SignOut, error) { return nil, nil }
	if after := outs.generation(); after == before {
		t.Error("after another sign-out, sessions that were verified before are not verified again")
	}
	outs.at, outs.read = time.Time{}, func(context.Context) ([]pgadmin.SignOut, error) {
		return nil, verification.Unavailable("store", "it does not answer")
	}
	fresh, err := local.Issue(verification.Reviewer{Tenant: other, Name: "bo", Role: verification.RoleReviewer}, time.Hour, out)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.VerifySession(fresh); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("while the store does not answer, a session: %v, want unavailable", err)
	}
}
