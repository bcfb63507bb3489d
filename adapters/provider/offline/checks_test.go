package offline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/adapters/provider/offline"
	"github.com/verifyd/verifyd/verification"
)

// started is when the runs of these tests start.
func started() time.Time { return time.Date(2026, 11, 22, 23, 30, 0, 0, time.UTC) }

// checks are made once: a call reads the lists of domains and countries.
var checks = offline.Checks()

// with is the `with` object of a check.
type with map[string]any

// row is one line of a table: the result of a check of `with`. want is the outcome, the
// reason if it failed, and the data that follows as JSON.
type row struct {
	with with
	want string
}

// run checks every row, and that the data is as the check describes it.
func run(t *testing.T, name string, rows []row) {
	t.Helper()
	for _, r := range rows {
		if got := result(t, name, r.with, started()); got != r.want {
			t.Errorf("%s of %v:\n got %s\nwant %s", name, r.with, got, r.want)
		}
	}
}

// result formats the result of a check as one line.
func result(t testing.TB, name string, w with, at time.Time) string {
	t.Helper()
	r, err := checks[name].Check(t.Context(), verification.CheckRequest{With: w, StartedAt: at})
	if err != nil {
		var permanent interface{ Permanent() bool }
		if !errors.As(err, &permanent) || !permanent.Permanent() {
			t.Errorf("%s of %v: the error is not permanent: %v", name, w, err)
		}
		return "error: " + err.Error()
	}
	validate(t, name, r)
	line := string(r.Outcome)
	if reason, ok := r.Data["reason"]; ok {
		line += fmt.Sprintf(" %v", reason)
		delete(r.Data, "reason")
	}
	if len(r.Data) == 0 {
		return line
	}
	raw, err := json.Marshal(r.Data)
	if err != nil {
		t.Fatal(err)
	}
	return line + " " + string(raw)
}

// validate checks that a result has a reason if it failed, and data as described.
func validate(t testing.TB, name string, r verification.CheckResult) {
	t.Helper()
	if reason, _ := r.Data["reason"].(string); name != earlierRuns && (r.Outcome == verification.OutcomeFailed) != (reason != "") {
		t.Errorf("%s is %s for the reason %q", name, r.Outcome, reason)
	}
	d, err := verification.NewData(r.Data)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	s := schemas()[name]
	if _, always := describe(t, name).Data.Map()["x-always"]; r.Outcome == verification.OutcomeFailed && !always {
		s = failedSchemas()[name]
	}
	if err := s.Validate(any(d.Map())); err != nil {
		t.Errorf("%s that %s has other data than it describes: %v", name, r.Outcome, err)
	}
}

func describe(t testing.TB, name string) verification.ProviderDescription {
	t.Helper()
	d, ok := checks[name].(verification.Describer)
	if !ok {
		t.Fatalf("%s does not describe itself", name)
	}
	return d.Describe()
}

// schemas are the schemas of the data of results that passed, by check.
var schemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	return compiled(func(map[string]any) {})
})

// failedSchemas are the schemas of the data of results that failed, which may lack each field.
var failedSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	return compiled(func(schema map[string]any) { delete(schema, "required") })
})

// compiled returns the schema of the data of each check, after a change.
func compiled(change func(schema map[string]any)) map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{}
	for name, c := range checks {
		c := c.(verification.Describer) //nolint:errcheck // a panic fails the tests
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Describe().Data))
		schema, ok := document.(map[string]any)
		if !ok {
			panic(fmt.Sprintf("the schema of %s is %v", name, document))
		}
		change(schema)
		compiler := jsonschema.NewCompiler()
		if err := errors.Join(err, compiler.AddResource("schema.json", schema)); err != nil {
			panic(err)
		}
		all[name] = compiler.MustCompile("schema.json")
	}
	return all
}

