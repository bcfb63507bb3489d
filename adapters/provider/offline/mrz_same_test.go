package offline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// passport returns a zone of a passport. No check digit covers its names and its states.
func passport(names, issuer, nationality string) string {
	return field("P<"+field(issuer, 3)+names, 44) + "\nA1234567<6" + field(nationality, 3) + "7408122F3001019<<<<<<<<<<<<<<<4"
}

// field returns the beginning of a text, filled to a length.
func field(s string, length int) string { return (s + strings.Repeat("<", length))[:length] }

// differences returns what a zone differs in; empty if it passes.
func differences(t *testing.T, mrz string, given with) string {
	t.Helper()
	w := with{"mrz": mrz}
	for key, value := range given {
		w[key] = value
	}
	got := result(t, "offline.mrz", w, started())
	if strings.HasPrefix(got, "passed ") {
		return ""
	}
	_, rest, _ := strings.Cut(got, `"differences":[`)
	differ, _, ok := strings.Cut(rest, "]")
	if !ok {
		t.Fatalf("%s with %v: %s", mrz, given, got)
	}
	return strings.ReplaceAll(differ, `"`, "")
}

func TestNamesThatTheExamplesOfDoc9303Cut(t *testing.T) {
	for _, row := range table(t, "testdata/mrz_cut_names.tsv") {
		format, names, surname, given, differ := row[0], row[1], row[2], row[3], strings.Trim(row[4], "-")
		mrz := map[string]string{
			"TD1": "I<UTOD231458907<<<<<<<<<<<<<<<\n7408122F3004157UTO<<<<<<<<<<<2\n" + field(names, 30),
			"TD2": "I<UTO" + field(names, 31) + "\nD231458907UTO7408122F3004157<<<<<<<2",
			"TD3": passport(names, "UTO", "UTO"),
		}[format]
		if got := differences(t, mrz, with{"surname": surname, "given_names": given}); got != differ {
			t.Errorf("%s\n%s, %s: differs in %q, want %q", mrz, surname, given, got, differ)
		}
	}
}

// An issuer removes letters from the ends of any words, and the last given names, until the
// line is full.
func TestHoweverALineIsCutItsHolderPasses(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	word := func() string {
		letters := make([]byte, 4+random.IntN(9))
		for i := range letters {
			letters[i] = byte('A' + random.IntN(26))
		}
		return string(letters)
	}
	words := func(n int) (all []string) {
		for range n {
			all = append(all, word())
		}
		return all
	}
	tried := 0
	for range 3000 {
		surname, given := words(1+random.IntN(4)), words(1+random.IntN(4))
		a, b := append([]string{}, surname...), append([]string{}, given...)
		line := func() string { return strings.Join(a, "<") + "<<" + strings.Join(b, "<") }
		for len(line()) > 39 {
			if len(b) > 1 && random.IntN(8) == 0 {
				b = b[:len(b)-1]
				continue
			}
			of := a
			if random.IntN(2) == 0 {
				of = b
			}
			if i := random.IntN(len(of)); len(of[i]) > 1 {
				of[i] = of[i][:len(of[i])-1]
			}
		}
		if len(line()) < 39 {
			continue
		}
		tried++
		mrz := passport(line(), "UTO", "UTO")
		holder := with{"surname": strings.Join(surname, " "), "given_names": strings.Join(given, "-")}
		if got := differences(t, mrz, holder); got != "" {
			t.Fatalf("seed %d: %s\n%v: differs in %q", seed, mrz, holder, got)
		}
		// Another first letter of a word is another name.
		i := random.IntN(len(surname))
		other := append([]string{}, surname...)
		other[i] = string('A'+(other[i][0]-'A'+1)%26) + other[i][1:]
		if got := differences(t, mrz, with{"surname": strings.Join(other, " ")}); got != "surname" {
			t.Fatalf("seed %d: %s\n%v: differs in %q, want the surname", seed, mrz, other, got)
		}
	}
	if tried < 500 {
		t.Errorf("seed %d: %d lines were full, want more", seed, tried)
	}
}

// Doc 9303-3, section 4.6: a name that is not divided is the primary identifier. Some states
// write it as the given name.
func TestASingleNameMayStandInEitherField(t *testing.T) {
	given, primary := passport("<<RAMESHKUMAR", "IND", "IND"), passport("ARKFREITH", "UTO", "UTO")
	two := passport("SATRIYA<SUDARPA", "IDN", "IDN")
	for _, tt := range []struct {
		mrz, surname, given, differ string
	}{
		{given, "Rameshkumar", "", ""},
		{given, "", "Rameshkumar", ""},
		{given, "Rameshkumar", "Rameshkumar", ""},
		{given, "Kumar", "Ramesh", ""},
		{given, "Rameshkumar", "-", ""},
		{given, "Rameshkumar", "Anil", "given_names,surname"},
		{given, "Anil", "", "surname"},
		{given, "", "Ramesh", "given_names"},
		{primary, "", "Arkfreith", ""},
		{primary, "Arkfreith", "", ""},
		{primary, ".", "Arkfreith", ""},
		{primary, "Arkfreith", "Anna", "given_names"},
		{primary, "", "Anna", "given_names"},
		{two, "Sudarpa", "Satriya", ""},
		{two, "Satriya Sudarpa", "", ""},
		{two, "Satriya", "", "surname"},
		{passport("KUMAR<<RAMESH", "IND", "IND"), "Ramesh", "Kumar", "given_names,surname"},
	} {
		if got := differences(t, tt.mrz, with{"surname": tt.surname, "given_names": tt.given}); got != tt.differ {
			t.Errorf("%s\n%q, %q: differs in %q, want %q", tt.mrz, tt.surname, tt.given, got, tt.differ)
		}
	}
}

