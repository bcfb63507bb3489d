package operator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
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

// ServePorts serves ports, and backups that end early.
func ServePorts(ctx context.Context, folder datadir.Folder, p Ports) (stop func(), err error) {
	early := func(_ context.Context, to io.Writer) error {
		_, err := to.Write(make([]byte, 1<<20))
		return errors.Join(err, errors.New("a file cannot be read"))
	}
	return serve(ctx, folder, p, early, slog.New(slog.DiscardHandler))
}

// ErrStranger is returned for a socket that another user serves.
var ErrStranger = errStranger

// Stranger is the comparison of users.
func Stranger(folder datadir.Folder, owner int, served ...int) error {
	return stranger(folder, owner, served...)
}
