// Reject reasons: why reviewers reject runs, and when they must write notes.

package workflow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// RejectReason is a reason for which reviewers reject runs of a workflow. The history of a
// run has its code.
type RejectReason struct {
	// Code is a lower-case letter followed by letters, digits or _; at most 64 characters.
	Code string `json:"code"`
	// Label is what reviewers read. LabelIn is Label by language; Label is then that in the
	// default language.
	Label   string       `json:"label"`
	LabelIn Translations `json:"-"`
	// CustomerText is what the customer is told on the journey page, and the client in a
	// run.reviewed; empty for nothing. CustomerTextIn is CustomerText by language, as LabelIn.
	CustomerText   string       `json:"customer_text,omitempty"`
	CustomerTextIn Translations `json:"-"`
}

// NotesRule says when a reviewer must write notes. It holds in the console: a verdict by
// the API may always be without.
type NotesRule string

// The rules about notes.
const (
	NotesOptional NotesRule = "optional"
	NotesOnReject NotesRule = "on_reject"
	NotesRequired NotesRule = "required"
)

// notesRules returns all rules about notes.
func notesRules() []NotesRule { return []NotesRule{NotesOptional, NotesOnReject, NotesRequired} }

// RejectReason returns the reject reason with a code, and whether there is one.
func (d Definition) RejectReason(code string) (RejectReason, bool) {
	i := slices.IndexFunc(d.RejectReasons, func(r RejectReason) bool { return r.Code == code })
	if i < 0 {
		return RejectReason{}, false
	}
	return d.RejectReasons[i], true
}

// In returns the reason with its texts in a language, as far as it has them.
func (r RejectReason) In(language string) RejectReason {
	r.Label, r.CustomerText = r.LabelIn.In(language, r.Label), r.CustomerTextIn.In(language, r.CustomerText)
	return r
}

// rejectReasonJSON is a RejectReason in JSON.
type rejectReasonJSON struct {
	Code         string `json:"code"`
	Label        text   `json:"label,omitzero"`
	CustomerText text   `json:"customer_text,omitzero"`
}

// MarshalJSON encodes the reason.
func (r RejectReason) MarshalJSON() ([]byte, error) {
	return jsontext.Encode(rejectReasonJSON{r.Code, text{r.Label, r.LabelIn}, text{r.CustomerText, r.CustomerTextIn}})
}

// UnmarshalJSON decodes the reason.
func (r *RejectReason) UnmarshalJSON(raw []byte) error {
	var j rejectReasonJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*r = RejectReason{
		Code: j.Code, Label: j.Label.plain, LabelIn: j.Label.translations,
		CustomerText: j.CustomerText.plain, CustomerTextIn: j.CustomerText.translations,
	}
	return nil
}

// The bounds of reject reasons.
const (
	maxReasons      = 50
	maxCustomerText = 2000 // characters
)

// verdicts checks what a definition says about verdicts.
func (v *validator) verdicts() {
	if v.def.Notes != "" && !slices.Contains(notesRules(), v.def.Notes) {
		v.problem("notes", "must be one of %s%s", texts.Join(notesRules()), DidYouMean(string(v.def.Notes), notesRules()))
	}
	v.reasons("reject_reasons", v.def.RejectReasons)
	v.reasons("resubmit_reasons", v.def.ResubmitReasons)
}

// reasons checks the reasons from which reviewers choose.
func (v *validator) reasons(path string, all []RejectReason) {
	if !v.check(path, len(all) <= maxReasons, "must be at most %d", maxReasons) {
		return
	}
	codes := map[string]bool{}
	for i, r := range all {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case r.Code == "":
			v.problem(at+".code", "is required")
		case !validName(r.Code):
			v.problem(at+".code", "must be a lower-case letter followed by letters, digits or _, at most 64 characters")
		default:
			v.check(at+".code", !codes[r.Code], "is there twice")
		}
		codes[r.Code] = true
		v.length(at+".label", r.Label, 1, maxLabel)
		v.translated(at+".label", r.LabelIn, maxLabel)
		v.length(at+".customer_text", r.CustomerText, 0, maxCustomerText)
		v.translated(at+".customer_text", r.CustomerTextIn, maxCustomerText)
	}
}
