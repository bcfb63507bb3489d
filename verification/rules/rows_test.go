package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ownerRows is a group of fields with a file.
func ownerRows(least, most float64) workflow.InputField {
	return workflow.InputField{
		Name: "owners", Type: workflow.FieldGroup, Label: "Owners", Min: &least, Max: &most, Fields: workflow.InputFields{
			{Name: "name", Type: workflow.FieldText, Label: "Name", Required: true},
			{Name: "pan", Type: workflow.FieldText, Uppercase: true, Pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$"},
			{Name: "photo", Type: workflow.FieldImage},
		},
	}
}

func rowsOf(n int) string {
	return `{"owners":[` + strings.TrimSuffix(strings.Repeat(`{"name":"Asha"},`, n), ",") + `]}`
}

func TestProblemsOfRowsHaveTheirPlace(t *testing.T) {
	const notObject = "must be an object with the fields of the group"
	for _, c := range []struct {
		payload string
		want    []string // name: message
	}{
		{`{}`, []string{"owners: is required"}},
		{`{"owners":[]}`, []string{"owners: is required"}},
		{`{"owners":null}`, []string{"owners: must be a list"}},
		{`{"owners":"Asha"}`, []string{"owners: must be a list"}},
		{`{"owners":{"name":"Asha"}}`, []string{"owners: must be a list"}},
		{`{"owners":[{"name":"Asha"},7,["Asha"],null]}`, []string{"owners[1]: " + notObject, "owners[2]: " + notObject, "owners[3]: " + notObject}},
		{rowsOf(65), []string{"owners: has more entries than the limit of 64"}},
		{
			`{"owners":[{"name":"Asha"},{"name":"","pan":"x"},{"name":"B","age":7}]}`,
			[]string{"owners[1].name: is required", "owners[1].pan: does not have the expected form", "owners[2].age: is not a field of this step"},
		},
		{`{"owners":[{"name":"Asha","photo":"mine"}]}`, []string{`owners[0].photo: must be {"document_id": the id of an upload}`}},
		{
			`{"owners":[` + strings.Repeat(`{"name":"A"},`, 2) + `{"name":1}` + strings.Repeat(`,{"name":"A"}`, 7) + `,{"name":2}]}`,
			[]string{"owners[2].name: must be a string", "owners[10].name: must be a string"},
		},
	} {
		_, err := filling(t, false, ownerRows(1, 64)).try(rules.Submit{Signal: "details_submitted", Payload: flows.Data(t, c.payload)})
		var got []string
		for _, p := range flows.FieldsOf(t, err) {
			got = append(got, strings.TrimPrefix(p.Name, "payload.")+": "+p.Message)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%.80s (-want +got):\n%s", c.payload, diff)
		}
	}
}

func TestRowsAreLimited(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		payload     string
		want        string // empty if it is accepted
	}{
		{2, 3, rowsOf(1), "has fewer entries than the minimum of 2"},
		{2, 3, rowsOf(2), ""},
		{2, 3, rowsOf(3), ""},
		{2, 3, rowsOf(4), "has more entries than the limit of 3"},
		{1, 64, rowsOf(64), ""},
		{0, 64, `{}`, ""},
	} {
		_, err := filling(t, false, ownerRows(c.least, c.most)).try(rules.Submit{Signal: "details_submitted", Payload: flows.Data(t, c.payload)})
		got := ""
		if err != nil {
			got = flows.FieldsOf(t, err)[0].Message
		}
		if got != c.want {
			t.Errorf("%v to %v, %.60s = %q, want %q", c.least, c.most, c.payload, got, c.want)
		}
	}
}

func TestRowsBecomeTheDataOfTheStep(t *testing.T) {
	note := workflow.InputField{Name: "note", Type: workflow.FieldText}
	for _, c := range []struct{ payload, want string }{
		{`{"owners":[{"pan":"abcde1234f","name":"Asha"},{"name":"Ravi"}]}`, `{"owners":[{"pan":"ABCDE1234F","name":"Asha"},{"name":"Ravi"}]}`},
		{``, `{"owners":[]}`},
		{`{"note":"none"}`, `{"note":"none","owners":[]}`},
		{`{"owners":[]}`, `{"owners":[]}`},
	} {
		j := filling(t, false, ownerRows(0, 64), note).submit(c.payload)
		if s, _ := j.run.Step("details"); s.Data.String() != c.want {
			t.Errorf("data of %s = %s, want %s", c.payload, s.Data, c.want)
		}
	}
	optional := ownerRows(0, 64)
	optional.Fields = workflow.InputFields{note}
	_, err := filling(t, false, optional).try(rules.Submit{Signal: "details_submitted", Payload: flows.Data(t, `{"owners":[{"note":""}]}`)})
	if got := flows.FieldsOf(t, err); len(got) != 1 || got[0].Name != "payload.owners[0]" || got[0].Message != "is empty: fill it in or remove it" {
		t.Errorf("an empty row = %+v, want a problem of the row", got)
	}
}

func TestUploadOfARowMovesWithItsRow(t *testing.T) {
	d := photos()
	n := d.Nodes["photo"]
	n.Fields = workflow.InputFields{ownerRows(1, 10), {Name: "again", Type: workflow.FieldCheckbox}}
	d.Nodes["photo"] = n
	j := begin(t, d, "")
	for i, place := range []string{"owners[0].photo", "owners[1].photo", "owners[2].photo"} {
		j.do(upload(j, i+1, place, place))
	}
	for _, place := range []string{"owners[0].name", "owners[0]", "owners", "owners[x].photo", "owners[-1].photo", "owners[01].photo", "owners[1000].photo", "again[0].photo"} {
		if got := flows.Outcome(j.try(upload(j, 9, place, "x"))); got != "invalid" {
			t.Errorf("an upload of %s = %s, want invalid", place, got)
		}
	}
	row := func(n string) string { return `{"name":"Asha","photo":{"document_id":"` + n + `"}}` }
	if got := flows.Outcome(j.try(submitChecked(t, `{"owners":[`+row(uploadID(9))+`]}`))); got != "invalid" {
		t.Errorf("an answer that names no upload = %s, want invalid", got)
	}
	before := j.run
	j.do(submitChecked(t, `{"owners":[`+row(uploadID(2))+`,`+row(uploadID(3))+`]}`)) // the first owner was removed
	if got := dropped(before, j.run); !slices.Equal(got, []string{uploadID(1)}) {
		t.Errorf("dropped = %q, want the upload of the removed row", got)
	}
	var places []string
	for _, d := range j.run.Documents {
		places = append(places, d.Field+" "+d.ID)
	}
	want := []string{"owners[0].photo " + uploadID(2), "owners[1].photo " + uploadID(3)}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	s, _ := j.run.Step("photo")
	facts, _ := s.Data.Map()["documents"].(map[string]any)
	if _, ok := facts["owners[1].photo"]; !ok || len(facts) != 2 {
		t.Errorf("documents in the data = %v, want one for each place", facts)
	}
}
