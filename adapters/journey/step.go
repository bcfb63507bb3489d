// The page of the open step.

package journey

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// stepView is a consent or a form.
type stepView struct {
	WaitNumber int
	Consent    bool
	Text       string
	Optional   bool
	Upload     bool // the form sends files
	Rows       bool // the form has buttons that add rows
	Failed     bool
	// Place is the field of a step that has only a location; nil for any other step.
	Place  *fieldView
	Phone  template.HTML // a QR code of the link, if a phone takes better photos; may be empty
	Fields []fieldView
	// Screen is the one that is shown, from 1, and Screens how many there are; both 0 for
	// a form on one screen. Hidden are the answers of the other ones.
	Screen, Screens int
	Hidden          []hiddenInput
	Part            int           // Screen, where the page names it beside the step; else 0
	Problems        []web.Problem // in the order of the page
	Intro           *introView    // above the first step; nil for none
	Again           *againView    // nil unless the customer is asked again
	Away            *awayView     // nil unless the step leads the customer away
}

// againView says why the customer is asked again.
type againView struct {
	Reasons []string
	Note    string
	Fields  []string // the labels of the fields that it is about
}

// againView returns nil unless the customer is asked again.
func (v visitor) againView(s *engine.JourneyStep) *againView {
	if s.Again == nil {
		return nil
	}
	a := &againView{Note: s.Again.Note}
	for _, r := range s.Again.Reasons {
		a.Reasons = append(a.Reasons, r.LabelIn.In(v.Lang(), r.Label))
	}
	for _, place := range s.Again.Fields {
		a.Fields = append(a.Fields, cmp.Or(s.Fields.LabelAt(place, v.Lang()), place))
	}
	return a
}

// introView says what the customer needs.
type introView struct {
	Text    string
	Minutes int      // about how long it takes; 0 says nothing
	Needed  []string // what to have at hand
}

// introView returns nil if the workflow has no introduction, or the customer has begun.
func (v visitor) introView(j engine.Journey) *introView {
	if j.Intro == nil || v.posted {
		return nil
	}
	i := &introView{Text: j.Intro.TextIn.In(v.Lang(), j.Intro.Text), Minutes: j.Intro.Minutes}
	for _, f := range j.Needed {
		i.Needed = append(i.Needed, f.LabelIn.In(v.Lang(), cmp.Or(f.Label, f.Name)))
	}
	return i
}

// fieldView is an input and its current answer.
type fieldView struct {
	workflow.InputField
	Input string // its name
	Again bool   // the customer is asked for it again
	ID    string
	Error string

	Value   string // of an input of one text
	Checked bool
	Options []optionView

	Parts   []datePart // of a date
	Partial bool       // the day and the month may be missing

	InputType string
	InputMode string
	AutoFill  string // the value of autocomplete
	Kinds     string // the accepted media types
	Uploaded  upload
	Location  location

	Rows  []rowView // of a group
	Add   bool      // whether it may have another row
	Added string    // the id of the row that would be added
}

// optionView is one choice of a select.
type optionView struct {
	Value, Label string
	Selected     bool
}

