// The review queue: read it, claim a run, release it.

package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Queue returns one page of the runs that need a verdict now and match the query, and
// the number of all matches. q.Now is set by the engine, q.ClaimedBy is an identity, and an
// empty order is OldestFirst.
func (e *Engine) Queue(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	if err := q.PageQuery.Validate(); err != nil {
		return store.Page[rules.Summary]{}, err
	}
	q.Now, q.ClaimedBy, q.Order = e.now(), keyOf(q.ClaimedBy), cmp.Or(q.Order, store.OldestFirst)
	return e.ports.Store.List(ctx, t, q)
}

// Review returns the review of one run with its claim, or ErrNotFound if the run needs no
// verdict now.
func (e *Engine) Review(ctx context.Context, t verification.TenantID, id verification.RunID) (rules.Review, error) {
	p, err := e.Queue(ctx, t, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Run: id})
	if err != nil {
		return rules.Review{}, err
	}
	if len(p.Data) == 0 {
		return rules.Review{}, verification.NotFound("review")
	}
	return *p.Data[0].Review, nil
}

// QueueStats counts review queues at one time.
type QueueStats struct {
	Open    int // runs that need a verdict
	DueSoon int // those whose due time comes within an hour
	Overdue int // those whose due time has passed
}

// soonDue is how long before its due time a verdict counts as due soon in QueueStats.
const soonDue = time.Hour

// QueueStats counts the review queues of all tenants.
func (e *Engine) QueueStats(ctx context.Context) (s QueueStats, err error) {
	now := e.now()
	if s.Open, err = e.ports.Store.CountQueues(ctx, now, time.Time{}); err != nil {
		return s, err
	}
	if s.Overdue, err = e.ports.Store.CountQueues(ctx, now, now); err != nil {
		return s, err
	}
	s.DueSoon, err = e.ports.Store.CountQueues(ctx, now, now.Add(soonDue))
	s.DueSoon -= s.Overdue
	return s, err
}

// ClaimRequest is a request for the claim of a run in the review queue.
type ClaimRequest struct {
	// By is the identity of the person, and Name is what others see. By is required.
	By, Name string
	// TakeOver replaces the claim of another person.
	TakeOver bool
}

// Claim claims a run in the review queue for a person until ClaimTTL from now, or
// renews the claim of that person. If another person holds the claim, it returns that
// claim and ErrConflict. ErrNotFound is returned when the run needs no verdict.
func (e *Engine) Claim(ctx context.Context, t verification.TenantID, id verification.RunID, r ClaimRequest) (rules.Claim, error) {
	by := keyOf(r.By)
	if by == "" {
		return rules.Claim{}, verification.InvalidField("review", "by", "is required")
	}
	now := e.now()
	c := rules.Claim{By: by, Name: r.Name, At: now, Until: now.Add(rules.ClaimTTL)}
	held, err := e.ports.Store.Claim(ctx, t, id, c)
	for range maxTakeOver {
		if !r.TakeOver || !errors.Is(err, verification.ErrConflict) {
			break
		}
		if err := e.release(ctx, t, id, held.By); err != nil {
			return held, err
		}
		held, err = e.ports.Store.Claim(ctx, t, id, c)
	}
	return held, err
}

// maxTakeOver is how often a claim is taken over while other people renew or make claims.
const maxTakeOver = 3

// ReleaseClaim ends the claim of the person with an identity. A claim of another person
// stays.
func (e *Engine) ReleaseClaim(ctx context.Context, t verification.TenantID, id verification.RunID, by string) error {
	if by = keyOf(by); by == "" {
		return verification.InvalidField("review", "by", "is required")
	}
	return e.release(ctx, t, id, by)
}

// release ends the claim of the person with a Key, if the run has it.
func (e *Engine) release(ctx context.Context, t verification.TenantID, id verification.RunID, by string) error {
	now := e.now()
	_, err := e.ports.Store.Claim(ctx, t, id, rules.Claim{By: by, At: now, Until: now})
	if errors.Is(err, verification.ErrConflict) || errors.Is(err, verification.ErrNotFound) {
		return nil
	}
	return err
}

// claimBeside returns the claim of the run on which a person acts; zero for none.
func (s *session) claimBeside(ctx context.Context, identity string) (rules.Claim, error) {
	if keyOf(identity) == "" || s.external {
		return rules.Claim{}, nil
	}
	review, err := s.Review(ctx, s.ref.Tenant, s.ref.Run)
	if errors.Is(err, verification.ErrNotFound) {
		err = nil
	}
	return review.Claim, err
}

// endClaim ends the claim that a reviewer has of a run, which still needs a verdict after
// the reviewer has acted on it. A claim of any other run ends with the append. A failure
// is logged: the claim expires.
func (s *session) endClaim(ctx context.Context, by string) {
	if _, open := s.run.InReview(); !open || keyOf(by) == "" || s.external {
		return
	}
	if err := s.release(context.WithoutCancel(ctx), s.ref.Tenant, s.ref.Run, keyOf(by)); err != nil {
		s.log.WarnContext(ctx, "claim not released", "tenant", s.ref.Tenant, "run", s.ref.Run, "error", err)
	}
}

// keyOf returns the Key of the person with an identity.
func keyOf(identity string) string { return verification.Person{Identity: identity}.Key() }
