package workflow_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheSchemaOfAFormHasItsLabels(t *testing.T) {
	form := workflow.InputFields{
		{Name: "town", Type: workflow.FieldText},
		{Name: "photo", Type: workflow.FieldImage, Label: "Photo", LabelIn: workflow.Translations{"hi": "फ़ोटो"}},
		{Name: "country", Type: workflow.FieldSelect, Label: "Country", Options: []workflow.Option{
			{Value: "in", Label: "India", LabelIn: workflow.Translations{"hi": "भारत"}}, {Value: "other"},
		}},
	}
	for _, tt := range []struct{ language, photo, india string }{
		{"", "Photo", "India"}, {"hi", "फ़ोटो", "भारत"}, {"fr", "Photo", "India"},
	} {
		s := form.DataSchema(tt.language)
		for _, row := range []struct{ what, got, want string }{
			{"title without a label", s.Field("town").Title(), ""},
			{"title of the photo", s.Field("photo").Title(), tt.photo},
			{"title of its document", s.Field("documents").Field("photo").Title(), tt.photo},
			{"choice", s.Field("country").Choice("in"), tt.india},
			{"choice without a label", s.Field("country").Choice("other"), "other"},
			{"value that is no choice", s.Field("country").Choice("de"), "de"},
			{"value without choices", s.Field("town").Choice("in"), "in"},
			{"title of an unknown field", s.Field("x").Field("y").Item().Title(), ""},
		} {
			if row.got != row.want {
				t.Errorf("in %q: %s = %q, want %q", tt.language, row.what, row.got, row.want)
			}
		}
	}
	if s := (workflow.InputFields{}).DataSchema(""); s != nil {
		t.Errorf("schema without fields = %v, want nil", s)
	}
}

func TestAFieldHasTheFirstOfItsSchemas(t *testing.T) {
	schema := func(text string) workflow.DataSchema { return verification.Data(text).Map() }
	s := workflow.MergeSchemas(nil,
		schema(`{"properties":{"score":{"title":"Score","x-unit":"%"},"plain":true}}`),
		schema(`{"properties":{"score":{"title":"Other"},"age":{"title":"Age"},"hits":{"items":{"properties":{"born":{"title":"Born"}}}}}}`))
	got := []string{s.Field("score").Title(), s.Field("score").Unit(), s.Field("age").Title(), s.Field("plain").Title(), s.Field("hits").Item().Field("born").Title()}
	for i, want := range []string{"Score", "%", "Age", "", "Born"} {
		if got[i] != want {
			t.Errorf("texts = %q, want %q at %d", got, want, i)
		}
	}
	if s := workflow.MergeSchemas(nil, schema(`{"type":"object"}`)); s != nil {
		t.Errorf("schema without fields = %v, want nil", s)
	}
}
