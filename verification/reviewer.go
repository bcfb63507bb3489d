// Reviewers: who they are, what they may do, and the links that sign them in.

package verification

import (
	"fmt"
	"slices"
	"time"
)

// Role is what a reviewer may do in the console. Each role includes the ones before it.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleReviewer Role = "reviewer" // gives verdicts
	RoleAdmin    Role = "admin"    // also does what changes more than one decision, such as sending a notice again
)

// Roles returns all roles, the least one first.
func Roles() []Role { return []Role{RoleViewer, RoleReviewer, RoleAdmin} }

// ParseRole returns the role of a name, or ErrInvalid.
func ParseRole(name string) (Role, error) {
	if !slices.Contains(Roles(), Role(name)) {
		return "", Invalid("role", fmt.Sprintf("there is no role %q (supported: %s)", name, joined(Roles())))
	}
	return Role(name), nil
}

// Includes reports whether a reviewer with this role may do what needs the other one.
// No role includes an unknown one.
func (r Role) Includes(other Role) bool {
	needed := slices.Index(Roles(), other)
	return needed >= 0 && slices.Index(Roles(), r) >= needed
}

// Reviewer is a person whose token was verified.
type Reviewer struct {
	Tenant TenantID
	// Name identifies the person within the tenant. It is recorded with each verdict.
	Name string
	Role Role
}

// SignInLinkTTL is how long a SignInLink can be used.
const SignInLinkTTL = 10 * time.Minute

// SignInLink signs a reviewer in to the console, once.
type SignInLink struct {
	Reviewer

	ID        string // random; names the link
	ExpiresAt time.Time
	Session   time.Duration // how long the session of the reviewer lasts
}
