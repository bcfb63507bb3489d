// Admission: a run is driven in one slot, and callers wait for one only before expensive work and reads.

package engine

import (
	"context"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
)

const (
	largeRun    = 64 << 10        // bytes; a larger run is not cached, and work on it is expensive
	maxHeavy    = 2               // slots for expensive work, one of a tenant
	maxLoads    = 64              // slots for reads of runs whose size is not known
	tenantLoads = 4               // of one tenant
	maxLoadRest = 5 * time.Second // of a slot after the first read of a large run

	// A tenant has a quarter of a processor for expensive work, and for first reads of large runs.
	heavyRests = 3
	loadRests  = (1+heavyRests)*tenantLoads - 1
)

// acquireWork waits for the slot that this host drives a run in: a worker slot, or its turn in the lane of the run and one for
// expensive work if the run is large. A run whose size is not known is read in a worker slot; if
// it is large, it is read again after the wait, because many may wait. A run that is driven alone
// needs no slot.
func (j *job) acquireWork(ctx context.Context) (release func(), err error) {
	if j.runner.Tries(j.Job) {
		return func() {}, nil
	}
	if j.run.Size() <= largeRun && !j.runs.knownLarge(j.ref) {
		if release, err = j.runner.AcquireWorker(ctx, j.ref.Tenant); err != nil {
			return nil, err
		}
		release = j.enter(release)
		if j.run.Seq > 0 {
			return release, nil
		}
		if err = j.reread(ctx); err == nil && j.run.Size() <= largeRun {
			return release, nil
		}
		release()
		if err != nil {
			return nil, err
		}
		j.run = rules.Run{}
	}
	leave, err := j.lanes.enter(ctx, j.ref)
	if err != nil {
		return nil, err
	}
	free, err := j.heavy.Acquire(ctx, string(j.ref.Tenant))
	if err != nil {
		leave()
		return nil, err
	}
	return j.enter(func() { free(); leave() }), nil
}

// enter waits until no other run is driven alone. The run is driven until release is called.
func (j *job) enter(slot func()) (release func()) {
	leave := j.runner.Enter(j.Job)
	return func() { leave(); slot() }
}

// admit waits for a slot for work on the run of s if it is expensive, unless s has one or must not
// wait. s has the slot until release is called; release may be called again. A use case inside a transaction of its
// caller waits for no slot, whose holder may wait for the connection of the transaction.
func (s *session) admit(ctx context.Context, expensive bool) (release func(), err error) {
	if !expensive || s.slot || s.waitless || s.external {
		return func() {}, nil
	}
	free, err := s.heavy.Acquire(ctx, string(s.ref.Tenant))
	if err != nil {
		return nil, err
	}
	s.slot = true
	return sync.OnceFunc(func() { s.slot = false; free() }), nil
}

// admitRead waits until the run of s may be read, unless s must not wait. To read a run that is
// known to be large is expensive work. If a run turns out to be large, the slot for reads stays
// in use for some time afterwards.
func (s *session) admitRead(ctx context.Context) (release func(), err error) {
	_, known := s.runs.Get(s.ref)
	if known || s.slot || s.waitless || s.external {
		return s.admit(ctx, s.runs.knownLarge(s.ref))
	}
	free, err := s.loads.Acquire(ctx, string(s.ref.Tenant))
	if err != nil {
		return nil, err
	}
	began := s.ports.Clock.Now()
	return func() {
		rest := min(loadRests*s.ports.Clock.Now().Sub(began), maxLoadRest)
		if rest > 0 && s.runs.knownLarge(s.ref) {
			s.ports.Clock.AfterFunc(rest, free)
			return
		}
		free()
	}, nil
}
