// The fields that each type of node and of input field may have.

package verification

import (
	"slices"
	"strings"
)

// Fields returns the names of the fields that a node of the type may have, type
// first; none for an unknown type.
func (t NodeType) Fields() []string {
	var names []string
	for _, f := range nodeFields() {
		if slices.Contains(f.types, t) {
			names = append(names, f.name)
		}
	}
	if names == nil {
		return nil
	}
	return append([]string{"type"}, names...)
}

// nodeField is one field of a node.
type nodeField struct {
	name  string
	set   func(n Node) bool
	types []NodeType // that have the field
}

func nodeFields() []nodeField {
	consent, input, check, branch, review, end := NodeConsent, NodeCustomerInput, NodeCheck, NodeBranch, NodeReview, NodeEnd
	return []nodeField{
		{"label", func(n Node) bool { return n.Label != "" }, []NodeType{consent, input, check, branch, review, end}},
		{"signal", func(n Node) bool { return n.Signal != "" }, []NodeType{consent, input}},
		{"text", func(n Node) bool { return n.Text != "" }, []NodeType{consent, input}},
		{"on_declined", func(n Node) bool { return n.OnDeclined != "" }, []NodeType{consent}},
		{"optional", func(n Node) bool { return n.Optional }, []NodeType{input}},
		{"fields", func(n Node) bool { return n.Fields != nil }, []NodeType{input}},
		{"key", func(n Node) bool { return n.Key != "" }, []NodeType{check}},
		{"provider", func(n Node) bool { return n.Provider != "" }, []NodeType{check}},
		{"with", func(n Node) bool { return n.With != nil }, []NodeType{check}},
		{"timeout_seconds", func(n Node) bool { return n.TimeoutSeconds != 0 }, []NodeType{check}},
		{"retry", func(n Node) bool { return n.Retry != nil }, []NodeType{check}},
		{"poll", func(n Node) bool { return n.Poll != nil }, []NodeType{check}},
		{"fallback", func(n Node) bool { return n.Fallback != "" }, []NodeType{check}},
		{"on_failed", func(n Node) bool { return n.OnFailed != "" }, []NodeType{check}},
		{"on_unavailable", func(n Node) bool { return n.OnUnavailable != "" }, []NodeType{check}},
		{"rules", func(n Node) bool { return n.Rules != nil }, []NodeType{branch}},
		{"else", func(n Node) bool { return n.Else != "" }, []NodeType{branch}},
		{"reason", func(n Node) bool { return n.Reason != "" }, []NodeType{review}},
		{"on_reject", func(n Node) bool { return n.OnReject != "" }, []NodeType{review}},
		{"outcome", func(n Node) bool { return n.Outcome != "" }, []NodeType{end}},
		{"next", func(n Node) bool { return n.Next != "" }, []NodeType{consent, input, check, review}},
	}
}

// Fields returns the names of the fields that an input field of the type may
// have, type first; none for an unknown type.
func (t FieldType) Fields() []string {
	if !slices.Contains(fieldTypes(), t) {
		return nil
	}
	names := []string{"type", "label", "help", "required"}
	for _, f := range inputFieldFields() {
		if slices.Contains(f.types, t) {
			names = append(names, f.name)
		}
	}
	return names
}

func fieldTypes() []FieldType {
	return []FieldType{
		FieldText, FieldTextarea, FieldNumber, FieldDate, FieldSelect, FieldCheckbox,
		FieldEmail, FieldPhone, FieldFile, FieldImage, FieldLocation,
	}
}

// joined returns the names separated by commas, for a message.
func joined[S ~string](names []S) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

// inputFieldField is a field of an input field that only some types have.
type inputFieldField struct {
	name  string
	set   func(f InputField) bool
	types []FieldType // that have the field
}

func inputFieldFields() []inputFieldField {
	text := []FieldType{FieldText, FieldTextarea, FieldEmail, FieldPhone}
	return []inputFieldField{
		{"pattern", func(f InputField) bool { return f.Pattern != "" }, text},
		{"max_length", func(f InputField) bool { return f.MaxLength != 0 }, text},
		{"min", func(f InputField) bool { return f.Min != nil }, []FieldType{FieldNumber}},
		{"max", func(f InputField) bool { return f.Max != nil }, []FieldType{FieldNumber}},
		{"options", func(f InputField) bool { return f.Options != nil }, []FieldType{FieldSelect}},
		{"accept", func(f InputField) bool { return f.Accept != nil }, []FieldType{FieldFile, FieldImage}},
		{"within", func(f InputField) bool { return f.Within != nil }, []FieldType{FieldLocation}},
	}
}
