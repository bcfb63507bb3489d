package expression_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// scored has providers that describe their data: registry requires score and id; scorer
// always gives its score; loose does not say what it requires.
func scored() map[string]verification.ProviderDescription {
	return map[string]verification.ProviderDescription{
		"registry": {Data: verification.Data(`{"type":"object","required":["score","id"],"properties":{"score":{"type":"number"},"id":{"type":"string"},"note":{"type":"string"}}}`)},
		"scorer":   {Data: verification.Data(`{"type":"object","required":["score"],"x-always":true,"properties":{"score":{"type":"number"},"id":{"type":"string"}}}`)},
		"loose":    {Data: verification.Data(`{"type":"object","properties":{"score":{"type":"number"},"id":{"type":"string"}}}`)},
		"source":   {Data: verification.Data(`{"type":"object","required":["source_ok","score"],"properties":{"source_ok":{"type":"boolean"},"score":{"type":"number"}}}`)},
	}
}

// workflowOf returns a workflow whose nodes are JSON, with an end done.
func workflowOf(t *testing.T, nodes string) workflow.Definition {
	t.Helper()
	var d workflow.Definition
	text := `{"workflow":"w","name":"W","start":"pan","nodes":{"done":{"type":"end"},` + nodes + `}}`
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// problems compiles a workflow and returns its problems.
func problems(t *testing.T, d workflow.Definition) (all []string) {
	t.Helper()
	_, err := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d}, language, nil, scored())
	var invalid *verification.Error
	if errors.As(err, &invalid) {
		for _, f := range invalid.Fields {
			all = append(all, fmt.Sprintf("%s %d: %s", f.Name, f.Character, f.Message))
		}
	}
	return all
}

