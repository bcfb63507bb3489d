package rules_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// filling returns a run that waits for the customer to fill in the fields.
func filling(t flows.Tester, optional bool, fields ...workflow.InputField) *journey {
	t.Helper()
	return begin(t, flows.Define("details", flows.Nodes{
		"details": {
			Type: workflow.NodeCustomerInput, Label: "Your details", Optional: optional, Next: "done",
			Fields: fields,
		},
		"done": flows.EndNode(),
	}), "")
}

func number(n float64) *float64 { return &n }

func TestFieldAcceptsValuesOfItsType(t *testing.T) {
	const id = `{"document_id":"0191f3c0-0000-7000-8000-00000000000d"}`
	const document, place = `must be {"document_id": the id of an upload}`, `must be {"latitude", "longitude", "accuracy"} or {"denied": true}`
	const direction = "must not have characters that change the direction of text"
	options := []workflow.Option{{Value: "in", Label: "India"}, {Value: "np"}}
	field := func(kind workflow.FieldType) workflow.InputField { return workflow.InputField{Type: kind} }
	pan := workflow.InputField{Type: workflow.FieldText, Pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$"}
	for _, c := range []struct {
		name  string
		field workflow.InputField
		right []string
		wrong map[string]string // value to message
	}{
		{
			"text", field(workflow.FieldText),
			[]string{`"x"`, `"` + strings.Repeat("ä", 1000) + `"`, `"خالد\u200f المنصوري\u061c\u200e"`, `"علی\u200cرضا"`},
			map[string]string{
				`7`: "must be a string", `{}`: "must be a string", `"a\nb"`: "must be one line", `"a\rb"`: "must be one line",
				`"` + strings.Repeat("x", 1001) + `"`: "must be at most 1000 characters",
				`"\u202evoksyomaZ"`:                   direction, `"a\u202ab\u202c"`: direction, `"\u2067a\u2069"`: direction,
			},
		},
		{
			"text with a length",
			workflow.InputField{Type: workflow.FieldText, MaxLength: 2},
			[]string{`"ää"`},
			map[string]string{`"abc"`: "must be at most 2 characters"},
		},
		{"text with a pattern", pan, []string{`"ABCDE1234F"`}, map[string]string{`"abcde1234f"`: "does not have the expected form"}},
		{
			"textarea", field(workflow.FieldTextarea),
			[]string{`"a\nb"`, `"` + strings.Repeat("x", 10000) + `"`},
			map[string]string{`"` + strings.Repeat("x", 10001) + `"`: "must be at most 10000 characters", `true`: "must be a string", `"a\n\u202db"`: direction},
		},
		{
			"number",
			workflow.InputField{Type: workflow.FieldNumber, Min: number(-1.5), Max: number(1e6)},
			[]string{`-1.5`, `0`, `1000000`, `1e6`},
			map[string]string{`-1.6`: "must be at least -1.5", `1000001`: "must be at most 1000000", `"1"`: "must be a number"},
		},
		{
			"number with a great bound",
			workflow.InputField{Type: workflow.FieldNumber, Min: number(-1 << 53), Max: number(1 << 63)},
			[]string{`9223372036854775807`, `9223372036854775808`, `-9007199254740992`, `9007199254740993.5`},
			map[string]string{
				`9223372036854775809`: "must be at most 9223372036854775808", `-9007199254740993`: "must be at least -9007199254740992",
			},
		},
		{
			"number with the greatest bounds",
			workflow.InputField{Type: workflow.FieldNumber, Min: number(1 << 53), Max: number(1 << 64)},
			[]string{`18446744073709551615`, `9007199254740993`},
			map[string]string{`9007199254740991`: "must be at least 9007199254740992"},
		},
		{"number without bounds", field(workflow.FieldNumber), []string{`-9223372036854775808`, `18446744073709551615`, `0.1`}, nil},
		{
			"whole number",
			workflow.InputField{Type: workflow.FieldNumber, Integer: true},
			[]string{`9007199254740993`, `-1`, `1.0`, `1e3`, `-0`},
			map[string]string{`1.5`: "must be a whole number", `5.0000000000000000001`: "must be a whole number", `true`: "must be a number"},
		},
		{
			"date", field(workflow.FieldDate),
			[]string{`"2024-02-29"`, `"1900-01-01"`},
			map[string]string{
				`"2023-02-29"`: "must be a date, as YYYY-MM-DD", `"2023-2-9"`: "must be a date, as YYYY-MM-DD",
				`"29-02-2024"`: "must be a date, as YYYY-MM-DD", `20240229`: "must be a string",
			},
		},
		{
			"date with limits", // the run of these tests is at noon of 2026-03-02
			workflow.InputField{Type: workflow.FieldDate, MinDate: "1900-01-01", MaxDate: "-18y"},
			[]string{`"1900-01-01"`, `"2008-03-02"`},
			map[string]string{
				`"1899-12-31"`: "must not be before 1900-01-01", `"2008-03-03"`: "must not be after 2008-03-02",
				`"2008-3-2"`: "must be a date, as YYYY-MM-DD",
			},
		},
		{
			"date from today",
			workflow.InputField{Type: workflow.FieldDate, MinDate: "today", MaxDate: "+6m"},
			[]string{`"2026-03-02"`, `"2026-09-02"`},
			map[string]string{`"2026-03-01"`: "must not be before 2026-03-02", `"2026-09-03"`: "must not be after 2026-09-02"},
		},
		{
			"birth date of a person",
			workflow.InputField{Type: workflow.FieldDate, BirthOf: workflow.FactPerson},
			[]string{`"1960-07-05"`, `"1960-07"`, `"1960"`, `"2026-03-02"`, `"2026"`, `"1895-03-03"`, `"1895"`, `"1970-01-01"`},
			map[string]string{
				`"2026-03-03"`: workflow.BirthProblem, `"2569-07-05"`: workflow.BirthProblem, `"1380"`: workflow.BirthProblem, `"1895-03-02"`: workflow.BirthProblem,
				`"0001-01-01"`: workflow.BirthProblem, `"1900-01-01"`: workflow.BirthProblem, `"9999-12-31"`: workflow.BirthProblem, `"2027"`: workflow.BirthProblem,
				`"1960-7"`:     "must be a date, as YYYY-MM-DD, or as YYYY-MM or YYYY if the day or the month is not known",
				`"1960-02-30"`: "must be a date, as YYYY-MM-DD, or as YYYY-MM or YYYY if the day or the month is not known",
				`"1960-00-00"`: "must be a date, as YYYY-MM-DD, or as YYYY-MM or YYYY if the day or the month is not known",
			},
		},
		{
			"birth date of an adult", // every day that is possible counts
			workflow.InputField{Type: workflow.FieldDate, BirthOf: workflow.FactPerson, MinDate: "1930-06-01", MaxDate: "-18y"},
			[]string{`"1960"`, `"2007"`, `"2008-02"`, `"1930-06"`},
			map[string]string{`"2008"`: "must not be after 2008-03-02", `"2008-03"`: "must not be after 2008-03-02", `"1930"`: "must not be before 1930-06-01"},
		},
		{
			"day on which a company was founded",
			workflow.InputField{Type: workflow.FieldDate, BirthOf: workflow.FactCompany},
			[]string{`"1795-07-05"`, `"1900-01-01"`, `"2026-03-02"`},
			map[string]string{
				`"2026-03-03"`: workflow.FoundedProblem, `"0001-01-01"`: workflow.FoundedProblem, `"1753-01-01"`: workflow.FoundedProblem, `"1960"`: "must be a date, as YYYY-MM-DD",
			},
		},
		{
			"date of the last days",
			workflow.InputField{Type: workflow.FieldDate, MinDate: "-2d"},
			[]string{`"2026-02-28"`},
			map[string]string{`"2026-02-27"`: "must not be before 2026-02-28"},
		},
		{
			"select",
			workflow.InputField{Type: workflow.FieldSelect, Options: options},
			[]string{`"in"`, `"np"`},
			map[string]string{`"India"`: "must be one of the options", `1`: "must be a string"},
		},
		{
			"checkbox", field(workflow.FieldCheckbox),
			[]string{`true`, `false`},
			map[string]string{`"on"`: "must be true or false", `1`: "must be true or false"},
		},
		{
			"checkbox that must be checked",
			workflow.InputField{Type: workflow.FieldCheckbox, Required: true},
			[]string{`true`},
			map[string]string{`false`: "must be checked"},
		},
		{
			"email", field(workflow.FieldEmail),
			[]string{`"a@example.com"`, `"a.b+c@mail.example.co.in"`, `"आशा@उदाहरण.भारत"`},
			map[string]string{
				`"a"`: "must be an email address", `"@example.com"`: "must be an email address", `"a@"`: "must be an email address",
				`"a@example"`: "must be an email address", `"a@b@example.com"`: "must be an email address",
				`"a @example.com"`: "must be an email address", `"a@example.com, b@example.com"`: "must be an email address",
				`"a@.example.com"`: "must be an email address", `"a@example.com."`: "must be an email address",
				`"a\u00a0b@example.com"`: "must be an email address", `"a@example\u3000.com"`: "must be an email address",
				`"a@example..com"`: "must be an email address", `"a@example.com:25"`: "must be an email address",
				`"a@example.com:"`: "must be an email address", `"a@example.com/x"`: "must be an email address",
				`"<a@example.com>"`: "must be an email address", `"a@[::1"`: "must be an email address",
				`"` + strings.Repeat("x", 250) + `@example.com"`: "must be an email address",
			},
		},
		{
			"phone", field(workflow.FieldPhone),
			[]string{`"+91 98765 43210"`, `"(022) 2345-678"`, `"1234567"`, `"123456789012345"`},
			map[string]string{
				`"123456"`: "must be a phone number", `"1234567890123456"`: "must be a phone number", `"91+98765432"`: "must be a phone number",
				`"98765x43210"`: "must be a phone number", `"\u202a98765\u202c"`: "must be a phone number", `9876543210`: "must be a string",
			},
		},
		{
			"file", field(workflow.FieldFile),
			[]string{id, strings.ReplaceAll(id, "f3c0", "F3C0")},
			map[string]string{
				`"x"`: document, `{}`: document, `{"document_id":"x"}`: document, `{"document_id":7}`: document,
				`{"document_id":"0191f3c0-0000-7000-8000-00000000000d","name":"a"}`: document,
			},
		},
		{"image", field(workflow.FieldImage), []string{id}, map[string]string{`[]`: document}},
		{
			"location",
			workflow.InputField{Type: workflow.FieldLocation, Within: flows.Mumbai()},
			[]string{`{"latitude":19,"longitude":72.8,"accuracy":10}`, `{"latitude":-90,"longitude":180}`, `{"denied":true}`},
			map[string]string{
				`"19,72"`: place, `{}`: place, `{"latitude":19}`: place, `{"latitude":"19","longitude":72}`: place,
				`{"latitude":90.1,"longitude":0}`: place, `{"latitude":0,"longitude":-180.1}`: place,
				`{"latitude":0,"longitude":0,"accuracy":-1}`: place, `{"latitude":0,"longitude":0,"accuracy":"near"}`: place,
				`{"latitude":0,"longitude":0,"altitude":7}`: place, `{"denied":false}`: place,
				`{"denied":true,"latitude":1,"longitude":1}`: place,
			},
		},
		{"a type that came later", workflow.InputField{Type: "signature"}, []string{`"anything"`, `7`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.field
			f.Name = "value"
			if c.field.Type == "signature" {
				f.Type = workflow.FieldText
			}
			j := filling(t, false, f)
			if c.field.Type == "signature" {
				j.program.Version.Definition.Nodes["details"].Fields[0].Type = "signature"
			}
			for _, v := range c.right {
				if _, err := j.try(rules.Submit{Signal: "details_submitted", Payload: flows.Data(t, `{"value":`+v+`}`)}); err != nil {
					t.Errorf("%s = %v, want it accepted", v, err)
				}
			}
			for v, message := range c.wrong {
				_, err := j.try(rules.Submit{Signal: "details_submitted", Payload: flows.Data(t, `{"value":`+v+`}`)})
				if err == nil {
					t.Errorf("%s is accepted, want: %s", v, message)
					continue
				}
				want := []verification.FieldError{{Name: "payload.value", Message: message}}
				if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", v, diff)
				}
			}
		})
	}
}

