// Package token signs and opens the links of hosted journeys, issues and
// verifies the bearer tokens of reviewers, and verifies the bearer tokens of an
// OpenID Connect issuer. Keys rotate: the first key of a set signs, and every
// key verifies.
//
// A link token is short, and a link always has the same token: a MAC under a
// key that is derived from the signing key for links only. A bearer token is a
// JWT that the key itself signs. Neither kind verifies as the other. A token of
// an OpenID Connect issuer has another iss and another typ, and is verified with
// that issuer's keys only.
package token
