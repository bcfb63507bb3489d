package expression_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

const tooDear = "the expression could cost more than the limit of 500000 allows: " +
	"nest fewer loops, or bound its lists and strings with maxItems and maxLength"

func TestAnExpressionThatCouldCostTooMuchIsRefused(t *testing.T) {
	for _, text := range []string{
		`input.people.all(a, input.people.all(b, input.people.all(c, a.age + b.age > c.age)))`,
		`input.any.all(a, input.any.all(b, a == b))`,
		`steps.pan.data.hits.all(a, steps.pan.data.hits.all(b, a.score > b.score))`,
		`input.any.exists(a, input.any.filter(b, b == a).size() > 2)`,
		`input.any.map(a, input.any.map(b, a)).size() > 2`,
		`input.tags.all(a, input.tags.all(b, a.replace(b, input.name) == b))`,
	} {
		if _, err := language.Condition(text, declared()); err == nil || err.Error() != tooDear {
			t.Errorf("Condition(%s) = %v, want %q", text, err, tooDear)
		}
		object, err := json.Marshal(map[string]any{"a": "${" + text + "}"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := language.Template(object, declared()); err == nil || err.Error() != "a: "+tooDear {
			t.Errorf("Template(%s) = %v, want %q", object, err, "a: "+tooDear)
		}
	}
}

func TestABoundInTheSchemaMakesAnExpressionCheaper(t *testing.T) {
	const text = `input.l.all(a, input.l.all(b, input.l.all(c, a + b > c)))`
	d := workflow.Declarations{Input: verification.Data(
		`{"properties":{"l":{"type":"array","items":{"type":"number"}}}}`)}
	if _, err := language.Condition(text, d); err == nil || err.Error() != tooDear {
		t.Errorf("without maxItems: %v, want %q", err, tooDear)
	}
	d.Input = verification.Data(`{"properties":{"l":{"type":"array","maxItems":10,"items":{"type":"number"}}}}`)
	if _, err := language.Condition(text, d); err != nil {
		t.Errorf("with maxItems: %v, want no error", err)
	}
}

func TestAnEvaluationThatCostsTooMuchIsStopped(t *testing.T) {
	var list []any
	for i := range 5000 {
		list = append(list, float64(i))
	}
	input, err := json.Marshal(map[string]any{"l": list, "s": strings.Repeat("a", 200_000), "t": strings.Repeat("a", 9000)})
	if err != nil {
		t.Fatal(err)
	}
	d := workflow.Declarations{Input: verification.Data(`{"properties":{
		"l":{"type":"array","maxItems":50,"items":{"type":"number"}},
		"s":{"type":"string","maxLength":10},"t":{"type":"string","maxLength":10}}}`)}
	grow := strings.Repeat(`.map(a, [a, a, a, a, a, a, a, a, a, a])`, 12)
	const dear, long = "the expression costs more than the limit allows", "the string becomes longer than 100000 bytes"
	for _, row := range []struct{ text, want string }{
		{`input.l.all(a, input.l.all(b, a + b >= 0))`, dear},
		{`input.l.all(a, !input.s.contains("b"))`, dear},
		{`input.l.exists(a, input.s.matches("^(a|b|c)*d$"))`, dear},
		{`input.l.exists(a, input.t.lowerAscii() == "x")`, dear},
		{`input.l.exists(a, input.t.split("").size() == 1)`, dear},
		{`input.l.map(a, input.l).size() == 1`, dear},
		{`[[1]]` + grow + `.size() == 1`, dear},
		{`[[1]]` + grow + `.all(a, a == a)`, dear},
		{`[[1]]` + grow + ` == []`, dear},
		{`input.s.replace("a", input.s) == ""`, long},
		{`input.s.replace("", input.s) == ""`, long},
		{`input.s.split("").join(input.s) == ""`, long},
		{`input.t.split("").join(input.t) == ""`, long},
		{`input.s.replace("a", input.s, 99) == ""`, long},
		{`[input.s, input.s].join() == ""`, long},
	} {
		c, err := language.Condition(row.text, d)
		if err != nil {
			t.Errorf("Condition(%.60s) = %v, want no error", row.text, err)
			continue
		}
		_, _, err = c.Holds(workflow.Scope{Input: input})
		if err == nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%.60s = %v, want %q", row.text, err, row.want)
		}
	}
}

func TestTheExpressionsOfATemplateShareOneBudget(t *testing.T) {
	list := make([]any, 300)
	for i := range list {
		list[i] = float64(i)
	}
	input, err := verification.NewData(map[string]any{"l": list})
	if err != nil {
		t.Fatal(err)
	}
	d := workflow.Declarations{Input: verification.Data(
		`{"properties":{"l":{"type":"array","maxItems":50,"items":{"type":"number"}}}}`)}
	with := make([]any, 200)
	for i := range with {
		with[i] = `${input.l.all(a, input.l.exists(b, b == 150.0))}`
	}
	for _, row := range []struct {
		n    int
		want string // the error; empty for none
	}{{5, ""}, {200, "the expressions cost more together than the limit allows"}} {
		object, err := verification.NewData(map[string]any{"a": with[:row.n]})
		if err != nil {
			t.Fatal(err)
		}
		tpl, err := language.Template(object, d)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tpl.Render(workflow.Scope{Input: input})
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasSuffix(err.Error(), row.want)) {
			t.Errorf("%d expressions: %v, want %q", row.n, err, row.want)
		}
	}
}
