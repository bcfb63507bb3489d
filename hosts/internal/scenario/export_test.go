// Names that the tests of this package need besides the exported ones.

package scenario

import (
	"context"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/openapitest"
)

// Match compares a body with the wanted one and returns the names that are then
// known.
func Match(known map[string]string, want, got string) (map[string]string, error) {
	n := names{}
	for name, value := range known {
		n[name] = value
	}
	err := n.matchBody(want, []byte(got))
	return n, err
}

// Parse returns the steps of a conversation and the number of items of each.
func Parse(raw string) (steps []string, items []int, err error) {
	c, err := parse([]byte(raw))
	for _, s := range c.steps {
		steps, items = append(steps, s.name), append(items, len(s.items))
	}
	return steps, items, err
}

// Talk runs a conversation and returns its first error.
func Talk(t testing.TB, h Host, c *openapitest.Contract, raw string) error {
	parsed, err := parse([]byte(raw))
	if err != nil {
		return err
	}
	client := newClient(t, h, c, func(string, int) {})
	for _, s := range parsed.steps {
		for _, i := range s.items {
			if err := client.do(t.Context(), i); err != nil {
				return err
			}
		}
	}
	return nil
}

// Consistent reads every run of a host and compares.
func Consistent(ctx context.Context, t testing.TB, h Host, c *openapitest.Contract) error {
	return newClient(t, h, c, func(string, int) {}).Consistent(ctx)
}
