// The last backup of the store, which another program makes.

package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
)

const (
	backupEvery   = time.Minute // how often a host looks for the moment of the last backup
	backupTimeout = 5 * time.Second
)

// lastBackup is the moment of the last backup, in Unix seconds; 0 for none.
type lastBackup struct{ atomic.Int64 }

// watchBackups keeps the moment of the last backup up to date, until ctx ends.
func (h *host) watchBackups(ctx context.Context) {
	read := pgadmin.Of(h.storage.database).LastBackup
	if h.storage.database == nil {
		read = h.operators.LastBackup
	}
	tick := time.NewTicker(backupEvery)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, backupTimeout)
		at, err := read(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // the moment of before stays
			h.log.WarnContext(ctx, "the moment of the last backup cannot be read", "error", err)
		case !at.IsZero():
			h.backup.Store(at.Unix())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *host) backupGauge() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "verifyd_backup_timestamp_seconds", Help: "When verifyctl store backup made the last backup of the store, in Unix time; 0 for never.",
	}, func() float64 { return float64(h.backup.Load()) })
}
