// What tests reach besides the exported names.

package webhook

import "code.dny.dev/ssrf"

// RetryAfter reads the value of a Retry-After header.
var RetryAfter = retryAfter

// MaxRetryAfter is the maximum wait of a Retry-After.
const MaxRetryAfter = maxRetryAfter

// Dialable reports whether an address may be dialled.
func Dialable(network, address string) error {
	return guard(ssrf.New(ssrf.WithAnyPort()))(network, address, nil)
}
