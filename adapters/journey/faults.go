// What is wrong with an answer, in the customer's words.

package journey

import (
	"regexp"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// tell puts the engine's faults beside their fields. Where reading the form
// found one already, that one is the better told.
func (f *form) tell(step *engine.JourneyStep, faults []verification.FieldError, w words) {
	for _, fault := range faults {
		name := strings.TrimPrefix(fault.Name, "payload.")
		field, ok := step.Fields.ByName(name)
		switch {
		case !ok:
			f.general = w.texts["fault.general"]
		case f.faults[name] == "":
			f.faults[name] = w.fault(field, fault.Message)
			delete(f.uploads, name) // a file that the engine refuses is not to be sent again
		}
	}
	if len(faults) == 0 && len(f.faults) == 0 {
		f.general = w.texts["fault.general"]
	}
}

// fault finds the text for a fault of a field. A message without a text is told
// in general; a test holds that there is none.
func (w words) fault(field verification.InputField, message string) string {
	if text := w.translation(field, message); text != "" {
		return text
	}
	return w.texts["fault.general"]
}

// fileFault finds the text for a file that will not do. Without one, it tells
// which files would.
func (w words) fileFault(field verification.InputField, faults []verification.FieldError) string {
	for _, fault := range faults {
		if text := w.translation(field, fault.Message); text != "" {
			return text
		}
	}
	if kinds := w.kindNames(kindsOf(field)); kinds != "" {
		return strings.ReplaceAll(w.texts["file.kind"], "#", kinds)
	}
	return w.texts["file.unreadable"]
}

// translation looks a message up by its own words, as in any catalogue, with #
// for the number in it; the type of the field may have a text of its own.
func (w words) translation(field verification.InputField, message string) string {
	number := regexp.MustCompile(`-?\d+(\.\d+)?(e[+-]?\d+)?`).FindString(message)
	key := "fault: " + message
	if number != "" {
		key = "fault: " + strings.Replace(message, number, "#", 1)
	}
	text, ok := w.texts[key+" ("+string(field.Type)+")"]
	if !ok {
		text = w.texts[key]
	}
	return strings.ReplaceAll(text, "#", number)
}
