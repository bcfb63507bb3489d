package expression_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestASchemaNamesEveryProblem(t *testing.T) {
	for _, row := range []struct {
		schema, object string
		want           []verification.FieldError
	}{
		{`{}`, `{"a":1}`, nil},
		{``, `{"a":1}`, nil},
		{`{"required":["a"]}`, ``, []verification.FieldError{{Name: "a", Message: "is required"}}},
		{`{"required":["b","a"],"properties":{"c":{"type":"string"}}}`, `{"c":1}`, []verification.FieldError{
			{Name: "a", Message: "is required"}, {Name: "b", Message: "is required"}, {Name: "c", Message: "must be a string"},
		}},
		{`{"properties":{"address":{"required":["city"],"properties":{"zip":{"type":"string"}}}}}`, `{"address":{"zip":3}}`, []verification.FieldError{
			{Name: "address.city", Message: "is required"}, {Name: "address.zip", Message: "must be a string"},
		}},
		{
			`{"properties":{"items":{"type":"array","items":{"required":["x"],"properties":{"x":{"type":"number"}}}}}}`,
			`{"items":[{"x":"a"},{},{"x":1}]}`,
			[]verification.FieldError{
				{Name: "items[0].x", Message: "must be a number"}, {Name: "items[1].x", Message: "is required"},
			},
		},
		{
			`{"properties":{"a":{"type":["string","null"]},"b":{"type":"integer"},"c":{"type":"boolean"},"d":{"type":"object"},"e":{"type":"array"},"f":{"type":"null"}}}`,
			`{"a":1,"b":1.5,"c":1,"d":1,"e":1,"f":1}`,
			[]verification.FieldError{
				{Name: "a", Message: "must be null or a string"},
				{Name: "b", Message: "must be a whole number"},
				{Name: "c", Message: "must be true or false"},
				{Name: "d", Message: "must be an object"},
				{Name: "e", Message: "must be a list"},
				{Name: "f", Message: "must be null"},
			},
		},
		{`{"additionalProperties":false,"properties":{"a":true}}`, `{"a":1,"c d":2,"b":3}`, []verification.FieldError{
			{Name: `["c d"]`, Message: "is not allowed"}, {Name: "b", Message: "is not allowed"},
		}},
		{
			`{"properties":{"a":{"enum":["x","y","z"]},"b":{"const":1},"c":{"enum":["x"]},"d":{"enum":[{}]},"e":{"enum":[null,true,1.5]}}}`,
			`{"a":1,"b":2,"c":3,"d":4,"e":5}`,
			[]verification.FieldError{
				{Name: "a", Message: `must be "x", "y" or "z"`},
				{Name: "b", Message: "must be 1"},
				{Name: "c", Message: `must be "x"`},
				{Name: "d", Message: "must be one of the allowed values"},
				{Name: "e", Message: "must be null, true or 1.5"},
			},
		},
		{`{"properties":{"a":{"minLength":2},"b":{"maxLength":1},"c":{"pattern":"^x$"},"d":{"minLength":1}}}`, `{"a":"1","b":"12","c":"y","d":""}`, []verification.FieldError{
			{Name: "a", Message: "must be at least 2 characters"},
			{Name: "b", Message: "must be at most 1 character"},
			{Name: "c", Message: "does not have the expected form"},
			{Name: "d", Message: "must be at least 1 character"},
		}},
		{
			`{"properties":{"a":{"minimum":2.5},"b":{"maximum":1000000},"c":{"exclusiveMinimum":0},"d":{"exclusiveMaximum":0},"e":{"multipleOf":0.01}}}`,
			`{"a":1,"b":1000001,"c":0,"d":0,"e":0.001}`,
			[]verification.FieldError{
				{Name: "a", Message: "must be at least 2.5"},
				{Name: "b", Message: "must be at most 1000000"},
				{Name: "c", Message: "must be more than 0"},
				{Name: "d", Message: "must be less than 0"},
				{Name: "e", Message: "must be a multiple of 0.01"},
			},
		},
		{
			`{"properties":{"a":{"minItems":1},"b":{"maxItems":1},"c":{"uniqueItems":true,"maxItems":2},"f":{"uniqueItems":true,"maxItems":2},"d":{"contains":{"const":1}},"e":{"prefixItems":[true],"items":false}}}`,
			`{"a":[],"b":[1,2],"c":[1,1],"d":[2],"e":[1,2],"f":[1,1,2]}`,
			[]verification.FieldError{
				{Name: "a", Message: "must have at least 1 item"},
				{Name: "b", Message: "must have at most 1 item"},
				{Name: "c", Message: "must not have the same item twice"},
				{Name: "d", Message: "does not have the items that it must contain"},
				{Name: "e[1]", Message: "is not allowed"},
				{Name: "f", Message: "must have at most 2 items"},
			},
		},
		{`{"minProperties":2,"dependentRequired":{"a":["b"]},"propertyNames":{"pattern":"^b"}}`, `{"a":1}`, []verification.FieldError{
			{Name: "", Message: "must have at least 2 fields"},
			{Name: "", Message: `must not have a field of the name "a"`},
			{Name: "b", Message: "is required when a is given"},
		}},
		{`{"properties":{"a":{"propertyNames":{"pattern":"^b"}}}}`, `{"a":{"x":1},"b":{"y":1},"c":{"z":1}}`, []verification.FieldError{
			{Name: "", Message: `must not have a field of the name "x"`},
		}},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, []verification.FieldError{{Message: "must have at most 1 field"}}},
		{
			`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"oneOf":[{"type":"number"},{"minimum":1}]},"c":{"not":{"type":"number"}},"d":{"allOf":[{"type":"string"},{"minLength":3}]},"e":false}}`,
			`{"a":1,"b":2,"c":3,"d":"x","e":1}`,
			[]verification.FieldError{
				{Name: "a", Message: "does not have any of the allowed forms"},
				{Name: "b", Message: "has more than one of the allowed forms"},
				{Name: "c", Message: "has a form that is not allowed"},
				{Name: "d", Message: "must be at least 3 characters"},
				{Name: "e", Message: "is not allowed"},
			},
		},
		{
			`{"properties":{"a":{"format":"date"},"b":{"format":"email"},"c":{"format":"uuid"},"d":{"format":"date-time"},"e":{"format":"uri"},"f":{"format":"ipv4"},"g":{"format":"duration"},"h":{"format":"of our own"},"i":{"format":"country"},"j":{"format":"nationality"},"k":{"format":"nationality"},"l":{"format":"country"}}}`,
			`{"a":"31.1.1990","b":"x","c":"x","d":"x","e":"x","f":"x","g":"x","h":"x","i":"XXB","j":"XXB","k":"x","l":7}`,
			[]verification.FieldError{
				{Name: "a", Message: "must be a date, as YYYY-MM-DD"},
				{Name: "b", Message: "must be an email address"},
				{Name: "c", Message: "must be a UUID"},
				{Name: "d", Message: "must be a date and time, as YYYY-MM-DDThh:mm:ssZ"},
				{Name: "e", Message: "must be a URI"},
				{Name: "f", Message: "must be an IPv4 address"},
				{Name: "g", Message: "must be of the format duration"},
				{Name: "i", Message: "must be a country: its name or its code, such as India, IN, IND or 356"},
				{Name: "k", Message: "must be a country: its name or its code, such as India, IN, IND or 356"},
			},
		},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, `{"a":1}`, []verification.FieldError{{Name: "a", Message: "must be a string"}}},
		{`{"allOf":[{"required":["a"]},{"required":["a"]}]}`, `{}`, []verification.FieldError{{Name: "a", Message: "is required"}}},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"type":"string"}}}`, `{"a":1}`, []verification.FieldError{{Name: "a", Message: "must be a string"}}},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1e999999999}`, []verification.FieldError{{Name: "a", Message: "must be a whole number"}}},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1e300}`, nil},
	} {
		s, err := language.Schema(verification.Data(row.schema))
		if err != nil {
			t.Errorf("Schema(%s) = %v, want no error", row.schema, err)
			continue
		}
		for range 5 {
			if diff := cmp.Diff(row.want, s.Check(verification.Data(row.object))); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", row.schema, row.object, diff)
				break
			}
		}
	}
}

func TestASchemaThatCannotBeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(file, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ schema, want string }{
		{`{"type":"strin"}`, `type: does not have any of the allowed forms`},
		{`{"properties":{"a":{"minLength":"x"}}}`, `properties.a.minLength: must be a whole number`},
		{`{"properties":{"a":{"pattern":"["}}}`, `properties.a.pattern: must be a regular expression`},
		{`{"properties":{"a":{"pattern":"(?=x)"}}}`, `properties.a.pattern: must be a regular expression`},
		{`{"$ref":"file://` + file + `"}`, `the schema refers to file://` + file + `, and references to files and hosts are not followed`},
		{`{"$ref":"other.json"}`, `the schema refers to schema:///other.json, and references to files and hosts are not followed`},
		{`{"$ref":"https://example.com/s.json"}`, `the schema refers to https://example.com/s.json, and references to files and hosts are not followed`},
		{`{"$schema":"https://example.com/s.json"}`, `["$schema"]: must be https://json-schema.org/draft/2020-12/schema: no other draft of JSON Schema is supported`},
		{`{"$ref":"#/$defs/nowhere"}`, `the schema refers to #/$defs/nowhere, which is not there`},
		{`{"$ref":"#nowhere"}`, `the schema refers to #nowhere, which is not there`},
	} {
		s, err := language.Schema(verification.Data(row.schema))
		if err == nil || err.Error() != row.want {
			t.Errorf("Schema(%s) = %v, %v, want %q", row.schema, s, err, row.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("Schema(%s) = %q, want one line", row.schema, err)
		}
	}
}
