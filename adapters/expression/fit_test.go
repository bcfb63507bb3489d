package expression_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// panWith is the schema of `with` of a check.
const panWith = `{
	"type": "object", "additionalProperties": false, "required": ["number"],
	"properties": {
		"number": {"type": "string", "pattern": "^[A-Z]{5}[0-9]{4}[A-Z]$"},
		"kind": {"type": "string", "enum": ["person", "company"]},
		"years": {"type": "integer", "minimum": 1},
		"alias": {"type": ["string", "null"]},
		"strict": {"type": "boolean"},
		"names": {"type": ["array", "string"], "items": {"type": "string", "maxLength": 5}, "maxItems": 3},
		"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
		"holder": {"$ref": "#/$defs/holder"},
		"either": {"oneOf": [{"type": "string"}, {"type": "number"}]},
		"home": {"type": "string", "format": "country"},
		"states": {"type": ["array", "string"], "format": "nationality", "items": {"type": "string", "format": "nationality"}},
		"any": true
	},
	"$defs": {"holder": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"type": "number"}}}}
}`

func TestAWithIsCheckedByItsSchema(t *testing.T) {
	for _, row := range []struct {
		with string
		want []string // path: message, by path
	}{
		{`{"number":"ABCDE1234F","kind":"person","years":3,"alias":null,"strict":true,"names":["a"],"either":1,"any":[{}]}`, nil},
		{`{"number":"${input.name}","kind":"${input.name}","years":"${input.age}","alias":"${input.nick}","strict":"${input.active}",` +
			`"names":"${input.tags}","pair":["${input.name}","${input.age}"],"holder":{"name":"${input.name}"},"either":"${input.active}"}`, nil},
		{`{"number":"${input.any}","years":"${input.any.list}","strict":"${input.?active.orValue(false)}"}`, nil},
		{`{"number":"${input.?name}","holder":"${input.address}","names":["x${input.name}"],"alias":"${null}"}`, nil},
		{`{"number":"${string(run.started_at)}","alias":"${run.started_at}","years":"${size(input.tags)}"}`, nil},
		{`{"number":"ABCDE1234F","holder":{"name":"x","more":1}}`, nil},

		{`{}`, []string{"number: is required"}},
		{`{"numbr":"ABCDE1234F"}`, []string{"number: is required", "numbr: unknown field; did you mean number?"}},
		{
			`{"number":"${input.name}","nmaes":"${input.tags}","zzz":1}`,
			[]string{"nmaes: unknown field; did you mean names?", "zzz: unknown field"},
		},
		{`{"number":"abc"}`, []string{"number: does not have the expected form"}},
		{`{"number":7}`, []string{"number: must be a string"}},
		{`{"number":"${input.age}"}`, []string{"number: must be a string, not a number"}},
		{`{"number":"${input.name}","kind":"persn"}`, []string{`kind: must be "person" or "company"; did you mean person?`}},
		{`{"number":"${input.name}","years":"${input.age} years"}`, []string{"years: must be a whole number, not a string"}},
		{`{"number":"${input.name}","years":1.5}`, []string{"years: must be a whole number"}},
		{`{"number":"${input.name}","strict":"${input.nick}"}`, []string{"strict: must be true or false, not a string"}},
		{`{"number":"${null}"}`, []string{"number: must be a string, not null"}},
		{`{"number":"${input.name}","names":{"a":"${input.name}"}}`, []string{"names: must be a string or a list, not an object"}},
		{
			`{"number":"${input.name}","names":["${input.age}","123456"]}`,
			[]string{"names[0]: must be a string, not a number", "names[1]: must be at most 5 characters"},
		},
		{`{"number":"${input.name}","names":["a","b","c","d"]}`, []string{"names: must have at most 3 items"}},
		{
			`{"number":"${input.name}","pair":[1,"${input.name}",true]}`,
			[]string{"pair[0]: must be a string", "pair[1]: must be a number, not a string"},
		},
		{`{"number":"${input.name}","holder":["${input.name}"]}`, []string{"holder: must be an object, not a list"}},
		{
			`{"number":"${input.name}","holder":{"age":"${input.name}"}}`,
			[]string{"holder.age: must be a number, not a string", "holder.name: is required"},
		},
		{`{"number":"${input.name}","either":true}`, []string{"either: does not have any of the allowed forms"}},
		{`{"number":"${input.name}","home":"India","states":["D","Yugoslavia","XXB","${input.name}"]}`, nil},
		{`{"number":"${input.name}","home":"${input.name}","states":"RKS"}`, nil},
		{`{"number":"${input.name}","home":"Yugoslavia"}`, []string{"home: must be a country: its name or its code, such as India, IN, IND or 356"}},
		{
			`{"number":"${input.name}","home":"sweeden","states":["${input.name}","Grmany"]}`,
			[]string{
				"home: must be a country: its name or its code, such as India, IN, IND or 356; did you mean Sweden?",
				"states[1]: must be a country: its name or its code, such as India, IN, IND or 356; did you mean Germany?",
			},
		},
	} {
		d := declared()
		d.With = verification.Data(panWith)
		_, err := language.Template(verification.Data(row.with), d)
		if diff := cmp.Diff(row.want, joined(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.with, diff)
		}
	}
}

