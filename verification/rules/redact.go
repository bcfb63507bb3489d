// Redaction: what is left of a run once personal data is removed.

package rules

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
)

// RedactedReference is the reference id of a redacted run.
const RedactedReference = "redacted"

// ErrRedacted is returned if a command other than a verdict is for a redacted run. It is an ErrConflict.
var ErrRedacted error = verification.ConflictFor("run_redacted", "run", "the personal data of the run was removed; only a verdict can be given")

// The reasons why no personal data can be removed from a run now. Each is an ErrConflict.
var (
	ErrLive        error = verification.ConflictFor("run_live", "run", "the run is live: cancel it, or wait for its end")
	ErrVerdictOwed error = verification.ConflictFor("verdict_owed", "run", "the run needs a verdict")
	ErrHeld        error = verification.ConflictFor("run_held", "run", "the run is under a hold")
)

// ErrKept is returned if personal data is to be removed from a run that a law says must be kept: see
// verification.Retention. It comes with verification.ErrConflict.
var ErrKept = errors.New("the run must be kept")

// RedactReason says why personal data was removed. It is one of a few words, because it stays.
type RedactReason string

// The reasons.
const (
	RedactAsked   RedactReason = "asked"   // the person asked for it
	RedactPurpose RedactReason = "purpose" // the data is not needed any more
	RedactMistake RedactReason = "mistake" // it is data of another person, or was entered by mistake
	RedactOrdered RedactReason = "ordered" // an authority or a court ordered it
)

// RedactReasons returns all reasons.
func RedactReasons() []RedactReason {
	return []RedactReason{RedactAsked, RedactPurpose, RedactMistake, RedactOrdered}
}

// MayRedact reports whether Redact would remove anything from a run with this history. It returns the error
// with which Redact refuses: ErrNotFound, ErrLive, ErrVerdictOwed or ErrHeld.
func MayRedact(run Run, history []Event) (left bool, err error) {
	if err := run.needed(); err != nil {
		return false, err
	}
	_, done := history[lastNotErased(history)].Fact.(Redacted)
	return !done, nil
}

// MayDelete returns the error with which a deletion of the run is refused: ErrNotFound, ErrLive, ErrVerdictOwed,
// ErrHeld or ErrRestricted.
func MayDelete(run Run) error {
	if err := run.over(); err != nil {
		return err
	}
	switch {
	case run.Hold != (Hold{}):
		return ErrHeld
	case !run.RestrictedAt.IsZero():
		return ErrRestricted
	}
	return nil
}

// Redact returns the history of a run without personal data, and with a Redacted at its end. It keeps
// statuses, times, labels, the causes of flags, decisions with the reviewers who gave them, outcomes and
// counts; docs/data-protection.md lists each field. Of the data of a step it keeps the fields that flag
// it. It returns nil if nothing was added since the last redaction, the errors of MayRedact, and ErrInvalid for a
// reason that is not one of RedactReasons; an empty one is not given.
func Redact(id verification.RunID, history []Event, reason RedactReason, by verification.Person, now time.Time) ([]Event, error) {
	if reason != "" && !slices.Contains(RedactReasons(), reason) {
		return nil, verification.Invalid("reason", fmt.Sprintf("there is no reason %q to remove personal data", reason))
	}
	if left, err := MayRedact(Fold(id, history), history); !left {
		return nil, err
	}
	return redact(history, reason, by, now), nil
}

func redact(history []Event, reason RedactReason, by verification.Person, now time.Time) []Event {
	redacted := slices.Clone(history)
	for i := range redacted {
		redacted[i].Fact = redactedFact(redacted[i].Fact)
	}
	return with(redacted, now, Redacted{Digest: reportDigest(Shown(history)), Reason: reason, By: clean(by.Name), Identity: clean(by.Identity)})
}

// RedactRestored is Redact for a run that was redacted at a time, and whose history was restored from before.
// It refuses nothing, because the redaction was lawful: it cancels a live run, unless the run has expired, and
// ends a hold. ended are the events that do so. A run that needs a verdict still needs it: that it was given
// is lost. redacted is nil if the history has the redaction.
func RedactRestored(
	id verification.RunID, history []Event, at time.Time, by verification.Person, now time.Time,
) (redacted, ended []Event) {
	run := Fold(id, history)
	if run.Seq == 0 || !run.RedactedAt.Before(at) {
		return nil, nil
	}
	now = now.UTC().Truncate(time.Microsecond)
	ended = run.endRestored(now)
	if run.Hold != (Hold{}) {
		ended = append(ended, Event{At: now, Fact: HoldEnded{By: clean(by.Name), Identity: clean(by.Identity)}})
	}
	return redact(append(slices.Clip(history), ended...), "", by, now), ended
}

// RecordErased returns what records that the redaction of a run is complete; nil if the run was not redacted,
// or if that was recorded.
func RecordErased(r Run, now time.Time) []Event {
	if r.RedactedAt.IsZero() || !r.ErasedAt.IsZero() {
		return nil
	}
	return with(nil, now, Erased{})
}