func TestAValueOfACheckThatFailedIsAProblem(t *testing.T) {
	pan := func(provider, more string) string {
		return `"pan":{"type":"check","provider":"` + provider + `","next":"b"` + more + `},`
	}
	branch := func(rules ...string) string {
		return `"b":{"type":"branch","rules":[{"when":"` + strings.Join(rules, `","next":"done"},{"when":"`) + `","next":"done"}],"else":"done"}`
	}
	const (
		failing = `,"on_failed":"next"`
		without = `,"on_unavailable":"next"`
		read    = "steps.pan.data.score > 0.5"
		cure    = "and steps.pan.data.score may be missing then: write steps.pan.?data.?score.orValue(...), or test steps.pan.passed first"
	)
	for _, row := range []struct {
		name, nodes string
		want        []string
	}{
		{"the run fails if the check fails", pan("registry", "") + branch(read), nil},
		{"a failed check leads on", pan("registry", failing) + branch(read), []string{"nodes.b.rules[0].when 1: the check pan may have failed here, " + cure}},
		{"a check without an answer leads on", pan("registry", without) + branch(read), []string{"nodes.b.rules[0].when 1: the check pan may have given no answer here, " + cure}},
		{"both lead on", pan("registry", failing+without) + branch("true == input.x && "+read), []string{"nodes.b.rules[0].when 20: the check pan may have failed or given no answer here, " + cure}},
		{"a failed check leads elsewhere", pan("registry", `,"on_failed":"done"`) + branch(read), nil},
		{"a test before", pan("registry", failing+without) + branch("!steps.pan.passed", read), nil},
		{"a test of the status before", pan("registry", failing+without) + branch("steps.pan.status == 'failed'", read), nil},
		{"a test of another check before", pan("registry", failing) + `"two":{"type":"check","provider":"loose","on_failed":"next","next":"c"},` + strings.Replace(branch("!steps.two.passed", read), `"b"`, `"c"`, 1) + `,"b":{"type":"branch","rules":[{"when":"input.x","next":"c"}],"else":"two"}`, []string{
			"nodes.c.rules[0].when 2: the step two may not have run here: write steps.?two, or test has(steps.two) first",
			"nodes.c.rules[1].when 1: the check pan may have failed here, " + cure,
		}},
		{"a test in the condition", pan("registry", failing+without) + branch("steps.pan.passed && "+read, read+" || !steps.pan.passed"), nil},
		{"optional access", pan("registry", failing+without) + branch("steps.pan.?data.?score.orValue(0.0) > 0.5"), nil},
		{"optional access to the field only", pan("registry", failing+without) + branch("steps.pan.data.?score.orValue(0.0) > 0.5"), []string{
			"nodes.b.rules[0].when 1: the check pan may have failed here, and steps.pan.data may be missing then: write steps.pan.?data, or test steps.pan.passed first",
		}},
		{"optional access to the field of a source that may be down", pan("registry", without) + branch("steps.pan.data.?score.orValue(0.0) > 0.5"), nil},
		{"a question whether it is there", pan("registry", without) + branch("has(steps.pan.data.score) && "+read), nil},
		{"a value that need not be there", pan("registry", failing) + branch("steps.pan.data.note == 'x'"), []string{
			"nodes.b.rules[0].when 1: the check pan may pass or not pass without steps.pan.data.note: write steps.pan.?data.?note.orValue(...), or test steps.pan.passed && has(steps.pan.data.note) first",
		}},
		{"a value that a pass may lack", pan("registry", "") + branch("steps.pan.data.note == 'x'"), []string{
			"nodes.b.rules[0].when 1: the check pan may pass without steps.pan.data.note: write steps.pan.?data.?note.orValue(...), or test has(steps.pan.data.note) first",
		}},
		{"a value that a pass may lack, after a test of passed", pan("registry", failing) + branch("steps.pan.passed && steps.pan.data.note == 'x'"), []string{
			"nodes.b.rules[0].when 21: the check pan may pass without steps.pan.data.note: write steps.pan.?data.?note.orValue(...), or test has(steps.pan.data.note) first",
		}},
		{"a value that every answer may lack", pan("scorer", failing) + branch("steps.pan.data.id == 'x'"), []string{
			"nodes.b.rules[0].when 1: the check pan may pass or not pass without steps.pan.data.id: write steps.pan.?data.?id.orValue(...), or test steps.pan.passed && has(steps.pan.data.id) first",
		}},
		{"optional access to it", pan("registry", failing) + branch("steps.pan.?data.?note.orValue('') == 'x'"), nil},
		{"a question for it", pan("registry", failing) + branch("steps.pan.passed && has(steps.pan.data.note) && steps.pan.data.note == 'x'"), nil},
		{"a question for it before", pan("registry", "") + branch("!has(steps.pan.data.note)", "steps.pan.data.note == 'x'"), nil},
		{"a value that a pass may lack, on a way that only a failure takes", pan("registry", `,"on_failed":"done"`) + branch("!steps.pan.passed && steps.pan.data.note == 'x'"), nil},
		{"a fallback whose pass may lack it", pan("registry", `,"fallback":"scorer"`) + branch("steps.pan.data.id == 'x'"), []string{
			"nodes.b.rules[0].when 1: the check pan may pass without steps.pan.data.id: write steps.pan.?data.?id.orValue(...), or test has(steps.pan.data.id) first",
		}},
		{"a provider that does not say what it requires", pan("loose", failing+without) + branch(read), nil},
		{"a provider that is not known", pan("unknown", failing+without) + branch(read), nil},
		{"a value that every answer has", pan("scorer", failing) + branch(read), nil},
		{"a value that every answer has, without an answer", pan("scorer", failing+without) + branch(read), []string{"nodes.b.rules[0].when 1: the check pan may have given no answer here, " + cure}},
		{"a fallback that need not give it", pan("scorer", failing+`,"fallback":"registry"`) + branch(read), []string{"nodes.b.rules[0].when 1: the check pan may have failed here, " + cure}},
		{"a source that says that it is down", pan("source", without) + branch("!steps.pan.data.source_ok"), nil},
		{"a template", pan("registry", failing) + `"b":{"type":"check","provider":"unknown","with":{"a":{"b":["x","é ${'' + steps.pan.data.id}"]}},"next":"done"}`, []string{
			"nodes.b.with.a.b[1] 10: the check pan may have failed here, and steps.pan.data.id may be missing then: write steps.pan.?data.?id.orValue(...), or test steps.pan.passed first",
		}},
		{"a template after a test", pan("registry", failing) + `"b":{"type":"branch","rules":[{"when":"steps.pan.passed","next":"c"}],"else":"done"},"c":{"type":"check","provider":"unknown","with":{"a":"${steps.pan.data.id}"},"next":"done"}`, nil},
		{"the next visit is another one", pan("registry", `,"on_failed":"ask"`) + branch(read) + `,"ask":{"type":"consent","text":"Again?","on_declined":"done","next":"pan"}`, nil},
		{"after a reviewer", pan("registry", `,"on_failed":"ask"`) + branch(read) + `,"ask":{"type":"review","on_reject":"done","next":"b"}`, []string{"nodes.b.rules[0].when 1: the check pan may have failed here, " + cure}},
	} {
		if diff := cmp.Diff(row.want, problems(t, workflowOf(t, row.nodes))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestAValueThatNobodyMustGiveIsAWarning(t *testing.T) {
	form := func(more, when string) string {
		return `"pan":{"type":"customer_input"` + more + `,"fields":{"iban":{"type":"text"},"name":{"type":"text","required":true}},"next":"b"},
			"b":{"type":"branch","rules":[{"when":"` + when + `","next":"done"}],"else":"done"}`
	}
	const (
		optional = `,"optional":true`
		closed   = `{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`
		free     = `{"type":"object","properties":{"b":{"type":"string"}},"anyOf":[{"required":["b"]}]}`
		noB      = "nodes.b.rules[0].when 1: input_schema does not require input.b: write input.?b.orValue(...), test has(input.b) first, or require it"
	)
	for _, row := range []struct {
		name, schema, nodes string
		want                []string
	}{
		{"an optional field", "", form("", "steps.pan.data.iban == 'x'"), []string{
			"nodes.b.rules[0].when 1: the customer may leave steps.pan.data.iban out: write steps.pan.?data.?iban.orValue(...), test has(steps.pan.data.iban) first, or make the field required",
		}},
		{"a required field", "", form("", "steps.pan.data.name == 'x'"), nil},
		{"a field of an optional form", "", form(optional, "steps.pan.data.name == 'x'"), []string{
			"nodes.b.rules[0].when 1: the customer may opt out of pan, and steps.pan.data.name may be missing then: write steps.pan.?data.?name.orValue(...), or test steps.pan.passed first",
		}},
		{"an optional field of an optional form", "", form(optional, "steps.pan.data.iban == 'x'"), []string{
			"nodes.b.rules[0].when 1: the customer may leave steps.pan.data.iban out or opt out of pan: write steps.pan.?data.?iban.orValue(...), or test has(steps.pan.data.iban) first",
		}},
		{"a tested field of an optional form", "", form(optional, "steps.pan.passed && steps.pan.data.name == 'x'"), nil},
		{"optional access", "", form(optional, "steps.pan.data.?iban.orValue('') == 'x' || has(steps.pan.data.iban) && steps.pan.data.iban == 'y'"), nil},
		{"an input that need not be there", closed, form("", "input.b == 'x'"), []string{noB}},
		{"a required input", closed, form("", "input.a == 'x'"), nil},
		{"optional access to the input", closed, form("", "input.?b.orValue('') == 'x' || has(input.b) && input.b == 'y'"), nil},
		{"an input without a schema", "", form("", "input.b == 'x'"), nil},
		{"an input that is required in another way", free, form("", "input.b == 'x'"), nil},
	} {
		d := workflowOf(t, row.nodes)
		if row.schema != "" {
			d.InputSchema = verification.Data(row.schema)
		}
		p, err := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d}, language, nil, scored())
		var got []string
		for _, w := range p.Warnings() {
			got = append(got, fmt.Sprintf("%s %d: %s", w.Name, w.Character, w.Message))
		}
		if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", row.name, err, diff)
		}
	}
}

