// Package operator lets verifyctl work on a host without a database. The host serves the ports
// of its store on a socket in its data folder: JSON over HTTP, one route for each method. The
// mode of the socket lets only the user of the host and root call it. If no host has the
// folder, verifyctl opens it itself.
package operator

import (
	"context"
	"io"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Ports are the calls that a host serves: a call has a context, values, and an error at the
// end of its results.
type Ports interface {
	store.Store
	bootstrap.Ledger
	// Health has only what is about work and deliveries.
	Health(ctx context.Context, now time.Time) (pgadmin.Health, error)
	// RunTenants returns the saved tenants that have a run with this id.
	RunTenants(ctx context.Context, id verification.RunID) ([]verification.TenantID, error)
}

// Data is a data folder: through the host that has it, or held by this process.
type Data interface {
	Ports
	token.KeyStore
	// Backup writes the folder as it is at one moment: everything that was acknowledged
	// before is in it. See [Held.Backup].
	Backup(ctx context.Context, to io.Writer) error
	// Close ends the use of the data, and unlocks the folder if this process holds it.
	Close() error
}

var (
	_ Data = (*Held)(nil)
	_ Data = (*Client)(nil)
)
