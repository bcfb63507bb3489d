// Package webhook tells clients that a run is over: one POST for each try,
// signed as Standard Webhooks asks, to an address that may be called.
//
// The address is the client's and is trusted with nothing. What it resolves to
// is checked when it is dialled, redirects are not followed, no proxy is asked,
// and time, headers and body of the answer are bounded. When to try again is
// the engine's to plan; see docs/webhooks.md for what clients are promised.
package webhook
