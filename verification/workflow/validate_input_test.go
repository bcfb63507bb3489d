package workflow_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfAField(t *testing.T) {
	type field = workflow.InputField
	const name = "a field's name must be a lower-case letter followed by letters, digits or _"
	const types = "(supported: text, textarea, number, date, select, checkbox, email, phone, file, image, location, group)"
	const media = "must be a media type, such as image/jpeg"
	const dateLimit = "must be a date as YYYY-MM-DD, today, or a number of years, months or days such as -18y, +6m or -30d"
	within := func(a workflow.Area) field {
		return field{Name: "f", Type: workflow.FieldLocation, Within: []workflow.Area{flows.Mumbai()[0], a}}
	}
	options := func(o ...workflow.Option) field {
		return field{Name: "f", Type: workflow.FieldSelect, Options: o}
	}
	accept := func(media string) field {
		return field{Name: "f", Type: workflow.FieldFile, Accept: []string{"image/png", media}}
	}
	bounds := func(low, high float64) field {
		return field{Name: "f", Type: workflow.FieldNumber, Min: &low, Max: &high}
	}
	group := func(change func(*field), fields ...field) field {
		f := field{Name: "f", Type: workflow.FieldGroup, Fields: append(fields, field{Name: "name", Type: workflow.FieldText})}
		change(&f)
		return f
	}
	same := func(*field) {}
	text := func(change func(*field)) field {
		f := field{Name: "f", Type: workflow.FieldText}
		change(&f)
		return f
	}
	for _, c := range []struct {
		name          string
		field         field
		path, message string
	}{
		{"a name in capitals", field{Name: "PAN", Type: workflow.FieldText}, "PAN", name},
		{"no name", field{Type: workflow.FieldText}, "", name},
		{"opted_out", field{Name: "opted_out", Type: workflow.FieldCheckbox}, "opted_out", "the name is reserved for derived values"},
		{"geo_ok", field{Name: "geo_ok", Type: workflow.FieldText}, "geo_ok", "the name is reserved for derived values"},
		{"consent_status", field{Name: "consent_status", Type: workflow.FieldText}, "consent_status", "the name is reserved for derived values"},
		{"source_ok", field{Name: "source_ok", Type: workflow.FieldText}, "source_ok", "the name is reserved for derived values"},
		{"analysis_ok", field{Name: "analysis_ok", Type: workflow.FieldText}, "analysis_ok", "the name is reserved for derived values"},
		{"node_id", field{Name: "node_id", Type: workflow.FieldText}, "node_id", "the name is reserved for derived values"},
		{"documents", field{Name: "documents", Type: workflow.FieldFile}, "documents", "the name is reserved for derived values"},
		{"no type", field{Name: "f"}, "f.type", "is required"},
		{"an unknown type", field{Name: "f", Type: "colour"}, "f.type", `there is no type "colour" ` + types},
		{"a long label", text(func(f *field) { f.Label = strings.Repeat("x", 201) }), "f.label", "must be at most 200 characters"},
		{"a long help text", text(func(f *field) { f.Help = strings.Repeat("x", 20001) }), "f.help", "must be at most 20000 characters"},
		{"a negative length", text(func(f *field) { f.MaxLength = -1 }), "f.max_length", "must be 0 to 100000"},
		{"a length above the limit", text(func(f *field) { f.MaxLength = 100001 }), "f.max_length", "must be 0 to 100000"},
		{"min above max", bounds(2, 1), "f.max", "must not be below min"},
		{"an infinite min", bounds(math.Inf(-1), 1), "f.min", "must be a finite number"},
		{"a max that is not a number", bounds(0, math.NaN()), "f.max", "must be a finite number"},
		{"a whole text", text(func(f *field) { f.Integer = true }), "f.integer", "is for fields of the type number"},
		{"a date limit of a number", field{Name: "f", Type: workflow.FieldNumber, MaxDate: "today"}, "f.max", "must be a number"},
		{"a first date of a number", field{Name: "f", Type: workflow.FieldNumber, MinDate: "today"}, "f.min", "must be a number"},
		{"a date limit without a sign", field{Name: "f", Type: workflow.FieldDate, MaxDate: "18y"}, "f.max", dateLimit},
		{"a number for a last date", field{Name: "f", Type: workflow.FieldDate, Max: new(18.0)}, "f.max", dateLimit},
		{"a limit of a text", field{Name: "f", Type: workflow.FieldText, Max: new(18.0)}, "f.max", "is for fields of the types number, date and group"},
		{"a date limit of a text", field{Name: "f", Type: workflow.FieldEmail, MinDate: "today"}, "f.min", "is for fields of the types number, date and group"},
		{"a date limit in weeks", field{Name: "f", Type: workflow.FieldDate, MinDate: "-3w"}, "f.min", dateLimit},
		{"a date limit that is not a date", field{Name: "f", Type: workflow.FieldDate, MinDate: "2026-02-30"}, "f.min", dateLimit},
		{"a date limit with too many days", field{Name: "f", Type: workflow.FieldDate, MinDate: "-100001d"}, "f.min", dateLimit},
		{"a date limit before the year 1", field{Name: "f", Type: workflow.FieldDate, MinDate: "-2000y"}, "f.min", dateLimit},
		{"a first date after the last", field{Name: "f", Type: workflow.FieldDate, MinDate: "2026-01-02", MaxDate: "2026-01-01"}, "f.max", "must not be below min"},
		{"a long message", text(func(f *field) { f.PatternMessage = strings.Repeat("x", 201) }), "f.pattern_message", "must be at most 200 characters"},
		{"a long message for a missing answer", text(func(f *field) { f.Required, f.RequiredMessage = true, strings.Repeat("x", 201) }), "f.required_message", "must be at most 200 characters"},
		{"a message for an answer that may be missing", text(func(f *field) { f.RequiredMessage = "Your name." }), "f.required_message", "is for required fields"},
		{"a token in capitals", text(func(f *field) { f.AutoComplete = "givenName" }), "f.autocomplete", "must be an autofill token of HTML, such as given-name"},
		{"an unknown camera", field{Name: "f", Type: workflow.FieldImage, Camera: "left"}, "f.camera", "must be front or back"},
		{"no options", options(), "f.options", "is required"},
		{"an option without a value", options(workflow.Option{Label: "None"}), "f.options[0].value", "is required"},
		{"an option with a long value", options(workflow.Option{Value: strings.Repeat("x", 1001)}), "f.options[0].value", "must be at most 1000 characters"},
		{"an option with a long label", options(workflow.Option{Value: "a", Label: strings.Repeat("x", 201)}), "f.options[0].label", "must be at most 200 characters"},
		{"1001 options", options(make([]workflow.Option, 1001)...), "f.options", "must have at most 1000 options"},
		{"101 media types", field{Name: "f", Type: workflow.FieldFile, Accept: make([]string, 101)}, "f.accept", "must have at most 100 media types"},
		{"101 areas", field{Name: "f", Type: workflow.FieldLocation, Within: make([]workflow.Area, 101)}, "f.within", "must have at most 100 areas"},
		{"an option given twice", options(workflow.Option{Value: "a"}, workflow.Option{Value: "a", Label: "A"}), "f.options[1].value", `the value "a" is given twice`},
		{"a media type without a slash", accept("jpeg"), "f.accept[1]", media},
		{"a media type without a top-level type", accept("/jpeg"), "f.accept[1]", media},
		{"a media type without a subtype", accept("image/"), "f.accept[1]", media},
		{"two media types in one", accept("image/png, image/jpeg"), "f.accept[1]", media},
		{"a type of image that is not supported", accept("image/heic"), "f.accept[1]", unsupported("image/heic")},
		{"a type of file that is not supported", accept("application/zip"), "f.accept[1]", unsupported("application/zip")},
		{"a latitude beyond the pole", within(workflow.Area{Latitude: 90.5, RadiusKM: 1}), "f.within[1].latitude", "must be -90 to 90"},
		{"a longitude beyond the date line", within(workflow.Area{Longitude: -180.5, RadiusKM: 1}), "f.within[1].longitude", "must be -180 to 180"},
		{"no radius", within(workflow.Area{}), "f.within[1].radius_km", "must be above 0"},
		{"a group without fields", field{Name: "f", Type: workflow.FieldGroup}, "f.fields", "must have 1 to 100 fields"},
		{"a group that is required", group(func(f *field) { f.Required = true }), "f.required", "a group is required if it has a min: write min: 1"},
		{"65 rows", group(func(f *field) { f.Max = new(65.0) }), "f.max", "must be a whole number of rows from 1 to 64"},
		{"no row", group(func(f *field) { f.Max = new(0.0) }), "f.max", "must be a whole number of rows from 1 to 64"},
		{"half a row", group(func(f *field) { f.Min = new(0.5) }), "f.min", "must be a whole number of rows from 0 to 64"},
		{"more rows than there may be", group(func(f *field) { f.Min, f.Max = new(3.0), new(2.0) }), "f.max", "must not be below min"},
		{"a field twice in a group", group(same, field{Name: "name", Type: workflow.FieldText}), "f.fields.name", "the field is given twice"},
		{"a reserved name in a group", group(same, field{Name: "documents", Type: workflow.FieldText}), "f.fields.documents", "the name is reserved for derived values"},
		{"a group in a group", group(same, field{Name: "g", Type: workflow.FieldGroup, Fields: workflow.InputFields{{Name: "a", Type: workflow.FieldText}}}), "f.fields.g.type", "a group cannot be in a group: write its fields into this one, or a form with for_each over this group"},
		{"a location in a group", group(same, field{Name: "place", Type: workflow.FieldLocation}), "f.fields.place.type", "a location cannot be in a group: write it beside the group"},
		{"192 files", group(same, field{Name: "a", Type: workflow.FieldFile}, field{Name: "b", Type: workflow.FieldImage}, field{Name: "c", Type: workflow.FieldFile}), "f.max", "64 rows with 3 files each are too many: the customer can send 128 in one group"},
		{"fields of a text", text(func(f *field) { f.Fields = workflow.InputFields{{Name: "a", Type: workflow.FieldText}} }), "f.fields", "is for fields of the type group"},
		{"a bad pattern in a group", group(same, field{Name: "pan", Type: workflow.FieldText, MaxLength: -1}), "f.fields.pan.max_length", "must be 0 to 100000"},
		{"an infinite radius", within(workflow.Area{RadiusKM: math.Inf(1)}), "f.within[1].radius_km", "must be above 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := []verification.FieldError{{Name: "nodes.details.fields." + c.path, Message: c.message}}
			if diff := cmp.Diff(want, problemsOf(t, flows.Form(c.field))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRelativeDateLimitsAreNotCompared(t *testing.T) {
	f := workflow.InputField{Name: "f", Type: workflow.FieldDate, MinDate: "2026-01-02", MaxDate: "-00000018y"} // as long as a date
	if problems := problemsOf(t, flows.Form(f)); problems != nil {
		t.Errorf("problems = %+v, want none", problems)
	}
}

func TestEverySupportedMediaTypeIsAllowed(t *testing.T) {
	accept := []string{"image/jpeg", "image/jpg", "IMAGE/PNG", "image/webp", "application/pdf", "image/*", "application/*", "*/*"}
	if problems := problemsOf(t, flows.Form(workflow.InputField{Name: "f", Type: workflow.FieldFile, Accept: accept})); problems != nil {
		t.Errorf("accept %v: %+v, want no problem", accept, problems)
	}
}

// unsupported is the message about a media type that uploads cannot have.
func unsupported(media string) string {
	return "files of the type " + media + " are not supported (supported: image/jpeg, image/png, image/webp, application/pdf, image/*)"
}

func TestStepHasOneToAHundredDifferentFields(t *testing.T) {
	const count = "must have 1 to 100 fields"
	many := make([]workflow.InputField, 101)
	for i := range many {
		many[i] = workflow.InputField{Name: fmt.Sprintf("f%d", i), Type: workflow.FieldText}
	}
	for _, c := range []struct {
		name          string
		fields        []workflow.InputField
		path, message string
	}{
		{"none", nil, "", count},
		{"101", many, "", count},
		{"one twice", []workflow.InputField{many[0], many[1], many[0]}, ".f0", "the field is given twice"},
	} {
		want := []verification.FieldError{{Name: "nodes.details.fields" + c.path, Message: c.message}}
		if diff := cmp.Diff(want, problemsOf(t, flows.Form(c.fields...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if problems := problemsOf(t, flows.Form(many[:100]...)); problems != nil {
		t.Errorf("100 fields: %+v, want no problem", problems)
	}
}

func TestListsOfAFieldMayBeAsLongAsTheirLimits(t *testing.T) {
	options := make([]workflow.Option, 1000)
	for i := range options {
		options[i].Value = fmt.Sprint(i)
	}
	fields := []workflow.InputField{
		{Name: "choice", Type: workflow.FieldSelect, Options: options},
		{Name: "file", Type: workflow.FieldFile, Accept: slices.Repeat([]string{"image/png"}, 100)},
		{Name: "place", Type: workflow.FieldLocation, Within: slices.Repeat([]workflow.Area{{RadiusKM: 1}}, 100)},
	}
	if problems := problemsOf(t, flows.Form(fields...)); problems != nil {
		t.Errorf("problems = %+v, want none", problems)
	}
}

func TestEachFieldIsInOneGroup(t *testing.T) {
	form := workflow.Node{
		Type: workflow.NodeCustomerInput, Next: "done",
		Fields: workflow.InputFields{{Name: "a", Type: workflow.FieldText}, {Name: "b", Type: workflow.FieldText}, {Name: "c", Type: workflow.FieldText}},
		Groups: []workflow.Screen{{Fields: []string{"a", "lost"}}, {Fields: []string{"b", "a"}}, {}},
	}
	want := []verification.FieldError{
		{Name: "nodes.form.groups", Message: `the field "c" is in no group`},
		{Name: "nodes.form.groups[0].fields[1]", Message: `there is no field "lost"`},
		{Name: "nodes.form.groups[1].fields[1]", Message: `the field "a" is in two groups`},
		{Name: "nodes.form.groups[2].fields", Message: "is required"},
	}
	if diff := cmp.Diff(want, problemsOf(t, flows.Define("form", flows.Nodes{"form": form, "done": flows.EndNode()}))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
