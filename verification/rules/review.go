// Which steps are flagged for review, and why.

package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// flaggedDispatches is the number of dispatches that flags a step.
const flaggedDispatches = 3

// Flag says why one step of a run is flagged.
type Flag struct {
	NodeID verification.NodeID `json:"node_id"`
	Label  string              `json:"label"`
	// Reason has one sentence for each cause, joined by spaces. For a review step it
	// is the reason of the workflow, or a fixed sentence.
	Reason string `json:"reason"`
	// Sentences are the sentences of Reason, for readers of other languages.
	Sentences []Sentence `json:"sentences,omitempty"`
}

// flagReasons say what flags a visit of a step: fields of its data, or that it recovered.
type flagReasons struct {
	sourceNotOK, hit, analysisNotOK, optedOut, geoNotOK, noConsent, recovered bool
}

func (f flagReasons) any() bool { return f != flagReasons{} }

// withoutAnalysis returns the reasons but for analysisNotOK.
func (f flagReasons) withoutAnalysis() flagReasons {
	f.analysisNotOK = false
	return f
}

// join returns the reasons of f and g.
func (f flagReasons) join(g flagReasons) flagReasons {
	return flagReasons{
		f.sourceNotOK || g.sourceNotOK, f.hit || g.hit, f.analysisNotOK || g.analysisNotOK, f.optedOut || g.optedOut,
		f.geoNotOK || g.geoNotOK, f.noConsent || g.noConsent, f.recovered || g.recovered,
	}
}

// flagReasonsOf returns the flag reasons in a step's data. Only the values that
// the rule names count: a source_ok that is not a boolean flags nothing. See
// docs/api.md, "Decision axis", rule 3.
func flagReasonsOf(d verification.Data) flagReasons {
	var f flagReasons
	jsontext.Each(d, func(name, value []byte) {
		is := func(text string) bool { return strings.TrimSpace(string(value)) == text }
		switch string(name) {
		case "source_ok":
			f.sourceNotOK = is("false")
		case "analysis_ok":
			f.analysisNotOK = is("false")
		case "opted_out":
			f.optedOut = is("true")
		case "geo_ok":
			f.geoNotOK = is("false")
		case "consent_status":
			var consent string
			_ = json.Unmarshal(value, &consent) // a value that is not a string is not a success
			f.noConsent = consent != "success"
		}
	})
	return f
}

// reasonsOf returns the flag reasons of a result. If a screening has hits, they are why
// analysis_ok is false, unless something could not be compared or facts differ as well. Cleared
// hits are why if nothing else is.
func reasonsOf(d verification.Data, s *Screening) flagReasons {
	f := flagReasonsOf(d)
	if !f.analysisNotOK || s == nil {
		return f
	}
	f.analysisNotOK = false
	jsontext.Each(d, func(name, _ []byte) {
		switch string(name) {
		case "not_compared", fieldDiffers:
			f.analysisNotOK = true
		}
	})
	f.analysisNotOK = f.analysisNotOK || s.Doubted
	f.hit = len(s.Hits) > 0 || len(s.Cleared) > 0 && !f.analysisNotOK
	f.analysisNotOK = f.analysisNotOK || !f.hit
	return f
}

// flags returns Report.Flags.
func (r Run) flags() []Flag {
	var flags []Flag
	for _, s := range r.Steps {
		if all := s.sentences(); len(all) > 0 {
			flags = append(flags, Flag{NodeID: s.Node, Label: s.Label, Reason: english(all), Sentences: all})
		}
	}
	return flags
}

// flagged reports whether a reviewer must look at the step: what flagged one visit flags
// the step for good.
func (s Step) flagged() bool {
	return s.Type == workflow.NodeReview || s.flags.any() || s.earlier.any() || s.Dispatches >= flaggedDispatches ||
		len(s.Rescreened) > 0
}

// sentences returns one sentence for each cause of the flag; none if the step is not flagged.
func (s Step) sentences() (all []Sentence) {
	for _, c := range s.causes() {
		switch {
		case c.Cause == CauseReviewStep && s.Reason != "":
			all = append(all, Sentence{Text: s.Reason})
		case c.Cause == CauseSource && !c.earlier && s.unavailable && !s.finished(): // it is visited again
			all = append(all, Sentence{Key: sourcePrefix + s.earlierWhy})
		case c.Cause == CauseSource && !c.earlier && s.unavailable:
			why := s.failure()
			why.Key = sourcePrefix + why.Key
			all = append(all, why)
		case c.Cause == CauseSource && c.earlier && s.earlierWhy != "":
			all = append(all, Sentence{Key: earlierPrefix + sourcePrefix + s.earlierWhy})
		case c.earlier:
			all = append(all, Sentence{Key: earlierPrefix + string(c.Cause)})
		default:
			all = append(all, c.Sentence())
		}
	}
	return all
}

