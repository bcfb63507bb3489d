// JSON of definitions: a text may be given by language, a limit may be a date, and the
// order of input fields counts.

package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification/internal/jsontext"
)

// nodeJSON is a node with translations in JSON.
type nodeJSON struct {
	plainNode
	Label text `json:"label,omitzero"`
	Text  text `json:"text,omitzero"`
}

type plainNode Node

// noRounds is the MaxRounds of a node that says 0, which is not encoded.
const noRounds = -1

// MarshalJSON encodes the node.
func (n Node) MarshalJSON() ([]byte, error) {
	n.MaxRounds = max(0, n.MaxRounds)
	if n.LabelIn == nil && n.TextIn == nil {
		return jsontext.Encode(plainNode(n))
	}
	return jsontext.Encode(nodeJSON{plainNode(n), text{n.Label, n.LabelIn}, text{n.Text, n.TextIn}})
}

// UnmarshalJSON decodes the node.
func (n *Node) UnmarshalJSON(raw []byte) error {
	var j nodeJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*n = Node(j.plainNode)
	n.Label, n.LabelIn, n.Text, n.TextIn = j.Label.plain, j.Label.translations, j.Text.plain, j.Text.translations
	var given struct {
		MaxRounds *int `json:"max_rounds"`
	}
	if err := json.Unmarshal(raw, &given); err == nil && given.MaxRounds != nil {
		n.MaxRounds = cmp.Or(*given.MaxRounds, noRounds)
	}
	return nil
}

// inputFieldJSON is an InputField in JSON.
type inputFieldJSON struct {
	plainField
	Label           text  `json:"label,omitzero"`
	Help            text  `json:"help,omitzero"`
	RequiredMessage text  `json:"required_message,omitzero"`
	PatternMessage  text  `json:"pattern_message,omitzero"`
	Min             limit `json:"min,omitzero"`
	Max             limit `json:"max,omitzero"`
}

type plainField InputField

// MarshalJSON encodes the field without its name.
func (f InputField) MarshalJSON() ([]byte, error) {
	return jsontext.Encode(inputFieldJSON{
		plainField: plainField(f), Label: text{f.Label, f.LabelIn}, Help: text{f.Help, f.HelpIn},
		RequiredMessage: text{f.RequiredMessage, f.RequiredMessageIn},
		PatternMessage:  text{f.PatternMessage, f.PatternMessageIn},
		Min:             limit{f.Min, f.MinDate}, Max: limit{f.Max, f.MaxDate},
	})
}

// UnmarshalJSON decodes the field without its name.
func (f *InputField) UnmarshalJSON(raw []byte) error {
	var j inputFieldJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*f = InputField(j.plainField)
	f.Label, f.LabelIn, f.Help, f.HelpIn = j.Label.plain, j.Label.translations, j.Help.plain, j.Help.translations
	f.RequiredMessage, f.RequiredMessageIn = j.RequiredMessage.plain, j.RequiredMessage.translations
	f.PatternMessage, f.PatternMessageIn = j.PatternMessage.plain, j.PatternMessage.translations
	f.Min, f.MinDate, f.Max, f.MaxDate = j.Min.number, j.Min.date, j.Max.number, j.Max.date
	return nil
}

// optionJSON is an Option in JSON.
type optionJSON struct {
	Value string `json:"value"`
	Label text   `json:"label,omitzero"`
}

// MarshalJSON encodes the option as an object.
func (o Option) MarshalJSON() ([]byte, error) {
	return jsontext.Encode(optionJSON{o.Value, text{o.Label, o.LabelIn}})
}

// UnmarshalJSON reads an object, or a string that is the value.
func (o *Option) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &o.Value)
	}
	var j optionJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*o = Option{Value: j.Value, Label: j.Label.plain, LabelIn: j.Label.translations}
	return nil
}

// screenJSON is a Screen in JSON.
type screenJSON struct {
	Label  text     `json:"label,omitzero"`
	Fields []string `json:"fields"`
}

// MarshalJSON encodes the screen.
func (g Screen) MarshalJSON() ([]byte, error) {
	return jsontext.Encode(screenJSON{text{g.Label, g.LabelIn}, g.Fields})
}

// UnmarshalJSON decodes the screen.
func (g *Screen) UnmarshalJSON(raw []byte) error {
	var j screenJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*g = Screen{Label: j.Label.plain, LabelIn: j.Label.translations, Fields: j.Fields}
	return nil
}

// MarshalJSON encodes the fields as an object, in order.
func (fs InputFields) MarshalJSON() ([]byte, error) {
	return encodeOrdered(fs, func(f InputField) string { return f.Name }, json.Marshal) // which escapes, as the hashes of old versions do
}

// UnmarshalJSON decodes an object and keeps its order.
func (fs *InputFields) UnmarshalJSON(raw []byte) (err error) {
	*fs, err = decodeOrdered[InputField](raw, func(f *InputField, name string) { f.Name = name })
	return err
}

// encodeOrdered encodes values as an object by their names, in order.
func encodeOrdered[T any](values []T, name func(T) string, encode func(any) ([]byte, error)) ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(name(v))
		if err != nil {
			return nil, err
		}
		value, err := encode(v)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// decodeOrdered decodes an object of values by name, and keeps its order.
func decodeOrdered[T any](raw []byte, named func(v *T, name string)) ([]T, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	open, err := dec.Token()
	if err != nil || open == nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errors.New("it must be an object")
	}
	var values []T
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v T
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		text, _ := name.(string)
		named(&v, text)
		values = append(values, v)
	}
	return values, nil
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
		return jsontext.Encode(map[string]string(t.translations))
	}
	return jsontext.Encode(t.plain)
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

// limit is the min or max of a field in JSON: a number, or the limit of a date.
type limit struct {
	number *float64
	date   string
}

// IsZero reports whether there is no limit.
func (l limit) IsZero() bool { return l == limit{} }

// MarshalJSON encodes the number or the date.
func (l limit) MarshalJSON() ([]byte, error) {
	if l.date != "" {
		return json.Marshal(l.date)
	}
	return json.Marshal(l.number)
}

// UnmarshalJSON decodes a number or a string.
func (l *limit) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &l.date)
	}
	return json.Unmarshal(raw, &l.number)
}
