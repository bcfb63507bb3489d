package expression_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestATemplateIsFilledIn(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		// A whole string keeps its type.
		{`${input.name}`, `"Asha Rao"`},
		{`${input.age}`, `30`},
		{`${input.age * 2 + 0.5}`, `60.5`},
		{`${input.age / 4}`, `7.5`},
		{`${steps.pan.dispatches}`, `2`},
		{`${9007199254740993}`, `9007199254740993`},
		{`${18446744073709551615u}`, `18446744073709551615`},
		{`${100000000.0 * 100000000.0}`, `10000000000000000`},
		{`${steps.pan.passed}`, `false`},
		{`${input.nick}`, `null`},
		{`${input.tags}`, `["a","b"]`},
		{`${input.extra}`, `{"a":"x","more":7}`},
		{`${steps.details.data.place}`, `{"latitude":19.07,"longitude":72.87}`},
		{`${steps.pan.data.nested}`, `{"n":1}`},
		{`${steps.consent}`, `{"data":{"consent_status":"success"},"dispatches":0,"passed":true,"status":"passed"}`},
		{`${run}`, `{"id":"0191f3c0-0000-7000-8000-000000000001","reference_id":"ref-1","started_at":"2026-03-04T05:06:07Z"}`},
		{`${run.started_at}`, `"2026-03-04T05:06:07Z"`},
		{`${run.started_at - timestamp("2026-03-04T05:06:06.5Z")}`, `"0.5s"`},
		{`${b"hi"}`, `"aGk="`},
		{`${steps.pan.data.?nowhere}`, `null`},
		{`${steps.pan.data.?name}`, `"Asha R"`},
		{`${steps.details.data.?phone.orValue("none")}`, `"none"`},
		{`${input.people.map(p, p.age * 2)}`, `[6,80]`},
		{`${{"name": input.name, "ages": input.people.map(p, p.age)}}`, `{"ages":[3,40],"name":"Asha Rao"}`},
		{`${input.active ? "yes" : "no"}`, `"yes"`},
		// Inside a longer string it becomes text.
		{`age ${input.age}`, `"age 30"`},
		{`${input.age} years`, `"30 years"`},
		{`${input.name}${input.age}`, `"Asha Rao30"`},
		{` ${input.age}`, `" 30"`},
		{`m ${steps.pan.data.name_match} p ${steps.pan.passed} n ${input.nick}.`, `"m 0.7 p false n ."`},
		{`${0.1 + 0.2}|${1e21}|${1e-7}|${100000.0}|${-0.5}`, `"0.30000000000000004|1e+21|1e-7|100000|-0.5"`},
		{`at ${run.started_at}`, `"at 2026-03-04T05:06:07Z"`},
		{`tags ${input.tags} of <${input.extra}>`, `"tags [\"a\",\"b\"] of <{\"a\":\"x\",\"more\":7}>"`},
		// Plain text stays as it is.
		{``, `""`},
		{`no expression`, `"no expression"`},
		{`$ {x} } { $`, `"$ {x} } { $"`},
		{`costs $5 or 5$`, `"costs $5 or 5$"`},
		{`$${input.age}`, `"${input.age}"`},
		{`a $${ b`, `"a ${ b"`},
		{`$$${input.age}`, `"$${input.age}"`},
		{`$${x} ${input.age}`, `"${x} 30"`},
		// Braces and quotes inside the expression.
		{`${"}"}`, `"}"`},
		{`${'}' + "{"}`, `"}{"`},
		{`${"\"}"}`, `"\"}"`},
		{`${r"\"}`, `"\\"`},
		{`${R'\'}${"}"}`, `"\\}"`},
		{`${"""a"}'b"""}`, `"a\"}'b"`},
		{`${'''}'''}`, `"}"`},
		{`${{"a": {"b": "}"}}.a.b}`, `"}"`},
		{"${ // it's a } here\n input.age }", `30`},
		{"${\n  input.age\n}", `30`},
		{`${{}}`, `{}`},
		{`ä ${"ö}"} ü`, `"ä ö} ü"`},
	} {
		raw, err := json.Marshal(map[string]any{"f": row.text})
		if err != nil {
			t.Fatal(err)
		}
		got, err := render(t, string(raw))
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		if got := asJSON(t, got); strings.ReplaceAll(got, `\u003c`, "<") != strings.ReplaceAll(`{"f":`+row.want+`}`, ">", `\u003e`) {
			t.Errorf("%s = %s, want %s", row.text, got, row.want)
		}
	}
}

