package workflow_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// recorder compiles every text, and records the declarations of each.
type recorder struct {
	flows.Language
	seen    map[string][]workflow.Declarations
	problem func(d workflow.Declarations) error // of a template; may be nil
	schemas []string                            // those that are not valid
}

func (r *recorder) Condition(text string, d workflow.Declarations) (workflow.Condition, error) {
	r.seen[text] = append(r.seen[text], d)
	return flows.Condition(nil), nil
}

func (r *recorder) Template(object verification.Data, d workflow.Declarations) (workflow.Template, error) {
	r.seen[object.String()] = append(r.seen[object.String()], d)
	if r.problem != nil {
		return nil, r.problem(d)
	}
	return flows.Template(nil), nil
}

func (r *recorder) Schema(text verification.Data) (workflow.Schema, error) {
	for _, invalid := range r.schemas {
		if invalid == text.String() {
			return nil, errors.New("the schema is odd")
		}
	}
	return flows.Schema(nil), nil
}

// describedLadder is the ladder whose first check has a with.
func describedLadder() workflow.Definition {
	d := flows.Ladder()
	flows.Edit("pan", func(n *workflow.Node) { n.With = verification.Data(`{"number":"${pan}"}`) })(&d)
	return d
}

func TestExpressionsAreCheckedForEachProvider(t *testing.T) {
	type schemas = []string // the data of pan and of face, and With, by declarations
	registry := verification.ProviderDescription{With: verification.Data(`"rw"`), Data: verification.Data(`"rd"`)}
	backup := verification.ProviderDescription{With: verification.Data(`"bw"`), Data: verification.Data(`"bd"`)}
	for _, row := range []struct {
		name      string
		described map[string]verification.ProviderDescription
		condition []schemas
		with      []schemas
	}{
		{"nothing", nil, []schemas{{"null", "null", "null"}}, []schemas{{"null", "null", "null"}}},
		{
			"providers without description",
			map[string]verification.ProviderDescription{"registry": {}, "backup": {}},
			[]schemas{{"null", "null", "null"}},
			[]schemas{{"null", "null", "null"}},
		},
		{
			"the provider alone",
			map[string]verification.ProviderDescription{"registry": registry},
			[]schemas{{"null", "null", "null"}, {"null", `"rd"`, "null"}},
			[]schemas{{"null", "null", "null"}, {"null", `"rd"`, `"rw"`}},
		},
		{
			"the fallback alone",
			map[string]verification.ProviderDescription{"backup": backup},
			[]schemas{{"null", "null", "null"}},
			[]schemas{{"null", "null", "null"}, {"null", "null", `"bw"`}},
		},
		{
			"both",
			map[string]verification.ProviderDescription{"registry": registry, "backup": backup},
			[]schemas{{"null", "null", "null"}, {`"rd"`, `"rd"`, "null"}, {`"bd"`, `"rd"`, "null"}},
			[]schemas{{"null", "null", "null"}, {`"rd"`, `"rd"`, `"rw"`}, {`"bd"`, `"rd"`, `"bw"`}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &recorder{seen: map[string][]workflow.Declarations{}}
			_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: describedLadder()}, r, nil, row.described)
			if err != nil {
				t.Fatal(err)
			}
			of := func(text string) (all []schemas) {
				for _, d := range r.seen[text] {
					all = append(all, schemas{asText(d.Steps["pan"].Data), asText(d.Steps["face"].Data), asText(d.With)})
				}
				return all
			}
			if diff := cmp.Diff(row.condition, of("pan failed")); diff != "" {
				t.Errorf("a condition (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.with, of(`{"number":"${pan}"}`)); diff != "" {
				t.Errorf("the with (-want +got):\n%s", diff)
			}
		})
	}
}

func asText(d verification.Data) string {
	if d == nil {
		return "null"
	}
	return d.String()
}

func TestAStoredVersionIsNotCheckedAgainstDescriptions(t *testing.T) {
	r := &recorder{seen: map[string][]workflow.Declarations{}}
	if _, err := workflow.Restore(flows.WorkflowID, workflow.Version{Definition: describedLadder()}, r, nil); err != nil {
		t.Fatal(err)
	}
	for text, all := range r.seen {
		if len(all) != 1 || all[0].With != nil || all[0].Steps["pan"].Data != nil {
			t.Errorf("%s was compiled with %+v, want once and without descriptions", text, all)
		}
	}
}

func TestEveryProblemOfAWithIsReported(t *testing.T) {
	described := map[string]verification.ProviderDescription{"registry": {With: verification.Data(`{"type":"object"}`)}}
	r := &recorder{
		seen: map[string][]workflow.Declarations{},
		problem: func(d workflow.Declarations) error {
			if d.With == nil {
				return nil
			}
			return errors.Join(
				&verification.TextError{Path: "numbr", Message: "unknown field"},
				fmt.Errorf("joined: %w", errors.New("is odd")),
				&verification.TextError{Path: "[0]", Message: "is required", Character: 3},
			)
		},
	}
	d := flows.Single(nil) // its check has no with: it is checked as an empty one
	_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, r, nil, described)
	want := []verification.FieldError{
		{Name: "nodes.pan.with", Message: "joined: is odd"},
		{Name: "nodes.pan.with.numbr", Message: "unknown field"},
		{Name: "nodes.pan.with[0]", Message: "is required", Character: 3},
	}
	if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestADescriptionThatIsNotValidIsAProblem(t *testing.T) {
	described := map[string]verification.ProviderDescription{
		"registry": {With: verification.Data(`"odd"`), Data: verification.Data(`{}`)},
		"backup":   {With: verification.Data(`{}`), Data: verification.Data(`"odd"`)},
	}
	r := &recorder{seen: map[string][]workflow.Declarations{}, schemas: []string{`"odd"`}}
	_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: describedLadder()}, r, nil, described)
	const message = "the provider describes itself with a schema that is not valid: the schema is odd"
	want := []verification.FieldError{
		{Name: "nodes.face.provider", Message: message}, // the first check in the order of names
		{Name: "nodes.pan.fallback", Message: message},
	}
	if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if len(described) != 2 {
		t.Error("Compile changed the descriptions of its caller")
	}
	for text, all := range r.seen {
		if len(all) != 1 {
			t.Errorf("%s was compiled with %+v, want once and without descriptions", text, all)
		}
	}
}
