// The desk of a reviewer: notes and assignments.

package engine

import (
	"context"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// AddNote adds a note to a run in any state. ErrInvalid is returned for notes that are
// empty or too long, ErrNotFound for an unknown run, and ErrConflict if the run has too
// many notes and assignments.
func (e *Engine) AddNote(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.AddNote) error {
	_, err := (&session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}).command(ctx, c)
	return err
}

// Correct adds a correction beside a recorded value of a run in any state: the value, flags and decisions
// stay as they are. ErrInvalid is returned for a value that the run does not have and for a text that is
// empty or too long, ErrNotFound for an unknown run, and ErrConflict if the run has too many corrections
// or is redacted.
func (e *Engine) Correct(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.Correct) error {
	_, err := (&session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}).command(ctx, c)
	return err
}

// Assign assigns a run that needs a verdict to a person or a team, or to nobody. The claim
// of the reviewer who gives it to somebody else ends. ErrNoReview, an ErrConflict, is
// returned for a run that needs no verdict, and otherwise the errors of AddNote.
func (e *Engine) Assign(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.Assign) error {
	s := &session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}
	if _, err := s.command(ctx, c); err != nil {
		return err
	}
	if c.To.Key() != "" && keyOf(c.To.Person.Identity) != keyOf(c.Identity) {
		s.endClaim(ctx, c.Identity)
	}
	return nil
}

// HoldRun puts a run under a hold, which keeps it from being redacted. ErrInvalid is returned without a
// reason or a person, ErrNotFound for an unknown run, and rules.ErrRedacted for a redacted one.
func (e *Engine) HoldRun(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.HoldRun) error {
	_, err := (&session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}).command(ctx, c)
	return err
}

// EndHold ends the hold of a run. It returns rules.ErrNoHold if there is none, and otherwise the errors of
// HoldRun.
func (e *Engine) EndHold(ctx context.Context, t verification.TenantID, id verification.RunID, c rules.EndHold) error {
	_, err := (&session{Engine: e, ref: verification.RunRef{Tenant: t, Run: id}}).command(ctx, c)
	return err
}