func TestTheChecksAreThoseOfTheDocumentation(t *testing.T) {
	want := []string{
		"offline.aadhaar", "offline.age", "offline.bic", "offline.card_number", "offline.cin", "offline.earlier_runs", "offline.email",
		"offline.expiry", "offline.gstin", "offline.iban", "offline.ifsc", "offline.lei", "offline.mrz", "offline.pan", "offline.phone",
		"offline.tan", "offline.vat", "offline.voter_id",
	}
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(checks))); d != "" {
		t.Error(d)
	}
}

func TestEveryCheckDescribesItselfWithTitles(t *testing.T) {
	for name := range checks {
		d := describe(t, name)
		if !strings.HasSuffix(d.Summary, ".") {
			t.Errorf("the summary of %s is %q, want a sentence", name, d.Summary)
		}
		for which, raw := range map[string]verification.Data{"with": d.With, "data": d.Data} {
			if _, err := verification.ParseData(raw); err != nil {
				t.Errorf("the schema of %s of %s: %v", which, name, err)
			}
			var schema struct {
				Properties map[string]struct{ Title string }
			}
			if err := json.Unmarshal(raw, &schema); err != nil {
				t.Fatal(err)
			}
			for property, p := range schema.Properties {
				if p.Title == "" {
					t.Errorf("%s.%s of %s has no title", which, property, name)
				}
			}
		}
	}
}

func TestAWrongWithIsAPermanentErrorOfItsKey(t *testing.T) {
	for _, tt := range []struct {
		check string
		with  with
		want  string
	}{
		{"offline.pan", nil, "error: offline.pan: with.number is required"},
		{"offline.pan", with{"number": "ABCPE1234F", "title": "x"}, "error: offline.pan: with.title is not a key of this check"},
		{"offline.pan", with{"number": 12.0}, "error: offline.pan: with.number must be a string"},
		{"offline.pan", with{"number": "ABCPE1234F", "holder_types": []any{"person"}}, "error: offline.pan: with.holder_types[0] must be one of association_of_persons, body_of_individuals, company, limited_liability_partnership, firm, government, hindu_undivided_family, artificial_juridical_person, local_authority, individual, trust"},
		{"offline.pan", with{"number": "ABCPE1234F", "holder_types": []any{}}, "error: offline.pan: with.holder_types must have at least 1 item"},
		{"offline.age", with{"birth_date": "1990-01-01"}, "error: offline.age: with.min_years or with.max_years is required"},
		{"offline.age", with{"birth_date": "1990-01-01", "min_years": "18"}, "error: offline.age: with.min_years must be a whole number"},
		{"offline.age", with{"birth_date": "1990-01-01", "min_years": -1.0}, "error: offline.age: with.min_years must be at least 0"},
		{"offline.age", with{"birth_date": "1990-01-01", "min_years": 17.5}, "error: offline.age: with.min_years must be a whole number"},
		{"offline.email", with{"address": "a@example.com", "allow_disposable": "yes"}, "error: offline.email: with.allow_disposable must be true or false"},
		{"offline.mrz", with{"number": "x"}, "error: offline.mrz: with.mrz is required, with.number is not a key of this check"},
	} {
		if got := result(t, tt.check, tt.with, started()); got != tt.want {
			t.Errorf("with %v:\n got %s\nwant %s", tt.with, got, tt.want)
		}
	}
}

// A customer may have written any text, or none, where a template of the check reads it.
func TestNoTextOfACustomerIsAnError(t *testing.T) {
	for name, sample := range samples() {
		for _, key := range textKeys(t, name) {
			for _, value := range []any{nil, "", " ", "Ruritania", "0", "\u0000", "💥", strings.Repeat("x", 100_000)} {
				w := maps.Clone(sample)
				if w[key] = value; key == "countries" || key == "regions" {
					w[key] = []any{value}
				}
				if got := result(t, name, w, started()); strings.HasPrefix(got, "error") {
					t.Errorf("%s with %s = %.50q: %s", name, key, value, got)
				}
			}
		}
	}
}

