// The introduction of a journey: what the customer needs, and how long it takes.

package workflow

import (
	"encoding/json"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
)

// Intro is what the journey page says before the first step.
type Intro struct {
	// Text is a text in Markdown; empty for none. TextIn is Text by language; Text is then
	// that in the default language.
	Text   string       `json:"-"`
	TextIn Translations `json:"-"`
	// Minutes is about how long the customer needs; 0 to 240, 0 says nothing.
	Minutes int `json:"minutes,omitempty"`
}

// maxMinutes bounds Intro.Minutes.
const maxMinutes = 240

// introJSON is an Intro in JSON.
type introJSON struct {
	Text    text `json:"text,omitzero"`
	Minutes int  `json:"minutes,omitempty"`
}

// MarshalJSON encodes the introduction.
func (i Intro) MarshalJSON() ([]byte, error) {
	return jsontext.Encode(introJSON{text{i.Text, i.TextIn}, i.Minutes})
}

// UnmarshalJSON decodes the introduction.
func (i *Intro) UnmarshalJSON(raw []byte) error {
	var j introJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*i = Intro{j.Text.plain, j.Text.translations, j.Minutes}
	return nil
}

// intro checks the introduction.
func (v *validator) intro() {
	i := v.def.Intro
	if i == nil {
		return
	}
	v.length("intro.text", i.Text, 0, maxText)
	v.translated("intro.text", i.TextIn, maxText)
	v.check("intro.minutes", i.Minutes >= 0 && i.Minutes <= maxMinutes, "must be 0 to %d", maxMinutes)
	v.check("intro", v.def.Interactive(), "has no effect: no step asks the customer for anything")
}

// Needed returns the fields that a customer may have to send a file for, in the steps from the
// start on: each label once, the nearest steps first.
func (d Definition) Needed() (fields InputFields) {
	seen := map[string]bool{}
	for _, id := range append([]verification.NodeID{d.Start}, d.Reach(d.Start, nil)...) {
		for _, f := range d.Nodes[id].Fields {
			if f.Upload() && !seen[f.Label] {
				seen[f.Label] = true
				fields = append(fields, f)
			}
		}
	}
	return fields
}
