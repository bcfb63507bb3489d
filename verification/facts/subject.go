// Subject: whom a run is about, and what its checks were asked.

package facts

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// SubjectOf returns the subject of a run: as `subject` of the workflow says or, without it,
// by well-known fields of the customer's answers and of the input. It never fails.
func SubjectOf(p workflow.Program, r rules.Run) rules.Subject {
	r = r.WithEarlierAnswers()
	return subjectOf(p, r, r.FactValues(p))
}

// subjectOf returns the subject with the values of the expressions of the run.
func subjectOf(p workflow.Program, r rules.Run, v rules.FactValues) rules.Subject {
	def := p.Version.Definition
	if def.Subject != nil {
		return rules.Subject{
			Name: textOf(v.Name.Value), BirthDate: textOf(v.BirthDate.Value), Number: textOf(v.Number.Value),
			Portrait: portrait(r, v.Portrait.Value),
		}
	}
	claims := claimed(p, r, nil)
	first := func(keys ...string) string {
		for _, c := range claims {
			for _, key := range keys {
				if i := slices.IndexFunc(c.fields, func(f field) bool { return f.key == key }); i >= 0 {
					return c.fields[i].text
				}
			}
		}
		return ""
	}
	return rules.Subject{
		Name: first("name", "full_name", "customer_name"), BirthDate: first("dob", "birth_date", "date_of_birth"),
		Number: first(numberKeys()...), Portrait: anyPortrait(def, r),
	}
}

// InputNumber returns the number of the subject if the input alone says it, which the tenant's
// system sends: empty if its expression reads anything else, such as an answer of the customer
// or the data of a check, which may repeat the answer. Without `subject`, only the well-known
// fields of the input count. It never fails.
func InputNumber(p workflow.Program, r rules.Run) string {
	def := p.Version.Definition
	var number any
	if def.Subject != nil {
		v := r.FactValues(p).Number
		if len(v.Reads) > 0 && !slices.ContainsFunc(v.Reads, func(path string) bool { return !ofInput(path) }) {
			number = v.Value
		}
	} else {
		input := r.Started.Input.Map()
		for _, key := range numberKeys() {
			if number = input[key]; textOf(number) != "" {
				break
			}
		}
	}
	switch number.(type) {
	case string, json.Number, float64:
	default:
		return "" // a list or a boolean is no number of a person
	}
	text := full(number)
	if utf8.RuneCountInString(text) > maxFactText {
		return ""
	}
	return text
}

// ofInput reports whether an expression that reads the path reads the input.
func ofInput(path string) bool {
	rest, ok := strings.CutPrefix(path, "input")
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// numberKeys returns the well-known fields of the number of a subject.
func numberKeys() []string { return []string{"pan", "number", "id_number"} }

// anyPortrait returns the image of a well-known field, or else one of the front camera.
func anyPortrait(def workflow.Definition, r rules.Run) string {
	front := ""
	for _, s := range r.Steps {
		if s.Gone {
			continue
		}
		values := s.Data.Map()
		n, _ := def.Node(s.Node)
		for _, name := range []string{"photo", "selfie", "portrait"} {
			if f, ok := n.Fields.ByName(name); ok && f.Type == workflow.FieldImage {
				if id := portrait(r, values[name]); id != "" {
					return id
				}
			}
		}
		for _, f := range n.Fields {
			if f.Type == workflow.FieldImage && f.Camera == workflow.CameraFront && front == "" {
				front = portrait(r, values[f.Name])
			}
		}
	}
	return front
}

// portrait returns the id of the image that an answer names; empty if it is no image of the run.
func portrait(r rules.Run, answer any) string {
	id, _ := answer.(string)
	if object, ok := answer.(map[string]any); ok {
		id, _ = object["document_id"].(string)
	}
	for _, d := range r.Documents {
		if id != "" && d.ID == id && strings.HasPrefix(d.MediaType, "image/") {
			return id
		}
	}
	return ""
}

// Asked is what a check of a run was asked.
type Asked struct {
	Node  verification.NodeID
	Key   string
	Label string
	// With is the `with` of the check with the values of the run, as they are now: the steps
	// before the check may have been visited again since. It is nil if the check has no
	// `with`, or if it cannot be rendered.
	With verification.Data
	// TooLarge says that With is left out because of its size.
	TooLarge bool
	// Schema describes With; the caller fills it in.
	Schema workflow.DataSchema
}

// The bounds of what checks were asked.
const (
	maxAsked      = 100
	maxAskedBytes = 16 << 10 // of one check
)

// AskedOf returns what the checks of a run were asked, in execution order: of the first 100
// checks at most. It never fails.
func AskedOf(p workflow.Program, r rules.Run, t verification.TenantID) (all []Asked) {
	for _, s := range r.Steps {
		if s.Type != workflow.NodeCheck || s.Dispatches == 0 || s.Gone || len(all) == maxAsked {
			continue
		}
		a := Asked{Node: s.Node, Key: s.Key, Label: s.Label, With: r.Asked(p, t, s.Node)}
		if len(a.With) > maxAskedBytes {
			a.With, a.TooLarge = nil, true
		}
		all = append(all, a)
	}
	return all
}
