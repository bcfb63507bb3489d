// Which steps are flagged for review, and why.

package verification

import (
	"encoding/json"
	"strings"
)

// flaggedDispatches is the number of dispatches that flags a step.
const flaggedDispatches = 3

// Flag says why one step of a run is flagged.
type Flag struct {
	NodeID NodeID `json:"node_id"`
	Label  string `json:"label"`
	// Reason has one sentence for each cause, joined by spaces. For a review step it
	// is the reason of the workflow, or a fixed sentence.
	Reason string `json:"reason"`
}

// flagReasons are the fields of a step's data that flag it.
type flagReasons struct {
	sourceNotOK, analysisNotOK, optedOut, geoNotOK, noConsent bool
}

func (f flagReasons) any() bool { return f != flagReasons{} }

// flagReasonsOf returns the flag reasons in a step's data. Only the values that
// the rule names count: a source_ok that is not a boolean flags nothing. See
// docs/api.md, "Decision axis", rule 3.
func flagReasonsOf(d Data) flagReasons {
	var f flagReasons
	d.eachField(func(name, value []byte) {
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

// Flags returns a flag for each flagged step, in execution order.
func (r Run) Flags() []Flag {
	var flags []Flag
	for _, s := range r.Steps {
		if reason := s.flagReason(); reason != "" {
			flags = append(flags, Flag{NodeID: s.Node, Label: s.Label, Reason: reason})
		}
	}
	return flags
}

// flagged reports whether a reviewer must look at the step.
func (s Step) flagged() bool {
	return s.Type == NodeReview || s.flags.any() || s.Recovered || s.Dispatches >= flaggedDispatches
}

// flagReason returns one sentence for each cause, joined by spaces; empty if
// the step is not flagged.
func (s Step) flagReason() string {
	if !s.flagged() {
		return ""
	}
	var causes []string
	add := func(holds bool, sentence string) {
		if holds {
			causes = append(causes, sentence)
		}
	}
	if s.Type == NodeReview {
		add(s.Reason != "", s.Reason)
		add(s.Reason == "", "The workflow asks for a manual review.")
	}
	add(s.flags.sourceNotOK, "The source could not vouch for the answer.")
	add(s.flags.analysisNotOK, "The analysis could not be completed with confidence.")
	add(s.flags.optedOut, "The customer opted out of this step.")
	add(s.flags.geoNotOK, "The customer's location was not shared or lies outside the allowed area.")
	add(s.flags.noConsent, "The customer did not give consent.")
	add(s.Recovered, "The step recovered from a failure.")
	add(s.Dispatches >= flaggedDispatches, "The step was dispatched three or more times.")
	return strings.Join(causes, " ")
}

// Decision returns the decision on the run: review while it is parked on a
// review, else the newest verdict, else review if the run is completed and a
// step is flagged. Call it on the result of AsOf.
func (r Run) Decision() Decision { return r.Summary().decision(false) }
