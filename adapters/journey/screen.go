// Screens: a form whose fields are in groups shows one group at a time.

package journey

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The answers of the other screens travel in hidden inputs, so that the server keeps no
// draft: it takes the answer from the last screen, as one. The script of the page keeps a
// draft in the tab.

// screens returns the fields of each screen.
func screens(step *engine.JourneyStep) []workflow.InputFields {
	if len(step.Groups) == 0 {
		return []workflow.InputFields{step.Fields}
	}
	var all []workflow.InputFields
	for _, g := range step.Groups {
		var fields workflow.InputFields
		for _, name := range g.Fields {
			if field, ok := step.Fields.ByName(name); ok {
				fields = append(fields, field)
			}
		}
		all = append(all, fields)
	}
	return all
}

// screen returns the index of the screen that the form answers.
func (f form) screen(step *engine.JourneyStep) int {
	n, err := strconv.Atoi(f.values["screen"])
	if err != nil {
		return 0
	}
	return min(max(n, 0), len(screens(step))-1)
}

// goTo makes the form show a screen.
func (f form) goTo(screen int) { f.values["screen"] = strconv.Itoa(screen) }

// keepProblemsUpTo removes the problems of fields on later screens, which the customer has
// not seen yet.
func (f *form) keepProblemsUpTo(step *engine.JourneyStep, screen int) {
	for _, fields := range screens(step)[screen+1:] {
		for place := range f.problems {
			if in(fields, place) {
				delete(f.problems, place)
			}
		}
	}
	if len(f.problems) == 0 {
		f.general = ""
	}
}

// firstProblem returns the first screen with a problem, or otherwise.
func (f form) firstProblem(step *engine.JourneyStep, otherwise int) int {
	i := slices.IndexFunc(screens(step), func(fields workflow.InputFields) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(f.problems)), func(place string) bool { return in(fields, place) })
	})
	if i < 0 {
		return otherwise
	}
	return i
}

// in reports whether a place is a field, or is in a row of one.
func in(fields workflow.InputFields, place string) bool {
	name, _, _ := strings.Cut(place, "[")
	_, ok := fields.ByName(name)
	return ok
}

// hiddenInput is an answer of another screen.
type hiddenInput struct{ Name, Value string }

// hidden returns the answers of all screens but one.
func (f form) hidden(step *engine.JourneyStep, screen int) (inputs []hiddenInput) {
	for i, fields := range screens(step) {
		for _, field := range f.withRows(fields) {
			if i != screen {
				inputs = append(inputs, f.inputsOf(field)...)
			}
		}
	}
	return inputs
}

// inputsOf returns the answer to a field, as its inputs send it.
func (f form) inputsOf(field workflow.InputField) (inputs []hiddenInput) {
	name := inputName(field.Name)
	if field.Upload() {
		if kept := f.uploads[field.Name]; kept.ID != "" {
			inputs = append(inputs, hiddenInput{name + ".id", kept.ID}, hiddenInput{name + ".name", kept.Name})
		}
		return inputs
	}
	if field.Type == workflow.FieldGroup {
		if numbers, ok := f.values[name]; ok {
			inputs = append(inputs, hiddenInput{name, numbers})
		}
		return inputs
	}
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		if value := f.values[key]; value != "" && (key == name || strings.HasPrefix(key, name+".")) {
			inputs = append(inputs, hiddenInput{key, value})
		}
	}
	return inputs
}
