// The review queue: read it, claim a run, release it.

package engine

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
)

// Queue returns one page of the runs that need a verdict now and match the query, and
// the number of all matches. q.Now is set by the engine, and q.ClaimedBy is an identity.
func (e *Engine) Queue(ctx context.Context, t verification.TenantID, q verification.QueueQuery) (verification.Page[verification.QueueEntry], error) {
	if err := q.PageQuery.Validate(); err != nil {
		return verification.Page[verification.QueueEntry]{}, err
	}
	q.Now, q.ClaimedBy = e.now(), keyOf(q.ClaimedBy)
	return e.ports.Store.Queue(ctx, t, q)
}

// Review returns the entry of one run in the review queue, or ErrNotFound if the run
// needs no verdict now.
func (e *Engine) Review(ctx context.Context, t verification.TenantID, id verification.RunID) (verification.QueueEntry, error) {
	p, err := e.Queue(ctx, t, verification.QueueQuery{PageQuery: verification.PageQuery{Limit: 1}, Run: id})
	if err != nil {
		return verification.QueueEntry{}, err
	}
	if len(p.Data) == 0 {
		return verification.QueueEntry{}, verification.NotFound("review")
	}
	return p.Data[0], nil
}

// QueueStats returns the statistics of the review queue of a tenant, or of all tenants if
// t is empty.
func (e *Engine) QueueStats(ctx context.Context, t verification.TenantID) (verification.QueueStats, error) {
	return e.ports.Store.QueueStats(ctx, t, "", e.now())
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
func (e *Engine) Claim(ctx context.Context, t verification.TenantID, id verification.RunID, r ClaimRequest) (verification.Claim, error) {
	by := keyOf(r.By)
	if by == "" {
		return verification.Claim{}, verification.InvalidField("review", "by", "is required")
	}
	now := e.now()
	return e.ports.Store.SaveClaim(ctx, t, id, verification.Claim{
		By: by, Name: r.Name, At: now, Until: now.Add(verification.ClaimTTL),
	}, r.TakeOver)
}

// ReleaseClaim ends the claim of the person with an identity. A claim of another person
// stays.
func (e *Engine) ReleaseClaim(ctx context.Context, t verification.TenantID, id verification.RunID, by string) error {
	if by = keyOf(by); by == "" {
		return verification.InvalidField("review", "by", "is required")
	}
	return e.ports.Store.ReleaseClaim(ctx, t, id, by)
}

// claimBeside returns the claim of a run on which a person acts; zero for none.
func (e *Engine) claimBeside(ctx context.Context, ref verification.RunRef, identity string) (verification.Claim, error) {
	if keyOf(identity) == "" || e.external {
		return verification.Claim{}, nil
	}
	entry, err := e.Review(ctx, ref.Tenant, ref.Run)
	if errors.Is(err, verification.ErrNotFound) {
		err = nil
	}
	return entry.Claim, err
}

// endClaim ends the claim that a reviewer has of a run, which still needs a verdict after
// the reviewer has acted on it. A claim of any other run ends with the append. A failure
// is logged: the claim expires.
func (e *Engine) endClaim(ctx context.Context, s *session, by string) {
	if _, open := s.run.InReview(); !open || keyOf(by) == "" || e.external {
		return
	}
	if err := e.ports.Store.ReleaseClaim(context.WithoutCancel(ctx), s.ref.Tenant, s.ref.Run, keyOf(by)); err != nil {
		e.log.WarnContext(ctx, "claim not released", "tenant", s.ref.Tenant, "run", s.ref.Run, "error", err)
	}
}

// keyOf returns the Key of the person with an identity.
func keyOf(identity string) string { return verification.Person{Identity: identity}.Key() }
