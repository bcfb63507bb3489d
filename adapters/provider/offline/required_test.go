// Results that passed, and the data that each of them has.

package offline_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

// passing are more values that pass, by check: with samples, each field that is not required is
// missing in one of them.
func passing() map[string][]with {
	more := map[string][]with{
		"offline.card_number": {{"number": "9999999999999995"}}, // in no range of a scheme
		"offline.gstin": {
			{"number": "9917USA00001OSU"}, // a foreign supplier of online services
			{"number": "0717USA00001UNB"}, // a body of the United Nations
		},
		"offline.mrz": {
			{"mrz": "IDMDAB231458903<<<<<<<<<<<<<<<\n4802143F<<<<<<0MDA<<<<<<<<<<<8\nERIKSSON<<ANNA<<<<<<<<<<<<<<<<"},
			{"mrz": "P<UTOUNKNOWN<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<\nA1234567<6UTO74<<<<1<3001019<<<<<<<<<<<<<<<2"},
		},
		"offline.phone": {
			{"number": "+800 1234 5678"},
			{"number": "+870 773 111 632"},
			{"number": "+882 1621 123456"},
			{"number": "+44 20 7946 0018"},
			{"number": "+1 242 365 1234"},
			{"number": "+247 46666"},
			{"number": "+39 06 698 12345"},
			{"number": "+7 912 345 67 89"},
		},
		"offline.iban": {},
		"offline.vat":  {},
	}
	for name, file := range map[string]string{"offline.iban": "iban_examples.tsv", "offline.vat": "vat_examples.tsv"} {
		raw, err := os.ReadFile("testdata/" + file)
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(raw)) {
			for _, column := range strings.Split(strings.TrimSpace(line), "\t") {
				more[name] = append(more[name], with{"number": column})
			}
		}
	}
	for name, w := range samples() {
		more[name] = append(more[name], w)
	}
	return more
}

func TestTheRequiredDataIsAllThatNoPassLacks(t *testing.T) {
	for name, all := range passing() {
		schema := describe(t, name).Data.Map()
		fields, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		var always []any
		for field := range fields {
			lacks := func(w with) bool {
				r, err := checks[name].Check(t.Context(), verification.CheckRequest{With: w, StartedAt: started()})
				_, has := r.Data[field]
				return err == nil && r.Outcome == verification.OutcomePassed && !has
			}
			if !slices.ContainsFunc(all, lacks) {
				always = append(always, field)
			}
		}
		order := func(a, b any) int { return strings.Compare(a.(string), b.(string)) } //nolint:errcheck // a panic fails the test
		slices.SortFunc(always, order)
		slices.SortFunc(required, order)
		if d := cmp.Diff(always, required); d != "" {
			t.Errorf("%s: results that passed have -, and required has +:\n%s", name, d)
		}
	}
}

// Each result is validated: one that passed has the required data.
func TestChangedValuesHaveTheRequiredData(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, seed))
	passed := map[string]int{}
	for name, all := range passing() {
		for range 1500 {
			w := maps.Clone(all[random.IntN(len(all))])
			for key, value := range w {
				if text, ok := value.(string); ok {
					w[key] = changed(random, text)
				}
			}
			if strings.HasPrefix(result(t, name, w, started()), "passed") {
				passed[name]++
			}
		}
		if passed[name] < 10 {
			t.Errorf("%d changed values of %s pass (seed %d)", passed[name], name, seed)
		}
	}
}

// changed returns a text with other digits and letters in place of one or two of its own; a
// filler may be one of them.
func changed(random *rand.Rand, text string) string {
	b := []byte(text)
	for range 1 + random.IntN(2) {
		i := random.IntN(len(b))
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			b[i] = byte('0' + random.IntN(10))
		case c >= 'A' && c <= 'Z':
			b[i] = byte('A' + random.IntN(26))
		case c == '<':
			b[i] = "<A0"[random.IntN(3)]
		}
	}
	return string(b)
}

func TestRandomPhoneNumbersHaveTheRequiredData(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, seed))
	for range 5000 {
		number := "+"
		for range 8 + random.IntN(7) {
			number += string(rune('0' + random.IntN(10)))
		}
		result(t, "offline.phone", with{"number": number}, started()) // validated
	}
}

// A version that was published before the data was described may read what a failure lacks.
func TestANoIsNoOutageForOlderVersions(t *testing.T) {
	for name, w := range samples() {
		for key, value := range w {
			if _, ok := value.(string); ok {
				w[key] = "rubbish"
			}
		}
		required, _ := describe(t, name).Data.Map()["required"].([]any)
		r := verification.CheckRequest{With: w, StartedAt: started()}
		for _, field := range required {
			r.Needs = append(r.Needs, field.(string)) //nolint:errcheck // a panic fails the test
		}
		if result, err := checks[name].Check(t.Context(), r); err != nil || result.Outcome != verification.OutcomeFailed {
			t.Errorf("%s of %v, which needs %v: %s, %v, want it to fail", name, w, r.Needs, result.Outcome, err)
		}
	}
}
