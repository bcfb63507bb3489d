// The stores of a program.

package cli

import "github.com/verifyd/verifyd/verification"

// Store is a store of everything: adapters/memory or adapters/postgres.
type Store interface { //nolint:interfacebloat // it joins the store ports
	verification.RunStore
	verification.WorkQueue
	verification.WorkflowStore
	verification.TenantStore
	verification.IdempotencyStore
	verification.DeliveryStore
}
