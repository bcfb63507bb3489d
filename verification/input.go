// Input fields: what a customer is asked for.

package verification

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// FieldType is the type of an input field.
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

// InputField is one field of a customer input.
type InputField struct {
	Name     string    `json:"-"` // its key in the definition
	Type     FieldType `json:"type"`
	Label    string    `json:"label,omitempty"`
	Help     string    `json:"help,omitempty"`
	Required bool      `json:"required,omitempty"`
	Pattern  string    `json:"pattern,omitempty"` // text, textarea, email, phone: RE2
	// PatternMessage is what the journey page says about an answer that does not
	// match Pattern; empty for a general sentence.
	PatternMessage string `json:"pattern_message,omitempty"`
	Uppercase      bool   `json:"uppercase,omitempty"` // text: the answer is converted to upper case
	// AutoComplete is the autofill token of HTML for the page, such as "name".
	AutoComplete string   `json:"autocomplete,omitempty"`
	MaxLength    int      `json:"max_length,omitempty"` // in characters; 0 means 1000, textarea 10000
	Min          *float64 `json:"-"`                    // number: min
	Max          *float64 `json:"-"`                    // number: max
	// MinDate and MaxDate are the min and max of a date field: a date as YYYY-MM-DD,
	// today, or a time before or after the day of the answer, such as -18y.
	MinDate string `json:"-"`
	MaxDate string `json:"-"`
	Camera  Camera `json:"camera,omitempty"` // image: empty means back
	// LabelIn, HelpIn and PatternMessageIn are Label, Help and PatternMessage by
	// language, which are then those in the default language.
	LabelIn          Translations `json:"-"`
	HelpIn           Translations `json:"-"`
	PatternMessageIn Translations `json:"-"`
	Options          []Option     `json:"options,omitempty"` // select
	Accept           []string     `json:"accept,omitempty"`  // file, image: media types
	Within           []Area       `json:"within,omitempty"`  // location: geo_ok is false outside all of them
}

// The default length limits of an answer, in characters.
const (
	maxOneLine  = 1000
	maxTextarea = 10000
)

// Option is one choice of a select field.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label,omitempty"` // empty means Value
	// LabelIn is Label by language; Label is then that in the default language.
	LabelIn Translations `json:"-"`
}

// Camera is the camera of a phone that takes the picture of an image field.
type Camera string

// The cameras.
const (
	CameraBack  Camera = "back"
	CameraFront Camera = "front" // faces the person who holds the phone
)

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

// inputFieldJSON is an InputField in JSON.
type inputFieldJSON struct {
	plainField
	Label          text  `json:"label,omitzero"`
	Help           text  `json:"help,omitzero"`
	PatternMessage text  `json:"pattern_message,omitzero"`
	Min            limit `json:"min,omitzero"`
	Max            limit `json:"max,omitzero"`
}

type plainField InputField

// MarshalJSON encodes the field without its name.
func (f InputField) MarshalJSON() ([]byte, error) {
	return plainJSON(inputFieldJSON{
		plainField: plainField(f), Label: text{f.Label, f.LabelIn}, Help: text{f.Help, f.HelpIn},
		PatternMessage: text{f.PatternMessage, f.PatternMessageIn},
		Min:            limit{f.Min, f.MinDate}, Max: limit{f.Max, f.MaxDate},
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
	return plainJSON(optionJSON{o.Value, text{o.Label, o.LabelIn}})
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

// Area is a circle on the surface of the earth.
type Area struct {
	Latitude  float64 `json:"latitude"`  // degrees, -90 to 90
	Longitude float64 `json:"longitude"` // degrees, -180 to 180
	RadiusKM  float64 `json:"radius_km"` // kilometres, above 0
}

// InputFields are the fields of a customer input in the order in which they are
// shown. In JSON they are an object whose order is significant.
type InputFields []InputField

// MarshalJSON encodes the fields as an object, in order.
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

// UnmarshalJSON decodes an object and keeps its order.
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

// ByName returns a field by its name, and whether there is one.
func (fs InputFields) ByName(name string) (InputField, bool) {
	i := slices.IndexFunc(fs, func(f InputField) bool { return f.Name == name })
	if i < 0 {
		return InputField{}, false
	}
	return fs[i], true
}

func fieldTypes() []FieldType {
	return []FieldType{
		FieldText, FieldTextarea, FieldNumber, FieldDate, FieldSelect, FieldCheckbox,
		FieldEmail, FieldPhone, FieldFile, FieldImage, FieldLocation,
	}
}
