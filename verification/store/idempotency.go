// Idempotency keys: a request that is sent twice is carried out once.

package store

import (
	"time"

	"github.com/verifyd/verifyd/verification/rules"
)

const (
	// IdempotencyKeyTTL is how long a store keeps a key.
	IdempotencyKeyTTL = 24 * time.Hour
	// IdempotencyLockTTL is how long a claimed key blocks other requests with it
	// while the first one is unfinished.
	IdempotencyLockTTL = time.Minute
)

// IdempotencyScope is the kind of request that a key belongs to. Keys of
// different scopes are independent.
type IdempotencyScope string

// The scopes.
const (
	ScopeStart  IdempotencyScope = "start"
	ScopeSignal IdempotencyScope = "signal"
	ScopeSignIn IdempotencyScope = "sign_in" // the key is the ID of a sign-in link
)

// IdempotencyKey is a key of one tenant.
type IdempotencyKey struct {
	Scope IdempotencyScope
	Key   string // of a start or a signal, the SHA-256 of the client's key in hexadecimal
}

// IdempotencyRecord is the request that was first sent with a key.
type IdempotencyRecord struct {
	IdempotencyKey
	Fingerprint string // of the request
	// ID is a UUID that identifies the request. The ID of a start is the id of its
	// run; the ID of a signal is part of the event that records it.
	ID string
	At time.Time // when the key was claimed

	Settled bool // the request has a result
	// Result and Decision are the result of a settled signal.
	Result   string
	Decision rules.Decision
}
