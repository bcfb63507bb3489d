// The step that is open, as its page shows it.

package journey

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// stepView is a consent or a form.
type stepView struct {
	Wait       int
	Consent    bool
	Text       string
	Optional   bool
	Upload     bool // the form sends files
	Failed     bool
	Fields     []fieldView
	Complaints []complaint // what is wrong, in the order of the page
}

// complaint is one line of the summary above a form.
type complaint struct {
	Target string // the id of the input; empty when it is about the whole form
	Label  string
	Text   string
}

// fieldView is one input with what was answered so far.
type fieldView struct {
	verification.InputField
	Form  string // the name of the input
	ID    string
	Error string

	Value   string // of an input of one text
	Checked bool
	Options []optionView

	InputType    string
	InputMode    string
	AutoComplete string
	Kinds        string // the media types that a file may have
	Kept         upload
	Place        place
}

// optionView is one choice of a select.
type optionView struct {
	Value, Label string
	Selected     bool
}

// stepPage shows the open step with what was answered so far.
func stepPage(v visitor, j engine.Journey, f form) page {
	p := newPage(v, j)
	s := j.Step
	p.Title, p.Own = s.Label, true
	if s.Label == "" {
		p.Title = j.Workflow
	}
	p.Now, p.Total = j.Done+1, max(j.Total, j.Done+1)
	p.Step = &stepView{
		Wait: s.Wait, Consent: s.Type == verification.NodeConsent, Text: s.Text, Optional: s.Optional,
		Failed: f.failed(),
	}
	for _, field := range s.Fields {
		w := viewOf(field, f)
		p.Step.Upload = p.Step.Upload || field.Upload()
		if w.Error != "" {
			p.Step.Complaints = append(p.Step.Complaints, complaint{Target: w.ID, Label: w.Label, Text: w.Error})
		}
		p.Step.Fields = append(p.Step.Fields, w)
	}
	if f.general != "" {
		p.Step.Complaints = append(p.Step.Complaints, complaint{Text: f.general})
	}
	return p
}

func viewOf(field verification.InputField, f form) fieldView {
	w := fieldView{
		InputField: field, Form: formName(field.Name), ID: "f-" + field.Name, Error: f.faults[field.Name],
		Value: f.values[formName(field.Name)], InputType: "text",
	}
	if w.Label == "" {
		w.Label = field.Name
	}
	switch field.Type {
	case verification.FieldEmail:
		w.InputType, w.InputMode, w.AutoComplete = "email", "email", "email"
	case verification.FieldPhone:
		w.InputType, w.InputMode, w.AutoComplete = "tel", "tel", "tel"
	case verification.FieldNumber:
		w.InputMode = "decimal" // not type=number, which drops what it cannot read
	case verification.FieldDate:
		w.InputType = "date"
	case verification.FieldCheckbox:
		w.Checked = w.Value != ""
	case verification.FieldSelect:
		for _, o := range field.Options {
			label := o.Label
			if label == "" {
				label = o.Value
			}
			w.Options = append(w.Options, optionView{Value: o.Value, Label: label, Selected: o.Value == w.Value})
		}
	case verification.FieldFile, verification.FieldImage:
		w.Kinds, w.Kept = strings.Join(kindsOf(field), ","), f.uploads[field.Name]
	case verification.FieldLocation:
		w.Place = f.place(field.Name)
	case verification.FieldText, verification.FieldTextarea:
		w.AutoComplete = autoComplete(field.Name)
	}
	return w
}

// autoComplete lets browsers offer what they know, for the names that
// workflows use.
func autoComplete(name string) string {
	switch name {
	case "name", "full_name":
		return "name"
	case "given_name", "first_name":
		return "given-name"
	case "family_name", "last_name", "surname":
		return "family-name"
	case "postal_code", "zip", "pincode", "pin_code":
		return "postal-code"
	case "address":
		return "street-address"
	}
	return ""
}

// kindsOf lists the media types that a field takes; none for any. A photo is
// asked for as what phones can convert to.
func kindsOf(f verification.InputField) []string {
	if len(f.Accept) == 0 && f.Type == verification.FieldImage {
		return []string{"image/jpeg", "image/png"}
	}
	return f.Accept
}

// Camera tells whether a photo that the page takes, a JPEG, is an answer.
func (w fieldView) Camera() bool {
	kinds := kindsOf(w.InputField)
	return w.Type == verification.FieldImage && (slices.Contains(kinds, "image/jpeg") || slices.Contains(kinds, "image/*"))
}

// kindNames lists media types as people call them, such as "PDF or an image".
// It is empty when any file will do.
func (w words) kindNames(kinds []string) string {
	var names []string
	images := slices.ContainsFunc(kinds, func(kind string) bool { return strings.EqualFold(kind, "image/*") })
	for _, kind := range kinds {
		group, name, _ := strings.Cut(strings.ToUpper(kind), "/")
		switch {
		case group == "*":
			return ""
		case group == "IMAGE" && images:
			name = w.texts["file.image"]
		case group == "APPLICATION":
			name = "PDF" // the only one that is taken
		case name == "JPG":
			name = "JPEG"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return fmt.Sprintf(w.texts["file.or"], strings.Join(names[:last], ", "), names[last])
}

// MaxBytes is the largest file, in bytes.
func (w fieldView) MaxBytes() int { return verification.MaxDocumentBytes }

// Megabytes is the largest file as people say it.
func (w fieldView) Megabytes() int { return verification.MaxDocumentBytes >> 20 }

// DescribedBy names the help and the fault of the input.
func (w fieldView) DescribedBy() string {
	var ids []string
	if w.Help != "" {
		ids = append(ids, w.ID+"-help")
	}
	if w.InputField.Upload() {
		ids = append(ids, w.ID+"-limits")
		if w.Kept.ID != "" {
			ids = append(ids, w.ID+"-kept")
		}
	}
	if w.Error != "" {
		ids = append(ids, w.ID+"-error")
	}
	return strings.Join(ids, " ")
}

// pairOf is what the templates of a field are filled in with.
type pairOf struct {
	P page
	F fieldView
}

func pair(p page, f fieldView) pairOf { return pairOf{P: p, F: f} }

// KindNames lists the kinds of file that the field takes, as people call them
// and as a sentence begins.
func (p pairOf) KindNames() string {
	names := p.P.visitor.kindNames(kindsOf(p.F.InputField))
	_, first := utf8.DecodeRuneInString(names)
	return strings.ToUpper(names[:first]) + names[first:]
}
