// Validation of definitions: input fields.

package workflow

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

func (v *validator) inputs(at string, n Node) {
	v.length(at+".text", n.Text, 0, maxText)
	v.inputFields(at+".fields", n.Fields)
	v.groups(at, n)
}

func (v *validator) inputFields(at string, fields InputFields) {
	v.check(at, len(fields) > 0 && len(fields) <= maxFields, "must have 1 to %d fields", maxFields)
	seen := map[string]bool{}
	for _, f := range fields {
		path := at + "." + f.Name
		v.check(path, validName(f.Name), "a field's name must be a lower-case letter followed by letters, digits or _")
		v.check(path, !slices.Contains(derivedNames(), f.Name), "the name is reserved for derived values")
		v.check(path, !seen[f.Name], "the field is given twice")
		seen[f.Name] = true
		v.inputField(path, f)
	}
}

// rows checks the fields of a group.
func (v *validator) rows(path string, f InputField) {
	if f.Type != FieldGroup {
		v.check(path+".fields", len(f.Fields) == 0, "is for fields of the type group")
		return
	}
	v.check(path+".required", !f.Required, "a group is required if it has a min: write min: 1")
	limit := func(name string, n *float64, from float64) {
		v.check(path+"."+name, n == nil || *n == math.Trunc(*n) && *n >= from && *n <= MaxRows, "must be a whole number of rows from %v to %d", from, MaxRows)
	}
	limit("min", f.Min, 0)
	limit("max", f.Max, 1)
	v.inputFields(path+".fields", f.Fields)
	v.check(path+".fields", len(f.Fields) <= maxRowFields, "must have at most %d fields, because each row has them", maxRowFields)
	files := 0
	for _, field := range f.Fields {
		at := path + ".fields." + field.Name + ".type"
		v.check(at, field.Type != FieldGroup, "a group cannot be in a group: write its fields into this one, or a form with for_each over this group")
		v.check(at, field.Type != FieldLocation, "a location cannot be in a group: write it beside the group")
		if field.Upload() {
			files++
		}
	}
	if _, most := f.Rows(); most <= MaxRows {
		v.check(path+".max", files*most <= maxRowFiles, "%d rows with %d files each are too many: the customer can send %d in one group", most, files, maxRowFiles)
	}
}

// groups checks that each field is in one group, unless there are no groups.
func (v *validator) groups(at string, n Node) {
	if len(n.Groups) == 0 {
		return
	}
	grouped := map[string]bool{}
	for i, g := range n.Groups {
		path := fmt.Sprintf("%s.groups[%d]", at, i)
		v.length(path+".label", g.Label, 0, maxLabel)
		v.translated(path+".label", g.LabelIn, maxLabel)
		v.check(path+".fields", len(g.Fields) > 0, "is required")
		for k, name := range g.Fields {
			field := fmt.Sprintf("%s.fields[%d]", path, k)
			_, ok := n.Fields.ByName(name)
			v.check(field, ok, "there is no field %q", name)
			v.check(field, !grouped[name], "the field %q is in two groups", name)
			grouped[name] = true
		}
	}
	for _, f := range n.Fields {
		v.check(at+".groups", grouped[f.Name], "the field %q is in no group", f.Name)
	}
}

// derivedNames returns the names that have a meaning of their own in the payload or the
// data of a step, so that no field may have them.
func derivedNames() []string {
	return []string{"opted_out", "geo_ok", "consent_status", "source_ok", "analysis_ok", "differs", "node_id", "documents"}
}

func (v *validator) inputField(path string, f InputField) {
	v.length(path+".label", f.Label, 0, maxLabel)
	v.length(path+".help", f.Help, 0, maxText)
	v.translated(path+".label", f.LabelIn, maxLabel)
	v.translated(path+".help", f.HelpIn, maxText)
	v.length(path+".required_message", f.RequiredMessage, 0, maxLabel)
	v.check(path+".required_message", f.RequiredMessage == "" || f.Required, "is for required fields")
	v.translated(path+".required_message", f.RequiredMessageIn, maxLabel)
	v.translated(path+".pattern_message", f.PatternMessageIn, maxLabel)
	v.within(path+".max_length", float64(f.MaxLength), 0, 100000)
	switch {
	case f.Type == "":
		v.problem(path+".type", "is required")
		return
	case !slices.Contains(fieldTypes(), f.Type):
		v.problem(path+".type", "there is no type %q (supported: %s)", f.Type, texts.Join(fieldTypes()))
		return
	}
	finite := func(name string, n *float64) bool {
		return n == nil || v.check(path+"."+name, !math.IsNaN(*n) && !math.IsInf(*n, 0), "must be a finite number")
	}
	minOK, maxOK := finite("min", f.Min), finite("max", f.Max)
	if minOK && maxOK && f.Min != nil && f.Max != nil {
		v.check(path+".max", *f.Min <= *f.Max, "must not be below min")
	}
	v.check(path+".integer", !f.Integer || f.Type == FieldNumber, "is for fields of the type number")
	v.check(path+".search", !f.Search || slices.Contains(searchable(), f.Type), "is for fields of the types %s", texts.Join(searchable()))
	v.dateLimits(path, f)
	v.rows(path, f)
	v.length(path+".pattern_message", f.PatternMessage, 0, maxLabel)
	v.check(path+".autocomplete", autoCompletes(f.AutoComplete),
		"must be an autofill token of HTML, such as given-name")
	v.check(path+".camera", f.Camera == "" || f.Camera == CameraFront || f.Camera == CameraBack, "must be front or back")
	if f.Type == FieldSelect {
		v.options(path, f)
	}
	if !v.check(path+".accept", len(f.Accept) <= maxLists, "must have at most %d media types", maxLists) ||
		!v.check(path+".within", len(f.Within) <= maxLists, "must have at most %d areas", maxLists) {
		return
	}
	for i, media := range f.Accept {
		v.accept(fmt.Sprintf("%s.accept[%d]", path, i), media)
	}
	for i, a := range f.Within {
		at := fmt.Sprintf("%s.within[%d]", path, i)
		v.within(at+".latitude", a.Latitude, -90, 90)
		v.within(at+".longitude", a.Longitude, -180, 180)
		v.check(at+".radius_km", a.RadiusKM > 0 && !math.IsInf(a.RadiusKM, 0), "must be above 0")
	}
}

