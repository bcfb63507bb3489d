// Reading the with of a check.

package screening

import (
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/provider/screening/names"
)

// with reads the values of a check's with and keeps the first problem.
type with struct {
	values       map[string]any
	optionalKind bool
	err          error
}

func (w *with) problem(key, text string) {
	if w.err == nil {
		w.err = fmt.Errorf("with.%s: %s", key, text)
	}
}

// only reports a key that has no meaning.
func (w *with) only(keys ...string) {
	for key := range w.values {
		if !slices.Contains(keys, key) {
			w.problem(key, "there is no such key; the keys are "+strings.Join(keys, ", "))
		}
	}
}

// text returns a string, which must not be empty if it is required.
func (w *with) text(key string, required bool) string {
	value, ok := w.values[key].(string)
	if !ok && w.values[key] != nil {
		w.problem(key, "must be a string")
	}
	if required && value == "" {
		w.problem(key, "must not be empty")
	}
	return value
}

// texts returns a list of strings; a single one may stand alone.
func (w *with) texts(key string) []string {
	switch value := w.values[key].(type) {
	case nil:
		return nil
	case string:
		if value == "" {
			return nil
		}
		return []string{value}
	case []any:
		out := make([]string, 0, len(value))
		for _, v := range value {
			text, ok := v.(string)
			if !ok {
				w.problem(key, "must be a list of strings")
			}
			out = append(out, text)
		}
		return out
	}
	w.problem(key, "must be a list of strings")
	return nil
}

// kind returns the kind of name.
func (w *with) kind() names.Kind {
	text := w.text("kind", !w.optionalKind)
	if text == "" {
		return names.Person
	}
	kind, err := names.ParseKind(text)
	if err != nil {
		w.problem("kind", err.Error())
	}
	return kind
}

// score returns a number from 0.5 to 1, and whether it is given. Below 0.5 most names
// would be like most others.
func (w *with) score(key string, otherwise float64) (float64, bool) {
	value := otherwise
	switch v := w.values[key].(type) {
	case nil:
		return otherwise, false
	case float64:
		value = v
	case int64:
		value = float64(v)
	case int:
		value = float64(v)
	default:
		w.problem(key, "must be a number from 0.5 to 1")
	}
	if value < 0.5 || value > 1 {
		w.problem(key, "must be a number from 0.5 to 1")
	}
	return value, true
}

// subject returns the person or company that is screened.
func (w *with) subject() Subject {
	s := Subject{Name: w.text("name", true), BirthDate: w.text("birth_date", false), Countries: w.texts("countries")}
	s.Kind = w.kind()
	if s.BirthDate != "" && !IsDate(s.BirthDate) {
		w.problem("birth_date", "must be YYYY, YYYY-MM or YYYY-MM-DD")
	}
	return s
}

// SubjectOf returns the person or company that a check of offline.screening with these
// values screens.
func SubjectOf(values map[string]any) (Subject, error) {
	w := with{values: values}
	return w.subject(), w.err
}