// A has(...) is true or false wherever it stands: alone, in a longer text, in a list, and as part of another expression.
func TestHasIsTrueOrFalseAndNeverTheValue(t *testing.T) {
	for path, want := range map[string]bool{
		"input.name": true, "input.age": true, "input.nick": true, "input.active": true, "input.extra.a": true, "input.extra.b": false,
		"input.address": false, "input.address.city": false, "input.tags": true, "input.score": false, "run.id": true,
		"steps.pan": true, "steps.pan.data": true, "steps.pan.data.name": true, "steps.pan.data.nested.n": true, "steps.pan.data.none": false,
		"steps.pan.passed": true, "steps.pan.dispatches": true, "steps.details.data.dob": true, "steps.review": false,
		"steps.?review.data": false, "input.?extra.a": true,
	} {
		asked := "has(" + path + ")"
		if path == "input.address.city" {
			asked = "has(input.address) && has(input.address.city)" // what it stands in must be there
		}
		got, err := render(t, asJSON(t, map[string]any{
			"alone": "${" + asked + "}", "spaced": "${ (" + asked + ") }", "text": "is ${" + asked + "}", "not": "${!(" + asked + ")}",
			"list": []any{"${" + asked + "}"}, "chosen": "${" + asked + " ? 'y' : 'n'}",
		}))
		y := map[bool]string{true: "y", false: "n"}[want]
		wanted := map[string]any{
			"alone": want, "spaced": want, "text": fmt.Sprint("is ", want), "not": !want, "list": []any{want}, "chosen": y,
		}
		if diff := cmp.Diff(wanted, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", asked, err, diff)
		}
		c := compiled(t, asked)
		holds, _, err := c.Holds(reached())
		values, problems := language.Values([]string{asked}, declared())
		if alone := values.Evaluate(reached())[0]; holds != want || err != nil || problems[0] != nil || alone != any(want) {
			t.Errorf("%s: a condition says %t (%v), a value %v (%v), want %t", asked, holds, err, alone, problems[0], want)
		}
	}
	eval, reads, err := language.Expression("has(response.body.holder)", "boolean", map[string]verification.Data{"response": nil})
	if err != nil || len(reads) != 1 || reads[0] != "response.body.holder" {
		t.Fatalf("an expression over variables reads %v, %v", reads, err)
	}
	for body, want := range map[string]any{`{"holder":"Asha Rao"}`: true, `{"holder":false}`: true, `{"name":"Asha Rao"}`: false} {
		var decoded any
		if err := json.Unmarshal([]byte(body), &decoded); err != nil {
			t.Fatal(err)
		}
		if got, err := eval(map[string]any{"response": map[string]any{"body": decoded}}); got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", body, got, err, want)
		}
	}
	if _, err := language.Condition("has(steps.details.data.dob) == '2000-01-01'", declared()); err == nil ||
		!strings.Contains(err.Error(), "true or false") {
		t.Errorf("a has that is compared with a day: %v, want that it is true or false", err)
	}
}

