// What leaves a step open, and why.

package verification

import (
	"encoding/json"
	"strings"
)

// FlaggedDispatches is how many dispatches of one step flag it.
const FlaggedDispatches = 3

// ReviewFlag says why one step of a run is flagged.
type ReviewFlag struct {
	NodeID NodeID `json:"node_id"`
	Label  string `json:"label"`
	// Reason is one fixed sentence a cause, joined by spaces.
	Reason string `json:"reason"`
}

// signs are the fields of a step's data that can leave it open.
type signs struct {
	sourceNotOK, analysisNotOK, optedOut, geoNotOK, noConsent bool
}

func (s signs) any() bool { return s != signs{} }

// signsOf reads the signs of a step's data. See docs/api.md, "Decision axis",
// rule 3. Only the values that the rule names count: a source_ok that is not a
// boolean says nothing.
func signsOf(d Data) signs {
	text := string(d)
	holds := func(part string) bool { return strings.Contains(text, part) }
	if !holds(`_ok"`) && !holds(`opted_out"`) && !holds(`consent_status"`) && !holds(`\u`) {
		return signs{}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(d, &fields) != nil {
		return signs{}
	}
	reads := func(name, value string) bool { return string(fields[name]) == value }
	var consent string
	status, asked := fields["consent_status"]
	_ = json.Unmarshal(status, &consent) // what is no string is no success either
	return signs{
		sourceNotOK:   reads("source_ok", "false"),
		analysisNotOK: reads("analysis_ok", "false"),
		optedOut:      reads("opted_out", "true"),
		geoNotOK:      reads("geo_ok", "false"),
		noConsent:     asked && consent != "success",
	}
}

// Reviews lists the flagged steps in execution order, one flag a step.
func (r Run) Reviews() []ReviewFlag {
	var flags []ReviewFlag
	for _, s := range r.Steps {
		if reason := s.flagReason(); reason != "" {
			flags = append(flags, ReviewFlag{NodeID: s.Node, Label: s.Label, Reason: reason})
		}
	}
	return flags
}

// flagged tells whether the step left something open.
func (s Step) flagged() bool {
	return s.Type == NodeReview || s.signs.any() || s.Recovered || s.Dispatches >= FlaggedDispatches
}

// flagReason joins a sentence for each cause; empty when there is none.
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
	add(s.signs.sourceNotOK, "The source could not vouch for the answer.")
	add(s.signs.analysisNotOK, "The analysis could not be completed with confidence.")
	add(s.signs.optedOut, "The customer opted out of this step.")
	add(s.signs.geoNotOK, "The customer's location was not shared or lies outside the allowed area.")
	add(s.signs.noConsent, "The customer did not give consent.")
	add(s.Recovered, "The step recovered from a failure.")
	add(s.Dispatches >= FlaggedDispatches, "The step was dispatched three or more times.")
	return strings.Join(causes, " ")
}

// Decision is where the human verdict stands: parked on review it is owed;
// else the newest verdict holds; else a completed run owes one when some step
// left something open. Ask it of a run AsOf a moment.
func (r Run) Decision() Decision { return r.Summary().decision(false) }

func (r Run) open() bool {
	for _, s := range r.Steps {
		if s.flagged() {
			return true
		}
	}
	return false
}
