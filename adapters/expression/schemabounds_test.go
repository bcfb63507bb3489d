package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
)

const tooLong = "takes too long to check against the schema: give fewer values, or nest them less"

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

// nested is an object that is n levels deep.
func nested(n int) string { return strings.Repeat(`{"a":`, n) + `"x"` + strings.Repeat(`}`, n) }

// recursive applies itself twice to each field.
const recursive = `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","additionalProperties":` +
	`{"oneOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"},{"type":"string"}]}}}}`

func TestASchemaThatCannotBeBoundedIsRefused(t *testing.T) {
	const self = " refers to itself, with no field and no item in between"
	for _, row := range []struct{ schema, want string }{
		{`{"$ref":"#"}`, "the schema at #" + self},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "the schema at #/$defs/a" + self},
		{`{"properties":{"p":{"anyOf":[{"type":"string"},{"$ref":"#/properties/p"}]}}}`, "the schema at #/properties/p" + self},
		{`{"not":{"$ref":"#"}}`, "the schema at #" + self},
		{`{"if":{"required":["a"]},"then":{"$ref":"#"}}`, "the schema at #" + self},
		{`{"dependentSchemas":{"a":{"$ref":"#"}}}`, "the schema at #" + self},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`, "the schema at #" + self},
		{`{"properties":{"a":{"$dynamicRef":"#x"},"b":{"$dynamicAnchor":"x"}}}`, "the schema uses $dynamicRef at #/properties/a, which is not supported"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`, "the schema uses $recursiveRef at #/items, which is not supported"},
		{`{"properties":{"a":{"format":"regex"}}}`, "the schema uses the format regex at #/properties/a, which is not supported"},
		{doubling(28, `{"allOf":[@,@]}`), "more than 1000 schemas apply to the same value at #/$defs/d20"},
		{doubling(60, `{"allOf":[@]}`), "more than 50 schemas inside each other apply to the same value at #/$defs/d35"},
		{`{"anyOf":[` + each(1001, `{"required":["f@"]}`) + `]}`, "more than 1000 schemas apply to the same value at #"},
		{`{"enum":[` + each(5001, `@`) + `]}`, "the schema has more than 5000 values"},
		{
			`{"properties":{"` + strings.Repeat("x", 300) + `":{"properties":{` + each(2000, `"f@":{"type":"string"}`) + `}}}}`,
			"the paths to the values of the schema are longer than 1000000 bytes together: use shorter names",
		},
		{`{"pattern":"` + strings.Repeat("x", 1001) + `"}`, "a pattern of the schema has more than 1000 characters"},
		{`{"patternProperties":{"` + strings.Repeat("x", 1001) + `":true}}`, "a pattern of the schema has more than 1000 characters"},
		{
			`{"properties":{` + each(1000, `"f@":{"pattern":"^[^@]{0,900}$"}`) + `}}`,
			"the patterns of the schema have more than 20000 instructions together: use fewer repetitions",
		},
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

