package expression_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestConditionsOfRealWorkflowsHold(t *testing.T) {
	for _, row := range []struct {
		text string
		want bool
	}{
		// Routing on a check.
		{`steps.pan.data.name_match < 0.8 || !steps.pan.passed`, true},
		{`steps.pan.passed && steps.pan.data.name_match >= 0.8`, false},
		{`steps.pan.status == "failed"`, true},
		{`steps.pan.dispatches > 1`, true},
		{`steps.pan.dispatches == 2`, true},
		{`has(steps.pan.data.source_ok) && !steps.pan.data.source_ok`, false},
		{`steps.pan.data.?source_ok.orValue(true)`, true},
		{`steps.pan.data.hits.exists(h, h.score > 0.5)`, true},
		{`steps.pan.data.hits.filter(h, h.score > 0.5).size() == 1`, true},
		{`size(steps.pan.data.hits) > 2`, false},
		{`steps.pan.data.hits[0].list == "a"`, true},
		{`steps.pan.data["name_match"] < 1`, true},
		{`steps.pan.data.note == null`, true},
		// Routing on what the customer said.
		{`steps.consent.data.consent_status == "success"`, true},
		{`steps.details.data.age >= 18`, true},
		{`steps.details.data.age == 18`, true},
		{`18 == steps.details.data.age`, true},
		{`steps.details.data.age != 18`, false},
		{`steps.details.data.age in [18, 21]`, true},
		{`steps.details.data.?age.orValue(0) == 18`, true},
		{`steps.details.data.country in ["IN", "NP"]`, true},
		{`steps.details.data.country == "IN" && steps.details.data.agree`, true},
		{`!steps.details.data.geo_ok`, false},
		{`has(steps.details.data.opted_out) && steps.details.data.opted_out`, false},
		{`steps.details.data.?opted_out.orValue(false)`, false},
		{`has(steps.details.data.phone)`, false}, // null is no answer
		{`has(steps.details.data.place.accuracy)`, false},
		{`steps.details.data.place.latitude > 19`, true},
		{`steps.details.data.front.document_id != ""`, true},
		{`steps.details.data.pan.matches("^[A-Z]{5}[0-9]{4}[A-Z]$")`, true},
		{`steps.details.data.pan.substring(0, 3) == "ABC"`, true},
		{`steps.details.data.email.split("@")[1].lowerAscii() == "example.com"`, true},
		{`steps.details.data.email.endsWith("@example.com")`, true},
		{`run.started_at - timestamp(steps.details.data.dob + "T00:00:00Z") > duration("157680h")`, true},
		// Comparing the two.
		{`steps.pan.data.name.lowerAscii() == input.name.lowerAscii()`, false},
		{`input.name.upperAscii().replace(" ", "").trim() == "ASHARAO"`, true},
		{`["a", "b"].join("-") == "a-b"`, true},
		{`["a", "b"].join() == "ab"`, true},
		{`input.name.replace("a", "", 1) == "Ash Rao" && input.name.replace("a", "b", 9999999999) == "Ashb Rbo"`, true},
		{`input.name.charAt(0) == "A" && input.name.reverse() == "oaR ahsA"`, true},
		// Routing on the input and the run.
		{`input.age + 1 > 30`, true},
		{`input.age * 2 == 60`, true},
		{`input.age - 0.5 == 29.5`, true},
		{`input.age == double(size(input.people)) || input.age + size(input.people) > 30`, true},
		{`1 / input.age < 1`, true},
		{`int(input.age) % 2 == 0`, true},
		{`(input.age > 18 ? 1 : 0.5) == 1`, true},
		{`steps.pan.data.nested.n + 1 == 2`, true},
		{`2 in input.limits`, false},
		{`input.limits == [1, 2.5]`, true},
		{`"a" in input.tags`, true},
		{`input.people.all(p, p.age > 2)`, true},
		{`input.people.exists(p, p.?name.orValue("") == "x")`, true},
		{`input.nick == null`, true},
		{`has(input.score) && input.score > 3`, false},
		{`input.extra.more > 6`, true},
		{`input.any.list[1] == 20`, true},
		{`run.reference_id.startsWith("ref-")`, true},
		{`run.id.size() == 36`, true},
		{`run.started_at > timestamp("2026-01-01T00:00:00Z")`, true},
		{`run.started_at.getHours() >= 5 && run.started_at.getHours("+05:30") == 10`, true},
		// Steps that may not have run.
		{`has(steps.review)`, false},
		{`has(steps.review) && steps.review.data.decision == "reject"`, false},
		{`steps.?review.data.decision.orValue("none") == "none"`, true},
		// An error on one side does not matter when the other decides.
		{`steps.review.passed || true`, true},
		{`false && steps.pan.data.nowhere == 1`, false},
		{`true`, true},
	} {
		got, _, err := compiled(t, row.text).Holds(reached())
		if err != nil || got != row.want {
			t.Errorf("%s = %v, %v, want %v", row.text, got, err, row.want)
		}
	}
}

