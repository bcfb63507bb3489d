// Tests of uploads in a history.

package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// photos is a workflow that asks for two files, and asks again if their check fails.
func photos() workflow.Definition {
	return workflow.Definition{
		Workflow: "photos", Name: "Photos", Start: "photo",
		Nodes: map[verification.NodeID]workflow.Node{
			"photo": {Type: workflow.NodeCustomerInput, Next: "pan", Fields: workflow.InputFields{
				{Name: "front", Type: workflow.FieldFile, Required: true},
				{Name: "back", Type: workflow.FieldImage},
				{Name: "again", Type: workflow.FieldCheckbox},
			}},
			"pan":  {Type: workflow.NodeCheck, Provider: "registry", Next: "done", OnFailed: "photo"},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

func uploadID(n int) string { return fmt.Sprintf("e0000000-0000-7000-8000-%012x", n) }

// upload records upload n of a field, with that digest.
func upload(j *journey, n int, field, digest string) rules.Command {
	return rules.Upload{WaitNumber: j.run.Wait().Number, Document: verification.Document{
		ID: uploadID(n), Field: field, MediaType: "image/png", Size: 7, SHA256: digest, CreatedAt: j.now,
	}}
}

// naming is an answer that names uploads by field.
func naming(fields map[string]int) string {
	var parts []string
	for field, n := range fields {
		parts = append(parts, fmt.Sprintf(`%q:{"document_id":%q}`, field, uploadID(n)))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// submitChecked sends an answer whose documents must be uploads of the run.
func submitChecked(t flows.Tester, payload string) rules.Submit {
	return rules.Submit{Signal: "photo_submitted", Payload: flows.Data(t, payload), CheckDocuments: true}
}

func dropped(before, after rules.Run) (ids []string) {
	for _, d := range before.Dropped(after) {
		ids = append(ids, d.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestOnlyTheLastUploadOfAFieldCanBeNamed(t *testing.T) {
	j := begin(t, photos(), "")
	j.do(upload(j, 1, "front", "a")).do(upload(j, 2, "back", "b"))
	before := j.run
	j.do(upload(j, 3, "front", "c"))
	if got := dropped(before, j.run); !slices.Equal(got, []string{uploadID(1)}) {
		t.Errorf("dropped = %q, want the replaced document", got)
	}
	for _, fields := range []map[string]int{{"front": 1}, {"front": 2}, {"front": 3, "back": 3}, {"front": 9}} {
		if got := flows.Outcome(j.try(submitChecked(t, naming(fields)))); got != "invalid" {
			t.Errorf("an answer that names %v = %s, want invalid", fields, got)
		}
	}
	before = j.run
	j.do(submitChecked(t, naming(map[string]int{"front": 3})))
	if got := dropped(before, j.run); !slices.Equal(got, []string{uploadID(2)}) {
		t.Errorf("dropped = %q, want the document that the answer does not name", got)
	}
	if len(j.run.Documents) != 1 || j.run.Documents[0].ID != uploadID(3) {
		t.Errorf("documents = %+v, want the one that was named", j.run.Documents)
	}
}

func TestAnUploadThatAnAnswerNamedIsNeverDropped(t *testing.T) {
	j := begin(t, photos(), "")
	j.do(upload(j, 1, "front", "a")).do(submitChecked(t, naming(map[string]int{"front": 1}))).fail()
	before := j.run
	j.do(upload(j, 2, "front", "b")).do(upload(j, 3, "front", "c"))
	if got := dropped(before, j.run); len(got) > 0 {
		t.Errorf("dropped = %q, want nothing of the earlier answer", got)
	}
	before = j.run
	j.do(submitChecked(t, naming(map[string]int{"front": 1})))
	if got := dropped(before, j.run); !slices.Equal(got, []string{uploadID(3)}) {
		t.Errorf("dropped = %q, want the one that was not named", got)
	}
}

func TestSameContentChangesNothing(t *testing.T) {
	j := begin(t, photos(), "")
	j.do(upload(j, 1, "front", "a"))
	if got := flows.Outcome(j.try(upload(j, 2, "front", "a"))); got != "nothing" {
		t.Errorf("the same content for the same field = %s, want nothing", got)
	}
	if got := flows.Outcome(j.try(upload(j, 2, "back", "a"))); got != "document_uploaded" {
		t.Errorf("the same content for another field = %s, want document_uploaded", got)
	}
}

func TestUploadsOutOfPlaceAreRefused(t *testing.T) {
	j := begin(t, photos(), "")
	number := j.run.Wait().Number
	for _, c := range []struct {
		upload rules.Upload
		want   string
	}{
		{rules.Upload{WaitNumber: number, Document: verification.Document{Field: "again"}}, "invalid"},
		{rules.Upload{WaitNumber: number, Document: verification.Document{Field: "side"}}, "invalid"},
		{rules.Upload{WaitNumber: number - 1, Document: verification.Document{Field: "front"}}, "not open"},
		{rules.Upload{Document: verification.Document{Field: "front"}}, "not open"},
	} {
		if got := flows.Outcome(j.try(c.upload)); got != c.want {
			t.Errorf("%+v = %s, want %s", c.upload, got, c.want)
		}
	}
	j.do(upload(j, 1, "front", "a")).do(submitChecked(t, naming(map[string]int{"front": 1}))).pass()
	if got := flows.Outcome(j.try(rules.Upload{WaitNumber: number, Document: verification.Document{Field: "front"}})); got != "not open" {
		t.Errorf("an upload to a run that is over = %s, want not open", got)
	}
}

func TestUploadsOfAWaitAreBounded(t *testing.T) {
	j := begin(t, photos(), "")
	for n := range rules.MaxUploads {
		j.do(upload(j, n, "front", fmt.Sprint(n)))
	}
	if len(j.run.Wait().Uploads) != 1 {
		t.Errorf("%d documents can be named, want 1", len(j.run.Wait().Uploads))
	}
	if got := flows.Outcome(j.try(upload(j, 999, "back", "x"))); got != "invalid" {
		t.Errorf("one upload more = %s, want invalid", got)
	}
	j.do(submitChecked(t, naming(map[string]int{"front": rules.MaxUploads - 1})))
}
