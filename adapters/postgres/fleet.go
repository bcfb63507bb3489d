// The hosts that share a database: one wakes another, and one at a time sweeps.

package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/verifyd/verifyd/verification"
)

// The measures of the fleet.
const (
	sweepEvery  = time.Second
	upkeepEvery = 5 * time.Second
	// busyWait is how long a job waits that came to a host without room.
	busyWait = 100 * time.Millisecond
	// jobsKept is how long jobs that are done stay to be looked at.
	jobsKept = 10 * time.Minute
	// jobTimeout ends a job that hangs; a host that died with one is found out
	// some time after that.
	jobTimeout  = 30 * time.Second
	rescueAfter = time.Minute
	// goodbye is how long a stop waits for the jobs that are under way.
	goodbye = 5 * time.Second
)

// FleetOptions are what a host does when it is called. All but Log are required.
type FleetOptions struct {
	// Wake has the host ask the queue for work, and tells whether it has room
	// for some: Engine.Wake.
	Wake func() bool
	// Sweep writes down the deadlines that have passed: Engine.Sweep. One host
	// at a time is asked to.
	Sweep func(context.Context) error
	// Now is the present moment.
	Now func() time.Time
	// Log takes what operators need to know; nil drops it.
	Log *slog.Logger
}

// Fleet is the part of a host among those that share a database. It hears of
// work that another host left, at the latest when it falls due, and takes its
// turn at what one host does for all.
type Fleet struct{ client *client }

// Join makes the host one of the fleet. Nothing happens before Serve.
func (s *Store) Join(o FleetOptions) (*Fleet, error) {
	if o.Wake == nil || o.Sweep == nil || o.Now == nil {
		return nil, errors.New("postgres: Wake, Sweep and Now are required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	sweep := alone(o.Sweep)
	upkeep := alone(func(ctx context.Context) error { return s.Maintain(ctx, o.Now()) })
	workers := river.NewWorkers()
	err := errors.Join(
		river.AddWorkerSafely(workers, river.WorkFunc(func(context.Context, *river.Job[advanceJob]) error { return woken(o.Wake()) })),
		river.AddWorkerSafely(workers, river.WorkFunc(func(context.Context, *river.Job[announceJob]) error { return woken(o.Wake()) })),
		river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, _ *river.Job[sweepJob]) error { return sweep(ctx) })),
		river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, _ *river.Job[upkeepJob]) error { return upkeep(ctx) })),
	)
	if err != nil {
		return nil, fmt.Errorf("register the jobs: %w", err)
	}
	c, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		Schema:                      schema,
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 16}},
		Workers:                     workers,
		PeriodicJobs:                []*river.PeriodicJob{every(sweepEvery, sweepJob{}), every(upkeepEvery, upkeepJob{})},
		FetchCooldown:               cooldown,
		FetchPollInterval:           time.Second,
		JobTimeout:                  jobTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		CompletedJobRetentionPeriod: jobsKept,
		CancelledJobRetentionPeriod: jobsKept,
		DiscardedJobRetentionPeriod: jobsKept,
		SoftStopTimeout:             goodbye,
		Logger:                      slog.New(onlyWarnings{o.Log.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("join the fleet: %w", err)
	}
	return &Fleet{c}, nil
}

// woken has a job wait that came to a host without room.
func woken(room bool) error {
	if room {
		return nil
	}
	return river.JobSnooze(busyWait)
}

// every inserts a job at an interval. The next one comes soon, so a failed one is
// not tried again; nor does one wait for another, which may have died with its
// host.
func every(interval time.Duration, job river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval), func() (river.JobArgs, *river.InsertOpts) {
		return job, &river.InsertOpts{MaxAttempts: 1}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// alone has a host do a thing once at a time: who comes meanwhile goes away.
func alone(do func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	return func(ctx context.Context) error {
		if !mu.TryLock() {
			return nil
		}
		defer mu.Unlock()
		return do(ctx)
	}
}

// Serve takes part until ctx ends. It waits for a database that is away.
func (f *Fleet) Serve(ctx context.Context) error {
	for {
		err := translate("join the fleet", f.client.Start(context.WithoutCancel(ctx)))
		if err == nil {
			break
		}
		if !errors.Is(err, verification.ErrUnavailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepEvery):
		}
	}
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*goodbye)
	defer cancel()
	if err := f.client.Stop(stopping); err != nil {
		cutting, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		return f.client.StopAndCancel(cutting)
	}
	return nil
}

// onlyWarnings drops what a library says for its own developers.
type onlyWarnings struct{ slog.Handler }

// Enabled reports whether a record is a warning or an error. What a part of
// River says once it was told to stop, with its context, is neither.
func (h onlyWarnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && !errors.Is(ctx.Err(), context.Canceled) && h.Handler.Enabled(ctx, l)
}

// WithAttrs keeps the level.
func (h onlyWarnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return onlyWarnings{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the level.
func (h onlyWarnings) WithGroup(name string) slog.Handler {
	return onlyWarnings{h.Handler.WithGroup(name)}
}