// What cannot be computed is left out, with the smallest field around it that can be.
func TestATemplateRendersWhatItCan(t *testing.T) {
	for _, row := range []struct{ object, want, lacking string }{
		{`{"a":"${input.name}","b":"x"}`, `{"a":"Asha Rao","b":"x"}`, ""},
		{`{"a":"${steps.review.data.decision}","b":"${input.age}"}`, `{"b":30}`, "a"},
		{`{"a":"is ${steps.pan.data.none}","b":{"c":"${steps.pan.data.none}","d":1}}`, `{"b":{"d":1}}`, "a b.c"},
		{`{"a":["${input.age}","${steps.pan.data.none}"],"b":2}`, `{"b":2}`, "a"},
		{`{"a":[{"x":"${steps.pan.data.none}","y":1}]}`, `{"a":[{"y":1}]}`, "a[0].x"},
		{`{"a":"${1 / int(input.age - 30.0)}"}`, `{}`, "a"},
		{`{"a":"${input.people.map(p, p.name)}"}`, `{}`, "a"},
	} {
		tpl, err := language.Template(verification.Data(row.object), declared())
		if err != nil {
			t.Fatal(err)
		}
		partial, ok := tpl.(workflow.PartialTemplate)
		if !ok {
			t.Fatalf("%T is no workflow.PartialTemplate", tpl)
		}
		got, lacking, err := partial.RenderKnown(reached())
		if asJSON(t, got) != row.want || strings.Join(lacking, " ") != row.lacking || (err != nil) != (row.lacking != "") {
			t.Errorf("%s: %s without %q, %v, want %s without %s", row.object, asJSON(t, got), lacking, err, row.want, row.lacking)
		}
		if _, failure := tpl.Render(reached()); (failure != nil) != (err != nil) || err != nil && failure.Error() != err.Error() {
			t.Errorf("%s: Render = %v, RenderKnown = %v", row.object, failure, err)
		}
	}
}

func TestATemplateIsFilledInAtAnyDepth(t *testing.T) {
	got, err := render(t, `{
		"a": {"b": [{"c": "${input.age}"}, "x ${input.age}", 1, true, null]},
		"${input.age}": "key",
		"n": 1.5, "empty": {}, "none": []
	}`)
	if err != nil {
		t.Fatalf("Render = %v, want no error", err)
	}
	want := map[string]any{
		"a":            map[string]any{"b": []any{map[string]any{"c": 30.0}, "x 30", 1.0, true, nil}},
		"${input.age}": "key",
		"n":            1.5, "empty": map[string]any{}, "none": []any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Render (-want +got):\n%s", diff)
	}
}

func TestWhatATemplateRendersBelongsToTheCaller(t *testing.T) {
	tpl, err := language.Template(verification.Data(`{"a":{"b":1},"l":[1],"x":"${input.extra}","y":"${input.extra}"}`), declared())
	if err != nil {
		t.Fatal(err)
	}
	first, err := tpl.Render(reached())
	if err != nil {
		t.Fatal(err)
	}
	before := asJSON(t, first)
	for _, name := range []string{"a", "x"} {
		if object, ok := first[name].(map[string]any); ok {
			object["changed"] = true
		}
	}
	if list, ok := first["l"].([]any); ok {
		list[0] = "changed"
	}
	if got := asJSON(t, first["y"]); got != `{"a":"x","more":7}` {
		t.Errorf("a second value from the same place = %s, want it unchanged", got)
	}
	second, err := tpl.Render(reached())
	if err != nil || asJSON(t, second) != before {
		t.Errorf("the second Render = %s, %v, want %s", asJSON(t, second), err, before)
	}
}

