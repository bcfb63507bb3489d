// Input fields: what a customer is asked for.

package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
	FieldPhone    FieldType = "phone" // 7 to 15 digits, see verification.CleanPhone; + first when international
	FieldFile     FieldType = "file"
	FieldImage    FieldType = "image"
	FieldLocation FieldType = "location"
	FieldGroup    FieldType = "group" // a list of rows, each with the same fields
)

// MaxRows is the maximum number of rows in the answer to a field of the type group.
const MaxRows = 64

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
	Min     *float64 `json:"-"`                 // number: min; group: the least number of rows, nil means 0
	Max     *float64 `json:"-"`                 // number: max; group: the largest number of rows, nil means MaxRows
	// MinDate and MaxDate are the min and max of a date field: a date as YYYY-MM-DD,
	// today, or a time before or after the day of the answer, such as -18y.
	MinDate string `json:"-"`
	MaxDate string `json:"-"`
	// BirthOf says whose birth date a date field asks for: FactPerson, or FactCompany for the day on which a company was founded; empty for
	// another date. Compile and Restore set it. The birth date of a person may be YYYY or YYYY-MM.
	BirthOf FactKind `json:"-"`
	Camera  Camera   `json:"camera,omitempty"` // image: empty means back
	// LabelIn, HelpIn, RequiredMessageIn and PatternMessageIn have the texts by language.
	// Label, Help, RequiredMessage and PatternMessage are then those in the default language.
	LabelIn           Translations `json:"-"`
	HelpIn            Translations `json:"-"`
	RequiredMessageIn Translations `json:"-"`
	PatternMessageIn  Translations `json:"-"`
	Options           []Option     `json:"options,omitempty"` // select
	Accept            []string     `json:"accept,omitempty"`  // file, image: media types
	Within            []Area       `json:"within,omitempty"`  // location: geo_ok is false unless the customer is certainly in one of them
	Fields            InputFields  `json:"fields,omitempty"`  // group: the fields of each row
}

// Rows returns the least and the largest number of rows of a group.
func (f InputField) Rows() (least, most int) {
	most = MaxRows
	if f.Min != nil {
		least = int(*f.Min)
	}
	if f.Max != nil {
		most = int(*f.Max)
	}
	return least, most
}

// Screen is a screen of the journey page: some fields of a customer input.
type Screen struct {
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

// At returns the field of a place in an answer, such as owners[1].name, or of its name, and whether there is one.
func (fs InputFields) At(place string) (InputField, bool) {
	group, _, name := SplitPlace(place)
	if group == "" {
		return fs.ByName(name)
	}
	f, _ := fs.ByName(group)
	return f.Fields.ByName(name)
}

// LabelAt returns the label of a place in a language, such as "Owners 2: Name" for owners[1].name; empty for a field without one,
// and outside of the form.
func (fs InputFields) LabelAt(place, language string) string {
	f, ok := fs.At(place)
	label := f.In(language).Label
	of, row, _ := SplitPlace(place)
	if group, _ := fs.ByName(of); ok && of != "" {
		return fmt.Sprintf("%s %d: %s", cmp.Or(group.In(language).Label, of), row+1, cmp.Or(label, f.Name))
	}
	return label
}

// Place returns the place of a field in a row of a group, such as owners[1].name for the second row.
func Place(group string, row int, name string) string {
	return group + "[" + strconv.Itoa(row) + "]." + name
}

// maxRowNumber bounds the number of a row in a place. It is above MaxRows, because the rows of a page keep their numbers when
// the customer removes another one.
const maxRowNumber = 1000

// SplitPlace returns the parts of a place. A place outside of rows is a name, and has no group.
func SplitPlace(place string) (group string, row int, name string) {
	group, rest, ok := strings.Cut(place, "[")
	number, name, inside := strings.Cut(rest, "].")
	row, err := strconv.Atoi(number)
	if !ok || group == "" || !inside || err != nil || row < 0 || row >= maxRowNumber || place != Place(group, row, name) {
		return "", 0, place
	}
	return group, row, name
}

func fieldTypes() []FieldType {
	return []FieldType{
		FieldText, FieldTextarea, FieldNumber, FieldDate, FieldSelect, FieldCheckbox,
		FieldEmail, FieldPhone, FieldFile, FieldImage, FieldLocation, FieldGroup,
	}
}
