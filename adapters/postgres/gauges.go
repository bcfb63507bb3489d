// What is cheap enough to be asked at every look at the metrics.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Gauges are how this host and the queue are doing.
type Gauges struct {
	// Connections are those that this host has to the database, of which Busy
	// are in use, and MostConnections is their bound.
	Connections, Busy, MostConnections int
	// Waiting is how many appends wait for a writer on this host.
	Waiting int
	// Lateness is for how long the oldest piece of work of any host has been
	// due; 0 when nothing is.
	Lateness time.Duration
}

// oldestWork reads the ends of an index.
const oldestWork = `
SELECT least((SELECT min(due) FROM verifyd.work WHERE kind = 'advance'), (SELECT min(due) FROM verifyd.work WHERE kind = 'announce'))`

// Gauges looks at the pool, and asks for the oldest piece of work.
func (s *Store) Gauges(ctx context.Context, now time.Time) (Gauges, error) {
	pool := s.pool.Stat()
	g := Gauges{
		Connections: int(pool.TotalConns()), Busy: int(pool.AcquiredConns()), MostConnections: int(pool.MaxConns()),
		Waiting: s.writers.waits(),
	}
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	var oldest pgtype.Timestamptz
	err := s.link().ask(ctx, everyTenant, func(b *pgx.Batch) error {
		b.Queue(oldestWork).QueryRow(func(row pgx.Row) error { return row.Scan(&oldest) })
		return nil
	})
	if err == nil && oldest.Valid {
		g.Lateness = max(0, now.Sub(oldest.Time))
	}
	return g, translate("look at the queue", err)
}