func TestAnEmptyTemplateRendersAnEmptyObject(t *testing.T) {
	tpl, err := language.Template(nil, workflow.Declarations{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tpl.Render(workflow.Scope{})
	if err != nil || got == nil || len(got) != 0 {
		t.Errorf("Render = %v, %v, want an empty object", got, err)
	}
}

func TestATemplateThatCannotBeIsRefused(t *testing.T) {
	for _, row := range []struct{ object, want string }{
		{`{"a":"${input.age"}`, `a: a ${ is not closed with }`},
		{`{"a":{"b":[1,"x ${ y"]}}`, `a.b[1]: a ${ is not closed with }`},
		{`{"a":"${ {\"x\": 1 }"}`, `a: a ${ is not closed with }`},
		{`{"a":"${ 'it }"}`, `a: a ${ is not closed with }`},
		{`{"a":"${ '''it' }"}`, `a: a ${ is not closed with }`},
		{`{"a":"${ x // }"}`, `a: a ${ is not closed with }`},
		{`{"a":"${}"}`, `a: the expression is empty`},
		{`{"a":"${ }"}`, `a: the expression is empty`},
		{`{"a":["${steps.foo.data}"]}`, `a[0]: there is no step foo`},
		{`{"a b":"${steps.later.data}"}`, `["a b"]: the step later cannot have run before this node`},
		{`{"a":"${input.ago}"}`, `a: input.ago: `},
		{`{"b":"${input.ago}","a":"${input.before}"}`, `a: input.before: `},
		{`{"a":"x ${input.age + \"x\"} y"}`, `a: input.age is a number, 'x' is a text: + cannot be used with them`},
	} {
		_, err := language.Template(verification.Data(row.object), declared())
		if err == nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("Template(%s) = %v, want %q first", row.object, err, row.want)
		}
	}
}

func TestATemplateFailsOnWhatIsNotThereOrNotJSON(t *testing.T) {
	for _, row := range []struct{ object, want string }{
		{`{"a":[{"b":"${steps.pan.data.nowhere}"}]}`, `a[0].b: steps.pan.data.nowhere has no value`},
		{`{"a":"x ${steps.review.data.decision}"}`, `a: the step review has not run`},
		{`{"a":"${1.0 / 0.0}"}`, `a: the value is not a finite number`},
		{`{"a":"${{1: 2}}"}`, `a: the keys of an object must be strings`},
		{`{"a":"${{'b': type(1)}}"}`, `a: the value has a type that JSON does not have`},
		{`{"a":"${type(1)}"}`, `a: the value has a type that JSON does not have`},
	} {
		got, err := render(t, row.object)
		if err == nil || err.Error() != row.want || got != nil {
			t.Errorf("Render(%s) = %v, %v, want %q", row.object, got, err, row.want)
		}
	}
	tpl, err := language.Template(verification.Data(`{"a":"${input}"}`), workflow.Declarations{})
	if err != nil {
		t.Fatal(err)
	}
	deep := verification.Data(strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40))
	if _, err := tpl.Render(workflow.Scope{Input: deep}); err == nil || err.Error() != "a: the value nests deeper than 32" {
		t.Errorf("Render of 40 levels = %v, want the value nests deeper than 32", err)
	}
}

func TestATemplateRendersNoMoreThanItMay(t *testing.T) {
	const tooLarge = "the value is larger than 1048576 bytes"
	half := strings.Repeat("x", 600_000)
	input, err := json.Marshal(map[string]any{"half": half, "list": make([]any, 300_000), "bytes": half})
	if err != nil {
		t.Fatal(err)
	}
	s := workflow.Scope{Input: input}
	for _, row := range []struct {
		name string
		with map[string]any
		want string // the error; empty for none
	}{
		{"one string", map[string]any{"a": strings.Repeat("${input.half}", 100)}, "a: " + tooLarge},
		{"one text of an object", map[string]any{"a": strings.Repeat("${input}", 100)}, "a: " + tooLarge},
		{"one text of lists", map[string]any{"a": "x" + strings.Repeat("${input.list}", 100)}, "a: " + tooLarge},
		{"the sum of strings", map[string]any{"a": "${input.half}", "b": []any{"x", "${input.half}"}}, "b[1]: " + tooLarge},
		{"the sum of texts", map[string]any{"a": "${input.half}", "b": "x ${input.half}"}, "b: " + tooLarge},
		{"the sum of lists", map[string]any{"a": "${input.list}", "b": "${input.list}"}, "b: " + tooLarge},
		{"a string in base64", map[string]any{"a": "${[bytes(input.bytes), bytes(input.bytes)]}"}, "a: " + tooLarge},
		{"a name", map[string]any{"a": "${{input.half: input.half}}"}, "a: " + tooLarge},
		{"what fits", map[string]any{"a": "${input.half}", "b": "x ${input.half.substring(0, 400000)} y"}, ""},
	} {
		with, err := verification.NewData(row.with)
		if err != nil {
			t.Fatal(err)
		}
		tpl, err := language.Template(with, workflow.Declarations{})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		bytes := allocated(func() { got, err = tpl.Render(s) })
		if text := fmt.Sprint(err); row.want == "" && err != nil || row.want != "" && text != row.want {
			t.Errorf("%s: Render = %v, want %q", row.name, err, row.want)
		}
		if row.want == "" && (len(got) != len(row.with)) {
			t.Errorf("%s: Render has %d fields, want %d", row.name, len(got), len(row.with))
		}
		if bytes > 128<<20 {
			t.Errorf("%s: Render allocated %d bytes, want at most 128 MiB", row.name, bytes)
		}
	}
}