func TestFactsNeedNoTestOfTheirChecks(t *testing.T) {
	d := workflowOf(t, `"pan":{"type":"check","provider":"registry","on_failed":"next","next":"done"}`)
	d.Subject = &workflow.SubjectFields{Name: "steps.pan.data.id"}
	d.Compare = []workflow.Comparison{{Fact: "Number", Of: []string{"steps.pan.data.id", "input.id"}}}
	if got := problems(t, d); got != nil {
		t.Errorf("problems %q, want none: a fact that a run does not have is not given", got)
	}
}

func TestAnOlderVersionNeedsWhatItReads(t *testing.T) {
	for _, row := range []struct {
		name, on, when string
		want           []string
	}{
		{"a plain read", "next", "steps.pan.data.score > 0.5 && steps.pan.data.id == 'x'", []string{"", "id", "score"}},
		{"a tested read", "next", "steps.pan.passed && steps.pan.data.score > 0.5", nil},
		{"an optional read", "next", "steps.pan.?data.?score.orValue(0.0) > 0.5", nil},
		{"a read of optional data", "next", "steps.pan.data.?score.orValue(0.0) > 0.5", []string{""}},
		{"a check that ends the run", "fail", "steps.pan.data.score > 0.5", nil},
	} {
		d := workflowOf(t, `"pan":{"type":"check","provider":"registry","on_failed":"`+row.on+`","next":"b"},
			"b":{"type":"branch","rules":[{"when":"`+row.when+`","next":"done"}],"else":"done"}`)
		p, err := workflow.Restore("w", workflow.Version{Definition: d}, language, nil)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		_, r, err := rules.Decide(p, rules.Run{ID: "r"}, rules.Start{ReferenceID: "a"}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		request, err := r.Request(p, "t", r.Wait())
		if diff := cmp.Diff(row.want, request.Needs); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", row.name, err, diff)
		}
	}
}

func TestTheSearchForMissingValuesIsBounded(t *testing.T) {
	var nodes strings.Builder
	for i := range 240 {
		fmt.Fprintf(&nodes, `,"c%d":{"type":"check","provider":"registry","on_failed":"next","next":"b%d"}`, i, i)
		rules := make([]string, 4)
		for k := range rules {
			rules[k] = fmt.Sprintf(`{"when":"steps.c%d.data.score > %d.0 && input.a","next":"done"}`, i*k/4, k)
		}
		fmt.Fprintf(&nodes, `,"b%d":{"type":"branch","rules":[%s],"else":"c%d"}`, i, strings.Join(rules, ","), i+1)
	}
	d := workflowOf(t, `"pan":{"type":"check","provider":"registry","next":"c0"},"c240":{"type":"review","next":"done"}`+nodes.String())
	p, err := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d}, language, nil, scored())
	if err == nil || len(p.Warnings()) > 1 {
		t.Errorf("Compile = %v with warnings %v, want problems and at most one warning", err, p.Warnings())
	}
}
