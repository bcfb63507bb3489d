// Package token signs and checks the links of hosted journeys and the bearer
// tokens of reviewers, with keys that rotate: the first key signs, all check.
// It also checks the bearer tokens that an OpenID Connect issuer signed.
//
// A link token is short, and the same link has the same token at every call:
// it is a MAC under a key that is derived from the signing key for this use
// alone. A bearer token is a JWT, signed with the key itself. So neither can
// pass for the other. A token of an OpenID Connect issuer names that issuer,
// has another type, and is held against the issuer's own keys.
package token
