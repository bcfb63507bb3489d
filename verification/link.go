// The tokens of hosted-journey links and of callbacks.

package verification

import (
	"time"
)

// Link is the content of the token of a hosted-journey link.
type Link struct {
	RunRef
	// WaitNumber is the number of the wait on the customer: the length of the history
	// when the run parked.
	WaitNumber int
	// ExpiresAt is the run's deadline; zero if it has none.
	ExpiresAt time.Time
}

// CallbackTarget is the content of the token of a callback URL: one dispatch.
type CallbackTarget struct {
	RunRef
	// WaitNumber is the number of the wait on the provider: the length of the history when
	// the check was dispatched.
	WaitNumber int
}
