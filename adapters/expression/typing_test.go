package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
)

func TestEveryDeclaredKindIsTyped(t *testing.T) {
	for _, row := range []struct {
		path string
		fits string // a comparison that compiles
		want string // why comparing with {} or selecting .foo does not
	}{
		{`steps.details.data.pan`, `== "x"`, `a string has no fields (column 23)`},
		{`steps.details.data.about`, `== "x"`, `a string has no fields (column 25)`},
		{`steps.details.data.dob`, `== "x"`, `a string has no fields (column 23)`},
		{`steps.details.data.country`, `== "x"`, `a string has no fields (column 27)`},
		{`steps.details.data.email`, `== "x"`, `a string has no fields (column 25)`},
		{`steps.details.data.phone`, `== "x"`, `a string has no fields (column 25)`},
		{`steps.details.data.age`, `== 1`, `a number has no fields (column 23)`},
		{`steps.details.data.agree`, `== true`, `a boolean has no fields (column 25)`},
		{`steps.details.data.front`, `.document_id == "x"`, `steps.details.data.front has no field foo`},
		{`steps.details.data.face`, `.document_id == "x"`, `steps.details.data.face has no field foo`},
		{`steps.details.data.place`, `.latitude + steps.details.data.place.longitude > steps.details.data.place.accuracy`, `steps.details.data.place has no field foo`},
		{`steps.details.data.place`, `.denied == true`, `steps.details.data.place has no field foo`},
		{`steps.details.data.geo_ok`, `== true`, `a boolean has no fields (column 26)`},
		{`steps.details.data.opted_out`, `== true`, `a boolean has no fields (column 29)`},
		{`steps.details.data`, `.agree`, `steps.details.data has no field foo`},
		{`steps.plain.data`, `.a == "x"`, `steps.plain.data has no field foo`},
		{`steps.consent.data`, `.consent_status == "success"`, `steps.consent.data has no field foo`},
		{`steps.review.data`, `.decision == "approve"`, `steps.review.data has no field foo`},
		{`steps.pan`, `.status == "passed" && steps.pan.passed && steps.pan.dispatches >= 1`, `steps.pan has no field foo`},
		{`steps.pan.status`, `== "passed"`, `a string has no fields (column 17)`},
		{`steps.pan.dispatches`, `== 1`, `a whole number has no fields (column 21)`},
		{`run`, `.id != run.reference_id`, `run has no field foo`},
		{`run.started_at`, `> timestamp("2026-01-01T00:00:00Z")`, `a timestamp has no fields (column 15)`},
		{`input`, `.age > 3`, `input has no field foo`},
		{`input.name`, `== "x"`, `a string has no fields (column 11)`},
		{`input.age`, `== 3`, `a number has no fields (column 10)`},
		{`input.score`, `== 3`, `a number or null has no fields (column 12)`},
		{`input.score`, `== null`, `a number or null has no fields (column 12)`},
		{`input.active`, `== true`, `a boolean has no fields (column 13)`},
		{`input.tags`, `[0] == "a"`, `a list has no fields (column 11)`},
		{`input.people[0]`, `.age > 1`, `input.people[0] has no field foo`},
		{`input.address`, `.city == "x"`, `input.address has no field foo`},
		{`input.tree.left.left`, `.value > 1`, `input.tree.left.left has no field foo`},
	} {
		if _, err := language.Condition(row.path+row.fits, declared()); err != nil {
			t.Errorf("%s%s: %v, want no error", row.path, row.fits, err)
		}
		_, err := language.Condition(row.path+`.foo == "x"`, declared())
		if err == nil || err.Error() != row.want {
			t.Errorf("%s.foo = %v, want %q", row.path, err, row.want)
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
	d := verification.Declarations{Steps: map[verification.NodeID]verification.StepDeclaration{"a": {
		Type: verification.NodeCustomerInput, CanHaveRun: true, Optional: true,
		Fields: verification.InputFields{{Name: "opted_out", Type: verification.FieldText}},
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
		{`steps.later.passed`, `the step later cannot have run before this node`},
		{`has(steps.later)`, `the step later cannot have run before this node`},
		{`steps["pan"].passed`, `the object steps has named fields: write a dot and the name (column 6)`},
		{`size([steps]) == 1`, `steps must be followed by the name of a step`},
		{`steps == steps`, `steps must be followed by the name of a step`},
		{`dyn(steps).later.passed`, `steps must be followed by the name of a step`},
		// Fields.
		{`input.ago > 3`, `input has no field ago`},
		{`has(input.ago)`, `input has no field ago`},
		{`input.?ago.orValue(3) > 3`, `input has no field ago`},
		{`input.people.all(p, p.size > 2)`, `there is no field size (column 22)`},
		{`input["age"] > 3`, `the object input has named fields: write a dot and the name (column 6)`},
		// Types.
		{`input.name > 3`, `> cannot be applied to a string and a whole number (column 12)`},
		{`input.age == "x"`, `== cannot be applied to a number and a string (column 11)`},
		{`input.age != "x"`, `!= cannot be applied to a number and a string (column 11)`},
		{`input.age + "x" == "y"`, `+ cannot be applied to a number and a string (column 11)`},
		{`input.age % 2 == 0`, `% cannot be applied to a number and a whole number (column 11)`},
		{`input.age in ["a"]`, `in cannot be applied to a number and a list (column 11)`},
		{`!input.age`, `! cannot be applied to a number (column 1)`},
		{`input.age && true`, `a number stands where a boolean is needed (column 6)`},
		{`input.active ? 1 : "x"`, `?: cannot be applied to a boolean and a whole number and a string (column 14)`},
		{`input.age.all(x, true)`, `a number cannot be looped over (column 6)`},
		{`input.name.startsWith(3)`, `startsWith cannot be applied to a string and a whole number (column 22)`},
		{`input.?name.orValue(3) == "x"`, `orValue cannot be applied to an optional value and a whole number (column 20)`},
		{`input.address == {"city": "x"}`, `== cannot be applied to the object input.address and an object (column 15)`},
		{`input.people == input.tags`, `== cannot be applied to a list and a list (column 14)`},
		// Results.
		{`input.age`, `a condition must be a boolean, and this is a number`},
		{`input.name`, `a condition must be a boolean, and this is a string`},
		{`input.?active`, `a condition must be a boolean, and this is an optional value`},
		{`run`, `a condition must be a boolean, and this is the object run`},
		// Names.
		{`inputs.age > 3`, `there is no inputs; an expression sees input, run and steps (column 1)`},
		{`now() > run.started_at`, `there is no function now (column 4)`},
		{`input.name.frobnicate()`, `there is no function frobnicate (column 22)`},
		{`input.tags.all(input, true)`, `a variable cannot have the name input`},
		{`input.tags.exists(steps, steps == "a")`, `a variable cannot have the name steps`},
		{`google.protobuf.BoolValue{value: true}`, `an object of the type google.protobuf.BoolValue cannot be made here`},
		{`run.started_at.getHours("Asia/Kolkata") > 3`, `the time zone of getHours must be "UTC" or an offset such as "+05:30"`},
		{`run.started_at.getHours(input.name) > 3`, `the time zone of getHours must be "UTC" or an offset such as "+05:30"`},
		// Literals.
		{`input.name.matches("[")`, `the regular expression is not valid, or too large (column 20)`},
		{`input.name.matches("((a{100}){100}){100}")`, `the regular expression is not valid, or too large (column 20)`},
		{`input.name.matches("(a{100}){20}")`, `the regular expression is not valid, or too large (column 20)`},
		{`run.started_at > timestamp("yesterday")`, `the timestamp is not valid (column 28)`},
		{`run.started_at - run.started_at > duration("a day")`, `the duration is not valid (column 44)`},
		// Grammar.
		{``, `the expression is empty`},
		{" \n ", `the expression is empty`},
		{`input.age >`, `the expression ends too soon`},
		{`(input.age`, `the expression ends too soon`},
		{`input.age >> 3`, `the expression cannot be read: extraneous input '>' (column 12)`},
		{"input.active &&\n  input.age = 3", `use == to compare (line 2, column 13)`},
		{`input.age=3`, `use == to compare (column 10)`},
		{`"é" == "é" && input.age = 3`, `use == to compare (column 25)`},
		{`input.age === 3`, `the expression cannot be read: token recognition error at: '= ' (column 13)`},
		{`input.age => 3`, `the expression cannot be read: token recognition error at: '=>' (column 11)`},
		{"input.active\xff", `the expression is not valid UTF-8`},
		{strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), `the expression nests too deep`},
		{strings.Repeat("true || ", 2000) + "true", `the expression is longer than 10000 characters`},
		{`size([` + strings.Repeat("1,", 4500) + `]) > 1`, `the expression has too many parts`},
	} {
		c, err := language.Condition(row.text, declared())
		if err == nil || err.Error() != row.want {
			t.Errorf("Condition(%.60q) = %v, %v, want %q", row.text, c, err, row.want)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\r\n") || strings.HasSuffix(err.Error(), ".")) {
			t.Errorf("Condition(%.60q) = %q, want one line without a final stop", row.text, err)
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
		{`[a-`, "the pattern cannot be read: missing closing ] at \"[a-\""},
		{`(?=x)`, "the pattern cannot be read: invalid or unsupported Perl syntax at \"(?=\""},
		{`a{1001}`, "the pattern cannot be read: invalid repeat count at \"{1001}\""},
		{strings.Repeat("ä", 1001), "a pattern must be at most 1000 characters"},
	} {
		if _, err := language.Pattern(row.text); err == nil || err.Error() != row.want {
			t.Errorf("Pattern(%.20q) = %v, want %q", row.text, err, row.want)
		}
	}
	if _, err := language.Pattern(strings.Repeat("ä", 1000)); err != nil {
		t.Errorf("Pattern of 1000 characters = %v, want no error", err)
	}
}

// tree is an input schema of objects with n fields that are such objects again.
func tree(n int) verification.Data {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"p%d":{"$ref":"#/$defs/x"}`, i)
	}
	return verification.Data(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"z":{"type":"string"}},` +
		`"$defs":{"x":{"type":"object","properties":{` + strings.Join(fields, ",") + `}}}}`)
}

func TestASchemaThatRefersToItselfIsReadInBoundedWork(t *testing.T) {
	for _, n := range []int{2, 3, 4, 6, 10, 1000} {
		l := expression.New()
		d := verification.Declarations{Input: tree(n)}
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
			if want := path + " has no field nowhere"; n < 1000 && (err == nil || err.Error() != want) {
				t.Errorf("%d references: %v, want %q", n, err, want)
			}
		}
	}
}

func TestLongNamesOfASchemaAreReadInBoundedMemory(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	schema := verification.Data(`{"properties":{"` + long + `":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"}}}`)
	bytes := allocated(func() {
		if _, err := expression.New().Condition(`has(input.b)`, verification.Declarations{Input: schema}); err != nil {
			t.Errorf("Condition = %v, want no error", err)
		}
	})
	if bytes > 32<<20 {
		t.Errorf("reading the schema allocated %d bytes, want at most 32 MiB", bytes)
	}
}
