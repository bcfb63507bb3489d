// The row of the host in the database, which shows that it is alive.

package server

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
)

const (
	heartbeatEvery   = 10 * time.Second
	heartbeatTimeout = 5 * time.Second
)

// heartbeat renews the row of the host until ctx ends, and then removes it. It
// ignores errors of the database.
func heartbeat(ctx context.Context, db *postgres.Store, h postgres.Host, log *slog.Logger) {
	bounded := func(f func(context.Context) error) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatTimeout)
		defer cancel()
		if err := f(bounded); err != nil {
			log.Debug("heartbeat failed", "host", h.ID, "error", err)
		}
	}
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		bounded(func(ctx context.Context) error { return db.SaveHost(ctx, h) })
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	bounded(func(ctx context.Context) error { return db.RemoveHost(ctx, h.ID) })
}

// leave removes the row of a host that stops before its heartbeats begin, or has stopped.
func (h *host) leave(db *postgres.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatTimeout)
	defer cancel()
	if err := db.RemoveHost(ctx, h.me.ID); err != nil {
		h.log.Debug("host not removed", "host", h.me.ID, "error", err)
	}
}

func (h *host) self(startedAt time.Time) postgres.Host {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	return postgres.Host{ID: newID(), Name: name, Roles: h.settings.Roles, Version: h.build.Version, StartedAt: startedAt}
}