// joined returns path and message of each error that err joins, sorted.
func joined(err error) (all []string) {
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) {
		if err != nil {
			all = append(all, err.Error())
		}
		return all
	}
	for _, one := range many.Unwrap() {
		var e *verification.TextError
		if !errors.As(one, &e) {
			return append(all, one.Error())
		}
		all = append(all, e.Path+": "+e.Message)
	}
	slices.Sort(all)
	return all
}

// panData is the schema of the data of a check.
const panData = `{
	"type": "object", "additionalProperties": false, "required": ["score"],
	"properties": {
		"score": {"type": "number"}, "name": {"type": "string"}, "note": {"type": ["string", "null"]},
		"hits": {"type": "array", "items": {"type": "object", "properties": {"list": {"type": "string"}, "score": {"type": "number"}}}}
	}
}`

// described returns the declarations with a schema for the data of the check pan.
func described(data string) workflow.Declarations {
	d := declared()
	pan := d.Steps["pan"]
	pan.Data = verification.Data(data)
	d.Steps["pan"] = pan
	return d
}

func TestTheDataOfADescribedCheckIsTyped(t *testing.T) {
	for _, row := range []struct{ text, want string }{ // no error if want is empty
		{`steps.pan.data.score < 1`, ``},
		{`steps.pan.data.score + 1 == 2`, ``},
		{`has(steps.pan.data.name) && steps.pan.data.name == "x"`, ``},
		{`steps.pan.?data.?score.orValue(1.0) < 0.8`, ``},
		{`steps.pan.data.note == null`, ``},
		{`steps.pan.data.hits.exists(h, h.score > 0.9 && h.list == "a")`, ``},
		{`steps.pan.?data.?source_ok.orValue(true)`, ``},

		{`steps.pan.data.scroe < 1`, `steps.pan.data.scroe: undefined field 'scroe'; did you mean score?`},
		{`has(steps.pan.data.naem)`, `steps.pan.data.naem: undefined field 'naem'; did you mean name?`},
		{`steps.pan.?data.?scores.orValue(1.0) < 0.8`, `undefined field 'scores'; did you mean score?`},
		{`steps.pan.data.address == "x"`, `steps.pan.data.address: undefined field 'address'`},
		{`steps.pan.data.hits[0].lists == "x"`, `steps.pan.data.hits[0].lists: undefined field 'lists'; did you mean list?`},
		{`steps.pan.data.score == "high"`, `steps.pan.data.score is a number, 'high' is a text: == cannot be used with them`},
		{`steps.pan.data.name > 3`, `steps.pan.data.name is a text, 3 is a number`},
		{`steps.pan.?data.?score.orValue("none") == "none"`, `orValue`},
		{`steps.pan.data.source_ok == 1`, `steps.pan.data.source_ok is true or false, 1 is a number`},
	} {
		_, err := language.Condition(row.text, described(panData))
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s = %v, want no error", row.text, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s = %v, want an error with %q", row.text, err, row.want)
		}
	}
}

func TestADescriptionWithoutFieldsLeavesTheDataFree(t *testing.T) {
	for _, data := range []string{``, `{}`, `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`} {
		if _, err := language.Condition(`steps.pan.data.anything > 3`, described(data)); err != nil {
			t.Errorf("data %s: %v, want no error", data, err)
		}
	}
}

func TestItemsOfSeveralTypesAreNotTyped(t *testing.T) {
	for _, data := range []string{
		`{"properties":{"l":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"number"}}}}`,
	} {
		if _, err := language.Condition(`steps.pan.data.l[0] == "x" && steps.pan.data.l[1] == 1`, described(data)); err != nil {
			t.Errorf("data %s: %v, want no error", data, err)
		}
	}
}

func TestAMisspeltFieldOfAFormIsSuggested(t *testing.T) {
	for text, want := range map[string]string{
		`steps.details.data.contry == "IN"`: `steps.details.data.contry: undefined field 'contry'; did you mean country?`,
		`input.agee > 3`:                    `input.agee: undefined field 'agee'; did you mean age?`,
		`steps.pan.pased`:                   `steps.pan.pased: undefined field 'pased'; did you mean passed?`,
	} {
		if _, err := language.Condition(text, declared()); err == nil || err.Error() != want {
			t.Errorf("%s = %v, want %s", text, err, want)
		}
	}
}