// textKeys returns the keys of a with that take any text, alone or in a list.
func textKeys(t *testing.T, name string) (keys []string) {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Type  string
			Items struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(describe(t, name).With, &schema); err != nil {
		t.Fatal(err)
	}
	for key, p := range schema.Properties {
		if p.Type == "string" || p.Type == "array" && p.Items.Enum == nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		t.Fatalf("%s takes no text", name)
	}
	return keys
}

func TestAcceptedCountriesHaveNamesAndCodes(t *testing.T) {
	for _, tt := range []struct {
		check  string
		with   with
		passes bool
	}{
		{"offline.iban", with{"number": "DE89370400440532013000", "countries": []any{"Austria", "Germany"}}, true},
		{"offline.iban", with{"number": "DE89370400440532013000", "countries": []any{"de"}}, true},
		{"offline.iban", with{"number": "DE89370400440532013000", "countries": []any{"AUT"}}, false},
		{"offline.bic", with{"bic": "BARCGB22", "countries": []any{"DE", "UK"}}, true},
		{"offline.bic", with{"bic": "BARCGB22", "countries": []any{"EU"}}, false},
		{"offline.vat", with{"number": "EL094014201", "countries": []any{"Greece"}}, true},
		{"offline.phone", with{"number": "020 7946 0018", "region": "United Kingdom"}, true},
		{"offline.phone", with{"number": "020 7946 0018", "region": "UK"}, true},
		{"offline.phone", with{"number": "+442079460018", "regions": []any{"gb"}}, true},
		{"offline.phone", with{"number": "+247 46666", "regions": []any{"AC"}}, true}, // a region that is part of a country
		{"offline.phone", with{"number": "+247 46666", "regions": []any{"FR"}}, false},
		// A text of a template that is no country accepts nothing, and does not hide the others.
		{"offline.iban", with{"number": "DE89370400440532013000", "countries": []any{"Ruritania"}}, false},
		{"offline.iban", with{"number": "DE89370400440532013000", "countries": []any{nil}}, false},
		{"offline.iban", with{"number": "DE89370400440532013000", "countries": []any{"Ruritania", "DE"}}, true},
		{"offline.phone", with{"number": "+442079460018", "region": "Ruritania"}, true},
		{"offline.phone", with{"number": "020 7946 0018", "region": "Ruritania"}, false},
		{"offline.phone", with{"number": "+442079460018", "regions": []any{"Ruritania"}}, false},
	} {
		got := result(t, tt.check, tt.with, started())
		if tt.passes && !strings.HasPrefix(got, "passed") || !tt.passes && !strings.HasPrefix(got, "failed country") {
			t.Errorf("%s of %v = %s, passes should be %t", tt.check, tt.with, got, tt.passes)
		}
	}
}

// samples are values that pass, by check.
func samples() map[string]with {
	return map[string]with{
		"offline.aadhaar":     {"number": "9999 4105 7058"},
		"offline.age":         {"birth_date": "1990-05-17", "min_years": 18.0},
		"offline.bic":         {"bic": "DEUTDEFF500"},
		"offline.card_number": {"number": "4111 1111 1111 1111"},
		"offline.cin":         {"number": "L17110MH1973PLC019786"},
		"offline.email":       {"address": "asha@example.com"},
		"offline.expiry":      {"expiry_date": "2031-04-15"},
		"offline.gstin":       {"number": "27AAPFU0939F1ZV", "pan": "AAPFU0939F"},
		"offline.iban":        {"number": "GB29 NWBK 6016 1331 9268 19"},
		"offline.ifsc":        {"code": "HDFC0000001"},
		"offline.lei":         {"lei": "506700GE1G29325QX363"},
		"offline.mrz":         {"mrz": "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F3004157ZE184226B<<<<<16"},
		"offline.pan":         {"number": "ABCPE1234F"},
		"offline.phone":       {"number": "+91 98765 43210"},
		"offline.tan":         {"number": "DELM12345L"},
		"offline.vat":         {"number": "DE136695976"},
		"offline.voter_id":    {"number": "WKH1186253"},
	}
}

