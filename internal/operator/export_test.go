package operator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/datadir"
	"github.com/verifyd/verifyd/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
)

// Others are the ports that are not of a store.
type Others interface {
	bootstrap.Ledger
	Health(ctx context.Context, now time.Time) (pgadmin.Health, error)
	RunTenants(ctx context.Context, id verification.RunID) ([]verification.TenantID, error)
}

// NewClient returns a client of the host that has a folder.
func NewClient(folder datadir.Folder) *Client { return newClient(folder) }

// ServePorts serves ports without backups.
func ServePorts(ctx context.Context, folder datadir.Folder, p Ports) (stop func(), err error) {
	return serve(ctx, folder, p, func(context.Context, io.Writer) error { return errors.New("this test has no backup") }, slog.New(slog.DiscardHandler))
}
