// Wake-ups of other hosts: jobs that are inserted in the transaction that changes the queue.

package postgres

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// jobClient is the client of River on the pool of the store.
type jobClient = river.Client[pgx.Tx]

// The jobs. An advance or announce job only makes one host look at the queue; the
// work itself is a row of verifyd.work. A maintain job makes one host maintain the
// store.
type (
	advanceJob  struct{ runJob }
	announceJob struct{ runJob }
	maintainJob struct{}
)

// runJob names the run of a job, for operators.
type runJob struct {
	Tenant verification.TenantID `json:"tenant"`
	Run    verification.RunID    `json:"run"`
}

func (advanceJob) Kind() string  { return "verifyd_advance" }
func (announceJob) Kind() string { return "verifyd_announce" }
func (maintainJob) Kind() string { return "verifyd_maintain" }

// cooldown is the minimum time between two fetches of jobs, and between two
// notifications of new jobs.
const cooldown = 10 * time.Millisecond

// wakeups inserts jobs for other hosts. Without a client it inserts none.
type wakeups struct{ client *jobClient }

func newWakeups(pool *pgxpool.Pool) (wakeups, error) {
	c, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: pgschema.Name, FetchCooldown: cooldown, Logger: slog.New(slog.DiscardHandler),
	})
	return wakeups{c}, err
}

// wakeup is a job and its run.
type wakeup struct {
	ref verification.RunRef
	job river.InsertManyParams
}

// ofAppends returns the wake-ups of a group of appends.
func (ws wakeups) ofAppends(group []*pendingAppend) []wakeup {
	if ws.client == nil {
		return nil
	}
	var all []wakeup
	for _, p := range group {
		if p.commit.Hold != store.NotHeld {
			continue
		}
		woken := map[store.WorkKind]bool{}
		for _, key := range p.commit.Work.Keys() {
			at := p.commit.Work[key]
			if at.IsZero() || !wakes(key.Kind) || woken[key.Kind] {
				continue
			}
			woken[key.Kind] = true
			all = append(all, newWakeup(key.Kind, p.ref, p.wakeupAt(at)))
		}
	}
	return all
}

// maxUnscheduled is the longest wait for which another host is woken at once, and sets a
// timer. For a longer one the job is scheduled: River looks for scheduled jobs only every five
// seconds.
const maxUnscheduled = 5 * time.Second

// wakeupAt returns when another host is woken for work that is due at a time; zero for at
// once.
func (p *pendingAppend) wakeupAt(at time.Time) time.Time {
	if n := len(p.commit.Events); n > 0 && at.Sub(p.commit.Events[n-1].At) <= maxUnscheduled {
		return time.Time{}
	}
	return at
}

// wakes reports whether other hosts are woken for work of a kind. They find other work when
// they query the queue: deadlines are far away, and re-screening is not urgent.
func wakes(kind store.WorkKind) bool { return kind == store.WorkAdvance || kind == store.WorkAnnounce }

func newWakeup(kind store.WorkKind, ref verification.RunRef, at time.Time) wakeup {
	j := runJob{ref.Tenant, ref.Run}
	var args river.JobArgs = advanceJob{j}
	if kind == store.WorkAnnounce {
		args = announceJob{j}
	}
	return wakeup{ref, river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{ScheduledAt: at}}}
}

// enqueue inserts the jobs of the runs that were appended to. River learns of them when the
// transaction commits.
func (ws wakeups) enqueue(ctx context.Context, tx pgx.Tx, all []wakeup, appended map[verification.RunRef]bool) error {
	var jobs []river.InsertManyParams
	for _, w := range all {
		if appended[w.ref] {
			jobs = append(jobs, w.job)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err := ws.client.InsertManyFastTx(ctx, tx, jobs)
	return err
}
