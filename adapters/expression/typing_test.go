package expression_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryDeclaredKindIsTyped(t *testing.T) {
	for _, row := range []struct {
		path string
		fits string // a comparison that compiles
		want string // the part that selecting .foo names
	}{
		{`steps.details.data.pan`, `== "x"`, `'string'`},
		{`steps.details.data.about`, `== "x"`, `'string'`},
		{`steps.details.data.dob`, `== "x"`, `'string'`},
		{`steps.details.data.country`, `== "x"`, `'string'`},
		{`steps.details.data.email`, `== "x"`, `'string'`},
		{`steps.details.data.phone`, `== "x"`, `'string'`},
		{`steps.details.data.age`, `== 1`, `double`},
		{`steps.details.data.agree`, `== true`, `'bool'`},
		{`steps.details.data.front`, `.document_id == "x"`, `steps.details.data.front.foo`},
		{`steps.details.data.face`, `.document_id == "x"`, `steps.details.data.face.foo`},
		{`steps.details.data.place`, `.latitude + steps.details.data.place.longitude > steps.details.data.place.accuracy`, `steps.details.data.place.foo`},
		{`steps.details.data.place`, `.denied == true`, `steps.details.data.place.foo`},
		{`steps.details.data.geo_ok`, `== true`, `'bool'`},
		{`steps.details.data.opted_out`, `== true`, `'bool'`},
		{`steps.details.data`, `.agree`, `steps.details.data.foo`},
		{`steps.plain.data`, `.a == "x"`, `steps.plain.data.foo`},
		{`steps.consent.data`, `.consent_status == "success"`, `steps.consent.data.foo`},
		{`steps.review.data`, `.decision == "approve"`, `steps.review.data.foo`},
		{`steps.pan`, `.status == "passed" && steps.pan.passed && steps.pan.dispatches >= 1`, `steps.pan.foo`},
		{`steps.pan.status`, `== "passed"`, `'string'`},
		{`steps.pan.dispatches`, `== 1`, `'int'`},
		{`run`, `.id != run.reference_id`, `run.foo`},
		{`run.started_at`, `> timestamp("2026-01-01T00:00:00Z")`, `timestamp`},
		{`input`, `.age > 3`, `input.foo`},
		{`input.name`, `== "x"`, `'string'`},
		{`input.age`, `== 3`, `double`},
		{`input.score`, `== 3`, `double`},
		{`input.score`, `== null`, `double`},
		{`input.active`, `== true`, `'bool'`},
		{`input.tags`, `[0] == "a"`, `list(string)`},
		{`input.people[0]`, `.age > 1`, `input.people[0].foo`},
		{`input.address`, `.city == "x"`, `input.address.foo`},
		{`input.tree.left.left`, `.value > 1`, `input.tree.left.left.foo`},
	} {
		if _, err := language.Condition(row.path+row.fits, declared()); err != nil {
			t.Errorf("%s%s: %v, want no error", row.path, row.fits, err)
		}
		_, err := language.Condition(row.path+`.foo == "x"`, declared())
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s.foo = %v, want an error that names %q", row.path, err, row.want)
		}
	}
}

func TestValuesThatMayHoldAnythingAreNotTyped(t *testing.T) {
	for _, path := range []string{
		`steps.pan.data`, `steps.pan.data.nested.deeper`, `input.any`, `input.free`, `input.mixed`,
		`input.extra`, `input.typed_extra`, `input.union`, `input.tags.map(x, dyn(x))[0]`,
	} {
		if _, err := language.Condition(path+`.foo.bar == "x"`, declared()); err != nil {
			t.Errorf("%s.foo: %v, want no error", path, err)
		}
	}
}

func TestAFieldOfItsOwnNameHidesWhatTheEngineAdds(t *testing.T) {
	d := workflow.Declarations{Steps: map[verification.NodeID]workflow.StepDeclaration{"a": {
		Type: workflow.NodeCustomerInput, MayPrecede: true, Optional: true,
		Fields: workflow.InputFields{{Name: "opted_out", Type: workflow.FieldText}},
	}}}
	if _, err := language.Condition(`steps.a.data.opted_out == "x"`, d); err != nil {
		t.Errorf("Condition = %v, want no error", err)
	}
}

