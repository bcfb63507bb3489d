package expression_test

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

// each joins the results of format for the numbers from 0.
func each(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(format, "@", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

// doubling is n definitions, each of which applies the next one twice.
func doubling(n int, next string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":%s,`, i, strings.ReplaceAll(next, "@", ref))
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object"}}}`, n)
	return b.String()
}

// nested puts a text inside n levels.
func nested(n int, open, text, end string) string {
	return strings.Repeat(open, n) + text + strings.Repeat(end, n)
}

// listed is a schema of a list in a field, and listOf a list in that field.
func listed(schema string) string        { return `{"properties":{"l":` + schema + `}}` }
func listOf(n int, format string) string { return `{"l":[` + each(n, format) + `]}` }

func TestASchemaThatCannotBeBoundedIsRefused(t *testing.T) {
	const (
		self     = "refers to itself, which is not supported"
		draft    = "must be https://json-schema.org/draft/2020-12/schema: no other draft of JSON Schema is supported"
		work     = "more than 250 schemas apply to the same value: use fewer alternatives"
		scans    = "patterns and formats with more than 1000 instructions apply to the same text: use fewer repetitions"
		patterns = "the patterns of the schema have more than 20000 instructions together: use fewer repetitions"
	)
	for _, row := range []struct{ schema, want string }{
		{`{"$ref":"#"}`, self},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `["$defs"].a: ` + self},
		{`{"properties":{"a":{"$ref":"#"}}}`, self},
		{`{"properties":{"p":{"items":{"anyOf":[{"type":"string"},{"$ref":"#/properties/p"}]}}}}`, "properties.p: " + self},
		{`{"$defs":{"a b":{"$id":"https://example.com/a","properties":{"x":{"$ref":"https://example.com/a"}}}},"items":{"$ref":"https://example.com/a"}}`, `["$defs"]["a b"]: ` + self},
		{`{"dependentSchemas":{"a":{"not":{"if":{"$ref":"#"}}}}}`, self},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `["$schema"]: ` + draft},
		{`{"$defs":{"a":{"$id":"x","$schema":"https://json-schema.org/draft/2019-09/schema"}}}`, `["$defs"].a["$schema"]: ` + draft},
		{`{"$ref":"http://json-schema.org/draft-07/schema"}`, self},
		{`{"properties":{"a":{"$dynamicRef":"#x"},"b":{"$dynamicAnchor":"x"}}}`, "properties.a: $dynamicRef is not supported"},
		{`{"unevaluatedProperties":false}`, "unevaluatedProperties is not supported"},
		{`{"items":{"unevaluatedItems":false}}`, "items: unevaluatedItems is not supported"},
		{`{"dependencies":{"a":["b"]}}`, "dependencies is not supported"},
		{`{"properties":{"a":{"format":"regex"}}}`, "properties.a: the format regex is not supported"},
		{`{"properties":{"a":{"uniqueItems":true}}}`, "properties.a: uniqueItems without maxItems is not supported"},
		{`{"properties":{"a":{"uniqueItems":true,"maxItems":1000}}}`, "properties.a: " + work},
		{`{"items":{"multipleOf":1e-300}}`, "items: multipleOf with more than 64 bits is not supported"},
		{doubling(28, `{"allOf":[@,@]}`), `["$defs"].d22: ` + work},
		{doubling(24, `{"additionalProperties":{"anyOf":[@,@]}}`), `["$defs"].d17.additionalProperties: ` + work},
		{doubling(24, `{"properties":{"a":@},"patternProperties":{"^a":@}}`), `["$defs"].d17: ` + work},
		{doubling(24, `{"additionalProperties":{"if":@,"then":@}}`), `["$defs"].d17.additionalProperties: ` + work},
		{`{"anyOf":[` + each(250, `true`) + `]}`, work},
		{listed(`{"contains":{"enum":[` + each(250, `@`) + `]}}`), "properties.l.contains: " + work},
		{listed(`{"items":{"required":[` + each(4000, `"f@"`) + `]}}`), "properties.l.items: " + work},
		{nested(32, `{"items":`, `{}`, `}`), "describes values more than 32 levels deep"},
		{`{"enum":[` + each(5001, `@`) + `]}`, "the schema has more than 5000 values"},
		{
			`{"properties":{"` + strings.Repeat("x", 300) + `":{"properties":{` + each(2000, `"f@":{"type":"string"}`) + `}}}}`,
			"the paths to the values of the schema are longer than 1000000 bytes together: use shorter names",
		},
		{`{"items":{"pattern":"` + strings.Repeat("x", 1001) + `"}}`, "items.pattern: a pattern must be at most 1000 characters"},
		{`{"patternProperties":{"` + strings.Repeat("x", 1001) + `":true}}`, "patternProperties: a pattern must be at most 1000 characters"},
		{`{"items":{"pattern":"(x{0,20}){0,40}y"}}`, "items: " + scans},
		{`{"patternProperties":{"(x{0,20}){0,40}y":true}}`, scans},
		{`{"allOf":[` + each(9, `{"pattern":"x{100}@"}`) + `,{"properties":{"a":{"allOf":[` + each(9, `{"pattern":"x{120}@"}`) + `]}}}]}`, "allOf[9].properties.a: " + scans},
		{`{"properties":{` + each(1000, `"f@":{"pattern":"^[^@]{0,900}$"}`) + `}}`, "properties.f108.pattern: " + patterns},
	} {
		var err error
		bytes := allocated(func() { _, err = language.Schema(verification.Data(row.schema)) })
		if err == nil || err.Error() != row.want {
			t.Errorf("Schema(%.80s) = %v, want %q", row.schema, err, row.want)
		}
		if bytes > 32<<20 {
			t.Errorf("Schema(%.80s) allocated %d bytes, want at most 32 MiB", row.schema, bytes)
		}
	}
}

