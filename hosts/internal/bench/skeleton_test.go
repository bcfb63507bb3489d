// The skeleton: the appends of runs without any rules, the minimum cost of a design
// that saves every step and commits in groups.

package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const skeletonTables = `
CREATE TABLE IF NOT EXISTS public.skeleton_runs (id uuid PRIMARY KEY, status text NOT NULL, seq integer NOT NULL, at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS public.skeleton_events (run_id uuid, seq integer, events text NOT NULL, PRIMARY KEY (run_id, seq))`

// skeletonStatements are the prepared statements by name.
func skeletonStatements() map[string]string {
	return map[string]string{
		"skeleton_start":  `INSERT INTO public.skeleton_runs VALUES ($1, 'in_progress', 0, $2)`,
		"skeleton_event":  `INSERT INTO public.skeleton_events VALUES ($1, $2, $3)`,
		"skeleton_update": `UPDATE public.skeleton_runs SET status = $2, seq = $3, at = $4 WHERE id = $1`,
	}
}

// skeletonGroup is the maximum number of appends in one transaction.
const skeletonGroup = 256

// skeleton commits appends with one writer.
type skeleton struct {
	conn  *pgx.Conn
	queue chan skeletonAppend
}

type skeletonAppend struct {
	run    uuid.UUID
	seq    int
	status string
	events string
	done   chan error
}

// newSkeleton returns the run of a client that makes one append for each payload.
func newSkeleton(b *testing.B, p database, clients int, payloads []string) act {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	if _, err := p.admin.Exec(ctx, skeletonTables); err != nil {
		b.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, p.admin.Config().ConnString())
	if err != nil {
		b.Fatal(err)
	}
	for name, statement := range skeletonStatements() {
		if _, err := conn.Prepare(ctx, name, statement); err != nil {
			b.Fatal(err)
		}
	}
	s := &skeleton{conn: conn, queue: make(chan skeletonAppend, clients)}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.write(ctx)
	}()
	b.Cleanup(func() {
		close(s.queue)
		<-closed
		_ = conn.Close(ctx)
	})
	return func(context.Context, int) (time.Duration, error) { return s.run(payloads) }
}

// run appends the payloads one after the other.
func (s *skeleton) run(payloads []string) (time.Duration, error) {
	began, id := time.Now(), uuid.Must(uuid.NewV7())
	for i, events := range payloads {
		a := skeletonAppend{run: id, seq: i, status: "in_progress", events: events, done: make(chan error, 1)}
		if i == len(payloads)-1 {
			a.status = "completed"
		}
		s.queue <- a
		if err := <-a.done; err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// write commits all that wait, as one pipelined transaction, until the queue is
// closed.
func (s *skeleton) write(ctx context.Context) {
	for a := range s.queue {
		group := []skeletonAppend{a}
		for len(s.queue) > 0 && len(group) < skeletonGroup {
			group = append(group, <-s.queue)
		}
		err := s.commit(ctx, group)
		for _, a := range group {
			a.done <- err
		}
	}
}

func (s *skeleton) commit(ctx context.Context, group []skeletonAppend) error {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	var batch pgx.Batch
	now := time.Now()
	for _, a := range group {
		batch.Queue("skeleton_event", a.run, a.seq, a.events)
		if a.seq == 0 {
			batch.Queue("skeleton_start", a.run, now)
		} else {
			batch.Queue("skeleton_update", a.run, a.status, a.seq, now)
		}
	}
	return s.conn.SendBatch(ctx, &batch).Close()
}