// stepPage returns the page of the open step with the current answers.
func stepPage(v visitor, j engine.Journey, f form) page {
	p := newPage(v, j)
	s := j.Step
	p.Title, p.TitleIsText = s.LabelIn.In(p.Lang(), s.Label), true
	p.Title = cmp.Or(p.Title, j.Workflow)
	p.Rejected = j.RejectTextIn.In(p.Lang(), j.RejectText)
	p.Current, p.Total = j.Done+1, max(j.Total, j.Done+1)
	p.Step = &stepView{
		WaitNumber: s.WaitNumber, Consent: s.Type == workflow.NodeConsent, Text: s.TextIn.In(p.Lang(), s.Text), Optional: s.Optional,
		Failed: f.failed(), Intro: v.introView(j), Again: v.againView(s),
	}
	fields := s.Fields
	if len(s.Groups) > 0 {
		at := f.screen(s)
		group := s.Groups[at]
		fields, p.Step.Hidden, p.Step.Screen, p.Step.Screens = screens(s)[at], f.hidden(s, at), at+1, len(s.Groups)
		p.Title = cmp.Or(group.LabelIn.In(p.Lang(), group.Label), p.Title)
		if at > 0 {
			p.Step.Text = ""
		}
		if p.Total == 1 { // a single step: its screens are the steps
			p.Current, p.Total = at+1, len(s.Groups)
		} else {
			p.Step.Part = at + 1
		}
	}
	if s.Elements > 0 {
		if p.Title = v.numbered("element", p.Title, s.Element, s.Elements); s.Name != "" {
			p.Title += " · " + s.Name
		}
		// Browsers take forms with the same names for one: after the back button they would fill in what was typed for another element.
		p.Step.Hidden = append([]hiddenInput{{Name: fmt.Sprint("element.", s.Element)}}, p.Step.Hidden...)
	}
	for _, field := range fields {
		w := viewOf(field.In(p.Lang()), f)
		w.Again = s.Again != nil && slices.Contains(s.Again.Fields, field.Name)
		p.Step.Upload = p.Step.Upload || uploads(field)
		if field.Type == workflow.FieldGroup {
			v.rowViews(&w, f, s.Again)
			p.Step.Rows = true
		}
		p.Step.Problems = append(p.Step.Problems, v.problemsOf(w, v.shortLabel(field))...)
		p.Step.Fields = append(p.Step.Fields, w)
	}
	if fields := p.Step.Fields; len(fields) == 1 && fields[0].Type == workflow.FieldLocation {
		p.Step.Place = &fields[0]
	}
	if slices.ContainsFunc(p.Step.Fields, fieldView.Photos) && j.Run.Action != nil {
		p.Step.Phone, p.State = qrCode(j.Run.Action.URL+v.Query(), v.Message("phone.code")), stateOf(j)
	}
	if f.general != "" {
		p.Step.Problems = append(p.Step.Problems, web.Problem{Text: f.general})
	}
	return p
}

// Index returns the index of the screen.
func (s *stepView) Index() int { return s.Screen - 1 }

// Denying returns the key of the sentence that says how to go on without a location.
func (s *stepView) Denying() string {
	if s.Place != nil {
		return "location.press"
	}
	return "location.tick"
}

func viewOf(field workflow.InputField, f form) fieldView {
	w := fieldView{
		InputField: field, Input: inputName(field.Name), ID: elementID(field.Name), Error: f.problems[field.Name],
		Value: f.values[inputName(field.Name)], InputType: "text",
	}
	w.Label = cmp.Or(w.Label, field.Name)
	switch field.Type {
	case workflow.FieldEmail:
		w.InputType, w.InputMode, w.AutoFill = "email", "email", "email"
	case workflow.FieldPhone:
		w.InputType, w.InputMode, w.AutoFill = "tel", "tel", "tel"
	case workflow.FieldNumber:
		w.InputMode = "decimal" // type=number would drop what it cannot parse
		if field.Integer {
			w.InputMode = "numeric"
		}
	case workflow.FieldDate:
		w.Parts, w.Partial = dateParts(field, f), field.BirthOf == workflow.FactPerson
	case workflow.FieldCheckbox:
		w.Checked = w.Value != ""
	case workflow.FieldSelect:
		for _, o := range field.Options {
			w.Options = append(w.Options, optionView{Value: o.Value, Label: cmp.Or(o.Label, o.Value), Selected: o.Value == w.Value})
		}
	case workflow.FieldFile, workflow.FieldImage:
		w.Kinds, w.Uploaded = strings.Join(typesOf(field), ","), f.uploads[field.Name]
	case workflow.FieldLocation:
		w.Location = f.location(field.Name)
	case workflow.FieldGroup: // see rowViews
	case workflow.FieldText, workflow.FieldTextarea:
		w.AutoFill = autoComplete(field.Name)
	}
	if field.AutoComplete != "" {
		w.AutoFill = field.AutoComplete
	}
	return w
}

// elementID returns the id of the element of a place.
func elementID(place string) string {
	return "f-" + strings.NewReplacer("[", "-", "].", "-", "]", "").Replace(place)
}

// datePart is one of the three inputs of a date.
type datePart struct {
	Name     string // day, month or year
	Label    string // the key of its label
	Value    string
	AutoFill string
	Length   int
}

// dateParts returns the inputs of a date, in the order in which the languages of the pages
// write it. The browser fills in a birth date.
func dateParts(field workflow.InputField, f form) []datePart {
	parts := []datePart{
		{Name: "day", Label: "date.day", Length: 2}, {Name: "month", Label: "date.month", Length: 2}, {Name: "year", Label: "date.year", Length: 4},
	}
	birth := field.BirthOf == workflow.FactPerson && (field.AutoComplete == "" || field.AutoComplete == "bday")
	name := inputName(field.Name)
	year, rest, _ := strings.Cut(f.values[name], "-") // an answer in one piece
	month, day, _ := strings.Cut(rest, "-")
	whole := map[string]string{"day": day, "month": month, "year": year}
	for i, part := range parts {
		parts[i].Value = cmp.Or(f.values[name+"."+part.Name], whole[part.Name])
		if birth {
			parts[i].AutoFill = "bday-" + part.Name
		}
	}
	return parts
}

