// Names for the tests of this package.

package server

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/cli"
)

var (
	Run            = run
	ErrPrinted     = errPrinted
	DocumentMemory = documentMemory
	CacheMemory    = cacheMemory
	LimitMemory    = limitMemory
	MemoryLimit    = memoryLimit
)

const MaxDocumentMemory = maxDocumentMemory

// ParseSettings returns the problems of the settings.
func ParseSettings(args, environ []string, stdout io.Writer) error {
	_, err := parse(args, newEnvironment(environ), stdout)
	return err
}

// Heartbeat sends heartbeats of a host whose clock is now, and sets skew.
func Heartbeat(ctx context.Context, db *postgres.Store, id string, now func() time.Time, log *slog.Logger, skew prometheus.Gauge) {
	h := &host{log: log, me: postgres.Host{ID: id, Name: "late"}, facts: func(context.Context) cli.HostFacts { return cli.HostFacts{} }, skew: skew}
	_ = h.heartbeat(ctx, db, now) // it is not ended by a level
}
