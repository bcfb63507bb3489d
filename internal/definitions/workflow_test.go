package definitions_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

const goldenSuffix = ".golden.json"

// examples are the workflow files in testdata.
func examples(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.yaml", "*.json"} {
		found, err := filepath.Glob(filepath.Join("testdata", "workflows", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if !strings.HasSuffix(file, goldenSuffix) {
				files = append(files, file)
			}
		}
	}
	if len(files) < 5 {
		t.Fatalf("only %d examples found", len(files))
	}
	return files
}

func load(t testing.TB, file string) definitions.Document {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := definitions.ReadWorkflow(file, raw)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestExamplesReadAsTheirGoldens(t *testing.T) {
	for _, file := range examples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got := load(t, file).Definition
			path := file + goldenSuffix
			if updating() {
				raw, err := json.MarshalIndent(got, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := load(t, path).Definition
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("definition (-golden +got):\n%s", diff)
			}
			if want.VersionHash() != got.VersionHash() {
				t.Error("the same content in YAML and in JSON has two hashes")
			}
		})
	}
}

func TestExamplesCompile(t *testing.T) {
	for _, file := range examples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			d := load(t, file)
			_, err := workflow.Compile(t.Context(), d.Definition.ID, workflow.Version{Number: 1, Definition: d.Definition}, lenient{}, nil, nil)
			if err != nil {
				t.Error(d.Explain(err))
			}
		})
	}
}

func TestTheLargeExampleReadsAsWritten(t *testing.T) {
	d := load(t, filepath.Join("testdata", "workflows", "individual.yaml")).Definition
	if got, want := d.ID, verification.WorkflowID("0191f3c0-0000-7000-8000-000000000001"); got != want {
		t.Errorf("ID = %s, want %s in lower case", got, want)
	}
	if !d.Published() || d.Publish == nil {
		t.Error("publish: true was lost")
	}
	const with = `{"born":"${steps.details.data.dob}","name":"${input.name}","number":"${steps.details.data.pan}",` +
		`"options":{"fuzzy":true,"tags":["a",null,"2024-01-31"],"threshold":0.8,"tries":3}}`
	if got := d.Nodes["pan"].With.String(); got != with {
		t.Errorf("with = %s, want %s", got, with)
	}
	var names []string
	for _, f := range d.Nodes["details"].Fields {
		names = append(names, f.Name)
	}
	if got, want := strings.Join(names, " "), "pan dob email phone income residence about terms"; got != want {
		t.Errorf("fields in the order %s, want %s as written", got, want)
	}
	residence, _ := d.Nodes["details"].Fields.ByName("residence")
	if diff := cmp.Diff([]workflow.Option{{Value: "yes", Label: "Yes"}, {Value: "no"}}, residence.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	want := workflow.Node{
		Type: workflow.NodeCheck, Label: "Face match", Next: "court", Key: "face_match", Provider: "sandbox",
		With:     verification.Data(`{"left":"${steps.documents.data.front}","right":"${steps.documents.data.selfie}"}`),
		Poll:     &workflow.Poll{IntervalSeconds: 2, TimeoutSeconds: 600},
		OnFailed: "court",
	}
	if diff := cmp.Diff(want, d.Nodes["face"]); diff != "" {
		t.Errorf("face (-want +got):\n%s", diff)
	}
}

func TestScalarsAreThoseOfYAML12(t *testing.T) {
	tests := map[string]string{
		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "Off": `"Off"`, "y": `"y"`, "true": "true", "FALSE": "false", "tRue": `"tRue"`,
		"~": "null", "null": "null", "NULL": "null", `""`: `""`, "nUll": `"nUll"`,
		"2024-01-31": `"2024-01-31"`, "2024-01-31T10:00:00Z": `"2024-01-31T10:00:00Z"`, "12:30:45": `"12:30:45"`,
		"0": "0", "-0": "0", "+7": "7", "12": "12", "0o17": "15", "0x1F": "31", "0x_1": `"0x_1"`, "1_000": `"1_000"`, "0b11": `"0b11"`,
		"12345678901234567890": "12345678901234567890", "1.0": "1", "1.50": "1.5", ".5": "0.5", "5.": "5", "-0.0": "0",
		"1e3": "1000", "1E-7": "1e-7", "6.02e-23": "6.02e-23", "9.007199254740993e15": "9007199254740993", "-9007199254740993.00": "-9007199254740993",
		"18446744073709551615": "18446744073709551615", "0.1234567890123456789": "0.1234567890123456789", "-.10": "-0.1", "+1e-2": "0.01", "1e": `"1e"`, ".": `"."`, "1.2.3": `"1.2.3"`, "e5": `"e5"`,
		`'12'`: `"12"`, `"true"`: `"true"`, "!!str 12": `"12"`, "! yes": `"yes"`, "|-\n  a\n  b": `"a\nb"`, "<<": `"\u003c\u003c"`,
		"é": `"é"`, `"\u00e9\t"`: `"é\t"`,
	}
	for yaml, want := range tests {
		raw := "workflow: w\ninput_schema:\n x: " + yaml + "\n"
		d, err := definitions.ReadWorkflow("w.yaml", []byte(raw))
		if err != nil {
			t.Errorf("%s: %v", yaml, err)
			continue
		}
		if got := d.Definition.InputSchema.String(); got != `{"x":`+want+`}` {
			t.Errorf("%s reads as %s, want x to be %s", yaml, got, want)
		}
	}
}

func TestOnlyTheFormIsChecked(t *testing.T) {
	d, err := definitions.ReadWorkflow("w.yaml", []byte("nodes: {b: {type: check, next: nowhere}}"))
	if err != nil {
		t.Fatal(err)
	}
	want := workflow.Definition{Nodes: map[verification.NodeID]workflow.Node{"b": {Type: workflow.NodeCheck, Next: "nowhere"}}}
	if diff := cmp.Diff(want, d.Definition); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func TestAFileMayNameItsVersionOfYAML(t *testing.T) {
	for _, begin := range []string{"%YAML 1.2\n---\n", "\ufeff%YAML 1.2 # the current one\r\n---\r\n", "%YAML 1.1\n---\n", "\ufeff"} {
		d, err := definitions.ReadWorkflow("w.yaml", []byte(begin+"workflow: w\nname: W\n"))
		if err != nil || d.Definition.Name != "W" {
			t.Errorf("after %q the name is %q, %v, want W", begin, d.Definition.Name, err)
		}
	}
}

func TestAnEmptyObjectIsNoData(t *testing.T) {
	d, err := definitions.ReadWorkflow("w.json", []byte("\ufeff"+`{"input_schema": {}, "nodes": {"a": {"type": "check", "with": {}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := d.Definition.Nodes["a"]; d.Definition.InputSchema != nil || n.With != nil {
		t.Errorf("definition = %+v, want nothing in it", d.Definition)
	}
}

func TestJSONIsRecognizedByItsContent(t *testing.T) {
	d, err := definitions.ReadWorkflow("-", []byte(`{"workflow": "w", "name": "\ud83d\ude00"}`))
	if err != nil || d.Definition.Name != "😀" {
		t.Errorf("name = %q, %v; want the emoji of a surrogate pair, which YAML does not know", d.Definition.Name, err)
	}
	d, err = definitions.ReadWorkflow("-", []byte(`{workflow: w, name: W}`))
	if err != nil || d.Definition.Name != "W" {
		t.Errorf("name = %q, %v; want W from YAML in braces", d.Definition.Name, err)
	}
}
