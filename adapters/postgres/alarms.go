// What is told to the other hosts: a job for each piece of work that is left to
// them, inserted in the transaction that leaves it.

package postgres

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/verifyd/verifyd/verification"
)

// client is River on our pool.
type client = river.Client[pgx.Tx]

// The jobs. The truth about work is its row, which one host leases; a job has
// some host look at the moment it falls due, and is done once that host has
// been woken.
type (
	advanceJob  struct{ runJob }
	announceJob struct{ runJob }
	sweepJob    struct{}
	upkeepJob   struct{}
)

// runJob names a run, for those who look at the jobs.
type runJob struct {
	Tenant verification.TenantID `json:"tenant"`
	Run    verification.RunID    `json:"run"`
}

func (advanceJob) Kind() string  { return "verifyd_advance" }
func (announceJob) Kind() string { return "verifyd_announce" }
func (sweepJob) Kind() string    { return "verifyd_sweep" }
func (upkeepJob) Kind() string   { return "verifyd_upkeep" }

// cooldown bounds how often a host asks for jobs, and how often one that leaves
// them tells of it.
const cooldown = 10 * time.Millisecond

// alarms tells other hosts; without a client there are none.
type alarms struct{ client *client }

func newAlarms(pool *pgxpool.Pool) (alarms, error) {
	c, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: schema, FetchCooldown: cooldown, Logger: slog.New(slog.DiscardHandler),
	})
	return alarms{c}, err
}

// bell is a job and the run that it is about.
type bell struct {
	ref verification.RunRef
	job river.InsertManyParams
}

// of are the bells of what a group leaves to others.
func (a alarms) of(group []addition) []bell {
	if a.client == nil {
		return nil
	}
	var bells []bell
	for _, d := range group {
		if d.a.NoWakeup || d.quiet() {
			continue
		}
		if !d.a.AdvanceAt.IsZero() {
			bells = append(bells, newBell(verification.WorkAdvance, d.ref, d.ringAt()))
		}
		if !d.a.AnnounceAt.IsZero() {
			bells = append(bells, newBell(verification.WorkAnnounce, d.ref, time.Time{}))
		}
	}
	return bells
}

// soon is the wait up to which others are told at once. A job of a later moment
// is looked for every five seconds only; a host that is told early sets its own
// alarm.
const soon = 5 * time.Second

// ringAt is when others are to be told that the run is due; zero for at once.
func (d addition) ringAt() time.Time {
	if n := len(d.a.Events); n > 0 && d.a.AdvanceAt.Sub(d.a.Events[n-1].At) <= soon {
		return time.Time{}
	}
	return d.a.AdvanceAt
}

// at is the bell of work that was postponed.
func (a alarms) at(w verification.Work, at time.Time) []bell {
	if a.client == nil {
		return nil
	}
	return []bell{newBell(w.Kind, w.RunRef, at)}
}

func newBell(kind verification.WorkKind, ref verification.RunRef, at time.Time) bell {
	j := runJob{ref.Tenant, ref.Run}
	var args river.JobArgs = advanceJob{j}
	if kind == verification.WorkAnnounce {
		args = announceJob{j}
	}
	return bell{ref, river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{ScheduledAt: at}}}
}

// ring inserts the jobs of the runs whose append was kept. Others hear of them
// once the transaction commits.
func (a alarms) ring(ctx context.Context, tx pgx.Tx, bells []bell, kept map[verification.RunRef]bool) error {
	var jobs []river.InsertManyParams
	for _, b := range bells {
		if kept[b.ref] {
			jobs = append(jobs, b.job)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err := a.client.InsertManyFastTx(ctx, tx, jobs)
	return err
}
