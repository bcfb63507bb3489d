// Signals: reviewers' verdicts and customers' answers.

package engine

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The results of a signal.
const (
	// SignalDelivered means that the run was parked and continues.
	SignalDelivered = "signal_delivered"
	// SignalReviewRecorded means that the run was over, and only its verdict changed.
	SignalReviewRecorded = "review_recorded"
	// SignalVerdictProposed means that another reviewer must confirm the verdict.
	SignalVerdictProposed = "verdict_proposed"
	// SignalProposalReturned means that the verdict proposed before was sent back: there is no
	// proposal any more.
	SignalProposalReturned = "proposal_returned"
)

// SignalResult is the result of a signal.
type SignalResult struct {
	Result   string
	Decision rules.Decision // of a verdict
}

// GiveVerdict records a verdict on a run that is parked on review, which then
// continues, or on a run that is over. The reviewer's claim of the run ends. ErrNotOpen
// is returned for any other run, and ErrClaimed, an ErrConflict, to a reviewer while another
// person has claimed the run. Claims are not looked up within a caller's transaction.
//
// With an idempotency key, repetitions of the verdict within 24 hours return the first result
// without effect. ErrKeyReused and ErrInFlight are about the key; empty is none.
//
// If the workflow has four_eyes, the first verdict is a proposal. Another reviewer confirms
// it with the same decision, or sends it back with the other one. ErrNoPerson is returned
// without an identity, ErrOwnProposal to the reviewer who proposed, and ErrMayBeProposer for
// a confirmation by a reviewer who may be that person. These and ErrRunChanged, for another
// Seq, are ErrConflict.
func (e *Engine) GiveVerdict(
	ctx context.Context, t verification.TenantID, id verification.RunID, c rules.GiveVerdict, idempotencyKey string,
) (SignalResult, error) {
	fingerprint := signalFingerprint{
		Run: id, Signal: workflow.ReviewSignal, Decision: c.Decision, Reason: c.Reason, Notes: c.Notes, Identity: c.Identity,
	}
	return e.once(ctx, t, idempotencyKey, fingerprint, func(request string) (SignalResult, error) {
		s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
		var err error
		if c.Claim, err = s.claimBeside(ctx, c.Identity); err != nil {
			return SignalResult{}, err
		}
		c.Request = request
		before, err := s.command(ctx, c)
		if err != nil {
			return SignalResult{}, err
		}
		receipt, repeated := before.Receipt(request)
		if !repeated {
			s.endClaim(ctx, c.Identity)
			first, second := before.Proposal.Decision, s.run.Proposal.Decision
			receipt = rules.SignalReceipt{
				Node: s.run.Verdict.Node, Proposed: second.Verdict(), Returned: first.Verdict() && first != c.Decision,
			}
		}
		return SignalResult{Result: verdictResult(receipt), Decision: c.Decision}, nil
	})
}

// AskAgain sends a run that is parked on review back to a step of its customer, under the same link. The reviewer's claim ends.
// ErrNotOpen is returned for a run that is not parked on review, ErrInvalid with the fields that break a rule, ErrNoRounds if
// the customer was asked as often as the workflow allows, ErrNoPerson without an identity where a verdict needs two reviewers, and ErrRunChanged and ErrClaimed as by GiveVerdict. An idempotency key
// is as in GiveVerdict.
func (e *Engine) AskAgain(
	ctx context.Context, t verification.TenantID, id verification.RunID, c rules.AskAgain, idempotencyKey string,
) (SignalResult, error) {
	payload, err := verification.NewData(map[string]any{"step": string(c.Step), "reasons": c.Reasons, "fields": c.Fields, "note": c.Note})
	if err != nil {
		return SignalResult{}, err
	}
	fingerprint := signalFingerprint{Run: id, Signal: workflow.ResubmitSignal, Identity: c.Identity, Payload: payload}
	return e.once(ctx, t, idempotencyKey, fingerprint, func(request string) (SignalResult, error) {
		s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
		var err error
		if c.Claim, err = s.claimBeside(ctx, c.Identity); err != nil {
			return SignalResult{}, err
		}
		c.Request = request
		if _, err = s.command(ctx, c); err != nil {
			return SignalResult{}, err
		}
		s.endClaim(ctx, c.Identity)
		return SignalResult{Result: SignalDelivered}, nil
	})
}

