// Input fields: what a customer is asked for.

package workflow

import "slices"

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
	FieldPhone    FieldType = "phone" // 7 to 15 digits, see verification.CleanPhone; + first when international
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
	// RequiredMessage is what the journey page says if the customer leaves the required field
	// empty; empty for a general sentence.
	RequiredMessage string `json:"required_message,omitempty"`
	Pattern         string `json:"pattern,omitempty"` // text, textarea, email, phone: RE2
	// PatternMessage is what the journey page says about an answer that does not
	// match Pattern; empty for a general sentence.
	PatternMessage string `json:"pattern_message,omitempty"`
	Uppercase      bool   `json:"uppercase,omitempty"` // text, textarea, email, phone: the answer is converted to upper case
	// AutoComplete is the autofill token of HTML for the page, such as "name".
	AutoComplete string `json:"autocomplete,omitempty"`
	MaxLength    int    `json:"max_length,omitempty"` // in characters; 0 means 1000, textarea 10000
	// Search makes the run findable by the answer: text, number, date, email, phone. See
	// facts.SearchWords.
	Search  bool     `json:"search,omitempty"`
	Integer bool     `json:"integer,omitempty"` // number: the answer must be whole
	Min     *float64 `json:"-"`                 // number: min
	Max     *float64 `json:"-"`                 // number: max
	// MinDate and MaxDate are the min and max of a date field: a date as YYYY-MM-DD,
	// today, or a time before or after the day of the answer, such as -18y.
	MinDate string `json:"-"`
	MaxDate string `json:"-"`
	Camera  Camera `json:"camera,omitempty"` // image: empty means back
	// LabelIn, HelpIn, RequiredMessageIn and PatternMessageIn have the texts by language.
	// Label, Help, RequiredMessage and PatternMessage are then those in the default language.
	LabelIn           Translations `json:"-"`
	HelpIn            Translations `json:"-"`
	RequiredMessageIn Translations `json:"-"`
	PatternMessageIn  Translations `json:"-"`
	Options           []Option     `json:"options,omitempty"` // select
	Accept            []string     `json:"accept,omitempty"`  // file, image: media types
	Within            []Area       `json:"within,omitempty"`  // location: geo_ok is false unless the customer is certainly in one of them
}

// FieldGroup is a screen of the journey page: some fields of a customer input.
type FieldGroup struct {
	Label string `json:"label,omitempty"` // empty means that of the node
	// LabelIn is Label by language; Label is then that in the default language.
	LabelIn Translations `json:"-"`
	Fields  []string     `json:"fields"` // names
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

// Area is a circle on the surface of the earth.
type Area struct {
	Latitude  float64 `json:"latitude"`  // degrees, -90 to 90
	Longitude float64 `json:"longitude"` // degrees, -180 to 180
	RadiusKM  float64 `json:"radius_km"` // kilometres, above 0
}

// InputFields are the fields of a customer input in the order in which they are
// shown. In JSON they are an object whose order is significant.
type InputFields []InputField

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
