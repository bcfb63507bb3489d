package definitions_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification/workflow"
)

const schemaFile = "workflow.schema.json"

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is fetched
	if err := c.AddResource("workflow.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("workflow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plain returns the content of a file as another YAML library decodes it.
func plain(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return withoutTimes(v)
}

// withoutTimes turns the times that YAML 1.1 makes of dates into texts again.
func withoutTimes(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.DateOnly)
	case []any:
		for i := range v {
			v[i] = withoutTimes(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withoutTimes(v[k])
		}
	}
	return v
}

func TestTheWorkflowsInDocsAreValid(t *testing.T) {
	for page, examples := range map[string]int{"workflows.md": 4, "workflow-recipes.md": 4} {
		raw, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(raw), "```yaml\n")[1:]
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			d, err := definitions.ReadWorkflow(page, []byte(block))
			if err == nil {
				_, err = workflow.Compile(t.Context(), "", workflow.Version{Definition: d.Definition}, lenient{}, nil, nil)
			}
			if err := d.Explain(err); err != nil {
				t.Error(err)
			}
		}
		if len(blocks) != examples {
			t.Errorf("docs/%s has %d workflows, want %d", page, len(blocks), examples)
		}
	}
}

func TestTheSchemaAcceptsEveryExample(t *testing.T) {
	s := schema(t)
	for _, file := range examples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(file) == ".json" {
				// The golden file has the same content in plain JSON: this YAML
				// library does not support all escapes of JSON.
				if raw, err = os.ReadFile(file + goldenSuffix); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Validate(plain(t, raw)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheSchemaRefusesWhatTheReaderRefuses(t *testing.T) {
	s := schema(t)
	for _, c := range refusedFiles(t, "structure.txtar") {
		t.Run(c.name, func(t *testing.T) {
			if s.Validate(plain(t, c.raw)) == nil {
				t.Error("the schema accepts the file")
			}
		})
	}
}

func TestTheSchemaAndTheRulesReserveTheSameFieldNames(t *testing.T) {
	const file = "{workflow: w, name: W, start: a, nodes: {a: {type: customer_input, next: b, fields: {%s: {type: text}}}, b: {type: end}}}"
	s := schema(t)
	accepted := func(name string) (schema, rules bool) {
		raw := fmt.Appendf(nil, file, name)
		d, err := definitions.ReadWorkflow("w.yaml", raw)
		if err != nil {
			t.Fatal(err)
		}
		_, err = workflow.Compile(t.Context(), "", workflow.Version{Definition: d.Definition}, lenient{}, nil, nil)
		return s.Validate(plain(t, raw)) == nil, err == nil
	}
	for _, name := range []string{"opted_out", "geo_ok", "consent_status", "source_ok", "analysis_ok", "documents", "node_id"} {
		if schema, rules := accepted(name); schema || rules {
			t.Errorf("a field with the name %s: the schema accepts it: %t, the rules: %t", name, schema, rules)
		}
	}
	if schema, rules := accepted("document"); !schema || !rules {
		t.Error("a field with the name document is refused")
	}
}

func TestTheSchemaAndTheReaderRefuseFields(t *testing.T) {
	const good = "{workflow: w, name: W, start: a, nodes: {a: {type: end}}, %s}"
	s := schema(t)
	for fields, accepted := range map[string]bool{
		"subject: {name: input.name, birth_date: input.dob, number: input.pan, portrait: input.photo}": true,
		"compare: [{fact: Name, of: [input.name, input.other]}]":                                       true,
		"reject_reasons: [{code: a, label: A, customer_text: {en: A}}], notes: on_reject":              true,

		"subject: {name: input.name, kind: company}":          true,
		"subject: {name: input.name, kind: text}":             false,
		"subject: {names: input.name}":                        false,
		"subject: {name: 1}":                                  false,
		"subject: input.name":                                 false,
		"compare: {fact: Name, of: [a, b]}":                   false,
		"compare: [{fact: Name, of: a}]":                      false,
		"compare: [{fact: Name, of: [a, b], to: c}]":          false,
		"intro: {text: {en: Hello, hi: Namaste}, minutes: 3}": true,
		"intro: {}":             true,
		"intro: {minutes: 241}": false,
		"reject_reasons: [a]":   false,
		"reject_reasons: [{code: a, label: A, text: A}]":            false,
		"reject_reasons: [{code: a, label: 1}]":                     false,
		"reject_reasons: [{code: a, label: A, customer_text: [A]}]": false,
		"notes: sometimes": false,
	} {
		raw := fmt.Appendf(nil, good, fields)
		_, err := definitions.ReadWorkflow("w.yaml", raw)
		if schema, reader := s.Validate(plain(t, raw)) == nil, err == nil; schema != accepted || reader != accepted {
			t.Errorf("%s: the schema accepts it: %t, the reader: %t, want %t", fields, schema, reader, accepted)
		}
	}
}

// A file with several problems would be refused for any one of them.
func TestTheSchemaAndTheReaderRefuseEachProblemAlone(t *testing.T) {
	const good = "{workflow: w, name: W, start: a, nodes: {a: {type: end}, %s}}"
	tests := []string{
		"b: {type: check, provider: p, next: a, colour: red}",
		"b: {type: check, provider: p, next: a, label: 1}",
		"b: {type: check, provider: 1, next: a}",
		"b: {type: check, provider: p, next: [a]}",
		"b: {type: check, provider: p, next: a, with: [1]}",
		"b: {type: check, provider: p, next: a, with: text}",
		"b: {type: check, provider: p, next: a, timeout_seconds: soon}",
		"b: {type: check, provider: p, next: a, retry: 3}",
		"b: {type: check, provider: p, next: a, retry: {max_dispatches: 1.5}}",
		"b: {type: check, provider: p, next: a, retry: {times: 3}}",
		"b: {type: check, provider: p, next: a, poll: {every: 3}}",
		"b: {type: check, provider: p, next: a, on_failed: null}",
		"b: {type: check, provider: p, next: a, rescreen: l}",
		"b: {type: check, provider: p, next: a, rescreen: {lists: l}}",
		"b: {type: check, provider: p, next: a, rescreen: {list: [l], every: change}}",
		"b: {type: branch, rules: [{when: x, next: a, then: a}], else: a}",
		"b: {type: branch, rules: [{when: true, next: a}], else: a}",
		"b: {type: branch, rules: {when: x, next: a}, else: a}",
		"b: {type: customer_input, optional: 1, fields: {x: {type: text}}, next: a}",
		"b: {type: customer_input, fields: [x], next: a}",
		"b: {type: customer_input, fields: {x: text}, next: a}",
		"b: {type: customer_input, fields: {x: {type: text, size: 3}}, next: a}",
		"b: {type: customer_input, fields: {x: {type: text, max_length: 2.5}}, next: a}",
		"b: {type: customer_input, fields: {x: {type: number, min: low}}, next: a}",
		"b: {type: customer_input, fields: {x: {type: select, options: [1]}}, next: a}",
		"b: {type: customer_input, fields: {x: {type: checkbox, max: 2008-01-01}}, next: a}",
		"b: {type: customer_input, fields: {x: {type: select, options: [{value: 1}]}}, next: a}",
		"b: {type: customer_input, fields: {x: {type: file, accept: image/png}}, next: a}",
		"b: {type: customer_input, fields: {x: {type: location, within: [{latitude: 1, longitude: 1}]}}, next: a}",
		"b: {type: end, outcome: 1}",
		"b: {type: 1}",
		"b: end",
		"b: null",
	}
	s := schema(t)
	if err := s.Validate(plain(t, fmt.Appendf(nil, good, "c: {type: end}"))); err != nil {
		t.Fatalf("the schema refuses the file without a problem: %v", err)
	}
	for _, node := range tests {
		raw := fmt.Appendf(nil, good, node)
		if s.Validate(plain(t, raw)) == nil {
			t.Errorf("the schema accepts %s", node)
		}
		if _, err := definitions.ReadWorkflow("w.yaml", raw); err == nil {
			t.Errorf("the reader accepts %s", node)
		}
	}
}