// RemoveDocuments returns what records that the uploads of a run are removed, whose redaction is not due yet;
// nil if the run has none. It returns the errors of MayRedact, and ErrRestricted: a restricted run is kept.
func RemoveDocuments(r Run, now time.Time) ([]Event, error) {
	if err := r.needed(); err != nil {
		return nil, err
	}
	if !r.RestrictedAt.IsZero() {
		return nil, ErrRestricted
	}
	if len(r.Documents) == 0 {
		return nil, nil
	}
	return with(nil, now, DocumentsRemoved{}), nil
}

func (Redacted) fold(r *Run, at time.Time) {
	r.RedactedAt, r.ErasedAt, r.RestrictedAt = at, time.Time{}, time.Time{}
}
func (Erased) fold(r *Run, at time.Time)           { r.ErasedAt = at }
func (DocumentsRemoved) fold(r *Run, at time.Time) { r.Documents, r.DocumentsRemovedAt = nil, at }

// needed returns why nothing of a run can be removed now; nil if it can.
func (r Run) needed() error {
	if err := r.over(); err != nil {
		return err
	}
	if r.Hold != (Hold{}) {
		return ErrHeld
	}
	return nil
}

// lastNotErased returns the index of the last event that is no Erased.
func lastNotErased(history []Event) int {
	for i, e := range slices.Backward(history) {
		if _, erased := e.Fact.(Erased); !erased {
			return i
		}
	}
	return 0
}

// redactedFact returns a fact without personal data, as the tags of its fields say.
func redactedFact(f Fact) Fact {
	result, isResult := f.(ResultRecorded)
	if isResult && result.Screening != nil {
		s := *result.Screening
		s.Doubted = reasonsOf(result.Data, result.Screening).analysisNotOK // which the hits and the data no longer tell
		result.Screening, f = &s, result
	}
	v := reflect.New(reflect.TypeOf(f)).Elem()
	v.Set(reflect.ValueOf(f))
	redactFields(v)
	redacted, _ := v.Interface().(Fact) // it has the type of f
	return redacted
}

// redactFields removes what the tags of a struct say. It changes nothing that the struct points to.
func redactFields(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Field(i)
		does, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("fact"), ",")
		switch does {
		case "kept":
		case "reference":
			field.SetString(RedactedReference)
		case "flags":
			field.SetBytes(redactedData(field.Bytes()))
		case "blank":
			if field.Len() > 0 {
				field.Set(reflect.MakeSlice(field.Type(), field.Len(), field.Len()))
			}
		case "inside":
			redactInside(field)
		default: // a field without a tag fails a test, and is emptied
			field.SetZero()
		}
	}
}

// redactInside replaces what a pointer or a slice holds by what is left of it.
func redactInside(field reflect.Value) {
	if field.IsNil() {
		return
	}
	if field.Kind() == reflect.Pointer {
		inner := reflect.New(field.Type().Elem())
		inner.Elem().Set(field.Elem())
		redactFields(inner.Elem())
		field.Set(inner)
		return
	}
	items := reflect.MakeSlice(field.Type(), field.Len(), field.Len())
	reflect.Copy(items, field)
	for i := range items.Len() {
		redactFields(items.Index(i))
	}
	field.Set(items)
}

// redactedData returns the fields that flag a step, as far as they have a value that may flag it; nil if
// there are none.
func redactedData(d verification.Data) verification.Data {
	kept := jsontext.Edit(d, func(name string, value []byte) []byte {
		text := strings.TrimSpace(string(value))
		switch name {
		case "source_ok", fieldAnalysis, "opted_out", "geo_ok":
			if text == "true" || text == "false" {
				return []byte(text)
			}
		case "consent_status":
			if text == `"success"` {
				return []byte(text)
			}
			return []byte(`"declined"`)
		}
		return nil
	})
	if len(d) == 0 || string(kept) == "{}" {
		return nil
	}
	return kept
}

// reportDigest returns the digest of a report. That of a redacted or restricted run stays the one of the last
// history before, so that reports that were filed still verify; what follows changes it again, except that a
// redaction is complete. A restriction that was lifted has no part in it.
func reportDigest(history []Event) string {
	for i, e := range slices.Backward(history) {
		before := ""
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these change what is read before them
		case Redacted:
			before = f.Digest
		case Restricted:
			before = f.Digest
		case RestrictionLifted:
			return digest(slices.DeleteFunc(slices.Clone(history), func(e Event) bool { return isRestriction(e.Fact) }))
		default:
			continue
		}
		since := slices.DeleteFunc(slices.Clone(history[i:]), func(e Event) bool {
			_, erased := e.Fact.(Erased)
			return erased
		})
		if len(since) == 1 {
			return before
		}
		return digest(since)
	}
	return digest(history)
}
