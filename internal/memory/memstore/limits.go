// What the store refuses, so that the process is not killed for want of memory.

package memstore

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Limits bound what a store keeps, in bytes as Kept counts them. The zero value means no limits.
type Limits struct {
	Runs    int64 // new runs are refused from here on
	Answers int64 // what can wait is refused from here on, too: see rules.About.CanWait
	// Share is the part of what other tenants leave of each limit that a tenant may have. A
	// tenant without others may have all.
	Share float64
	// Disk returns how many bytes the disk has left for runs, which bounds the share in new runs,
	// too, as if a run needed as much there; nil if it is not bounded.
	Disk func() (int64, error)
}

// Pressure says what the store must refuse, whatever it keeps, because the process needs too much
// memory for other reasons.
type Pressure int32

// The pressures, each of which includes the ones before it.
const (
	NoPressure    Pressure = iota
	RefuseRuns             // new runs
	RefuseAnswers          // what can wait: see rules.About.CanWait
	LeaveWork              // Take takes no runs to drive, so that the results of vendors come later
)

// leftFor is the time between two looks at work that is left because of the pressure.
const leftFor = time.Second

// wanted is what a caller wants to add.
type wanted int

const (
	newRuns wanted = iota
	answers
)

// Limit makes the store refuse changes that add too much, with ErrUnavailable and ErrFull. Results,
// verdicts, cancellations and expiries are never refused.
func (s *Store) Limit(l Limits) { s.limits.Store(&l) }

// SetPressure sets what the store refuses whatever it keeps.
func (s *Store) SetPressure(p Pressure) { s.pressure.Store(int32(p)) }

// Refused returns the number of changes that the store has refused because all tenants together
// keep too much, or because of the pressure.
func (s *Store) Refused() int64 { return s.refused.Load() }

// Kept returns about how many bytes of memory the store needs for everything that it keeps. The
// garbage collector needs some more.
func (s *Store) Kept() int64 { return s.kept.all.Load() }

// TenantUse is what a tenant needs of the memory.
type TenantUse struct {
	Tenant verification.TenantID
	Bytes  int64 // that it needs, about
	Trail  int64 // of Bytes, for the audit trail
	Disk   int64 // bytes that the audit trail needs on disk
	// Share is how many bytes the tenant may need before its new runs are refused; 0 for no
	// limit.
	Share   int64
	Refused int64 // changes of the tenant that were refused
	Full    bool  // the audit trail has no room for more reads
}

// Use returns what each tenant needs, in no order.
func (s *Store) Use() (all []TenantUse) {
	l := s.limits.Load()
	s.kept.tenants.Range(func(key, value any) bool {
		t, c := key.(verification.TenantID), value.(*count) //nolint:errcheck,forcetypeassert // it has no others
		u := TenantUse{
			Tenant: t, Bytes: c.bytes.Load(), Trail: c.trail.Load(), Disk: c.blocks.Load(), Refused: c.refused.Load(), Full: s.trailIsFull(c),
		}
		if l != nil {
			u.Share, _ = s.share(c, newRuns, l)
		}
		all = append(all, u)
		return true
	})
	return all
}

// share returns how many bytes a tenant may have of which limit: the part of what other tenants leave,
// so that a tenant that takes all that it may leaves room for every other one. A tenant that is alone
// may have all.
func (s *Store) share(c *count, w wanted, l *Limits) (bytes int64, of string) {
	own, limit := c.bytes.Load(), l.Runs
	if w == answers {
		limit = l.Answers
	}
	others := s.kept.all.Load() - own
	left, of := max(0, limit-others), "memory"
	if others == 0 || l.Share == 0 {
		return left, of
	}
	if w == newRuns && l.Disk != nil {
		if disk, err := l.Disk(); err == nil && own+disk < left {
			left, of = max(0, own+disk), "disk"
		}
	}
	return int64(l.Share * float64(left)), of
}

// refuse returns why a tenant may not add what it wants; nil if it may.
func (s *Store) refuse(c *count, w wanted) error {
	l, full := s.limits.Load(), RefuseRuns
	if l == nil {
		l = &Limits{}
	}
	what, goesOn, limit := "new runs", "runs that have started go on", l.Runs
	if w == answers {
		what, goesOn, limit, full = "answers", "results and verdicts are still taken", l.Answers, RefuseAnswers
	}
	if Pressure(s.pressure.Load()) >= full || limit > 0 && s.Kept() >= limit {
		s.refused.Add(1)
		return noRoom("the service has no memory left for " + what + "; " + goesOn)
	}
	if limit == 0 {
		return nil
	}
	if share, of := s.share(c, w, l); c.bytes.Load() >= share {
		c.refused.Add(1)
		return noRoom("this tenant's share of the " + of + " is full, so its " + what + " are refused; " + goesOn)
	}
	return nil
}

// trailShare is the part of a tenant's share that its audit trail may need in memory, and of the disk that the tenant
// may have.
const trailShare = 0.5

// trailIsFull reports whether the audit trail of a tenant needs all that it may.
func (s *Store) trailIsFull(c *count) bool {
	l := s.limits.Load()
	if l == nil || l.Runs == 0 {
		return false
	}
	others := s.kept.all.Load() - c.bytes.Load()
	share, part := float64(max(0, l.Runs-others)), 1.0
	if others > 0 && l.Share > 0 {
		part = l.Share
	}
	if float64(c.trail.Load()) >= trailShare*part*share {
		return true
	}
	if l.Disk == nil {
		return false
	}
	own := c.blocks.Load()
	left, err := l.Disk()
	return err == nil && float64(own) >= trailShare*part*float64(own+left)
}

// refuseReads returns why the audit trail of a tenant takes no more reads; nil if it does.
func (s *Store) refuseReads(c *count) error {
	l := s.limits.Load()
	if Pressure(s.pressure.Load()) >= RefuseAnswers || l != nil && l.Answers > 0 && s.Kept() >= l.Answers {
		s.refused.Add(1)
		return noRoom("the service has no memory left to record who reads what, so nothing more is shown; give it more memory")
	}
	if s.trailIsFull(c) {
		return noRoom("the audit trail of this tenant has no room left to record who reads what, so nothing more is shown; " +
			"ask the operator for more memory or disk, or to keep reads for a shorter time")
	}
	return nil
}

// refuseKey returns why an idempotency key may not be added: the key of a start, which would be
// kept although the start is refused.
func (s *Store) refuseKey(t verification.TenantID, r store.IdempotencyRecord) error {
	if r.Scope != store.ScopeStart {
		return nil
	}
	return s.refuse(s.kept.of(t), newRuns)
}

func noRoom(message string) error {
	return &verification.Error{Kind: verification.ErrUnavailable, Subject: "store", Message: message, Cause: store.ErrFull}
}
