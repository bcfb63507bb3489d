// Tests of the roles of reviewers, and of whether two of them are two people.

package verification_test

import (
	"errors"
	"testing"
	"unicode"

	"github.com/verifyd/verifyd/verification"
)

func TestARoleIncludesItsRoles(t *testing.T) {
	const viewer, reviewer, admin, auditor = verification.RoleViewer, verification.RoleReviewer, verification.RoleAdmin, verification.RoleAuditor
	for _, c := range []struct {
		role, other verification.Role
		want        bool
	}{
		{viewer, viewer, true},
		{viewer, reviewer, false},
		{viewer, admin, false},
		{reviewer, viewer, true},
		{reviewer, reviewer, true},
		{reviewer, admin, false},
		{admin, viewer, true},
		{admin, reviewer, true},
		{admin, admin, true},
		{auditor, viewer, true},
		{auditor, reviewer, false},
		{auditor, admin, false},
		{auditor, auditor, true},
		{viewer, auditor, false},
		{reviewer, auditor, false},
		{admin, auditor, false},
		{auditor, "", false},
		{"", viewer, false},
		{"owner", viewer, false},
		{"", "", false},
		{admin, "", false},
		{admin, "owner", false},
		{"owner", "owner", false},
	} {
		if got := c.role.Includes(c.other); got != c.want {
			t.Errorf("%q includes %q = %v, want %v", c.role, c.other, got, c.want)
		}
	}
}

func TestOnlyKnownRolesAreParsed(t *testing.T) {
	for _, role := range verification.Roles() {
		if got, err := verification.ParseRole(string(role)); got != role || err != nil {
			t.Errorf("ParseRole(%q) = %q, %v", role, got, err)
		}
	}
	for _, name := range []string{"", "Admin", "owner", " viewer"} {
		if got, err := verification.ParseRole(name); got != "" || !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("ParseRole(%q) = %q, %v; want ErrInvalid", name, got, err)
		}
	}
}

func TestTwoReviewersAreTwoPeopleOnlyIfTheyCannotBeOne(t *testing.T) {
	at := func(issuer, subject, name string) verification.Person {
		return verification.Person{Identity: verification.IssuedIdentity(issuer, subject), Name: name}
	}
	const a, b = "https://id.example/a", "https://id.example/b"
	for _, c := range []struct {
		one, other verification.Person
		is, mayBe  bool
	}{
		{verification.Person{Identity: "asha", Name: "asha"}, verification.Person{Identity: "ravi", Name: "ravi"}, false, false},
		{verification.Person{Identity: "asha", Name: "asha"}, verification.Person{Identity: "asha", Name: "Asha Rao"}, true, true},
		{verification.Person{Identity: "asha", Name: "asha"}, verification.Person{Identity: "Asha ", Name: "x"}, true, true},
		{verification.Person{Identity: "u-1", Name: "asha"}, verification.Person{Identity: "u-2", Name: " ASHA"}, false, true},
		{verification.Person{Identity: "u-1"}, verification.Person{Identity: "u-2"}, false, false},
		{verification.Person{Identity: "u-1", Name: " "}, verification.Person{Identity: "u-2", Name: " "}, false, false},
		{at(a, "1", "asha@x.example"), at(a, "1", "1"), true, true},
		{at(a, "1", "asha@x.example"), at(a, "2", "Asha@X.example"), false, true},
		{at(a, "1", "asha@x.example"), at(a, "2", "ravi@x.example"), false, false},
		{at(a, "1", "asha@x.example"), at(b, "1", "ravi@x.example"), false, true},
		{at(a, "1", "asha@x.example"), verification.Person{Identity: "ravi", Name: "ravi"}, false, true},
		{at(a, "1", "asha@x.example"), verification.Person{Identity: "asha@x.example", Name: "asha@x.example"}, false, true},
		{verification.Person{Identity: "desk #1", Name: "desk #1"}, verification.Person{Identity: "desk #2", Name: "desk #2"}, false, false},
	} {
		for _, pair := range [][2]verification.Person{{c.one, c.other}, {c.other, c.one}} {
			if got := pair[0].Is(pair[1]); got != c.is {
				t.Errorf("%q is %q = %t, want %t", pair[0], pair[1], got, c.is)
			}
			if got := pair[0].MayBe(pair[1]); got != c.mayBe {
				t.Errorf("%q may be %q = %t, want %t", pair[0], pair[1], got, c.mayBe)
			}
		}
	}
}

func TestPeopleWhoAreOneHaveOneKey(t *testing.T) {
	key := func(identity string) string { return verification.Person{Identity: identity}.Key() }
	for r := range unicode.MaxRune {
		if other := unicode.SimpleFold(r); key("a"+string(r)+"b") != key("A"+string(other)+"B") {
			t.Errorf("%q and %q differ in case only, and have two keys", r, other)
		}
	}
	if got := key(" Asha@Acme.example\t"); got != "asha@acme.example" {
		t.Errorf("key = %q, want asha@acme.example", got)
	}
	if got := key(" "); got != "" {
		t.Errorf("a program has the key %q, want none", got)
	}
}
