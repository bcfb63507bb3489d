// The fields that each type of node and of input field may have.

package verification

import "strings"

// fields returns the names of the fields that a node of the type may have; none
// for an unknown type.
func (t NodeType) fields() []string {
	switch t {
	case NodeConsent:
		return []string{"label", "signal", "text", "on_declined", "next"}
	case NodeCustomerInput:
		return []string{"label", "signal", "text", "optional", "fields", "next"}
	case NodeCheck:
		return []string{
			"label", "key", "provider", "with", "timeout_seconds", "retry", "poll", "fallback",
			"on_failed", "on_unavailable", "next",
		}
	case NodeBranch:
		return []string{"label", "rules", "else"}
	case NodeReview:
		return []string{"label", "reason", "on_reject", "next"}
	case NodeEnd:
		return []string{"label", "outcome"}
	}
	return nil
}

// fields returns the names of the fields that an input field of the type may
// have; none for an unknown type.
func (t FieldType) fields() []string {
	common := []string{"label", "help", "required"}
	switch t {
	case FieldText, FieldTextarea, FieldEmail, FieldPhone:
		return append(common, "pattern", "max_length")
	case FieldNumber:
		return append(common, "min", "max")
	case FieldSelect:
		return append(common, "options")
	case FieldFile, FieldImage:
		return append(common, "accept")
	case FieldLocation:
		return append(common, "within")
	case FieldDate, FieldCheckbox:
		return common
	}
	return nil
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
