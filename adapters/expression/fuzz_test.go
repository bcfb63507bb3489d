package expression_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// oneSentence checks the promise of the port about the text of an error.
func oneSentence(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); text == "" || strings.ContainsAny(text, "\r\n") {
		t.Errorf("error %q, want one sentence on one line", text)
	}
	if strings.Contains(err.Error(), "internal error") {
		t.Errorf("error %q, want one that no panic caused", err)
	}
}

func FuzzCondition(f *testing.F) {
	for _, text := range []string{
		`steps.pan.data.name_match < 0.8 || !steps.pan.passed`, `input.age in [1, 2.0]`,
		`input.people.exists(p, p.age > 3)`, `steps.pan.data.hits[0].score / 0 > 1`, `has(steps.review.data.decision)`,
		`steps.details.data.?age.orValue(0) == 3`, `timestamp(input.name) > run.started_at`, "input.`x-y`.matches(input.name)",
		`steps[?"pan"].x`, `{"a": [1, 2]}.a.map(x, x * x).filter(x, x > 1)`, `input.any.x[input.age]`, `-9223372036854775808 - 1 == 0`,
		`[input.any].map(x, x == x)`, `dyn(run).id.size() == dyn(input)`, `type(input) == map`, `b"\xff" == bytes(input.name)`,
		`optional.of(input.age).optMap(x, x + 1).value() == 31`, `run.started_at.getHours("+05:30") == 1`, `"x".replace("", "y").split("").join("")`,
	} {
		f.Add(text)
	}
	for _, text := range []string{
		`steps.details.data.age > 3 || steps.details.data.age <= 3`, `true && 1 < 2`, `input.name in ["a"] && input.name != "b"`,
		`input.active ? input.age == 1 : !input.active`, `input.nick == null || input.nick < "a"`, `steps.pan.status == "passed"`,
	} {
		f.Add(text)
	}
	for _, text := range []string{
		`steps.pan.data.score > 1.0 || !steps.pan.passed`, `steps.pan.passed ? steps.pan.data.score > 1.0 : has(steps.pan.data.score)`,
		`steps.pan.?data.?score.optMap(s, s > 1.0).orValue(steps.pan.data.score == 1.0)`, `[1].exists(x, steps.pan.data.score == x)`,
		`steps.pan.status in ['failed'] && steps.pan.data["score"] == 1.0`, `steps.?pan.data.score.value() == 1`,
	} {
		f.Add(text)
	}
	s, d := reached(), declared()
	d.Inspect = true
	f.Fuzz(func(t *testing.T, text string) {
		c, err := language.Condition(text, d)
		if err != nil {
			oneSentence(t, err)
			return
		}
		found := inspected(t, c, c)
		holds, seen, err := c.Holds(s)
		foretold(t, c, err)
		if err != nil {
			oneSentence(t, err)
			return
		}
		for _, f := range found {
			if always := "the condition always holds"; f.Message == always && !holds || f.Message == "the condition never holds" && holds {
				t.Errorf("%q = %v, and %s", text, holds, f.Message)
			}
		}
		if _, err := json.Marshal(seen); err != nil {
			t.Errorf("seen %v cannot be recorded: %v", seen, err)
		}
	})
}

// foretold checks that a condition that fails because the check pan, which has not passed,
// lacks a field was expected to.
func foretold(t *testing.T, c workflow.Condition, err error) {
	t.Helper()
	f, ok := c.(workflow.Foreseen)
	if !ok {
		t.Fatal("a condition is not foreseen")
	}
	for _, a := range f.Absences() {
		f.Foresee(a, []workflow.Condition{c})
	}
	if err == nil {
		return
	}
	path, missing := strings.CutSuffix(err.Error(), " has no value")
	field, ofPan := strings.CutPrefix(path, "steps.pan.data.")
	if !missing || !ofPan || strings.ContainsAny(field, ".[") {
		return
	}
	a := workflow.Absence{Step: "pan", Field: field}
	if p := f.Foresee(a, nil); len(p.Missing) == 0 || !slices.Contains(f.Absences(), a) {
		t.Errorf("%v, which was not foreseen: %+v", err, p)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		`${input.age}`, `a ${steps.pan.data.name} b`, `$${x}`, `${"}"}`, `${{"a": input.tags}}`, `${r'\'}`, `${'''}'''}`,
		`${[1,2].map(x, x)}`, `${1.0/0.0}`, `${steps.pan}`, `${run}`, "${// }\n1}", `$`, `${`, `${b"\xff"}`, `${duration("1s")}`,
		`${steps.pan.data.?x}`, `${type(1)}`, `${{1: 2}}`, `${[[input.any]]}${null}`,
	} {
		f.Add(text)
	}
	s := reached()
	f.Fuzz(func(t *testing.T, text string) {
		object, err := json.Marshal(map[string]any{"a": []any{text}})
		if err != nil {
			t.Skip("the rules keep no such text")
		}
		tpl, err := language.Template(object, declared())
		if err != nil {
			oneSentence(t, err)
			return
		}
		got, err := tpl.Render(s)
		if err != nil {
			oneSentence(t, err)
			return
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%q rendered %v, which is not JSON: %v", text, got, err)
		}
		if !strings.Contains(text, "${") && strings.ToValidUTF8(text, "\uFFFD") == text {
			if items, ok := got["a"].([]any); !ok || items[0] != text {
				t.Errorf("%q without an expression rendered %v", text, got)
			}
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add(onboarding, `{"age":1,"name":2}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":["string","null"]}}}`, `{"a":[]}`)
	f.Add(doubling(7, `{"additionalProperties":{"anyOf":[@,@]}}`), nested(9, `{"a":`, `"x"`, `}`))
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, `{}`)
	f.Add(`{"properties":{"a":{"prefixItems":[true],"items":{"pattern":"^(a{1,9}){1,9}$"},"uniqueItems":true,"maxItems":9,"contains":{"enum":[1,"a",[1]]}}}}`, `{"a":[1,"a",[1],1],"b":2}`)
	f.Add(`{"items":{"uniqueItems":true,"maxItems":30},"propertyNames":{"pattern":"^a"}}`, `{"b":1e400}`)
	f.Fuzz(func(t *testing.T, text, object string) {
		schema, err := verification.ParseData([]byte(text))
		if err != nil {
			t.Skip("the rules keep no such text")
		}
		data, err := verification.ParseData([]byte(object))
		if err != nil {
			t.Skip("the rules keep no such text")
		}
		// The input of an expression is shaped by schemas that need not be valid.
		if _, err := language.Condition(`true`, workflow.Declarations{Input: schema}); err != nil {
			oneSentence(t, err)
		}
		s, err := language.Schema(schema)
		if err != nil {
			oneSentence(t, err)
			return
		}
		var problems []verification.FieldError
		if bytes := allocated(func() { problems = s.Check(data) }); bytes > 192<<20 {
			t.Errorf("Check(%s) allocated %d bytes, want at most 192 MiB", data, bytes)
		}
		for _, problem := range problems {
			if problem.Message == "" || strings.ContainsAny(problem.Message, "\r\n") {
				t.Errorf("Check(%s) = %+v, want one sentence", data, problem)
			}
		}
	})
}
