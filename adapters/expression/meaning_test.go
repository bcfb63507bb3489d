package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// chosen returns declarations with values of which all are known.
func chosen() workflow.Declarations {
	return workflow.Declarations{
		Inspect: true,
		Input: verification.Data(`{"type":"object","properties":{
			"tier":{"type":"string","enum":["basic","full"]}, "level":{"enum":[1,2,3]}, "serial":{"enum":[9007199254740993,1]}, "kind":{"const":"person"},
			"since":{"type":"string","format":"date"}, "maybe":{"type":["string","null"],"enum":["x","y",null]},
			"amount":{"type":"number"}, "note":{"type":"string"},
			"tags":{"type":"array","items":{"type":"string","enum":["red","blue"]}}}}`),
		Steps: map[verification.NodeID]workflow.StepDeclaration{
			"c":   {Type: workflow.NodeCheck, Key: "register", MayPrecede: true},
			"who": {Type: workflow.NodeConsent, MayPrecede: true},
			"r":   {Type: workflow.NodeReview, MayPrecede: true},
			"f": {Type: workflow.NodeCustomerInput, MayPrecede: true, Fields: workflow.InputFields{
				{Name: "s", Type: workflow.FieldSelect, Options: []workflow.Option{{Value: "a"}, {Value: "b"}}},
				{Name: "d", Type: workflow.FieldDate},
				{Name: "t", Type: workflow.FieldText},
				{Name: "n", Type: workflow.FieldNumber},
				{Name: "ok", Type: workflow.FieldCheckbox},
			}},
		},
	}
}

// findings returns what was found in the last of several rules.
func findings(t *testing.T, rules ...string) []string {
	t.Helper()
	var compiled []workflow.Condition
	for _, text := range rules {
		c, err := language.Condition(text, chosen())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		compiled = append(compiled, c)
	}
	last := len(compiled) - 1
	var out []string
	for _, f := range inspected(t, compiled[last], compiled[:last]...) {
		line := fmt.Sprintf("%d: %s", f.Character, f.Message)
		if !f.Certain {
			line = "warning " + line
		}
		out = append(out, line)
	}
	return out
}

