// What a customer is asked for.

package verification

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// FieldType is what one field of a customer input takes.
type FieldType string

// The field types.
const (
	FieldText     FieldType = "text"
	FieldTextarea FieldType = "textarea"
	FieldNumber   FieldType = "number"
	FieldDate     FieldType = "date" // YYYY-MM-DD
	FieldSelect   FieldType = "select"
	FieldCheckbox FieldType = "checkbox"
	FieldEmail    FieldType = "email"
	FieldPhone    FieldType = "phone" // digits, with + first when international
	FieldFile     FieldType = "file"
	FieldImage    FieldType = "image"
	FieldLocation FieldType = "location"
)

// InputField is one thing a customer is asked for.
type InputField struct {
	Name      string    `json:"-"` // the key of the field in the definition
	Type      FieldType `json:"type"`
	Label     string    `json:"label,omitempty"`
	Help      string    `json:"help,omitempty"`
	Required  bool      `json:"required,omitempty"`
	Pattern   string    `json:"pattern,omitempty"`    // text, textarea, email, phone: RE2
	MaxLength int       `json:"max_length,omitempty"` // in characters; 0 means 1000, textarea 10000
	Min       *float64  `json:"min,omitempty"`        // number
	Max       *float64  `json:"max,omitempty"`        // number
	Options   []Option  `json:"options,omitempty"`    // select
	Accept    []string  `json:"accept,omitempty"`     // file, image: media types
	Within    []Area    `json:"within,omitempty"`     // location
}

// maxOneLine is the longest answer to a field of one line, in characters,
// unless the field says otherwise.
const maxOneLine = 1000

// Option is one choice of a select.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label,omitempty"` // empty means the value
}

// Area is a circle on the earth.
type Area struct {
	Latitude  float64 `json:"latitude"`  // degrees, -90 to 90
	Longitude float64 `json:"longitude"` // degrees, -180 to 180
	RadiusKM  float64 `json:"radius_km"` // kilometres, above 0
}

// InputFields are the fields of a customer input in the order they are shown.
// In a definition they are an object whose order counts.
type InputFields []InputField

// MarshalJSON writes the fields as an object in their order.
func (fs InputFields) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range fs {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// UnmarshalJSON reads an object and keeps its order.
func (fs *InputFields) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open == nil {
		*fs = nil
		return nil
	}
	if open != json.Delim('{') {
		return errors.New("fields must be an object")
	}
	*fs = nil
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var f InputField
		if err := dec.Decode(&f); err != nil {
			return err
		}
		f.Name, _ = name.(string)
		*fs = append(*fs, f)
	}
	return nil
}

// ByName finds a field.
func (fs InputFields) ByName(name string) (InputField, bool) {
	i := slices.IndexFunc(fs, func(f InputField) bool { return f.Name == name })
	if i < 0 {
		return InputField{}, false
	}
	return fs[i], true
}