func verdictResult(r rules.SignalReceipt) string {
	switch {
	case r.Proposed:
		return SignalVerdictProposed
	case r.Returned:
		return SignalProposalReturned
	case r.Node == "":
		return SignalReviewRecorded
	}
	return SignalDelivered
}

// ReturnProposal sends the proposed verdict of a run back, so that any reviewer may
// propose one again. The reviewer who proposed it may send it back, too. ErrNoProposal is
// returned if no verdict is proposed, ErrNoPerson without an identity, ErrRunChanged for
// another Seq, and ErrClaimed as by GiveVerdict. Each is an ErrConflict.
func (e *Engine) ReturnProposal(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.ReturnProposal) error {
	s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
	var err error
	if c.Claim, err = s.claimBeside(ctx, c.Identity); err != nil {
		return err
	}
	if _, err = s.command(ctx, c); err == nil {
		s.endClaim(ctx, c.Identity)
	}
	return err
}

// DecideHit records a reviewer's decision on a hit. The run still needs its verdict. Each of
// these is an ErrConflict: the run needs no verdict now, its check does not have the hit, or
// another person has claimed the run, see ErrClaimed. ErrInvalid is returned with the fields
// that break a rule.
func (e *Engine) DecideHit(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.DecideHit) error {
	s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
	var err error
	if c.Claim, err = s.claimBeside(ctx, c.Identity); err != nil {
		return err
	}
	_, err = s.command(ctx, c)
	return err
}

// signalFingerprint identifies the request of a signal: it is the same for a repetition.
type signalFingerprint struct {
	Run      verification.RunID
	Signal   string
	Decision rules.Decision    `json:",omitempty"`
	Reason   string            `json:",omitempty"`
	Notes    string            `json:",omitempty"`
	Identity string            `json:",omitempty"` // of the reviewer
	Payload  verification.Data `json:",omitempty"`
}

// SubmitRequest is a customer's answer to the step that a run is parked on.
type SubmitRequest struct {
	Signal  string // the name of the step's signal
	Payload verification.Data
	// IdempotencyKey makes repetitions of the answer within 24 hours return the
	// first result without effect; empty for none.
	IdempotencyKey string
}

// Submit delivers the customer's answer to the step that the run is parked on.
// ErrNotOpen is returned when no signal of that name is open, ErrInvalid with the
// fields when the payload is invalid, ErrKeyReused and ErrInFlight for the
// idempotency key.
func (e *Engine) Submit(ctx context.Context, t verification.TenantID, id verification.RunID, r SubmitRequest) (SignalResult, error) {
	fingerprint := signalFingerprint{Run: id, Signal: r.Signal, Payload: r.Payload}
	return e.once(ctx, t, r.IdempotencyKey, fingerprint, func(request string) (SignalResult, error) {
		s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
		if err := s.submit(ctx, rules.Submit{Signal: r.Signal, Payload: r.Payload, Request: request}); err != nil {
			return SignalResult{}, err
		}
		return SignalResult{Result: SignalDelivered}, nil
	})
}

// submit delivers an answer and removes the documents that it does not name.
func (s *session) submit(ctx context.Context, c rules.Submit) error {
	c.CheckDocuments = s.ports.Documents != nil
	before, err := s.command(ctx, c)
	switch {
	case err == nil:
		s.removeDropped(ctx, before)
	case errors.Is(err, verification.ErrNotOpen) && s.run.Wait().Away() && c.Signal == s.run.Wait().Signal:
		err = s.submitReturn(ctx, c.Payload)
	}
	return err
}