func TestTheWorkOfACheckIsBounded(t *testing.T) {
	list := func(item string) string { return `{"properties":{"l":` + item + `}}` }
	of := func(n int, format string) string { return `{"l":[` + each(n, format) + `]}` }
	for _, row := range []struct{ schema, object, want string }{
		{recursive, nested(28), tooLong},
		{recursive, nested(10), "does not have any of the allowed forms"},
		{doubling(24, `{"additionalProperties":{"anyOf":[@,@]}}`), nested(24), tooLong},
		{doubling(24, `{"properties":{"a":@},"patternProperties":{"^a":@}}`), nested(24), tooLong},
		{doubling(24, `{"additionalProperties":{"if":@,"then":@}}`), nested(24), tooLong},
		{list(`{"contains":{"enum":[` + each(2000, `@`) + `]}}`), of(100_000, `-1`), tooLong},
		{list(`{"contains":{"enum":[` + each(2000, `"v@"`) + `]}}`), of(100_000, `"w"`), tooLong},
		{list(`{"contains":{"enum":[` + each(100, `[0,0,0,0,0,@]`) + `]}}`), of(10_000, `[0,0,0,0,0,-1]`), tooLong},
		{list(`{"items":{"type":"object"}}`), of(300_000, `1`), tooLong},
		{list(`{"items":{"type":"object"}}`), of(150_000, `1`), "must be an object"},
		{list(`{"items":{"required":[` + each(1000, `"f@"`) + `]}}`), of(20_000, `{}`), tooLong},
		{list(`{"items":{"multipleOf":1e-300}}`), of(100_000, `1e15`), tooLong},
		{list(`{"items":{"pattern":"(x{0,20}){0,40}y"}}`), `{"l":["` + strings.Repeat("x", 500_000) + `"]}`, tooLong},
		{list(`{"patternProperties":{"(x{0,20}){0,40}y":true}}`), `{"l":{"` + strings.Repeat("x", 500_000) + `":1}}`, tooLong},
		{list(`{"items":{"format":"ipv4"}}`), of(500, `"`+strings.Repeat("x", 2000)+`"`), "must be an IPv4 address"},
		{list(`{"uniqueItems":true}`), of(2_000, `["@",1,2,3,4,5]`), tooLong},
		{list(`{"uniqueItems":true}`), of(50_000, `"@"`), ""},
		{list(`{"uniqueItems":true}`), of(19, `[@,"x"]`), ""},
		{`{"additionalProperties":false}`, `{` + each(50_000, `"f@":1`) + `}`, "is not allowed"},
		{`{"propertyNames":{"maxLength":3}}`, `{` + each(90_000, `"f@":1`) + `}`, tooLong},
		{`{"unevaluatedProperties":false,"allOf":[` + each(20, `{"minProperties":@}`) + `]}`, `{` + each(50_000, `"f@":1`) + `}`, tooLong},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"l":{"items":[` + each(9, `{"minimum":@}`) + `],"additionalItems":{"minimum":1}}}}`, of(200_000, `1`), tooLong},
		{list(`{"prefixItems":[` + each(9, `true`) + `],"items":{"minimum":1}}`), of(200_000, `1`), tooLong},
		{list(`{"unevaluatedItems":{"minimum":1}}`), of(200_000, `1`), tooLong},
	} {
		s, err := language.Schema(verification.Data(row.schema))
		if err != nil {
			t.Errorf("Schema(%.80s) = %v, want no error", row.schema, err)
			continue
		}
		d, err := verification.ParseData([]byte(row.object))
		if err != nil {
			t.Fatal(err)
		}
		var got []verification.FieldError
		decoded := allocated(func() { d.Map() })
		bytes := allocated(func() { got = s.Check(d) })
		message := ""
		if len(got) > 0 {
			message = got[0].Message
		}
		if message != row.want {
			t.Errorf("%.80s of %.40s = %q, want %q", row.schema, row.object, message, row.want)
		}
		if bytes > decoded+80<<20 {
			t.Errorf("%.80s of %.40s allocated %d bytes, want at most 80 MiB beside the value", row.schema, row.object, bytes-decoded)
		}
	}
}

func TestSchemasOfRealInputsAreChecked(t *testing.T) {
	const rules = `{"$ref":"#/$defs/rule","$defs":{"rule":{"type":"object","oneOf":[
		{"required":["and"],"properties":{"and":{"type":"array","items":{"$ref":"#/$defs/rule"}}}},
		{"required":["or"],"properties":{"or":{"type":"array","items":{"$ref":"#/$defs/rule"}}}},
		{"required":["not"],"properties":{"not":{"$ref":"#/$defs/rule"}}},
		{"required":["field"],"properties":{"field":{"type":"string"},"is":{"type":["string","number"]}}}]}}}`
	leaves := strings.TrimSuffix(strings.Repeat(`{"field":"f","is":1},`, 1000), ",")
	const person = `{"properties":{"people":{"type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/person"}}},"$defs":{"person":{
		"type":"object","additionalProperties":false,"required":["name","country"],
		"properties":{"name":{"type":"string","minLength":1,"maxLength":100,"pattern":"^\\S"},"age":{"type":"integer","minimum":0},
		"email":{"format":"email"},"country":{"enum":["IN","NP","LK"]}}}}}`
	for _, row := range []struct{ schema, object string }{
		{rules, `{"and":[{"or":[{"not":{"and":[` + leaves + `]}},{"field":"x"}]}]}`},
		{rules, strings.Repeat(`{"not":`, 25) + `{"field":"x"}` + strings.Repeat(`}`, 25)},
		{person, `{"people":[` + each(100, `{"name":"Asha @","age":@,"email":"a\u0040example.com","country":"IN"}`) + `]}`},
		{
			strings.Replace(person, `"uniqueItems":true,`, "", 1),
			`{"people":[` + each(10_000, `{"name":"Asha @","age":@,"country":"IN"}`) + `]}`,
		},
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
