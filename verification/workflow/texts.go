// Texts of a definition in several languages.

package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Translations are the texts of one label, text or help by language, such as en or
// hi; nil if it has one text for all languages.
type Translations map[string]string

// In returns the text in a language, or otherwise if there is none.
func (t Translations) In(language, otherwise string) string {
	if s, ok := t[language]; ok {
		return s
	}
	return otherwise
}

// In returns the field with its texts in a language, as far as it has them.
func (f InputField) In(language string) InputField {
	f.Label, f.Help = f.LabelIn.In(language, f.Label), f.HelpIn.In(language, f.Help)
	f.RequiredMessage = f.RequiredMessageIn.In(language, f.RequiredMessage)
	f.PatternMessage = f.PatternMessageIn.In(language, f.PatternMessage)
	f.Options = slices.Clone(f.Options)
	for i, o := range f.Options {
		f.Options[i].Label = o.LabelIn.In(language, o.Label)
	}
	f.Fields = slices.Clone(f.Fields)
	for i := range f.Fields {
		f.Fields[i] = f.Fields[i].In(language)
	}
	return f
}

// translated checks each translation of a text.
func (v *validator) translated(path string, t Translations, maximum int) {
	if t != nil && !v.check(path, len(t) > 0 && len(t) <= maxLanguages, "must have 1 to %d languages", maxLanguages) {
		return // with many languages, there may be as many problems
	}
	for _, language := range slices.Sorted(maps.Keys(t)) {
		at := fmt.Sprintf("%s.%s", path, language)
		v.check(at, validLanguage(language), "a language must be a tag such as en or pt-BR")
		v.length(at, t[language], 1, maximum)
	}
}

// maxLanguages is the maximum number of languages of one text.
const maxLanguages = 50

// validLanguage reports whether s has the form of a language tag: subtags of one to eight
// letters and digits, the first one of two or more letters.
func validLanguage(s string) bool {
	for i, subtag := range strings.Split(s, "-") {
		strange := strings.ContainsFunc(subtag, func(r rune) bool {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
			return !letter && (i == 0 || r < '0' || r > '9')
		})
		if strange || len(subtag) > 8 || subtag == "" || i == 0 && len(subtag) < 2 {
			return false
		}
	}
	return len(s) <= 35
}
