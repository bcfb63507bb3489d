// Lanes: a large run that is busy is read once, and changed by one command at a time.

package engine

import (
	"context"
	"sync"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

const (
	maxLanes    = 64 << 20 // bytes of the large runs in the lanes of a host
	tenantLanes = 32 << 20 // of one tenant
)

// lanes are the lanes of runs that requests and workers of this host use now. A lane has the run as it was last read or
// changed, if the run is large, until nobody uses the lane any more. A run beyond maxLanes or tenantLanes is read again for
// each command.
type lanes struct {
	mu    sync.Mutex
	bytes int // of the runs in all lanes
	of    map[verification.RunRef]*lane
	// tenants has the bytes of the runs of each tenant.
	tenants map[verification.TenantID]int
}

// lane is a line of commands for one run.
type lane struct {
	users int
	turn  chan struct{} // holds a value while a command has its turn; commands that wait for it are served in order of arrival
	news  chan struct{} // holds a value while new events are read; many reads at once would take every connection of the store
	run   rules.Run     // without history if there is none
	bytes int           // of run
}

func newLanes() *lanes {
	return &lanes{of: map[verification.RunRef]*lane{}, tenants: map[verification.TenantID]int{}}
}

// stay keeps what is read of a large run until leave is called.
func (l *lanes) stay(ref verification.RunRef) (leave func()) {
	_, leave = l.use(ref)
	return leave
}

func (l *lanes) use(ref verification.RunRef) (_ *lane, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.of[ref]
	if in == nil {
		in = &lane{turn: make(chan struct{}, 1), news: make(chan struct{}, 1)}
		l.of[ref] = in
	}
	in.users++
	return in, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if in.users--; in.users == 0 {
			l.replace(ref, in, rules.Run{})
			delete(l.of, ref)
		}
	}
}

// enter waits for the turn of a command, until ctx ends. The command has it until leave is called. A caller that has a
// slot for expensive work must not wait for a turn, whose holder may wait for the slot.
func (l *lanes) enter(ctx context.Context, ref verification.RunRef) (leave func(), err error) {
	in, out := l.use(ref)
	return wait(ctx, in.turn, out)
}

// wait waits until line, of a lane that is used until out is called, has room.
func wait(ctx context.Context, line chan struct{}, out func()) (leave func(), err error) {
	select {
	case line <- struct{}{}:
		return func() { <-line; out() }, nil
	case <-ctx.Done():
		out()
		return nil, context.Cause(ctx)
	}
}

// run returns the run in a lane, without history if there is none.
func (l *lanes) run(ref verification.RunRef) rules.Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in := l.of[ref]; in != nil {
		return in.run
	}
	return rules.Run{}
}

// keep replaces the run in a lane that is used.
func (l *lanes) keep(ref verification.RunRef, run rules.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in := l.of[ref]; in != nil {
		l.replace(ref, in, run)
	}
}

// drop removes the run from a lane.
func (l *lanes) drop(ref verification.RunRef) { l.keep(ref, rules.Run{}) }

// clear removes the runs from all lanes.
func (l *lanes) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ref, in := range l.of {
		l.replace(ref, in, rules.Run{})
	}
}

// replace replaces the run in a lane, or removes it if the new one is too large.
func (l *lanes) replace(ref verification.RunRef, in *lane, run rules.Run) {
	size := 0
	if run.Seq > 0 {
		size = run.Size()
	}
	more := size - in.bytes
	if l.bytes+more > maxLanes || l.tenants[ref.Tenant]+more > tenantLanes {
		run, size, more = rules.Run{}, 0, -in.bytes
	}
	in.run, in.bytes = run, size
	l.bytes += more
	if l.tenants[ref.Tenant] += more; l.tenants[ref.Tenant] == 0 {
		delete(l.tenants, ref.Tenant)
	}
}

// takeTurn waits for the turn of a command on the run of s, or of a read of it from its beginning, if the run is large, unless s
// has the turn or must not wait. s then has the run as the command before left it.
func (s *session) takeTurn(ctx context.Context, command bool) (leave func(), err error) {
	if s.turn || s.slot || s.waitless || s.external || !s.runs.knownLarge(s.ref) || !command && s.newest().Seq > 0 {
		return func() {}, nil
	}
	out, err := s.lanes.enter(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	s.turn = true
	if run := s.newest(); s.run.Seq > 0 && run.Seq > s.run.Seq {
		s.run, s.fresh = run, false
	}
	return func() { s.turn = false; out() }, nil
}

// admitReload waits until the run of s may be read again. While others read a large run from its beginning, it waits for its turn:
// then only new events are left to read, by one caller at a time.
func (s *session) admitReload(ctx context.Context) (release func(), err error) {
	leave, err := s.takeTurn(ctx, false)
	if err != nil {
		return nil, err
	}
	if s.newest().Seq > 0 {
		leave()
		if s.turn || s.slot || s.waitless || s.external || !s.runs.knownLarge(s.ref) {
			return func() {}, nil
		}
		in, out := s.lanes.use(s.ref)
		return wait(ctx, in.news, out)
	}
	free, err := s.admitRead(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	return func() { free(); leave() }, nil
}
