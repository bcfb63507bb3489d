// Texts of a definition in several languages.

package verification

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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

// text is a text in JSON: a string, or an object of strings by language. The text in
// English, or else the first one by language, is the default.
type text struct {
	plain        string
	translations Translations
}

// IsZero reports whether there is no text.
func (t text) IsZero() bool { return t.plain == "" && t.translations == nil }

// MarshalJSON encodes the text.
func (t text) MarshalJSON() ([]byte, error) {
	if t.translations != nil {
		return plainJSON(map[string]string(t.translations))
	}
	return plainJSON(t.plain)
}

// UnmarshalJSON decodes the text.
func (t *text) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		return json.Unmarshal(raw, &t.plain)
	}
	if err := json.Unmarshal(raw, &t.translations); err != nil {
		return err
	}
	for _, language := range slices.Sorted(maps.Keys(t.translations)) {
		t.plain = t.translations[language]
		break
	}
	t.plain = t.translations.In("en", t.plain)
	return nil
}

// nodeJSON is a node with translations in JSON.
type nodeJSON struct {
	plainNode
	Label text `json:"label,omitzero"`
	Text  text `json:"text,omitzero"`
}

type plainNode Node

// MarshalJSON encodes the node.
func (n Node) MarshalJSON() ([]byte, error) {
	if n.LabelIn == nil && n.TextIn == nil {
		return plainJSON(plainNode(n))
	}
	return plainJSON(nodeJSON{plainNode(n), text{n.Label, n.LabelIn}, text{n.Text, n.TextIn}})
}

// UnmarshalJSON decodes the node.
func (n *Node) UnmarshalJSON(raw []byte) error {
	var j nodeJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*n = Node(j.plainNode)
	n.Label, n.LabelIn, n.Text, n.TextIn = j.Label.plain, j.Label.translations, j.Text.plain, j.Text.translations
	return nil
}

// In returns the field with its texts in a language, as far as it has them.
func (f InputField) In(language string) InputField {
	f.Label, f.Help = f.LabelIn.In(language, f.Label), f.HelpIn.In(language, f.Help)
	f.PatternMessage = f.PatternMessageIn.In(language, f.PatternMessage)
	f.Options = slices.Clone(f.Options)
	for i, o := range f.Options {
		f.Options[i].Label = o.LabelIn.In(language, o.Label)
	}
	return f
}

// translated checks each translation of a text.
func (v *validator) translated(path string, t Translations, maximum int) {
	if t != nil {
		v.check(path, len(t) > 0 && len(t) <= maxLanguages, "must have 1 to %d languages", maxLanguages)
	}
	for _, language := range slices.Sorted(maps.Keys(t)) {
		at := fmt.Sprintf("%s.%s", path, language)
		v.check(at, validLanguage(language), "a language must be a tag such as en or pt-BR")
		v.length(at, t[language], 1, maximum)
	}
}

// maxLanguages is the maximum number of languages of one text.
const maxLanguages = 50

// validLanguage reports whether s has the form of a language tag.
func validLanguage(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i < 2 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return len(s) >= 2 && len(s) <= 35
}