func TestConditionsThatCannotBeMeantAreFound(t *testing.T) {
	const (
		always = "0: the condition always holds"
		never  = "0: the condition never holds"
		day    = "steps.f.data.d is a date as YYYY-MM-DD, and '%s' is not such a date"
	)
	for _, row := range []struct {
		rule string
		want string // empty for nothing
	}{
		// Values of a closed set.
		{"steps.f.data.s == 'C'", "19: steps.f.data.s is never 'C' (supported: 'a', 'b')"},
		{"'C' == steps.f.data.s", "1: steps.f.data.s is never 'C' (supported: 'a', 'b')"},
		{"steps.f.data.s != 'A'", "19: steps.f.data.s is never 'A' (supported: 'a', 'b')"},
		{"steps.f.data.s in ['a', 'c']", "25: steps.f.data.s is never 'c' (supported: 'a', 'b')"},
		{"steps.f.data.?s.orValue('') == 'c'", "32: steps.f.data.s is never 'c' (supported: 'a', 'b', '')"},
		{"steps.?f.data.s.orValue('') == 'c'", "32: steps.f.data.s is never 'c' (supported: 'a', 'b', '')"},
		{"steps.c.status == 'pass'", "19: steps.c.status is never 'pass'; did you mean passed? (supported: 'passed', 'failed', 'running', 'pending')"},
		{"steps.who.data.consent_status == 'yes'", "34: steps.who.data.consent_status is never 'yes' (supported: 'success', 'declined')"},
		{"steps.r.data.decision == 'approved'", "26: steps.r.data.decision is never 'approved'; did you mean approve? (supported: 'approve', 'reject')"},
		{"input.tier == 'ful'", "15: input.tier is never 'ful'; did you mean full? (supported: 'basic', 'full')"},
		{"input.kind == 'company'", "15: input.kind is never 'company' (supported: 'person')"},
		{"input.level == 4", "16: input.level is never 4 (supported: 1, 2, 3)"},
		{"input.serial == 9007199254740992", "17: input.serial is never 9007199254740992 (supported: 9007199254740993, 1)"},
		{"input.serial == 9007199254740993", ""},
		{"input.maybe == 'z'", "16: input.maybe is never 'z' (supported: 'x', 'y')"},
		{"'green' in input.tags", "1: input.tags is never 'green' (supported: 'red', 'blue')"},
		{"steps.f.data.ok && (input.amount > 3 || input.tier == 'x')", "55: input.tier is never 'x' (supported: 'basic', 'full')"},
		{"steps.f.data.s == 'a'", ""},
		{"steps.f.data.s in ['a']", ""},
		{"steps.f.data.?s.orValue('') == ''", ""},
		{"steps.f.data.?s.orValue('none') != 'none'", ""},
		{"steps.f.data.t == 'C'", ""},
		{"steps.f.data.s.startsWith('C')", ""},
		{"steps.c.data.status == 'pass'", ""},
		{"input.maybe == null", ""},
		{"input.level == 2", ""},
		{"has(steps.f.data.s) && steps.f.data.s == 'a'", ""},
		// Dates.
		{"steps.f.data.d > '31/12/2000'", "18: " + fmt.Sprintf(day, "31/12/2000")},
		{"steps.f.data.d < '2000-1-1'", "18: " + fmt.Sprintf(day, "2000-1-1")},
		{"steps.f.data.d == '2001-02-29'", "19: " + fmt.Sprintf(day, "2001-02-29")},
		{"'tomorrow' <= steps.f.data.d", "1: " + fmt.Sprintf(day, "tomorrow")},
		{"steps.f.data.?d.orValue('') < '1.1.2000'", "31: " + fmt.Sprintf(day, "1.1.2000")},
		{"input.since >= '2000'", "warning 16: input.since is a date as YYYY-MM-DD: write a whole date in place of '2000'"},
		{"steps.f.data.d >= '2000-02-29'", ""},
		{"steps.f.data.?d.orValue('') == ''", ""},
		// Constants.
		{"true", always},
		{"false", never},
		{"1 > 2", never},
		{"'a' == 'a'", always},
		{"1 + 1 == 2", always},
		{"steps.f.data.ok || 2 > 1", always},
		{"steps.f.data.ok && size('ab') == 3", never},
		// Contradictions.
		{"steps.f.data.s == 'a' && steps.f.data.s == 'b'", never},
		{"steps.f.data.s != 'a' && steps.f.data.s != 'b'", never},
		{"steps.f.data.s != 'a' || steps.f.data.s != 'b'", always},
		{"steps.f.data.s in ['a', 'b']", "warning 0: the condition holds for every value that it reads"},
		{"steps.f.data.n > 5.0 && steps.f.data.n < 5.0", never},
		{"steps.f.data.n > 5 || steps.f.data.n <= 5", always},
		{"steps.f.data.t == 'x' && steps.f.data.t == 'y'", never},
		{"steps.f.data.d < '2000-01-01' && steps.f.data.d > '2001-01-01'", never},
		{"steps.f.data.ok && !steps.f.data.ok", never},
		{"steps.c.status == 'passed' && steps.c.status == 'failed'", never},
		{"steps.c.passed || steps.c.status == 'failed'", ""},
		{"steps.c.data.score > 5 || steps.c.data.score <= 5", ""}, // the score may be null
		{"steps.f.data.n > 5.0 && steps.f.data.n < 6.0", ""},
		{"steps.f.data.n / 0.0 >= 0.0 || steps.f.data.n / 0.0 < 0.0", ""}, // not a number
		{"steps.c.data.list.exists(x, x == 'a') && input.note == 'x'", ""},
	} {
		var want []string
		if row.want != "" {
			want = []string{row.want}
		}
		if diff := cmp.Diff(want, findings(t, row.rule)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.rule, diff)
		}
	}
}

func TestARuleBehindOneThatCoversItIsFound(t *testing.T) {
	const (
		same  = "0: rules[%d] has the same condition, so this rule is never reached"
		holds = "0: rules[%d] holds whenever this condition holds, so this rule is never reached"
		some  = "0: an earlier rule holds whenever this condition holds, so this rule is never reached"
	)
	for _, row := range []struct {
		rules []string
		want  string
	}{
		{[]string{"steps.f.data.ok", "steps.f.data.ok"}, fmt.Sprintf(same, 0)},
		{[]string{"steps.f.data.s == 'a'", "input.amount > 2", "steps.f.data.s == 'a'"}, fmt.Sprintf(same, 0)},
		{[]string{"input.amount > 3", "3 < input.amount"}, fmt.Sprintf(holds, 0)},
		{[]string{"input.amount > 3", "input.amount > 5"}, fmt.Sprintf(holds, 0)},
		{[]string{"steps.c.passed", "steps.c.passed && input.amount > 5"}, fmt.Sprintf(holds, 0)},
		{[]string{"input.note == 'x'", "input.note == 'y'", "input.note in ['x', 'y']"}, some},
		{[]string{"steps.f.data.s == 'a'", "steps.f.data.s != 'b'"}, "warning " + fmt.Sprintf(holds, 0)},
		{[]string{"steps.c.data.list.exists(x, x == 'a')", "steps.c.data.list.exists(x, x == 'a')"}, fmt.Sprintf(same, 0)},
		{[]string{"input.amount > 5", "input.amount > 3"}, ""},
		{[]string{"steps.f.data.s == 'a'", "steps.f.data.s == 'b'"}, ""},
		{[]string{"steps.c.passed && input.amount > 5", "steps.c.passed"}, ""},
		{[]string{"steps.c.data.list.exists(x, x == 'a')", "steps.c.data.list.exists(x, x == 'b')"}, ""},
	} {
		var want []string
		if row.want != "" {
			want = []string{row.want}
		}
		if diff := cmp.Diff(want, findings(t, row.rules...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.rules, diff)
		}
	}
}