func TestPayloadIsAcceptedOrEveryProblemIsReported(t *testing.T) {
	fields := []workflow.InputField{
		{Name: "pan", Type: workflow.FieldText, Required: true},
		{Name: "born", Type: workflow.FieldDate},
		{Name: "here", Type: workflow.FieldLocation, Within: flows.Mumbai()},
		{Name: "there", Type: workflow.FieldLocation},
	}
	problem := func(name, message string) verification.FieldError {
		return verification.FieldError{Name: "payload." + name, Message: message}
	}
	inside, outside := `{"latitude":19,"longitude":72.8}`, `{"latitude":28.6,"longitude":77.2}`
	for _, c := range []struct {
		name     string
		optional bool
		payload  string
		want     string // the step's data
		problems []verification.FieldError
	}{
		{"what is required", false, `{"pan":"x"}`, `{"pan":"x"}`, nil},
		{"null and empty are not given", false, `{"pan":"x","born":null,"here":""}`, `{"pan":"x","born":null,"here":""}`, nil},
		{"inside", false, `{"pan":"x","here":` + inside + `}`, `{"pan":"x","here":` + inside + `,"geo_ok":true}`, nil},
		{"outside", false, `{"pan":"x","here":` + outside + `}`, `{"pan":"x","here":` + outside + `,"geo_ok":false}`, nil},
		{"denied", false, `{"pan":"x","here":{"denied":true}}`, `{"pan":"x","here":{"denied":true},"geo_ok":false}`, nil},
		{"anywhere will do", false, `{"pan":"x","there":` + outside + `}`, `{"pan":"x","there":` + outside + `,"geo_ok":true}`, nil},
		{
			"one of two inside", false, `{"pan":"x","here":` + outside + `,"there":` + inside + `}`,
			`{"pan":"x","here":` + outside + `,"there":` + inside + `,"geo_ok":false}`, nil,
		},
		{
			"too vague to be inside", false, `{"pan":"x","here":{"latitude":19,"longitude":72.8,"accuracy":500000}}`,
			`{"pan":"x","here":{"latitude":19,"longitude":72.8,"accuracy":500000},"geo_ok":false}`, nil,
		},
		{"opted out", true, `{"opted_out":true}`, `{"opted_out":true}`, nil},
		{"nothing", false, ``, ``, []verification.FieldError{problem("pan", "is required")}},
		{"an empty answer to what is required", false, `{"pan":""}`, ``, []verification.FieldError{problem("pan", "is required")}},
		{"several problems", false, `{"zebra":1,"born":"x","apple":2}`, ``, []verification.FieldError{
			problem("apple", "is not a field of this step"), problem("born", "must be a date, as YYYY-MM-DD"),
			problem("pan", "is required"), problem("zebra", "is not a field of this step"),
		}},
		{"what the engine derives", false, `{"pan":"x","geo_ok":true}`, ``, []verification.FieldError{problem("geo_ok", "is not a field of this step")}},
		{"opted out of what is not optional", false, `{"opted_out":true}`, ``, []verification.FieldError{problem("opted_out", "this step is not optional")}},
		{"opted out and not", true, `{"opted_out":false}`, ``, []verification.FieldError{problem("opted_out", "must be true")}},
		{"opted out and answered", true, `{"opted_out":true,"pan":"x"}`, ``, []verification.FieldError{problem("opted_out", "must be sent alone")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := filling(t, c.optional, fields...)
			events, err := j.try(rules.Submit{Signal: "details_submitted", Payload: flows.Data(t, c.payload)})
			if c.problems != nil {
				if diff := cmp.Diff(c.problems, flows.FieldsOf(t, err)); diff != "" {
					t.Errorf("fields (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := events[0].Fact.(rules.CustomerSubmitted); got.Data.String() != c.want {
				t.Errorf("data = %s, want %s", got.Data, c.want)
			}
		})
	}
}

func TestStepWithoutAnAnswerHasEmptyData(t *testing.T) {
	j := filling(t, false, workflow.InputField{Name: "note", Type: workflow.FieldText}).submit("")
	if s, _ := j.run.Step("details"); s.Data.String() != "{}" || s.Status != rules.StepPassed {
		t.Errorf("step = %+v, want passed with an empty object", s)
	}
	j = filling(t, false, workflow.InputField{Name: "here", Type: workflow.FieldLocation}).submit(`{"here":{"denied":true}}`)
	if s, _ := j.run.Step("details"); s.Status != rules.StepFailed || j.decision() != rules.DecisionReview {
		t.Errorf("step = %+v and decision %q, want not passed and review", s, j.decision())
	}
}

func TestDistanceFollowsTheSurfaceOfTheEarth(t *testing.T) {
	for _, c := range []struct {
		name             string
		from             workflow.Area
		latitude, longit float64
		km               float64
	}{
		{"nowhere", workflow.Area{Latitude: 19.07, Longitude: 72.87}, 19.07, 72.87, 0},
		{"Mumbai to Delhi", workflow.Area{Latitude: 19.0760, Longitude: 72.8777}, 28.6139, 77.2090, 1148},
		{"across the date line", workflow.Area{Longitude: 179.5}, 0, -179.5, 111.2},
		{"pole to pole", workflow.Area{Latitude: 90}, -90, 0, 20015.1},
	} {
		for by, want := range map[float64]bool{-0.5: false, 0.5: true} {
			a := c.from
			if a.RadiusKM = c.km + by; a.RadiusKM <= 0 {
				continue
			}
			j := filling(t, false, workflow.InputField{Name: "here", Type: workflow.FieldLocation, Within: []workflow.Area{a}})
			payload, _ := verification.NewData(map[string]any{"here": map[string]any{"latitude": c.latitude, "longitude": c.longit}})
			j.do(rules.Submit{Signal: "details_submitted", Payload: payload})
			s, _ := j.run.Step("details")
			if got := s.Data.Map()["geo_ok"]; got != want {
				t.Errorf("%s: within %.1f km is %v, want %v", c.name, a.RadiusKM, got, want)
			}
		}
	}
}

func TestInputFieldsKeepTheirOrder(t *testing.T) {
	raw := `{"zebra":{"type":"text","required":true},"apple":{"type":"number","min":0},"mango":{"type":"select","options":[{"value":"a"}]}}`
	var fs workflow.InputFields
	if err := json.Unmarshal([]byte(raw), &fs); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range fs {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"zebra", "apple", "mango"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if out, err := json.Marshal(fs); err != nil || string(out) != raw {
		t.Errorf("Marshal = %s, %v, want %s", out, err, raw)
	}
	if f, ok := fs.ByName("apple"); !ok || f.Min == nil || *f.Min != 0 {
		t.Errorf("ByName(apple) = %+v, %v", f, ok)
	}
	if _, ok := fs.ByName("cherry"); ok {
		t.Error("ByName finds a field that is not there")
	}
	if err := json.Unmarshal([]byte(`null`), &fs); err != nil || fs != nil {
		t.Errorf("null = %+v, %v, want none", fs, err)
	}
	for _, bad := range []string{`[]`, `7`, `{"a":7}`, `{"a":{"type":7}}`} {
		if err := json.Unmarshal([]byte(bad), &fs); err == nil {
			t.Errorf("Unmarshal(%s) accepts it", bad)
		}
	}
	if err := fs.UnmarshalJSON([]byte(`{"a":{},7:{}}`)); err == nil {
		t.Error("a name that is no string is accepted")
	}
	if err := fs.UnmarshalJSON(nil); err == nil {
		t.Error("empty JSON is accepted")
	}
	if _, err := json.Marshal(workflow.InputFields{{Name: "a", Min: number(math.Inf(1))}}); err == nil {
		t.Error("an infinite bound is written")
	}
}

func FuzzSubmit(f *testing.F) {
	for _, seed := range []string{
		``, `{"consent_status":"success"}`, `{"opted_out":true}`, `{"pan":"ABCDE1234F"}`, `{"pan":null,"place":{"denied":true}}`,
		`{"place":{"latitude":19,"longitude":72.8,"accuracy":1e308}}`, `{"pan":["\u0041"]}`, `{"geo_ok":false}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, details bool) {
		payload, err := verification.ParseData(raw)
		if err != nil {
			return
		}
		j := begin(t, flows.Ladder(), "")
		if details {
			j.submit(consents)
		}
		before := picture(j.run)
		events, err := j.try(rules.Submit{Signal: j.run.Wait().Signal, Payload: payload})
		switch {
		case picture(j.run) != before:
			t.Fatal("the run before the answer changed")
		case err != nil:
			if flows.Outcome(nil, err) != "invalid" || len(flows.FieldsOf(t, err)) == 0 {
				t.Errorf("Submit = %v, want the fields that are wrong", err)
			}
			return
		}
		j.do(rules.Submit{Signal: j.run.Wait().Signal, Payload: payload})
		given, _ := events[0].Fact.(rules.CustomerSubmitted)
		if _, err := verification.ParseData(given.Data); err != nil {
			t.Errorf("the step's data %s cannot be kept: %v", given.Data, err)
		}
		consistent(t, j)
	})
}

func TestADateLimitIsInItsMonth(t *testing.T) {
	for _, c := range []struct{ day, limit, want string }{
		{"2028-02-29", "-18y", "2010-02-28"},
		{"2026-08-31", "+6m", "2027-02-28"},
		{"2026-01-31", "-2m", "2025-11-30"},
		{"2026-03-31", "today", "2026-03-31"},
		{"2026-03-01", "-1d", "2026-02-28"},
		{"2026-12-15", "+1m", "2027-01-15"},
		{"2026-03-31", "1999-12-31", "1999-12-31"},
	} {
		day, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		fields := workflow.InputFields{{Name: "f", Type: workflow.FieldDate, MaxDate: c.limit}}
		if got := fields.On(day.Add(23 * time.Hour))[0].MaxDate; got != c.want {
			t.Errorf("%s on %s = %s, want %s", c.limit, c.day, got, c.want)
		}
		if fields[0].MaxDate != c.limit {
			t.Errorf("On changed the definition: %s", fields[0].MaxDate)
		}
	}
}

func TestAnUppercaseFieldIsRecordedInUpperCase(t *testing.T) {
	pan := workflow.InputField{Name: "pan", Type: workflow.FieldText, Pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$", Uppercase: true}
	name := workflow.InputField{Name: "name", Type: workflow.FieldText}
	for payload, want := range map[string]string{
		`{"pan":"abcpe1234f","name":"Asha"}`: `{"pan":"ABCPE1234F","name":"Asha"}`,
		`{"pan":"ABCPE1234F","name":"Asha"}`: `{"pan":"ABCPE1234F","name":"Asha"}`,
	} {
		j := begin(t, flows.Form(pan, name), "").submit(payload)
		if got := j.run.Steps[0].Data.String(); got != want {
			t.Errorf("the data of %s = %s, want %s", payload, got, want)
		}
	}
}

func TestAPhoneAndAMailAreRecordedInOneForm(t *testing.T) {
	phone := workflow.InputField{Name: "phone", Type: workflow.FieldPhone, MaxLength: 15, Pattern: `^\+91 `}
	mail := workflow.InputField{Name: "mail", Type: workflow.FieldEmail, MaxLength: 20}
	for payload, want := range map[string]string{
		`{"phone":"+91 98765 43210","mail":"asha@example.com"}`:                                      `{"phone":"+91 98765 43210","mail":"asha@example.com"}`,
		`{"phone":"\u202a+९१\u00a098765\u00a043210\u202c","mail":"asha@example.com"}`:                `{"phone":"+91 98765 43210","mail":"asha@example.com"}`,
		`{"phone":"+91 98765 43210","mail":"\ufeff\u00a0as\u00adha@\u200bexample.com\u200e\u2069 "}`: `{"phone":"+91 98765 43210","mail":"asha@example.com"}`,
		`{"phone":"+91 98765 43210","mail":"क्\u200dष@a\u200db.example"}`:                            "{\"phone\":\"+91 98765 43210\",\"mail\":\"क्\u200dष@ab.example\"}",
		`{"phone":"+91 98765 43210","mail":"asha@نامه\u200cای.example\u200c"}`:                       "{\"phone\":\"+91 98765 43210\",\"mail\":\"asha@نامه\u200cای.example\"}",
	} {
		j := begin(t, flows.Form(phone, mail), "").submit(payload)
		if got := j.run.Steps[0].Data.String(); got != want {
			t.Errorf("the data of %+q = %+q, want %+q", payload, got, want)
		}
	}
}

func TestAFieldIsTheSameAfterJSON(t *testing.T) {
	want := workflow.InputFields{
		{Name: "born", Type: workflow.FieldDate, MinDate: "1900-01-01", MaxDate: "-18y", AutoComplete: "bday"},
		{Name: "amount", Type: workflow.FieldNumber, Min: number(0), Max: number(10)},
		{Name: "pan", Type: workflow.FieldText, Pattern: "^[A-Z]+$", PatternMessage: "Capitals.", Uppercase: true},
		{
			Name: "work", Type: workflow.FieldSelect, Label: "Work", LabelIn: workflow.Translations{"en": "Work", "hi": "काम"}, Help: "Help.",
			Options: []workflow.Option{{Value: "own", Label: "Own", LabelIn: workflow.Translations{"en": "Own", "hi": "अपना"}}, {Value: "other"}},
		},
		{Name: "selfie", Type: workflow.FieldImage, Camera: workflow.CameraFront, Required: true, RequiredMessage: "Look!", RequiredMessageIn: workflow.Translations{"en": "Look!", "hi": "देखें!"}},
	}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"born":{"type":"date","autocomplete":"bday","min":"1900-01-01","max":"-18y"},` +
		`"amount":{"type":"number","min":0,"max":10},` +
		`"pan":{"type":"text","pattern":"^[A-Z]+$","uppercase":true,"pattern_message":"Capitals."},` +
		`"work":{"type":"select","options":[{"value":"own","label":{"en":"Own","hi":"अपना"}},{"value":"other"}],"label":{"en":"Work","hi":"काम"},"help":"Help."},` +
		`"selfie":{"type":"image","required":true,"camera":"front","required_message":{"en":"Look!","hi":"देखें!"}}}`
	if string(raw) != text {
		t.Errorf("the fields are\n%s, want\n%s", raw, text)
	}
	var got workflow.InputFields
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the fields after JSON (-want +got):\n%s", diff)
	}
}
