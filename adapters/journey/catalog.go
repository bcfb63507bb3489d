// The messages of the pages, and the customer's texts for problems.

package journey

import (
	"cmp"
	"embed"
	"regexp"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

//go:embed messages/*.json
var messageFiles embed.FS

// catalog holds the messages of one language.
type catalog struct{ web.Catalog }

// addProblems adds the engine's problems to their fields. A problem that was
// found while reading the form stays, because its message is more precise.
func (f *form) addProblems(step *engine.JourneyStep, problems []verification.FieldError, c catalog) {
	for _, p := range problems {
		field, name, ok := f.problemAt(step, strings.TrimPrefix(p.Name, "payload."))
		switch {
		case !ok:
			f.general = c.Message("problem.general")
		case f.problems[name] == "":
			f.problems[name] = c.problem(field, p.Message)
			delete(f.uploads, name) // the engine refused it
		}
	}
	if len(problems) == 0 && len(f.problems) == 0 {
		f.general = c.Message("problem.general")
	}
}

// problem returns the text for a problem of a field, or else a general one. A
// test checks that every message has its text.
func (c catalog) problem(field workflow.InputField, message string) string {
	own := field.In(c.Lang())
	switch {
	case message == workflow.PatternProblem && own.PatternMessage != "":
		return own.PatternMessage
	case own.RequiredMessage != "" && (message == workflow.RequiredProblem || message == workflow.CheckedProblem):
		return own.RequiredMessage
	}
	if text := c.translation(field, message); text != "" {
		return text
	}
	return c.Message("problem.general")
}

// fileProblem returns the text for a refused file, or else one that lists the
// accepted kinds.
func (c catalog) fileProblem(field workflow.InputField, problems []verification.FieldError) string {
	for _, p := range problems {
		if text := c.translation(field, p.Message); text != "" {
			return text
		}
	}
	if kinds := c.kindNames(kindsOf(field)); kinds != "" {
		return strings.ReplaceAll(c.Message("file.kind"), "#", kinds)
	}
	return c.Message("file.unreadable")
}

// translation returns the text for an English message, or "". The key is the
// message with # for its number or date, and may end with the type of the field. In the
// text, %s stands for the label of the field.
func (c catalog) translation(field workflow.InputField, message string) string {
	number := regexp.MustCompile(`\d{4}-\d\d-\d\d|-?\d+(\.\d+)?(e[+-]?\d+)?`).FindString(message)
	key := "problem: " + message
	if number != "" {
		key = "problem: " + strings.Replace(message, number, "#", 1)
	}
	text := c.Message(key + " (" + string(field.Type) + ")")
	if text == "" {
		text = c.Message(key)
	}
	text = strings.ReplaceAll(text, "#", number)
	return strings.ReplaceAll(text, "%s", c.shortLabel(field))
}

// maxShortLabel is the maximum length of a label in a sentence, in characters: the label of
// a checkbox may be a paragraph.
const maxShortLabel = 60

// shortLabel returns the label of a field for a sentence.
func (c catalog) shortLabel(field workflow.InputField) string {
	label := []rune(cmp.Or(field.In(c.Lang()).Label, field.Name))
	if len(label) > maxShortLabel {
		return strings.TrimSpace(string(label[:maxShortLabel])) + "…"
	}
	return string(label)
}