// A rule that asks the customer again is passed over once the rounds are used up, unless it says where the run goes then.
func TestARuleBehindOneThatAsksAgainIsReached(t *testing.T) {
	for _, row := range []struct{ usedUp, second, want string }{
		{"", "steps.pan.data.score < 0.5", ""},
		{"", "steps.pan.data.score < 0.4", ""},
		{`,"when_used_up":"done"`, "steps.pan.data.score < 0.5", "rules[0] has the same condition"},
		{`,"when_used_up":"done"`, "steps.pan.data.score < 0.4", "rules[0] holds whenever"},
	} {
		d := workflowOf(t, `"pan":{"type":"check","provider":"registry","next":"f"},
			"f":{"type":"consent","text":"x","on_declined":"next","next":"b"},
			"b":{"type":"branch","else":"done","rules":[
				{"when":"steps.pan.data.score < 0.5","ask_again":{"step":"f","reasons":["blurred"]}`+row.usedUp+`},{"when":"`+row.second+`","next":"done"}]}`)
		if got := strings.Join(problems(t, d), "; "); (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s behind a rule that asks again%s: %q, want %q", row.second, row.usedUp, got, row.want)
		}
	}
	// A value that may be missing is looked for behind it, too.
	d := workflowOf(t, `"pan":{"type":"check","provider":"registry","on_failed":"next","next":"f"},
		"f":{"type":"consent","text":"x","on_declined":"next","next":"b"},
		"b":{"type":"branch","else":"done","rules":[
			{"when":"!steps.pan.passed","ask_again":{"step":"f","reasons":["blurred"]}},{"when":"steps.pan.data.score < 0.5","next":"done"}]}`)
	if got := problems(t, d); len(got) != 1 || !strings.HasPrefix(got[0], "nodes.b.rules[1].when 1: the check pan may have failed here") {
		t.Errorf("a read behind a rule that may be passed over: %q, want a problem", got)
	}
}

func TestComparisonsInTemplatesAreFound(t *testing.T) {
	made, err := language.Template(verification.Data(`{"a":{"full":"tier: ${input.tier == 'ful'}"},"b":["${true}"]}`), chosen())
	if err != nil {
		t.Fatal(err)
	}
	want := []workflow.Finding{{
		TextError: verification.TextError{
			Path: "a.full", Character: 23, Message: "input.tier is never 'ful'; did you mean full? (supported: 'basic', 'full')",
		},
		Certain: true,
	}}
	if diff := cmp.Diff(want, inspected(t, made)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestSavedVersionsAreNotInspected(t *testing.T) {
	d := chosen()
	d.Inspect = false
	c, err := language.Condition("steps.f.data.s == 'C'", d)
	if err != nil {
		t.Fatal(err)
	}
	if found := inspected(t, c); found != nil {
		t.Errorf("findings = %v, want none", found)
	}
}

func TestAValueOfEitherProviderIsAllowed(t *testing.T) {
	described := map[string]verification.ProviderDescription{
		"one":   {Data: verification.Data(`{"type":"object","properties":{"state":{"type":"string","enum":["active","closed"]}}}`)},
		"other": {Data: verification.Data(`{"type":"object","properties":{"state":{"type":"string","enum":["active","dormant"]}}}`)},
	}
	for value, want := range map[string]bool{"active": true, "closed": true, "dormant": true, "gone": false} {
		d := workflow.Definition{Workflow: "w", Name: "W", Start: "c", Nodes: map[verification.NodeID]workflow.Node{
			"c": {Type: workflow.NodeCheck, Provider: "one", Fallback: "other", Next: "b"},
			"b": {Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: "steps.c.data.state == '" + value + "'", Next: "x"}}, Else: "y"},
			"x": {Type: workflow.NodeEnd}, "y": {Type: workflow.NodeEnd},
		}}
		_, err := workflow.Compile(t.Context(), "", workflow.Version{Definition: d}, language, nil, described)
		if (err == nil) != want {
			t.Errorf("a comparison with %q = %v, want it allowed: %v", value, err, want)
		}
	}
}

// inspected returns what is doubtful about a condition or template behind the rules before.
func inspected(t *testing.T, compiled any, before ...workflow.Condition) []workflow.Finding {
	t.Helper()
	c, ok := compiled.(workflow.Inspected)
	if !ok {
		t.Fatalf("%T has no findings", compiled)
	}
	return c.Findings(before)
}
