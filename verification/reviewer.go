// Reviewers: who they are, what they may do, and the links that sign them in.

package verification

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification/internal/texts"
)

// Role is what a reviewer may do in the console.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleReviewer Role = "reviewer" // gives verdicts
	RoleAdmin    Role = "admin"    // also sends notices again, holds and redacts runs
	RoleAuditor  Role = "auditor"  // reads more than a viewer, and changes nothing
)

// Roles returns all roles. Each includes the ones before it, but RoleAuditor, the last one, which includes
// RoleViewer alone.
func Roles() []Role { return []Role{RoleViewer, RoleReviewer, RoleAdmin, RoleAuditor} }

// ParseRole returns the role of a name, or ErrInvalid.
func ParseRole(name string) (Role, error) {
	if !slices.Contains(Roles(), Role(name)) {
		return "", Invalid("role", fmt.Sprintf("there is no role %q (supported: %s)", name, texts.Join(Roles())))
	}
	return Role(name), nil
}

// Includes reports whether a reviewer with this role may do what needs the other one.
// No role includes an unknown one.
func (r Role) Includes(other Role) bool {
	if r == RoleAuditor {
		return other == RoleAuditor || other == RoleViewer
	}
	needed := slices.Index(Roles(), other)
	return needed >= 0 && slices.Index(Roles(), r) >= needed
}

// Audits reports whether the role reads what reviewers did: the verdicts of each reviewer, and the audit trail.
func (r Role) Audits() bool { return r == RoleAuditor || r == RoleAdmin }

// Reviewer is a person whose token was verified.
type Reviewer struct {
	Tenant TenantID
	// Identity identifies the person within the tenant, under any name. That of a
	// person at an identity provider is an IssuedIdentity.
	Identity string
	// Name is what others see. It is recorded with each verdict, beside the identity. Give
	// equal names in one form: adapters/token/reviewer returns NFKC without invisible characters.
	Name string
	Role Role
	// Teams are the teams of the person to which runs are assigned, see Assignee.
	Teams []string
}

// Person returns the reviewer as one of the people who decide on a run.
func (r Reviewer) Person() Person { return Person{Identity: r.Identity, Name: r.Name} }

// IssuedIdentity returns the identity of a subject at an issuer, whose URL has no
// fragment.
func IssuedIdentity(issuer, subject string) string { return issuer + "#" + subject }

// Person is one of the people who decide on a run. An API client has no Identity.
type Person struct {
	Identity string `json:"identity"`
	Name     string `json:"name"`
}

// Key returns the identity without the differences that Is ignores: case and surrounding
// space. It is empty for an API client.
func (p Person) Key() string { return texts.Fold(p.Identity) }

// Is reports whether two people have the same identity, ignoring case and surrounding
// space.
func (p Person) Is(other Person) bool { return p.Key() != "" && p.Key() == other.Key() }

// MayBe reports whether two people may be one: p Is the other, they have the same name,
// ignoring case and surrounding space, or their identities cannot be compared. Identities
// can be compared if both are of the same issuer, or neither is of an issuer: a person may
// have one identity at each issuer, and one more without.
func (p Person) MayBe(other Person) bool {
	name := texts.Fold(p.Name)
	return p.Is(other) || name != "" && name == texts.Fold(other.Name) || issuerOf(p.Identity) != issuerOf(other.Identity)
}

// issuerOf returns the issuer of an IssuedIdentity; empty for any other identity.
func issuerOf(identity string) string {
	issuer, _, issued := strings.Cut(identity, "#")
	if !issued || !strings.Contains(issuer, "://") {
		return ""
	}
	return issuer
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