func TestAResultDoesNotDependOnSpacesAndCase(t *testing.T) {
	for name, w := range samples() {
		want := result(t, name, w, started())
		if !strings.HasPrefix(want, "passed ") {
			t.Errorf("%s of %v = %s, want it to pass", name, w, want)
		}
		loud := with{}
		for key, value := range w {
			loud[key] = value
			if s, ok := value.(string); ok {
				loud[key] = " " + s + "\u00a0\n"
				if name != "offline.email" {
					loud[key] = strings.ToLower(" " + s + "\u00a0\n")
				}
			}
		}
		if got := result(t, name, loud, started()); got != want {
			t.Errorf("%s of %q = %s, want %s", name, loud, got, want)
		}
	}
}

func TestNumbersAreReadInEveryScript(t *testing.T) {
	for _, tt := range []struct {
		check, key, value, normal string
	}{
		{"offline.aadhaar", "number", "९९९९ ४१०५ ७०५८", "9999 4105 7058"},                                  // Devanagari
		{"offline.aadhaar", "number", "௯௯௯௯௪௧௦௫௭௦௫௮", "999941057058"},                                      // Tamil
		{"offline.aadhaar", "number", "９９９９\u3000４１０５\u3000７０５８", "999941057058"},                          // full width
		{"offline.aadhaar", "number", "\u200e9999\u20114105\u20117058\u202c", "999941057058"},              // marks, no-break hyphen
		{"offline.aadhaar", "number", "9999–4105—7058", "999941057058"},                                    // en and em dash
		{"offline.aadhaar", "number", "𝟗𝟗𝟗𝟗𝟜𝟙𝟘𝟝𝟳𝟬𝟱𝟴", "999941057058"},                                      // mathematical
		{"offline.card_number", "number", "٤١١١ ١١١١ ١١١١ ١١١١", "4111111111111111"},                       // Arabic
		{"offline.iban", "number", "ＤＥ８９\u202f3704\u00a00044\u20070532 0130 00", "DE89370400440532013000"}, // no-break spaces
		{"offline.gstin", "number", "27AAPFU\u00ad0939F1Z\u2212V", "27AAPFU0939F1ZV"},                      // soft hyphen, minus
		{"offline.pan", "number", "AFZPK૭૧૯૦K", "AFZPK7190K"},                                              // Gujarati
		{"offline.ifsc", "code", "SBIN０００0300", "SBIN0000300"},
		{"offline.lei", "lei", "506700GE1G29325QX３６３", "506700GE1G29325QX363"},
		{"offline.bic", "bic", "deutdeff\u2010５００", "DEUTDEFF500"},
		{"offline.phone", "number", "＋９１ ९८७६५ ४३२१०", "+919876543210"},
		{"offline.expiry", "expiry_date", "२०३१\u2011०४\u2011१५", "2031-04-15"},
		{"offline.expiry", "expiry_date", "２０３１－０４", "2031-04"},
	} {
		want := result(t, tt.check, with{tt.key: tt.normal}, started())
		if got := result(t, tt.check, with{tt.key: tt.value}, started()); got != want || !strings.HasPrefix(got, "passed ") {
			t.Errorf("%s of %q = %s, want %s", tt.check, tt.value, got, want)
		}
	}
}

func TestEveryDecimalDigitOfUnicodeHasItsValue(t *testing.T) {
	const number = "999941057058"
	zero := rune(0)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.IsDigit(r) {
			continue
		}
		// Each zero is followed by the digits to nine.
		if zero == 0 || r >= zero+10 {
			zero = r
		}
		if value := byte(r - zero); value == number[0]-'0' {
			if got := result(t, "offline.aadhaar", with{"number": string(r) + number[1:]}, started()); !strings.HasPrefix(got, "passed ") {
				t.Errorf("%U is not read as 9: %s", r, got)
			}
		}
	}
}

