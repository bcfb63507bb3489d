// Leases: how long the queue keeps runs from other hosts.

package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// lease is the lease of a run as this host knows it. It needs no lock of the runner.
type lease struct {
	every  time.Duration // it is renewed when it is so old
	saving sync.Mutex    // held while the run is saved, and while the lease is renewed
	saved  bool          // since the run has its job; saving guards it
	began  atomic.Int64  // in Unix nanoseconds; 0 for no lease
}

// Save calls save, during which the loop does not renew the lease.
func (l *lease) Save(save func() error) error {
	l.saving.Lock()
	defer l.saving.Unlock()
	err := save()
	l.saved = l.saved || err == nil
	return err
}

// survived calls renew unless the run was saved since it has its job.
func (l *lease) survived(renew func() error) error {
	l.saving.Lock()
	defer l.saving.Unlock()
	if l.saved {
		return nil
	}
	return renew()
}

// LeaseBegan records that the lease began at a time.
func (l *lease) LeaseBegan(at time.Time) { l.began.Store(at.UnixNano()) }

// LeaseEnded records that the run has no lease: a renewal would keep it from other hosts, or
// delay it until the end of a lease.
func (l *lease) LeaseEnded() { l.began.Store(0) }

// HasLease reports whether the run has a lease.
func (l *lease) HasLease() bool { return l.began.Load() != 0 }

// LeaseIsYoung reports whether the lease need not be renewed yet.
func (l *lease) LeaseIsYoung(now time.Time) bool {
	return now.UnixNano()-l.began.Load() < int64(l.every)
}

// renewLeases renews the leases of the runs that are driven here, and returns the time to
// do so again.
func (r *Runner) renewLeases(ctx context.Context, now time.Time) (next time.Time, err error) {
	every := r.cfg.Lease / renewals
	r.mu.Lock()
	jobs := make([]*Job, 0, len(r.jobs))
	for _, j := range r.jobs {
		jobs = append(jobs, j)
	}
	r.mu.Unlock()
	if len(jobs) == 0 {
		return time.Time{}, nil
	}
	var held []verification.RunRef
	for _, j := range jobs {
		if !j.saving.TryLock() {
			continue // its append renews the lease
		}
		defer j.saving.Unlock()
		if j.HasLease() && !j.LeaseIsYoung(now) {
			held = append(held, j.Ref)
			j.LeaseBegan(now)
		}
	}
	if len(held) > 0 {
		err = r.cfg.Queue.Renew(ctx, held, now.Add(r.cfg.Lease), false)
	}
	return now.Add(every), err
}