func TestAConditionTellsWhichValuesItSaw(t *testing.T) {
	for _, row := range []struct {
		text string
		want map[string]any
	}{
		{`steps.pan.data.name_match < 0.8 || !steps.pan.passed`, map[string]any{"steps.pan.data.name_match": 0.7, "steps.pan.passed": false}},
		{`steps.pan.data["name_match"] < 0.8`, map[string]any{"steps.pan.data.name_match": 0.7}},
		{`steps.pan.data.hits[1].score < 0.8`, map[string]any{"steps.pan.data.hits[1].score": 0.2}},
		{`steps.pan.data[?"x y"].hasValue() || steps.pan.data["nested"].n == 1`, map[string]any{"steps.pan.data.nested.n": 1.0}},
		{`input.age > 3 && input.age < 50 && steps.pan.dispatches > 0`, map[string]any{"input.age": 30.0, "steps.pan.dispatches": 2.0}},
		{`has(input.score) || input.nick == null`, map[string]any{"input.nick": nil}},
		{`has(steps.review) || has(steps.details.data.agree)`, map[string]any{"steps.details.data.agree": true}},
		{`steps.details.data.?agree.orValue(false)`, map[string]any{"steps.details.data.agree": true}},
		{`run.started_at > timestamp("2026-01-01T00:00:00Z")`, map[string]any{"run.started_at": "2026-03-04T05:06:07Z"}},
		{`input.tags.exists(t, t == "a")`, map[string]any{"input.tags": []any{"a", "b"}}},
		{`input.any.list[int(input.age) - 30] == 10`, map[string]any{"input.any.list": []any{10.0, 20.0}, "input.age": 30.0}},
		{`size([input.name, run.id]) == 2`, map[string]any{"input.name": "Asha Rao", "run.id": "0191f3c0-0000-7000-8000-000000000001"}},
		{`{"a": input.name}.a == "x"`, map[string]any{"input.name": "Asha Rao"}},
		{`.input.age > 3`, map[string]any{"input.age": 30.0}},
		{`true`, map[string]any{}},
	} {
		_, got, err := compiled(t, row.text).Holds(reached())
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s saw (-want +got):\n%s", row.text, diff)
		}
		if _, err := verification.NewData(got); err != nil {
			t.Errorf("%s saw what cannot be recorded: %v", row.text, err)
		}
	}
}

func TestAConditionFailsWhenAValueIsMissing(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`steps.pan.data.nowhere > 3`, `steps.pan.data.nowhere has no value`},
		{`steps.pan.data.nested.a.b == 1`, `steps.pan.data.nested.a has no value`},
		{`steps.pan.data.hits[7].score > 0.1`, `steps.pan.data.hits[7] has no value`},
		{`steps.pan.data.hits[0].nothing > 0.1`, `steps.pan.data.hits[0].nothing has no value`},
		{`steps.pan.data["x y"] == 1`, `steps.pan.data["x y"] has no value`},
		{`steps.details.data.opted_out`, `steps.details.data.opted_out has no value`},
		{`steps.details.data.phone == ""`, `steps.details.data.phone has no value`},
		{`steps.details.data.place.accuracy < 10`, `steps.details.data.place.accuracy has no value`},
		{`input.address.city == "x"`, `input.address has no value`},
		{`input.score == null`, `input.score has no value`},
		{"input.`x-y` == 'a'", `input["x-y"] has no value`},
		{`input.people.all(p, p.name != "")`, `input.people[].name has no value`},
		{`input.any.list.all(p, p.x)`, `a field x has no value`},
		{`input.any[input.name] == 1`, `[] does not take these values`},
		{`input.any.list[int(input.age)] == 1`, `[] does not take these values`},
		{`steps.review.passed`, `the step review has not run`},
		{`steps.review.data.decision == "reject"`, `the step review has not run`},
		{`steps.plain.data.a == "x" || false`, `the step plain has not run`},
	} {
		_, seen, err := compiled(t, row.text).Holds(reached())
		if err == nil || !strings.HasPrefix(err.Error(), row.want) || seen != nil {
			t.Errorf("%s = %v, %v, want %q", row.text, seen, err, row.want)
		}
	}
}

