// Restriction: runs that are kept in full and read like redacted ones.

package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// maxRestrictions is how often a run is restricted.
const maxRestrictions = 200

// ErrRestricted is returned if a command other than a verdict or a hold is for a restricted run, and
// ErrNotRestricted if a restriction is to be lifted that there is not. Both are an ErrConflict.
var (
	ErrRestricted    error = verification.ConflictFor("run_restricted", "run", "the run is restricted: only a verdict can be given")
	ErrNotRestricted error = verification.ConflictFor("run_not_restricted", "run", "the run is not restricted")
)

// Restrict returns the history of a run with a Restricted at its end. Until LiftRestriction, Shown is all
// that is read of it: the personal data of what came before is hidden, and none is removed. It returns nil if
// nothing was added since the last restriction; what was added, such as the notes of a verdict, is hidden by
// the next one.
//
// Errors: ErrInvalid without a reason or the Identity of by, ErrConflict while the run is live or needs a
// verdict, and ErrRedacted.
func Restrict(id verification.RunID, history []Event, reason string, by verification.Person, now time.Time) ([]Event, error) {
	if err := requireReason("restriction", reason, by.Identity); err != nil {
		return nil, err
	}
	run := Fold(id, history)
	if err := run.over(); err != nil {
		return nil, err
	}
	if !run.RedactedAt.IsZero() {
		return nil, ErrRedacted
	}
	if _, done := history[len(history)-1].Fact.(Restricted); done {
		return nil, nil
	}
	if run.restrictions >= maxRestrictions {
		return nil, full("the run was restricted %d times, and cannot be restricted again", maxRestrictions)
	}
	return with(history, now, Restricted{Digest: reportDigest(Shown(history)), Reason: reason, By: clean(by.Name), Identity: clean(by.Identity)}), nil
}

// LiftRestriction returns the history of a restricted run with a RestrictionLifted at its end: everything
// is read again.
//
// Errors: ErrInvalid without a reason or the Identity of by, ErrRedacted, and ErrNotRestricted.
func LiftRestriction(id verification.RunID, history []Event, reason string, by verification.Person, now time.Time) ([]Event, error) {
	if err := requireReason("restriction", reason, by.Identity); err != nil {
		return nil, err
	}
	switch run := Fold(id, history); {
	case run.Seq == 0:
		return nil, verification.NotFound("run")
	case !run.RedactedAt.IsZero():
		return nil, ErrRedacted
	case run.RestrictedAt.IsZero():
		return nil, ErrNotRestricted
	}
	return with(history, now, RestrictionLifted{Reason: reason, By: clean(by.Name), Identity: clean(by.Identity)}), nil
}

// restoredReason is the reason of a hold or a restriction that a restore has lost.
const restoredReason = "restored from the ledger of erasures, which keeps no reason"

// KeepRestored returns the history of a run in which a hold or a restriction begins or ends, as kind says, that did so
// before the history was restored. It refuses nothing: a live run is cancelled before it is restricted, unless it has
// expired. ended are the events that do so. kept is nil for a redacted run, and if the run is so already.
func KeepRestored(
	id verification.RunID, history []Event, kind verification.ErasureKind, by verification.Person, now time.Time,
) (kept, ended []Event) {
	run := Fold(id, history)
	if run.Seq == 0 || !run.RedactedAt.IsZero() {
		return nil, nil
	}
	var f Fact
	switch held, restricted := run.Hold != (Hold{}), !run.RestrictedAt.IsZero(); {
	case kind == verification.ErasureHeld && !held:
		f = Held{Reason: restoredReason, By: clean(by.Name), Identity: clean(by.Identity)}
	case kind == verification.ErasureReleased && held:
		f = HoldEnded{By: clean(by.Name), Identity: clean(by.Identity)}
	case kind == verification.ErasureLimited && !restricted:
		ended = run.endRestored(now)
		history = append(slices.Clip(history), ended...)
		f = Restricted{Digest: reportDigest(Shown(history)), Reason: restoredReason, By: clean(by.Name), Identity: clean(by.Identity)}
	case kind == verification.ErasureLifted && restricted:
		f = RestrictionLifted{Reason: restoredReason, By: clean(by.Name), Identity: clean(by.Identity)}
	default:
		return nil, nil
	}
	return with(history, now, f), ended
}

// endRestored returns the event that ends a live run.
func (r Run) endRestored(now time.Time) []Event {
	if e, overdue := r.expiry(now.UTC().Truncate(time.Microsecond)); overdue {
		return []Event{e}
	}
	if r.Ended == "" {
		return []Event{{At: now.UTC().Truncate(time.Microsecond), Fact: Cancelled{}}}
	}
	return nil
}

// Shown returns what may be read of a history: all of it, or that of a restricted run without the personal data
// that Redact would remove from the events before its last Restricted.
func Shown(history []Event) []Event {
	hidden := 0
	for i, e := range slices.Backward(history) {
		switch e.Fact.(type) { //nolint:gochecksumtype // only these change what is read before them
		case Redacted, RestrictionLifted:
			return history
		case Restricted:
			hidden = i
		default:
			continue
		}
		break
	}
	if hidden == 0 {
		return history
	}
	shown := slices.Clone(history)
	for i := range hidden {
		shown[i].Fact = redactedFact(shown[i].Fact)
	}
	return shown
}

func (Restricted) fold(r *Run, at time.Time) {
	if r.RestrictedAt.IsZero() {
		r.RestrictedAt = at
	}
	r.restrictions++
	r.lastNote = NoteAdded{}
}

func (RestrictionLifted) fold(r *Run, _ time.Time) {
	r.RestrictedAt, r.lastNote = time.Time{}, NoteAdded{}
}

// Hidden reports whether the personal data of the run was removed, or is hidden because it is restricted.
func (r Run) Hidden() bool { return !r.RedactedAt.IsZero() || !r.RestrictedAt.IsZero() }

// WasRestricted reports whether the run was ever restricted.
func (r Run) WasRestricted() bool { return r.restrictions > 0 }

// Rewrites reports whether any of the events of a history changes what is read of the events before it.
func Rewrites(events []Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool {
		_, redacted := e.Fact.(Redacted)
		return redacted || isRestriction(e.Fact)
	})
}

// isRestriction reports whether a fact begins or ends a restriction.
func isRestriction(f Fact) bool {
	switch f.(type) { //nolint:gochecksumtype // only these are about a restriction
	case Restricted, RestrictionLifted:
		return true
	}
	return false
}

// over returns why the personal data of a run cannot be taken away now; nil if it can.
func (r Run) over() error {
	switch {
	case r.Seq == 0:
		return verification.NotFound("run")
	case r.Ended == "":
		return ErrLive
	case r.Decision() == DecisionReview:
		return ErrVerdictOwed
	}
	return nil
}

// with returns a history with one more event.
func with(history []Event, now time.Time, f Fact) []Event {
	return append(slices.Clip(history), Event{At: now.UTC().Truncate(time.Microsecond), Fact: f})
}

// requireReason returns verification.ErrInvalid unless somebody says why something of a run is changed.
func requireReason(subject, reason, identity string) error {
	switch err := ValidateNotes(reason); {
	case strings.TrimSpace(reason) == "":
		return verification.InvalidField(subject, "reason", "is required")
	case err != nil:
		return verification.InvalidField(subject, "reason", fieldsOf(err)[0].Message)
	case clean(identity) == "":
		return verification.InvalidField(subject, "identity", "is required")
	}
	return nil
}
