// The floor: durable commits of one row each, the minimum cost of any design that
// commits every step.

package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	floorTable = `CREATE TABLE IF NOT EXISTS public.floor (id integer PRIMARY KEY, n bigint NOT NULL)`
	floorRow   = `INSERT INTO public.floor VALUES ($1, 0) ON CONFLICT DO NOTHING`
	floorStep  = `UPDATE public.floor SET n = n + 1 WHERE id = $1`
)

// newFloor creates a connection and a row for each client.
func newFloor(b *testing.B, p database, clients int) act {
	b.Helper()
	if _, err := p.admin.Exec(b.Context(), floorTable); err != nil {
		b.Fatal(err)
	}
	conns := make([]*pgx.Conn, clients)
	for c := range conns {
		conn, err := pgx.Connect(b.Context(), p.admin.Config().ConnString())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close(context.WithoutCancel(b.Context())) })
		if _, err := conn.Exec(b.Context(), floorRow, c); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Prepare(b.Context(), "floor", floorStep); err != nil {
			b.Fatal(err)
		}
		conns[c] = conn
	}
	return func(ctx context.Context, client int) (time.Duration, error) {
		began := time.Now()
		_, err := conns[client].Exec(ctx, "floor", client)
		return time.Since(began), err
	}
}