func TestAStepWithoutAnAnswerHasNoData(t *testing.T) {
	s := reached()
	s.Steps[2].Data, s.Steps[2].Status = nil, "running"
	_, _, err := compiled(t, `steps.pan.data.name_match < 0.8`).Holds(s)
	if err == nil || err.Error() != "steps.pan.data has no value" {
		t.Errorf("Holds = %v, want steps.pan.data has no value", err)
	}
	holds, _, err := compiled(t, `steps.pan.status == "running" && !has(steps.pan.data)`).Holds(s)
	if err != nil || !holds {
		t.Errorf("Holds = %v, %v, want true", holds, err)
	}
}

func TestAConditionFailsOnValuesThatDoNotFit(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`steps.pan.data.nested > 3`, `> does not take these values`},
		{`steps.pan.data.name + 1 == 2`, `no such overload`},
		{`"a" in steps.pan.data.name`, `no such overload`},
		{`steps.pan.data.name.getHours() == 1`, `getHours does not take these values`},
		{`steps.pan.data.name`, `a condition must be a bool, not string`},
		{`steps.pan.data.nested`, `a condition must be a bool, not map`},
		{`1 / (steps.pan.dispatches - 2) == 1`, `division by zero`},
		{`timestamp(steps.pan.data.name) > run.started_at`, `timestamp does not take these values`},
		{`timestamp(steps.pan.dispatches * 9000000000000) > run.started_at`, `timestamp overflow`},
		{`steps.details.data.pan.substring(0, 99) == ""`, `substring does not take these values`},
		{`double(steps.pan.data.name) > 1.0`, `double does not take these values`},
		{`input.name.matches(input.name + "[")`, `the expression cannot be evaluated`},
	} {
		_, _, err := compiled(t, row.text).Holds(reached())
		if err == nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s = %v, want %q", row.text, err, row.want)
		}
	}
}

func TestAnInputWithoutASchemaMayHoldAnything(t *testing.T) {
	for _, schema := range []string{``, `{}`, `{"type":"object"}`, `{"type":"string"}`, `[]`} {
		c, err := language.Condition(`input.a.b[0] == 3`, workflow.Declarations{Input: verification.Data(schema)})
		if err != nil {
			t.Errorf("schema %s: %v", schema, err)
			continue
		}
		holds, seen, err := c.Holds(workflow.Scope{Input: verification.Data(`{"a":{"b":[3]}}`)})
		if err != nil || !holds || seen["input.a.b[0]"] != 3.0 {
			t.Errorf("schema %s: Holds = %v, %v, %v, want true", schema, holds, seen, err)
		}
		if _, _, err = c.Holds(workflow.Scope{}); err == nil || err.Error() != "input.a has no value" {
			t.Errorf("schema %s: Holds of nothing = %v, want input.a has no value", schema, err)
		}
	}
}

func TestAConditionRecordsNoMoreThanItMay(t *testing.T) {
	input, err := json.Marshal(map[string]any{"a": strings.Repeat("x", 600_000), "b": strings.Repeat("y", 600_000), "c": "z"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := language.Condition(`input.a != input.b && input.c == "z"`, workflow.Declarations{})
	if err != nil {
		t.Fatal(err)
	}
	holds, seen, err := c.Holds(workflow.Scope{Input: input})
	if !holds || err != nil {
		t.Fatalf("Holds = %v, %v, want true", holds, err)
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, []string{"input.a", "input.c"}) {
		t.Errorf("it saw %v, want input.a and input.c: both strings are larger than 1 MiB together", got)
	}
}