// Each row is the worst schema of its kind that is accepted, and objects that are the
// worst for it: the one of size n is the largest that is accepted.
func TestTheWorkOfTheWorstSchemaIsBounded(t *testing.T) {
	const (
		maxBytes   = 192 << 20 // that one check allocates, beside the object
		maxObjects = 3_000_000 // that one check allocates, which most of the work does
	)
	deep := func(schema string) string { return listed(nested(28, `{"items":`, schema, `}`)) }
	deepList := func(n int) string { return `{"l":` + nested(28, `[`, each(n, `1`), `]`) + `}` }
	lists := func(format string) func(int) string {
		return func(n int) string { return listOf(n, format) }
	}
	text := func(prefix, repeated string) func(int) string {
		return func(n int) string { return `{"l":["` + prefix + strings.Repeat(repeated, n) + `"]}` }
	}
	fields := func(format string) func(int) string {
		return func(n int) string { return `{"l":{` + each(n, format) + `}}` }
	}
	formats := func(name string) string {
		return listed(`{"items":{"allOf":[` + each(7, `{"format":"`+name+`"}`) + `]}}`)
	}
	for _, row := range []struct {
		name, schema string
		object       func(n int) string
		n            int
	}{
		{"items of another type", listed(`{"items":{"type":"string"}}`), lists(`1`), 99_998},
		{"fields of another type", listed(`{"additionalProperties":{"type":"string"}}`), fields(`"@":1`), 99_998},
		{"fields that are not allowed", listed(`{"additionalProperties":false}`), fields(`"@":1`), 99_998},
		{"names", listed(`{"propertyNames":{"maxLength":0}}`), fields(`"@":1`), 90_000},
		{"deep items", deep(`{"type":"string"}`), deepList, 99_960},
		{"deep alternatives", deep(`{"anyOf":[{"type":"string"}]}`), deepList, 49_960},
		{"many alternatives", listed(`{"items":{"anyOf":[` + each(248, `{"type":"string"}`) + `]}}`), lists(`1`), 390},
		{"alternatives inside each other", listed(`{"items":` + nested(248, `{"anyOf":[`, `{"type":"string"}`, `]}`) + `}`), lists(`1`), 390},
		{"numbers", listed(`{"items":{"minimum":2e-300,"maximum":3e-305}}`), lists(`1e-300`), 33_330},
		{"whole numbers", listed(`{"items":{"type":"integer"}}`), lists(`1e-300`), 49_990},
		{"multiples", listed(`{"items":{"multipleOf":0.00000000000000001}}`), lists(`1e-300`), 49_990},
		{"allowed numbers", listed(`{"items":{"enum":[` + each(233, "@") + `]}}`), lists(`1e-300`), 390},
		{"allowed texts", listed(`{"items":{"enum":[` + each(3_900, `"v@"`) + `]}}`), lists(`"w100"`), 390},
		{"required fields", listed(`{"items":{"required":[` + each(3_900, `"v@"`) + `]}}`), lists(`{}`), 390},
		{"unique numbers", listed(`{"items":{"uniqueItems":true,"maxItems":20}}`), lists(`[` + each(20, "@e-300") + `]`), 475},
		{"unique lists", listed(`{"items":{"uniqueItems":true,"maxItems":20}}`), lists(`[` + each(20, "[1e-300,1e-299,1e-298,1e-297,1e-296,1e-295,@]") + `]`), 60},
		{"unique items of a longer list", listed(`{"uniqueItems":true,"maxItems":20}`), lists(`["@",1]`), 3_330},
		{"a pattern and one text", listed(`{"items":{"pattern":"[xz]{0,240}[xz]{0,240}y"}}`), text("", "x"), 30_000},
		{"a pattern and many texts", listed(`{"items":{"pattern":"[xz]{0,240}[xz]{0,240}y"}}`), lists(`"` + strings.Repeat("x", 100) + `"`), 290},
		{"a pattern of names", listed(`{"patternProperties":{"[xz]{0,240}[xz]{0,240}y":false}}`), fields(`"` + strings.Repeat("x", 100) + `@":1`), 280},
		{"lengths", listed(`{"items":{"allOf":[` + each(28, `{"maxLength":1}`) + `]}}`), text("", "x"), 1 << 20},
		{"dates", formats("date"), text("", "x"), 1 << 20},
		{"URIs", formats("uri"), text("http://", "%20"), 1 << 20 / 3},
		{"templates of URIs", formats("uri-template"), text("", "{x}"), 1 << 20 / 3},
		{"versions", formats("semver"), text("1.2.3-", "x."), 1 << 20 / 2},
		{"pointers", formats("json-pointer"), text("", "/x"), 1 << 20 / 2},
	} {
		s, err := language.Schema(verification.Data(row.schema))
		if err != nil {
			t.Errorf("%s: Schema = %v, want no error", row.name, err)
			continue
		}
		check := func(n int) (bytes, objects uint64) {
			d := verification.Data(row.object(n))
			var problems []verification.FieldError
			decodedBytes, decodedObjects := allocations(func() { d.Map() })
			bytes, objects = allocations(func() { problems = s.Check(d) })
			if len(problems) > 0 && strings.Contains(problems[0].Message, "its schema") {
				t.Errorf("%s: an object of size %d is refused: %s", row.name, n, problems[0].Message)
			}
			return bytes - min(bytes, decodedBytes), objects - min(objects, decodedObjects)
		}
		bytes, objects := check(row.n)
		if bytes > maxBytes || objects > maxObjects {
			t.Errorf("%s: Check allocated %d objects of %d bytes, want at most %d of %d", row.name, objects, bytes, maxObjects, maxBytes)
		}
		var quarters uint64 // the sum of four, as the race detector has pools forget some of what is given back
		for range 4 {
			_, fewer := check(row.n / 4)
			quarters += fewer
		}
		if objects > 3*quarters/2+10_000 {
			t.Errorf("%s: Check allocated %d objects, and %d for its quarters, one after the other: want linear work", row.name, objects, quarters)
		}
	}
}

