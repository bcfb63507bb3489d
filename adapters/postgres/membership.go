// The hosts that share a database: they wake each other, and one at a time maintains it.

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
)

const (
	maintainInterval = 5 * time.Second
	// startRetry is the wait before a host joins again that found the database unavailable.
	startRetry = time.Second
	// snooze is how long a job waits after it reached a host that takes no work.
	snooze = 100 * time.Millisecond
	// passOn is how long a host that leaves a run passes its wake-up on: other hosts look at
	// the queue after that time at the latest.
	passOn = 2 * time.Second
	// jobLife is how long finished jobs stay in their table.
	jobLife = 10 * time.Minute
	// jobTimeout bounds a job. A job of a dead host is rescued after rescueAfter.
	jobTimeout  = 30 * time.Second
	rescueAfter = time.Minute
	// stopTimeout bounds each phase of a stop.
	stopTimeout = 5 * time.Second
)

// MembershipOptions are what a Membership needs of its host. All but Leaves and Log are
// required.
type MembershipOptions struct {
	// Wake makes the host look at the queue now. It reports whether the host takes work
	// at all: false if it is passive or closing. Pass Engine.Wake.
	Wake func() bool
	// Leaves reports whether the host leaves a run to other hosts. It passes a wake-up for
	// such a run on to another host for passOn. Pass Engine.Leaves; nil for no run.
	Leaves func(verification.RunRef) bool
	// Now returns the current time.
	Now func() time.Time
	// Failed is called when maintenance could not do all of its work. Nil calls nothing.
	Failed func()
	// Log receives messages for operators; nil discards them.
	Log *slog.Logger
}

// Membership connects a host to the others that share its database. It wakes the host
// for work that another host left in the queue, at the latest when the work is due. One
// host at a time maintains the store.
type Membership struct {
	client *jobClient

	mu      sync.Mutex
	served  bool          // Serve was called
	closing chan struct{} // closed by Close
	stop    func()        // ends a vacuum
	ended   chan struct{} // closed when Serve returns
}

// Join returns a member among the hosts of this database. It does nothing before
// Serve.
func (s *Store) Join(o MembershipOptions) (*Membership, error) {
	if o.Wake == nil || o.Now == nil {
		return nil, errors.New("postgres: Wake and Now are required")
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	maintain := once(reported(o, func(ctx context.Context) error { return s.Maintain(ctx, o.Now()) }))
	working, stop := context.WithCancel(context.Background())
	vacuum := once(func(ctx context.Context) error { return s.Vacuum(ctx, o.Now()) })
	workers := river.NewWorkers()
	err := errors.Join(
		river.AddWorkerSafely(workers, river.WorkFunc(func(_ context.Context, j *river.Job[advanceJob]) error {
			left := o.Leaves != nil && o.Leaves(verification.RunRef{Tenant: j.Args.Tenant, Run: j.Args.Run}) && o.Now().Sub(j.CreatedAt) < passOn
			return snoozeUnless(!left && o.Wake())
		})),
		river.AddWorkerSafely(workers, river.WorkFunc(func(context.Context, *river.Job[announceJob]) error { return snoozeUnless(o.Wake()) })),
		river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, _ *river.Job[maintainJob]) error {
			go func() { // it may take longer than a job
				if err := vacuum(working); err != nil && working.Err() == nil {
					o.Log.Warn("the dead rows of redacted runs are not removed; the next attempt is soon", "error", err)
				}
			}()
			return maintain(ctx)
		})),
	)
	if err != nil {
		stop()
		return nil, fmt.Errorf("register job workers: %w", err)
	}
	c, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		Schema:                      pgschema.Name,
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 16}},
		Workers:                     workers,
		PeriodicJobs:                []*river.PeriodicJob{every(maintainInterval, maintainJob{})},
		FetchCooldown:               cooldown,
		FetchPollInterval:           time.Second,
		JobTimeout:                  jobTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		CompletedJobRetentionPeriod: jobLife,
		CancelledJobRetentionPeriod: jobLife,
		DiscardedJobRetentionPeriod: jobLife,
		SoftStopTimeout:             stopTimeout,
		Logger:                      slog.New(onlyWarnings{o.Log.Handler()}),
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("join the hosts: %w", err)
	}
	return &Membership{client: c, stop: stop, closing: make(chan struct{}), ended: make(chan struct{})}, nil
}

