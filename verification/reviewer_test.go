// Tests of the roles of reviewers.

package verification_test

import (
	"errors"
	"testing"

	"github.com/verifyd/verifyd/verification"
)

func TestARoleIncludesTheOnesBeforeIt(t *testing.T) {
	const viewer, reviewer, admin = verification.RoleViewer, verification.RoleReviewer, verification.RoleAdmin
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
