// Idempotency keys: a request that is sent again is carried out once.

package verification

import "time"

const (
	// IdempotencyKeyLife is how long a key is remembered.
	IdempotencyKeyLife = 24 * time.Hour
	// IdempotencyKeyFlight is how long a request may stay unanswered before
	// another attempt may take over.
	IdempotencyKeyFlight = time.Minute
)

// IdempotencyScope is the kind of request that a key belongs to. The same key
// in two scopes is two keys.
type IdempotencyScope string

// The scopes.
const (
	ScopeStart  IdempotencyScope = "start"
	ScopeSignal IdempotencyScope = "signal"
)

// IdempotencyKey is a key as one tenant knows it.
type IdempotencyKey struct {
	Scope IdempotencyScope
	Key   string
}

// IdempotencyRecord is the request that a key stands for.
type IdempotencyRecord struct {
	IdempotencyKey
	Fingerprint string // of the request
	// ID is a UUID that tells the request from every other one. The ID of a
	// start is the id of its run; that of a signal stands in the event that
	// records it.
	ID string
	At time.Time // when the key was claimed

	Settled bool // the request was answered
	// Result and Decision are the answer of a settled signal.
	Result   string
	Decision Decision
}
