// Package token signs and checks the links of hosted journeys and the bearer
// tokens of reviewers, with keys that rotate: the first key signs, all check.
//
// A link token is short, and the same link has the same token at every call:
// it is a MAC under a key that is derived from the signing key for this use
// alone. A bearer token is a JWT, signed with the key itself. So neither can
// pass for the other.
package token
