// The open step of a run, for programs that ask the customer themselves.

package apitypes

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Step is the step that waits for the customer, with its texts in one language. An optional
// text, list or number is left out if it is empty.
type Step struct {
	SignalName string              `json:"signal_name"` // delivers the answer
	NodeID     verification.NodeID `json:"node_id"`
	Type       workflow.NodeType   `json:"type"` // consent, customer_input, or a check that leads the customer away
	Label      string              `json:"label"`
	Text       string              `json:"text,omitempty"`         // Markdown
	Redirect   string              `json:"redirect_url,omitempty"` // where a check leads the customer
	Optional   bool                `json:"optional,omitzero"`      // the customer may opt out
	// Number counts the steps of the customer from 1, and Total is how many there are as far as it
	// is known.
	Number int `json:"number"`
	Total  int `json:"total"`
	// Language is the language of the texts, as far as they have it; empty for the default
	// language. Languages are all for which the step has texts, in alphabetical order.
	Language  string      `json:"language,omitempty"`
	Languages []string    `json:"languages,omitempty"`
	Intro     *StepIntro  `json:"intro,omitzero"`   // only for the first step
	Fields    []StepField `json:"fields,omitempty"` // in the order in which they are shown
	Groups    []StepGroup `json:"groups,omitempty"` // the screens of the fields; none for one screen
	// AskedAgain says why the customer is asked again, and Answers are those of before, by field; nil for the first time. A file that
	// is asked for again is not among them.
	AskedAgain *StepRound        `json:"asked_again,omitzero"`
	Answers    verification.Data `json:"answers,omitzero"`
}

// StepRound says why the customer is asked again.
type StepRound struct {
	Round   int          `json:"round"` // 1 for the first
	Reasons []StepReason `json:"reasons"`
	Fields  []string     `json:"fields,omitempty"` // that it is about, such as owners[0].photo; none for all
	Note    string       `json:"note,omitempty"`   // of a reviewer or of the workflow
}

// StepReason is a reason why the customer is asked again.
type StepReason struct {
	Code string `json:"code"`
	Text string `json:"text"` // for the customer
}

// StepIntro is what the workflow says before the first step.
type StepIntro struct {
	Text    string   `json:"text,omitempty"`   // Markdown
	Minutes int      `json:"minutes,omitzero"` // about how long the steps take
	Needed  []string `json:"needed,omitempty"` // the labels of the files to have at hand
}

// StepField is a field of a form. An answer that breaks one of its rules is refused with the name
// of the field.
type StepField struct {
	Name            string             `json:"name"` // in the payload of the signal
	Type            workflow.FieldType `json:"type"`
	Label           string             `json:"label"`
	Help            string             `json:"help,omitempty"`
	Required        bool               `json:"required,omitzero"`
	RequiredMessage string             `json:"required_message,omitempty"`
	Pattern         string             `json:"pattern,omitempty"` // RE2
	PatternMessage  string             `json:"pattern_message,omitempty"`
	Uppercase       bool               `json:"uppercase,omitzero"` // the answer is converted to upper case
	AutoComplete    string             `json:"autocomplete,omitempty"`
	MaxLength       int                `json:"max_length,omitzero"` // in characters; 0 means 1000, or 10000 for a textarea
	Integer         bool               `json:"integer,omitzero"`
	Min             *float64           `json:"min,omitzero"`
	Max             *float64           `json:"max,omitzero"`
	MinDate         string             `json:"min_date,omitempty"` // YYYY-MM-DD, today in the tenant's time zone
	MaxDate         string             `json:"max_date,omitempty"`
	BirthOf         workflow.FactKind  `json:"birth_of,omitempty"` // a birth date: of a person, which may be YYYY or YYYY-MM, or of a company
	Camera          workflow.Camera    `json:"camera,omitempty"`
	Options         []StepOption       `json:"options,omitempty"`
	Accept          []string           `json:"accept,omitempty"` // media types
	Fields          []StepField        `json:"fields,omitempty"` // of each row of a group, whose answer is a list of objects
}

// StepOption is one choice of a select field.
type StepOption struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// StepGroup is a screen of a form.
type StepGroup struct {
	Label  string   `json:"label,omitempty"`
	Fields []string `json:"fields"` // names
}
