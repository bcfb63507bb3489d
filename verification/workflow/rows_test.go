package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification/workflow"
)

func TestPlacesOfFields(t *testing.T) {
	fields := workflow.InputFields{
		{Name: "pan", Type: workflow.FieldText},
		{Name: "owners", Type: workflow.FieldGroup, Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldEmail}}},
	}
	for _, c := range []struct {
		place, group, name string
		row                int
		found              bool
	}{
		{"pan", "", "pan", 0, true},
		{"owners", "", "owners", 0, true},
		{"owners[0].name", "owners", "name", 0, true},
		{"owners[999].name", "owners", "name", 999, true},
		{"owners[1000].name", "", "owners[1000].name", 0, false},
		{"owners[1].age", "owners", "age", 1, false},
		{"pan[1].name", "pan", "name", 1, false},
		{"owners[01].name", "", "owners[01].name", 0, false},
		{"owners[-1].name", "", "owners[-1].name", 0, false},
		{"owners[1]", "", "owners[1]", 0, false},
		{"owners[1]name", "", "owners[1]name", 0, false},
		{"[1].pan", "", "[1].pan", 0, false},
		{"", "", "", 0, false},
	} {
		group, row, name := workflow.SplitPlace(c.place)
		if group != c.group || row != c.row || name != c.name {
			t.Errorf("SplitPlace(%q) = %q, %d, %q, want %q, %d, %q", c.place, group, row, name, c.group, c.row, c.name)
		}
		if f, ok := fields.At(c.place); ok != c.found || ok && f.Name != c.name {
			t.Errorf("At(%q) = %q, %v, want %v", c.place, f.Name, ok, c.found)
		}
	}
}

func TestRowsInJSONKeepTheirOrder(t *testing.T) {
	const written = `{"owners":{"type":"group","fields":{"zip":{"type":"text"},"name":{"type":"text","required":true}},"label":"Owners","min":1,"max":10}}`
	var fields workflow.InputFields
	if err := json.Unmarshal([]byte(written), &fields); err != nil {
		t.Fatal(err)
	}
	if least, most := fields[0].Rows(); least != 1 || most != 10 {
		t.Errorf("rows = %d to %d, want 1 to 10", least, most)
	}
	raw, err := json.Marshal(fields)
	if err != nil || string(raw) != written {
		t.Errorf("fields = %s, %v, want %s", raw, err, written)
	}
	want := workflow.DataSchema{"properties": map[string]any{
		"zip": map[string]any{"title": "", "oneOf": []any(nil)}, "name": map[string]any{"title": "", "oneOf": []any(nil)},
	}}
	if diff := cmp.Diff(want, fields.DataSchema("").Field("owners").Item()); diff != "" {
		t.Errorf("schema of a row (-want +got):\n%s", diff)
	}
}
