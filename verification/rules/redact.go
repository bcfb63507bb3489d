// Redaction: what is left of a run once personal data is removed.

package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
)

// RedactedReference is the reference id of a redacted run.
const RedactedReference = "redacted"

// ErrRedacted is returned if a command other than a verdict is for a redacted run. It is an ErrConflict.
var ErrRedacted error = verification.Conflict("run", "the personal data of the run was removed; only a verdict can be given")

// Redact returns the history of a run without personal data, and with a Redacted at its end. It keeps
// statuses, times, labels, the causes of flags, decisions with the reviewers who gave them, outcomes and
// counts; docs/data-protection.md lists each field. Of the data of a step it keeps the fields that flag
// it. It returns nil if nothing was added since the last redaction, and ErrConflict while the run is
// live, needs a verdict, or is under a hold.
func Redact(id verification.RunID, history []Event, by verification.Person, now time.Time) ([]Event, error) {
	run := Fold(id, history)
	switch {
	case run.Seq == 0:
		return nil, verification.NotFound("run")
	case run.Ended == "":
		return nil, verification.Conflict("run", "the run is live: cancel it, or wait for its end")
	case run.Decision() == DecisionReview:
		return nil, verification.Conflict("run", "the run needs a verdict")
	}
	if run.Hold != (Hold{}) {
		return nil, verification.Conflict("run", "the run is under a hold")
	}
	if _, done := history[len(history)-1].Fact.(Redacted); done {
		return nil, nil
	}
	redacted := make([]Event, len(history), len(history)+1)
	for i, e := range history {
		redacted[i] = Event{At: e.At, Fact: redactedFact(e.Fact)}
	}
	return append(redacted, Event{At: now.UTC().Truncate(time.Microsecond), Fact: Redacted{
		Digest: reportDigest(history), By: clean(by.Name), Identity: clean(by.Identity),
	}}), nil
}

// redactedFact returns a fact without personal data.
func redactedFact(f Fact) Fact {
	switch f := f.(type) {
	case Started:
		f.ReferenceID, f.Input, f.RedirectURI = RedactedReference, nil, ""
		return f
	case ResultPending:
		f.Handle = ""
		return f
	case CallbackReceived:
		f.Digest = ""
		return f
	case PollFailed:
		f.Cause = ""
		return f
	case DispatchFailed:
		f.Cause = ""
		return f
	case ResultRecorded:
		doubted := reasonsOf(f.Data, f.Screening).analysisNotOK
		f.Data = redactedData(f.Data)
		if f.Screening != nil {
			s := *f.Screening
			s.Hits, s.Cleared, s.Asked, s.Doubted = redactedHits(s.Hits), redactedClearances(s.Cleared), "", doubted
			f.Screening = &s
		}
		return f
	case ResultUnavailable:
		f.Data = redactedData(f.Data)
		return f
	case DocumentUploaded:
		f.Document, f.SHA256 = "", ""
		return f
	case CustomerSubmitted:
		f.Data = redactedData(f.Data)
		return f
	case BranchTaken:
		f.Values = nil
		return f
	case ReviewAsked:
		f.Reason = ""
		return f
	case VerdictRecorded:
		f.Notes = ""
		return f
	case VerdictProposed:
		f.Notes = ""
		return f
	case ProposalReturned:
		f.Notes = ""
		return f
	case HitsFound:
		f.Hits, f.Asked = redactedHits(f.Hits), ""
		return f
	case HitDecided:
		f.Entry, f.Digest, f.Reason, f.Asked = "", "", "", ""
		return f
	case HitsCleared:
		f.Cleared = redactedClearances(f.Cleared)
		return f
	case NoteAdded:
		f.Notes = ""
		return f
	case Assigned:
		f.Notes = ""
		return f
	case Held:
		f.Reason = ""
		return f
	case Failed:
		f.Cause = ""
		return f
	case Dispatched, CustomerAwaited, JourneyOpened, ReviewDueSoon, Completed, Expired, Cancelled, HoldEnded, Redacted:
	}
	return f
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

// redactedHits returns as many hits, which say nothing.
func redactedHits(hits []verification.Hit) []verification.Hit {
	if len(hits) == 0 {
		return hits
	}
	return make([]verification.Hit, len(hits))
}

// redactedClearances returns the clearances without what they cleared.
func redactedClearances(all []Clearance) []Clearance {
	all = slices.Clone(all)
	for i := range all {
		all[i].Hit, all[i].Asked = verification.Hit{}, ""
	}
	return all
}

// reportDigest returns the digest of a report. That of a redacted run stays the one of the last history
// before, so that reports that were filed still verify; what follows a redaction changes it again.
func reportDigest(history []Event) string {
	for i, e := range slices.Backward(history) {
		f, ok := e.Fact.(Redacted)
		switch {
		case !ok:
		case i == len(history)-1:
			return f.Digest
		default:
			return digest(history[i:])
		}
	}
	return digest(history)
}