// snoozeUnless leaves a job to another host unless this one takes work.
func snoozeUnless(takesWork bool) error {
	if takesWork {
		return nil
	}
	return river.JobSnooze(snooze)
}

// every inserts a job at an interval. A failed job is not retried, because the next
// one follows soon. A job is inserted even if the one before is not finished, which
// may be a job of a dead host.
func every(interval time.Duration, job river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval), func() (river.JobArgs, *river.InsertOpts) {
		return job, &river.InsertOpts{MaxAttempts: 1}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// once returns a function that calls do unless a call is running on this host.
func once(do func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	return func(ctx context.Context) error {
		if !mu.TryLock() {
			return nil
		}
		defer mu.Unlock()
		return do(ctx)
	}
}

// reported returns a function that calls do, and reports its errors: the first one in a row and one in a minute to the
// log, because a round follows the other soon. It is called once at a time.
func reported(o MembershipOptions, do func(context.Context) error) func(context.Context) error {
	var logged time.Time
	return func(ctx context.Context) error {
		err := do(ctx)
		switch {
		case errors.Is(ctx.Err(), context.Canceled): // the host stops
		case err == nil && !logged.IsZero():
			logged = time.Time{}
			o.Log.Info("the maintenance of the database works again")
		case err != nil:
			if o.Failed != nil {
				o.Failed()
			}
			if logged.IsZero() || o.Now().Sub(logged) > time.Minute {
				logged = o.Now()
				o.Log.Error("the maintenance of the database failed; until it works, lists are slower and numbers wait to be added up", "error", err)
			}
		}
		return err
	}
}

// Close ends Serve, and waits until the host is no longer a member or ctx ends. Call it
// before Store.Close, whose connections the member uses until then. Serve returns at once
// if it is called later.
func (m *Membership) Close(ctx context.Context) error {
	m.stop()
	m.mu.Lock()
	served := m.served
	select {
	case <-m.closing:
	default:
		close(m.closing)
	}
	m.mu.Unlock()
	if !served {
		return nil
	}
	select {
	case <-m.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("leave the hosts: %w", context.Cause(ctx))
	}
}

// Serve keeps the host a member until ctx ends or Close is called. It waits while the
// database is unavailable. Call it once.
func (m *Membership) Serve(ctx context.Context) error {
	m.mu.Lock()
	m.served = true
	m.mu.Unlock()
	defer close(m.ended)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-m.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	select {
	case <-m.closing:
		return nil
	default:
	}
	detached := context.WithoutCancel(ctx)
	err := m.start(detached)
	for errors.Is(err, verification.ErrUnavailable) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(startRetry):
		}
		err = m.start(detached)
	}
	if err != nil {
		return err
	}
	<-ctx.Done()
	soft, cancel := context.WithTimeout(detached, 2*stopTimeout)
	defer cancel()
	if err := m.client.Stop(soft); err != nil {
		hard, cancel := context.WithTimeout(detached, stopTimeout)
		defer cancel()
		return m.client.StopAndCancel(hard)
	}
	return nil
}

func (m *Membership) start(ctx context.Context) error {
	return pgerror.Translate("join the hosts", m.client.Start(ctx))
}

// onlyWarnings drops the messages of River below warnings.
type onlyWarnings struct{ slog.Handler }

// Enabled reports whether a record is a warning or an error. It drops errors under
// a cancelled context, which River logs when it stops.
func (h onlyWarnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && !errors.Is(ctx.Err(), context.Canceled) && h.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (h onlyWarnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return onlyWarnings{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h onlyWarnings) WithGroup(name string) slog.Handler {
	return onlyWarnings{h.Handler.WithGroup(name)}
}