// The codes are those of Doc 9303-3, section 5.
func TestAStateIsTheSameByEveryCodeAndName(t *testing.T) {
	for _, tt := range []struct {
		zone, given string
		differ      string // for nationality and issuing state
	}{
		{"D", "DE", ""},
		{"D", "DEU", ""},
		{"D", "d", ""},
		{"D", "Deutschland", ""},
		{"D", "276", ""},
		{"D", "AT", "issuing_state,nationality"},
		{"RKS", "XK", ""},
		{"RKS", "XKX", ""},
		{"RKS", "Kosovo", ""},
		{"RKS", "RS", "issuing_state,nationality"},
		{"UNK", "XK", ""},
		{"ROM", "RO", ""},
		{"ROU", "ROM", ""},
		{"ROM", "Romania", ""},
		{"ZAR", "CD", ""},
		{"BUR", "Myanmar", ""},
		{"TMP", "TL", ""},
		{"GBR", "GB", ""},
		{"GBD", "GB", ""},
		{"GBN", "UK", ""},
		{"GBO", "United Kingdom", ""},
		{"GBP", "GBR", ""},
		{"GBS", "gb", ""},
		{"GBN", "HK", "issuing_state,nationality"},
		{"SUN", "USSR", ""},
		{"SUN", "RU", "issuing_state,nationality"},
		{"XCT", "XCT", ""}, // a code that the table does not have
		{"XCT", "CY", "issuing_state,nationality"},
		{"IND", "Indja", "issuing_state,nationality"},
		{"UTO", "UTO", ""},
		{"UTO", "FR", "issuing_state,nationality"},
		// Documents that do not say the nationality contradict nobody; their issuers are named.
		{"XXB", "XXB", ""},
		{"XXB", "Syria", "issuing_state"},
		{"XXC", "SY", "issuing_state"},
		{"XXX", "Palestine", "issuing_state"},
		{"UNO", "SE", "issuing_state"},
		{"UNA", "SE", "issuing_state"},
		{"EUE", "BE", "issuing_state"},
		{"XPO", "FR", "issuing_state"},
		{"XOM", "Italy", "issuing_state"},
		{"UNO", "UNO", ""},
		{"XXA", "Stateless", "issuing_state"},
		{"XXA", "XXA", ""},
		{"XXA", "SY", "issuing_state,nationality"},
		{"FRA", "XXB", "issuing_state,nationality"},
		{"FRA", "Stateless", "issuing_state,nationality"},
	} {
		if got := differences(t, passport("MUSTER<<ERIKA", tt.zone, tt.zone), with{"nationality": tt.given, "issuing_state": tt.given}); got != tt.differ {
			t.Errorf("%s in the zone, %s given: differs in %q, want %q", tt.zone, tt.given, got, tt.differ)
		}
	}
}

func TestAnOpenSexContradictsNobody(t *testing.T) {
	// The German identity card has none since it has the form of TD1, and had none before.
	const (
		german    = "IDD<<L01X00T471<<<<<<<<<<<<<<<\n8308126<3001019D<<2108<<<<<<<1\nMUSTERMANN<<ERIKA<<<<<<<<<<<<<"
		mexican   = "IDMEX1000000007<0123456789012<\n8001014%s3001019MEX<02<<12345<5\nGOMEZ<VELAZQUEZ<<%s<<<<<<<"
		residence = "I<MEX1000000007<0123456789012<\n8001014%s3001019MEX<02<<12345<5\nGOMEZ<VELAZQUEZ<<%s<<<<<<<"
	)
	for _, tt := range []struct{ mrz, sex, differ string }{
		{german, "F", ""},
		{german, "male", ""},
		{german, "X", ""},
		{german, "unspecified", ""},
		{passport("MUSTER<<ERIKA", "D", "D"), "F", ""},
		{passport("MUSTER<<ERIKA", "D", "D"), "male", "sex"},
		{passport("MUSTER<<ERIKA", "D", "D"), "X", "sex"},
		// The Mexican voter's card has H for hombre and M for mujer.
		{fmt.Sprintf(mexican, "H", "ANDRES"), "M", ""},
		{fmt.Sprintf(mexican, "H", "ANDRES"), "F", "sex"},
		{fmt.Sprintf(mexican, "M", "MARIAA"), "F", ""},
		{fmt.Sprintf(mexican, "M", "MARIAA"), "male", "sex"},
		{fmt.Sprintf(mexican, "X", "MARIAA"), "F", ""},
		{fmt.Sprintf(residence, "M", "ANDRES"), "M", ""},
	} {
		if got := differences(t, tt.mrz, with{"sex": tt.sex}); got != tt.differ {
			t.Errorf("%s\n%s: differs in %q, want %q", tt.mrz, tt.sex, got, tt.differ)
		}
	}
	for mrz, want := range map[string]string{
		fmt.Sprintf(mexican, "H", "ANDRES"):   `passed {"birth_date":"1980-01-01","document_code":"ID","document_number":"100000000","expires":"date","expiry_date":"2030-01-01","format":"TD1","given_names":"ANDRES","issuing_state":"MEX","nationality":"MEX","sex":"male","surname":"GOMEZ VELAZQUEZ"}`,
		fmt.Sprintf(residence, "H", "ANDRES"): `failed structure`,
	} {
		if got := result(t, "offline.mrz", with{"mrz": mrz}, started()); got != want {
			t.Errorf("%s\n got %s\nwant %s", mrz, got, want)
		}
	}
}
