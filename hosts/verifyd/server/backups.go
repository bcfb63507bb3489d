// The last backup of the store, which another program makes.

package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
)

// backupTimeout bounds a look for the moment of the last backup.
const backupTimeout = time.Second

// backupGauge reads the moment of the last backup, and has the one of before while the store does not answer.
func backupGauge(s *storage, operators *operator.Held) prometheus.Collector {
	read := pgadmin.Of(s.database).LastBackup
	if s.database == nil {
		read = operators.LastBackup
	}
	var last atomic.Int64
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "verifyd_backup_timestamp_seconds", Help: "When verifyctl store backup made the last backup of the store, in Unix time; 0 for never.",
	}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), backupTimeout)
		defer cancel()
		if at, err := read(ctx); err == nil && !at.IsZero() {
			last.Store(at.Unix())
		}
		return float64(last.Load())
	})
}
