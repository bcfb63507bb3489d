// A witness who looks at histories while the storm lasts: what it has seen once
// must never be gone, nor read differently.

package soak_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// witness remembers every row of a history by its hash.
type witness struct {
	seen   map[string]map[int][sha256.Size]byte
	looks  int
	faults []string
}

func newWitness() *witness { return &witness{seen: map[string]map[int][sha256.Size]byte{}} }

// glances is how many runs a look takes in at most.
const glances = 300

// look compares some runs with what was seen of them before: the newest ones,
// and as many others. It fails when the database does.
func (w *witness) look(ctx context.Context, c *pgx.Conn) error {
	rows, err := c.Query(ctx, "SELECT id::text FROM verifyd.runs ORDER BY started_at DESC LIMIT $1", glances/2)
	if err != nil {
		return err
	}
	runs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for run := range w.seen { // in an order that is different each time
		if rand.IntN(len(w.seen)) < glances {
			runs = append(runs, run)
		}
		if len(runs) >= glances {
			break
		}
	}
	appends, err := readAppends(ctx, c, "run_id = ANY($1::uuid[])", runs)
	if err != nil {
		return err
	}
	found := map[string]map[int][sha256.Size]byte{}
	for _, a := range appends {
		if found[a.Run] == nil {
			found[a.Run] = map[int][sha256.Size]byte{}
		}
		found[a.Run][a.Seq] = sha256.Sum256([]byte(a.Raw))
	}
	w.looks++
	for _, run := range runs {
		w.compare(run, found[run])
	}
	return nil
}

// compare holds what there is now against what was seen, and remembers it.
func (w *witness) compare(run string, now map[int][sha256.Size]byte) {
	for seq, hash := range w.seen[run] {
		if got, there := now[seq]; !there || got != hash {
			w.faults = append(w.faults, fmt.Sprintf("run %s: what was appended after %d events has changed, or is gone", run, seq))
		}
	}
	w.seen[run] = now
}

// conclude compares all that was ever seen with the histories at the end.
func (w *witness) conclude(all map[string]*history) []string {
	for run := range w.seen {
		now := map[int][sha256.Size]byte{}
		if h := all[run]; h != nil {
			for _, a := range h.appends {
				now[a.seq] = sha256.Sum256([]byte(a.raw))
			}
		}
		w.compare(run, now)
	}
	return w.faults
}