// Cause is one cause why a run needs a verdict: of a flag, or a proposal.
type Cause string

// The causes. See docs/api.md, "Decision axis", rule 3.
const (
	CauseReviewStep Cause = "review_step" // the workflow asks for a review
	CauseSource     Cause = "source"      // source_ok is false
	CauseHit        Cause = "hit"         // analysis_ok is false because a list has a hit
	CauseAnalysis   Cause = "analysis"    // analysis_ok is false for another reason
	CauseOptedOut   Cause = "opted_out"   // opted_out is true
	CauseLocation   Cause = "location"    // geo_ok is false
	CauseConsent    Cause = "consent"     // consent_status is not success
	CauseRecovered  Cause = "recovered"   // the step recovered from a failure
	CauseDispatches Cause = "dispatches"  // it was dispatched three or more times
	CauseRescreened Cause = "rescreened"  // a later version of a list has a hit
	CauseOverruled  Cause = "overruled"   // a hit was cleared by a decision that no longer counts
	CauseProposal   Cause = "proposal"    // a verdict is proposed; it flags no step
)

// Causes returns all causes, in the order of their sentences in a flag.
func Causes() []Cause {
	return []Cause{
		CauseReviewStep, CauseSource, CauseHit, CauseAnalysis, CauseOptedOut, CauseLocation, CauseConsent, CauseRecovered,
		CauseDispatches, CauseRescreened, CauseOverruled, CauseProposal,
	}
}

// ParseCause parses a cause. It returns verification.ErrInvalid for any other text.
func ParseCause(s string) (Cause, error) {
	return parsed(s, Causes(), verification.Invalid("cause", "there is no such cause"))
}

// stepCause is a cause of the flag of a step.
type stepCause struct {
	Cause
	earlier bool // it does not hold for the last visit that is finished
}

// causes returns why the step is flagged, in the order of Causes; none if it is not.
func (s Step) causes() (causes []stepCause) {
	if s.Gone {
		s.flag(flagReasons{})
	}
	for _, c := range []struct {
		cause         Cause
		last, earlier bool // whether it holds for the last visit, and for one before
	}{
		{CauseReviewStep, s.Type == workflow.NodeReview, false},
		{CauseSource, s.flags.sourceNotOK, s.earlier.sourceNotOK},
		{CauseHit, s.flags.hit, s.earlier.hit},
		{CauseAnalysis, s.flags.analysisNotOK, s.earlier.analysisNotOK},
		{CauseOptedOut, s.flags.optedOut, s.earlier.optedOut},
		{CauseLocation, s.flags.geoNotOK, s.earlier.geoNotOK},
		{CauseConsent, s.flags.noConsent, s.earlier.noConsent},
		{CauseRecovered, s.flags.recovered, s.earlier.recovered},
		{CauseDispatches, s.Dispatches >= flaggedDispatches, false},
		{CauseRescreened, slices.ContainsFunc(s.Rescreened, func(f HitsFound) bool { return !f.Overruled }), false},
		{CauseOverruled, slices.ContainsFunc(s.Rescreened, func(f HitsFound) bool { return f.Overruled }), false},
	} {
		if c.last || c.earlier {
			causes = append(causes, stepCause{c.cause, !c.last})
		}
	}
	return causes
}

// CausesIn returns what the data of one visit of a step flags, in the order of Causes. s is what
// the visit found on a list; nil if it has screened nobody.
func CausesIn(d verification.Data, s *Screening) []Cause {
	return Step{flags: reasonsOf(d, s)}.causeNames()
}

// causeNames returns why the step is flagged, on any visit, in the order of Causes.
func (s Step) causeNames() (all []Cause) {
	for _, c := range s.causes() {
		all = append(all, c.Cause)
	}
	return all
}

// Decision returns the decision on the run: review while it is parked on a
// review, else the newest verdict, else review if the run is completed and a
// step is flagged. Call it on the result of AsOf.
func (r Run) Decision() Decision { return r.summary().decision(false) }