func TestAConditionThatCannotBeIsRefused(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		// Steps.
		{`steps.foo.passed`, `there is no step foo`},
		{`steps.?foo.passed.orValue(true)`, `there is no step foo`},
		{`has(steps.foo)`, `there is no step foo`},
		{`steps.register.passed`, `there is no step register; the step with this key is pan`},
		{`steps.pam.passed`, `there is no step pam; did you mean pan?`},
		{`steps.later.passed`, `the step later cannot have run before this node`},
		{`has(steps.later)`, `the step later cannot have run before this node`},
		{`steps["pan"].passed`, `steps`},
		{`size([steps]) == 1`, `steps must be followed by the name of a step`},
		{`steps == steps`, `steps must be followed by the name of a step`},
		{`dyn(steps).later.passed`, `steps must be followed by the name of a step`},
		// Fields.
		{`input.ago > 3`, `input.ago: undefined field`},
		{`has(input.ago)`, `input.ago: undefined field`},
		{`input.?ago.orValue(3) > 3`, `input.ago: undefined field`},
		{`input.people.all(p, p.size > 2)`, `'size'`},
		{`input["age"] > 3`, `input`},
		// Types.
		{`input.name > 3`, `input.name is a text, 3 is a number: > cannot be used with them`},
		{`input.age == "x"`, `input.age is a number, 'x' is a text: == cannot be used with them`},
		{`input.age != "x"`, `input.age is a number, 'x' is a text: !=`},
		{`input.age + "x" == "y"`, `input.age is a number, 'x' is a text: +`},
		{`input.age % 2 == 0`, `% cannot be used with them, so write int(input.age)`},
		{`input.age == size(input.people)`, `so write double(size(input.people))`},
		{`input.age in ["a"]`, `input.age is a number, ["a"] is a list of texts: in`},
		{`!input.age`, `input.age is a number: ! is only for true or false`},
		{`input.age && true`, `input.age is a number: && is only for true or false`},
		{`input.active ? 1 : "x"`, `1 is a number, 'x' is a text: what is before and after a : must be alike`},
		{`input.age.all(x, true)`, `'double'`},
		{`input.name.startsWith(3)`, `startsWith`},
		{`input.?name.orValue(3) == "x"`, `orValue`},
		{`input.address == {"city": "x"}`, `input.address`},
		{`input.people == input.tags`, `input.people`},
		// Results.
		{`input.age`, `a condition must be a bool, not double`},
		{`input.name`, `a condition must be a bool, not string`},
		{`input.?active`, `a condition must be a bool, not optional_type(bool)`},
		{`run`, `a condition must be a bool, not {run}`},
		// Names.
		{`inputs.age > 3`, `'inputs'`},
		{`now() > run.started_at`, `'now'`},
		{`input.name.frobnicate()`, `'frobnicate'`},
		{`"%s".format([input.name]) == ""`, "'format'"},
		{`input.name.indexOf("a") == 1`, "'indexOf'"},
		{`input.name.lastIndexOf("a") == 1`, "'lastIndexOf'"},
		{`input.tags.all(input, true)`, `a variable cannot have the name input`},
		{`input.tags.exists(steps, steps == "a")`, `a variable cannot have the name steps`},
		{`google.protobuf.BoolValue{value: true}`, `an object of the type google.protobuf.BoolValue cannot be made here`},
		{`run.started_at.getHours("Asia/Kolkata") > 3`, `the time zone of getHours must be "UTC" or an offset such as "+05:30"`},
		{`run.started_at.getHours(input.name) > 3`, `the time zone of getHours must be "UTC" or an offset such as "+05:30"`},
		// Literals.
		{`input.name.matches("[")`, `matches`},
		{`input.name.matches("((a{100}){100}){100}")`, `matches`},
		{`input.name.matches("(a{100}){20}")`, `matches`},
		{`run.started_at > timestamp("yesterday")`, `timestamp`},
		{`run.started_at - run.started_at > duration("a day")`, `duration`},
		// Grammar.
		{``, `the expression is empty`},
		{" \n ", `the expression is empty`},
		{`input.age >`, `<EOF>`},
		{`(input.age`, `<EOF>`},
		{`input.age >> 3`, `'>'`},
		{`input.age=3`, `write == to compare`},
		{`"é" == "é" && input.age = 3`, `write == to compare`},
		{`input.age === 3`, `write == to compare`},
		{`input.age <> 3`, `write != to compare`},
		{`input.active and input.age > 3`, `there is no operator and: write &&`},
		{`input.name == 'a = b' input.age`, `Syntax error`},
		{`input.?active == true`, `input.?active may be missing: write input.?active.orValue(...)`},
		{`input.age => 3`, `write >= to compare`},
		{"input.active\xff", `the expression is not valid UTF-8`},
		{strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), `100`},
		{strings.Repeat("true || ", 2000) + "true", `10000`},
		{`size([` + strings.Repeat("1,", 4500) + `]) > 1`, `4000`},
	} {
		c, err := language.Condition(row.text, declared())
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("Condition(%.60q) = %v, %v, want an error with %q", row.text, c, err, row.want)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\r\n") || strings.HasSuffix(err.Error(), ".")) {
			t.Errorf("Condition(%.60q) = %q, want one line without a final stop", row.text, err)
		}
	}
}