func TestSecretNumbersAreCutToTheirLastCharacters(t *testing.T) {
	for name, secret := range map[string]string{"offline.aadhaar": "999941057058", "offline.card_number": "4111111111111111"} {
		for _, number := range []string{secret, secret[:len(secret)-1], secret[:len(secret)-1] + "9", secret + "x"} {
			line := result(t, name, with{"number": number}, started())
			if strings.Contains(line, secret[:len(secret)-4]) || strings.Contains(line, secret[4:]) {
				t.Errorf("%s of %s shows the number: %s", name, number, line)
			}
		}
	}
}

// FuzzChecks gives any text to every check. None panics, each answers as it describes
// itself, and the normal form of a number has the same result as the number.
func FuzzChecks(f *testing.F) {
	for _, w := range samples() {
		for _, value := range w {
			if s, ok := value.(string); ok {
				f.Add(s, s)
			}
		}
	}
	keys := map[string][2]string{
		"offline.aadhaar": {"number"}, "offline.age": {"birth_date"}, "offline.bic": {"bic"}, "offline.card_number": {"number"},
		"offline.email": {"address"}, "offline.expiry": {"expiry_date"}, "offline.gstin": {"number", "pan"},
		"offline.iban": {"number"}, "offline.ifsc": {"code"}, "offline.lei": {"lei"}, "offline.mrz": {"mrz", "surname"},
		"offline.pan": {"number"}, "offline.phone": {"number"},
		"offline.cin": {"number"}, "offline.tan": {"number"}, "offline.vat": {"number"}, "offline.voter_id": {"number"},
	}
	f.Fuzz(func(t *testing.T, value, other string) {
		for name, key := range keys {
			w := with{key[0]: value}
			if key[1] != "" {
				w[key[1]] = other
			}
			if name == "offline.age" {
				w["min_years"] = 18.0
			}
			first, err := checks[name].Check(t.Context(), verification.CheckRequest{With: w, StartedAt: started()})
			if err != nil {
				t.Fatalf("%s of %q: %v", name, w, err)
			}
			validate(t, name, first)
			normal, _ := first.Data[key[0]].(string)
			if normal == "" || name == "offline.aadhaar" || name == "offline.card_number" {
				continue // no normal form, or a masked one
			}
			w[key[0]] = normal
			second, err := checks[name].Check(t.Context(), verification.CheckRequest{With: w, StartedAt: started()})
			if d := cmp.Diff(first, second); err != nil || d != "" {
				t.Errorf("%s of %q and of its normal form %q differ: %v %s", name, value, normal, err, d)
			}
		}
	})
}

func BenchmarkChecks(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(samples())) {
		b.Run(strings.TrimPrefix(name, "offline."), func(b *testing.B) {
			r := verification.CheckRequest{With: samples()[name], StartedAt: started()}
			for b.Loop() {
				if _, err := checks[name].Check(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestTheDocumentationListsEveryKeyAndField(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/offline-checks.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	for name := range checks {
		_, section, _ := strings.Cut(doc, "\n### "+name+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		d := describe(t, name)
		for row, schema := range map[string]verification.Data{"| with |": d.With, "| data |": d.Data} {
			_, line, _ := strings.Cut(section, row)
			line, _, _ = strings.Cut(line, "\n")
			properties, _ := schema.Map()["properties"].(map[string]any)
			required, _ := schema.Map()["required"].([]any)
			for property, p := range properties {
				if property != "reason" && !strings.Contains(line, "`"+property+"`") {
					t.Errorf("the row %q of %s does not name %s", row, name, property)
				}
				optional := strings.Contains(line, "`"+property+"`?")
				if property != "reason" && optional == slices.Contains(required, any(property)) {
					t.Errorf("the row %q of %s marks %s as optional: %t", row, name, property, optional)
				}
				words, _ := p.(map[string]any)["enum"].([]any)
				for _, word := range words {
					if !strings.Contains(doc, fmt.Sprintf("`%s`", word)) {
						t.Errorf("nothing names %s of %s", word, name)
					}
				}
			}
		}
	}
}