// dateLimits checks that the limits of a field are of its kind. Limits that depend on the
// day of the answer are not compared.
func (v *validator) dateLimits(path string, f InputField) {
	check := func(name, date string, number *float64) {
		_, ok := dateLimit(date, time.Unix(0, 0))
		switch f.Type { //nolint:exhaustive // the others have no limits
		case FieldDate:
			v.check(path+"."+name, number == nil && (date == "" || ok), DateLimitForm)
		case FieldNumber, FieldGroup:
			v.check(path+"."+name, date == "", "must be a number")
		default:
			v.check(path+"."+name, date == "" && number == nil, "is for fields of the types number, date and group")
		}
	}
	check("min", f.MinDate, f.Min)
	check("max", f.MaxDate, f.Max)
	_, errMin := time.Parse(time.DateOnly, f.MinDate)
	_, errMax := time.Parse(time.DateOnly, f.MaxDate)
	if f.Type == FieldDate && errMin == nil && errMax == nil {
		v.check(path+".max", f.MinDate <= f.MaxDate, "must not be below min")
	}
}

// autoCompletes reports whether s is empty or has the form of autofill tokens.
func autoCompletes(s string) bool {
	return len(s) <= 100 && !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != ' ' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// accept checks one media type of an upload. A Sanitizer must recognize it, or the
// customer could not answer the field.
func (v *validator) accept(path, media string) {
	kind, sub, ok := strings.Cut(media, "/")
	if !v.check(path, ok && kind != "" && sub != "" && !strings.ContainsAny(media, " ,;"), "must be a media type, such as image/jpeg") {
		return
	}
	var supported []string
	for _, t := range verification.FileTypes() {
		if t.In([]string{media}) {
			return
		}
		supported = append(supported, t.MediaType)
	}
	v.problem(path, "files of the type %s are not supported (supported: %s, image/*)", media, strings.Join(supported, ", "))
}

func (v *validator) options(path string, f InputField) {
	v.check(path+".options", len(f.Options) > 0, "is required")
	if !v.check(path+".options", len(f.Options) <= maxOptions, "must have at most %d options", maxOptions) {
		return
	}
	seen := map[string]bool{}
	for i, o := range f.Options {
		at := fmt.Sprintf("%s.options[%d].value", path, i)
		v.length(at, o.Value, 1, maxOneLine)
		v.length(fmt.Sprintf("%s.options[%d].label", path, i), o.Label, 0, maxLabel)
		v.translated(fmt.Sprintf("%s.options[%d].label", path, i), o.LabelIn, maxLabel)
		v.check(at, !seen[o.Value], "the value %q is given twice", o.Value)
		seen[o.Value] = true
	}
}

func (v *validator) signal(at string, n Node) {
	if n.Signal == "" {
		return
	}
	v.check(at+".signal", validSlug(n.Signal) && n.Signal != ReviewSignal && n.Signal != ResubmitSignal,
		"must be 1 to 64 lower-case letters, digits, - or _, and not %s or %s", ReviewSignal, ResubmitSignal)
}

// signals finds steps of the customer that wait for the signal of an element of another form.
func (v *validator) signals() {
	elements := map[string]verification.NodeID{} // by signal
	taken := func(id verification.NodeID, signal string) bool {
		other, twice := elements[signal]
		if twice {
			v.newProblem(nodePath(id)+".signal", "%s is the signal of %s: give this step another signal", signal, other)
		}
		return twice
	}
	for _, id := range v.names() {
		n := v.def.Nodes[id]
		for i := 1; n.Asks() && n.repeats() && i <= MaxElements; i++ {
			element := id.Element(i)
			if taken(id, n.SignalName(element)) {
				break
			}
			elements[n.SignalName(element)] = element
		}
	}
	for _, id := range v.names() {
		if n := v.def.Nodes[id]; n.Asks() && !n.repeats() {
			taken(id, n.SignalName(id))
		}
	}
}