func TestAProblemHasItsPositionInTheText(t *testing.T) {
	for _, row := range []struct {
		text      string
		character int
	}{
		{"input.active &&\n  input.age = 3", 29},
		{`"é" == "é" && input.age = 3`, 25},
		{`input.age >`, 12},
		{`true && input.foo == 1`, 14},
		{`true && steps.nowhere.passed`, 14},
		{`input.name == "x" && input.age == "x"`, 32},
		{`run.started_at.getHours(input.name) > 3`, 30},
		{`input.age`, 0}, // the whole text
	} {
		_, err := language.Condition(row.text, declared())
		var found *verification.TextError
		character := 0
		if errors.As(err, &found) {
			character = found.Character
		}
		if err == nil || character != row.character {
			t.Errorf("Condition(%q) = %v at character %d, want %d", row.text, err, character, row.character)
		}
	}
	for _, row := range []struct {
		object string
		want   verification.TextError
	}{
		{`{"a":{"b":["x","é ${input.age} ${input.foo}"]}}`, verification.TextError{Path: "a.b[1]", Character: 23}},
		{`{"a b":"$${ ${"}`, verification.TextError{Path: `["a b"]`, Character: 5}},
		{`{"a":"x ${}"}`, verification.TextError{Path: "a", Character: 5}},
	} {
		_, err := language.Template(verification.Data(row.object), declared())
		var found *verification.TextError
		if !errors.As(err, &found) || found.Path != row.want.Path || found.Character != row.want.Character {
			t.Errorf("Template(%s) = %#v, want %s at character %d", row.object, err, row.want.Path, row.want.Character)
		}
	}
}

func TestPatternsAreRE2AndBounded(t *testing.T) {
	p, err := language.Pattern(`^[A-Z]{5}[0-9]{4}[A-Z]$`)
	if err != nil {
		t.Fatalf("Pattern = %v, want no error", err)
	}
	if !p.MatchString("ABCDE1234F") || p.MatchString("ABCDE1234") {
		t.Error("the pattern does not match what it should")
	}
	for _, row := range []struct{ text, want string }{
		{`[a-`, "[a-"},
		{`(?=x)`, "(?="},
		{`a{1001}`, "{1001}"},
		{strings.Repeat("ä", 1001), "a pattern must be at most 1000 characters"},
	} {
		if _, err := language.Pattern(row.text); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("Pattern(%.20q) = %v, want an error with %q", row.text, err, row.want)
		}
	}
	if _, err := language.Pattern(strings.Repeat("ä", 1000)); err != nil {
		t.Errorf("Pattern of 1000 characters = %v, want no error", err)
	}
}

// tree is an input schema of objects of 12 levels, each with n fields that are objects of
// the next level.
func tree(n int) verification.Data {
	levels := make([]string, 12)
	for level := range levels {
		fields := make([]string, n)
		for i := range fields {
			fields[i] = fmt.Sprintf(`"p%d":{"$ref":"#/$defs/l%d"}`, i, level+1)
		}
		levels[level] = fmt.Sprintf(`"l%d":{"type":"object","properties":{%s}}`, level, strings.Join(fields, ","))
	}
	return verification.Data(`{"type":"object","properties":{"a":{"$ref":"#/$defs/l0"},"z":{"type":"string"}},` +
		`"$defs":{` + strings.Join(levels, ",") + `,"l12":{"type":"object"}}}`)
}

func TestASchemaWithManyPathsIsReadInBoundedWork(t *testing.T) {
	for _, n := range []int{2, 3, 4, 6, 10, 100} {
		l := expression.New()
		d := workflow.Declarations{Input: tree(n)}
		var err error
		bytes := allocated(func() { _, err = l.Condition(`has(input.a.p0.p1.p0) && input.z == "x"`, d) })
		if err != nil {
			t.Errorf("%d references: %v, want no error", n, err)
		}
		if bytes > 32<<20 {
			t.Errorf("%d references: reading the schema allocated %d bytes, want at most 32 MiB", n, bytes)
		}
		for _, path := range []string{"input", "input.a", "input.a.p0"} {
			_, err := l.Condition(path+`.nowhere == "x"`, d)
			if want := path + ".nowhere"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d references: %v, want an error that names %q", n, err, want)
			}
		}
	}
}

func TestLongNamesOfASchemaAreReadInBoundedMemory(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	schema := verification.Data(`{"properties":{"` + long + `":true,"b":true,"c":true}}`)
	bytes := allocated(func() {
		if _, err := expression.New().Condition(`has(input.b)`, workflow.Declarations{Input: schema}); err != nil {
			t.Errorf("Condition = %v, want no error", err)
		}
	})
	if bytes > 32<<20 {
		t.Errorf("reading the schema allocated %d bytes, want at most 32 MiB", bytes)
	}
}