func TestWhatMayBeCheckedFollowsFromTheSchema(t *testing.T) {
	const values, bytes = "must have at most %d values for its schema, those inside others included", "must be at most %d bytes for the patterns of its schema"
	for _, row := range []struct {
		schema, object, message string
		limit                   int
	}{
		{`{}`, listOf(99_999, `1`), values, 100_000},
		{listed(`{"items":{"type":"object","minProperties":1,"properties":{"a":{"anyOf":[{"const":"x"},{"const":"y"}]}}}}`), listOf(40_000, `1`), values, 33_333},
		{doubling(5, `{"additionalProperties":{"anyOf":[@,@]}}`), listOf(1300, `1`), values, 100_000 / 80},
		{listed(`{"uniqueItems":true,"maxItems":100}`), listOf(2_000, `1`), values, 100_000 / 50},
		{listed(`{"items":{"pattern":"^[A-Z]{5}[0-9]{4}[A-Z]$","minLength":10}}`), `{"a":"` + strings.Repeat("x", 2_307_692) + `"}`, bytes, 30_000_000 / 13},
	} {
		s, err := language.Schema(verification.Data(row.schema))
		if err != nil {
			t.Errorf("Schema(%.80s) = %v, want no error", row.schema, err)
			continue
		}
		want := []verification.FieldError{{Message: fmt.Sprintf(row.message, row.limit)}}
		if diff := cmp.Diff(want, s.Check(verification.Data(row.object))); diff != "" {
			t.Errorf("%.80s of %.40s (-want +got):\n%s", row.schema, row.object, diff)
		}
	}
}

