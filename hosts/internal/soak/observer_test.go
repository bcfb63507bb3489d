// An observer that reads histories during the failures: an event that it has read must
// never disappear or change.

package soak_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// observer remembers the hash of every row of a history.
type observer struct {
	seen     map[string]map[int][sha256.Size]byte
	looks    int
	problems []string
}

func newObserver() *observer { return &observer{seen: map[string]map[int][sha256.Size]byte{}} }

// maxLooked bounds the runs of one look.
const maxLooked = 300

// look compares some runs with earlier reads: the newest ones, and as many others.
func (w *observer) look(ctx context.Context, c *pgx.Conn) error {
	rows, err := c.Query(ctx, "SELECT id::text FROM verifyd.runs ORDER BY started_at DESC LIMIT $1", maxLooked/2)
	if err != nil {
		return err
	}
	runs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for run := range w.seen { // in random order
		if rand.IntN(len(w.seen)) < maxLooked {
			runs = append(runs, run)
		}
		if len(runs) >= maxLooked {
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

// compare compares a history with earlier reads and remembers it.
func (w *observer) compare(run string, now map[int][sha256.Size]byte) {
	for seq, hash := range w.seen[run] {
		if got, there := now[seq]; !there || got != hash {
			w.problems = append(w.problems, fmt.Sprintf("run %s: what was appended after %d events has changed, or is gone", run, seq))
		}
	}
	w.seen[run] = now
}

// conclude compares all reads with the histories at the end.
func (w *observer) conclude(all map[string]*history) []string {
	for run := range w.seen {
		now := map[int][sha256.Size]byte{}
		if h := all[run]; h != nil {
			for _, a := range h.appends {
				now[a.seq] = sha256.Sum256([]byte(a.raw))
			}
		}
		w.compare(run, now)
	}
	return w.problems
}