// Target returns the id of the element that a link to the field leads to.
func (w fieldView) Target() string {
	if w.Type == workflow.FieldDate {
		return w.ID + "-day"
	}
	return w.ID
}

// autoComplete returns the autocomplete token for a common field name, or "".
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

// kindsOf returns the media types that a field accepts, in lower case; none means any.
// Phones convert photos to the default types of an image field.
func kindsOf(f workflow.InputField) []string {
	if len(f.Accept) == 0 && f.Type == workflow.FieldImage {
		return []string{"image/jpeg", "image/png"}
	}
	kinds := make([]string, len(f.Accept))
	for i, kind := range f.Accept {
		kinds[i] = strings.ToLower(kind)
		if kinds[i] == "image/jpg" { // a common misspelling, which browsers do not know
			kinds[i] = "image/jpeg"
		}
	}
	return kinds
}

// typesOf returns kindsOf with the images that are supported in place of image/*, for
// which a phone would not convert its photos.
func typesOf(f workflow.InputField) (types []string) {
	for _, kind := range kindsOf(f) {
		if kind == "image/*" {
			for _, t := range verification.FileTypes() {
				if t.Image() {
					types = append(types, t.MediaType)
				}
			}
		} else {
			types = append(types, kind)
		}
	}
	return types
}

// Photo reports whether the field accepts a photo that the page takes, a JPEG.
func (w fieldView) Photo() bool {
	return w.Type == workflow.FieldImage && slices.ContainsFunc(kindsOf(w.InputField), func(kind string) bool {
		return kind == "image/jpeg" || kind == "image/*" || kind == "*/*"
	})
}

// Photos reports whether the field, or one in its rows, accepts such a photo.
func (w fieldView) Photos() bool {
	return w.Photo() || slices.ContainsFunc(w.Rows, func(r rowView) bool { return slices.ContainsFunc(r.Fields, fieldView.Photo) })
}

// Facing returns the value of capture for the camera of the field.
func (w fieldView) Facing() string {
	if w.InputField.Camera == workflow.CameraFront {
		return "user"
	}
	return "environment"
}

// kindNames returns the common names of the media types of kindsOf, such as "PDF or an
// image", or "" if any file is accepted.
func (c catalog) kindNames(kinds []string) string {
	var names []string
	images := slices.Contains(kinds, "image/*")
	for _, kind := range kinds {
		group, name, _ := strings.Cut(strings.ToUpper(kind), "/")
		switch {
		case group == "*":
			return ""
		case group == "IMAGE" && images:
			name = c.Message("file.image")
		case group == "APPLICATION":
			name = "PDF" // the only one that is accepted
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return fmt.Sprintf(c.Message("file.or"), strings.Join(names[:last], ", "), names[last])
}

// MaxBytes returns the size limit of a file in bytes.
func (w fieldView) MaxBytes() int { return verification.MaxDocumentBytes }

// Megabytes returns the size limit of a file in megabytes.
func (w fieldView) Megabytes() int { return verification.MaxDocumentBytes >> 20 }

// DescribedBy returns the ids of the elements that describe the input.
func (w fieldView) DescribedBy() string {
	var ids []string
	if w.Help != "" {
		ids = append(ids, w.ID+"-help")
	}
	if w.Partial {
		ids = append(ids, w.ID+"-partial")
	}
	if w.InputField.Upload() {
		ids = append(ids, w.ID+"-limits")
		if w.Uploaded.ID != "" {
			ids = append(ids, w.ID+"-kept")
		}
	}
	if w.Error != "" {
		ids = append(ids, w.ID+"-error")
	}
	return strings.Join(ids, " ")
}

// fieldInPage is the data of the templates of a field.
type fieldInPage struct {
	Page  page
	Field fieldView
}

func inPage(p page, f fieldView) fieldInPage { return fieldInPage{p, f} }

// KindNames returns the common names of the accepted media types, capitalized.
func (p fieldInPage) KindNames() string {
	names := p.Page.kindNames(kindsOf(p.Field.InputField))
	_, first := utf8.DecodeRuneInString(names)
	return strings.ToUpper(names[:first]) + names[first:]
}