// The instructions that a pattern has are counted with the compiler of expressions.
func TestTheInstructionsOfAPatternAreBounded(t *testing.T) {
	for _, pattern := range []string{
		`x`, `^[A-Z]{5}[0-9]{4}[A-Z]$`, `(a|b|cd)*`, `(?:a{0,9}){0,9}`, `((a)(b))+?`, `x{3,}`, `x{0}`, `(?i)straße|x?`, `^$`, ``,
		`^[^@\\s]+@[^@\\s]+$`, `.{1,255}`, `(\\d{1,3}\\.){3}\\d{1,3}`, `(abc){40}`, `\\pL{0,40}\\bx`, `[a-z]{2,9}(-[a-z]{2,9}){0,7}`, `(|a)(b||c)`, `(?s:.)(?-s:.)`,
	} {
		var text string
		if err := json.Unmarshal([]byte(`"`+pattern+`"`), &text); err != nil {
			t.Fatal(err)
		}
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		const bookkeeping = 2 // every program has an instruction to fail and one to match
		instructions := len(program.Inst) - bookkeeping
		s, err := language.Schema(verification.Data(`{"pattern":"` + pattern + `"}`))
		if err != nil {
			t.Errorf("Schema(%s) = %v, want no error", pattern, err)
			continue
		}
		large := verification.Data(`{"a":"` + strings.Repeat("x", 30_000_000/max(instructions, 1)) + `"}`)
		if got := s.Check(large); len(got) != 1 || !strings.Contains(got[0].Message, "bytes for the patterns") {
			t.Errorf("%s has %d instructions, and is matched against %d bytes", pattern, instructions, len(large))
		}
	}
}

func TestSchemasOfRealInputsAreChecked(t *testing.T) {
	const condition = `{"required":["field"],"properties":{"field":{"type":"string"},"is":{"type":["string","number"]}}}`
	group := func(of string) string {
		return `{"oneOf":[{"required":["and"],"properties":{"and":{"type":"array","items":` + of + `}}},` +
			`{"required":["or"],"properties":{"or":{"type":"array","items":` + of + `}}},` + condition + `]}`
	}
	const person = `{"properties":{"people":{"type":"array","uniqueItems":true,"maxItems":100,"items":{"$ref":"#/$defs/person"}}},"$defs":{"person":{
		"type":"object","additionalProperties":false,"required":["name","country"],
		"properties":{"name":{"type":"string","minLength":1,"maxLength":100,"pattern":"^\\S"},"age":{"type":"integer","minimum":0},
		"email":{"format":"email"},"country":{"enum":["IN","NP","LK"]}}}}}`
	for _, row := range []struct{ schema, object string }{
		{group(group(group(condition))), `{"and":[{"or":[{"and":[` + strings.TrimSuffix(strings.Repeat(`{"field":"f","is":1},`, 300), ",") + `]},{"field":"x"}]}]}`},
		{person, `{"people":[` + each(100, `{"name":"Asha @","age":@,"email":"a\u0040example.com","country":"IN"}`) + `]}`},
		{
			strings.Replace(person, `"uniqueItems":true,"maxItems":100,`, "", 1),
			`{"people":[` + each(8_000, `{"name":"Asha @","age":@,"country":"IN"}`) + `]}`,
		},
		{`{"properties":{"photo":{"type":"string"},"pan":{"pattern":"^[A-Z]{5}[0-9]{4}[A-Z]$"}}}`, `{"photo":"` + strings.Repeat("x", 1_000_000) + `","pan":"ABCDE1234F"}`},
	} {
		s, err := language.Schema(verification.Data(row.schema))
		if err != nil {
			t.Errorf("Schema(%.80s) = %v, want no error", row.schema, err)
			continue
		}
		if got := s.Check(verification.Data(row.object)); len(got) > 0 {
			t.Errorf("%.80s of %.80s = %+v, want no problem", row.schema, row.object, got[0])
		}
	}
}

func TestTheProblemsOfAnInputAreBounded(t *testing.T) {
	s, err := language.Schema(verification.Data(`{"additionalProperties":{"items":{"enum":["` + strings.Repeat("v", 100_000) + `"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d := verification.Data(`{"` + strings.Repeat("k", 100_000) + `":[` + each(50_000, `@`) + `]}`)
	var got []verification.FieldError
	if bytes := allocated(func() { got = s.Check(d) }); bytes > 64<<20 {
		t.Errorf("Check allocated %d bytes, want at most 64 MiB", bytes)
	}
	if len(got) != 1000 {
		t.Errorf("Check has %d problems, want 1000", len(got))
	}
	for _, f := range got {
		if len(f.Name) > 300 || f.Message != "must be one of the allowed values" {
			t.Fatalf("Check has %.400q: %.100q, want a short name and a short message", f.Name, f.Message)
		}
	}
}
