package country_test

import (
	_ "embed"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"github.com/verifyd/verifyd/internal/country"
)

func TestCountriesAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"de": "de", "DE": "de", " De ": "de", "DEU": "de", "276": "de", "004": "af", "UK": "gb", "xk": "xk", "XKX": "xk", "AND": "ad", "ua-43": "ua", "UA-CR": "ua",
		"Germany": "de", "GERMANY": "de", "Deutschland": "de", "Allemagne": "de", "Россия": "ru", "ألمانيا": "de", "中国": "cn",
		"Russian Federation": "ru", "Russia": "ru", "Iran (Islamic Republic of)": "ir", "Iran": "ir", "Syria": "sy", "SYRIAN ARAB REPUBLIC": "sy",
		"North Korea": "kp", "Korea, North": "kp", "DPRK": "kp", "D.P.R.K.": "kp", "Democratic People's Republic of Korea": "kp", "KOREA, DEMOCRATIC PEOPLE'S REPUBLIC OF": "kp",
		"Korea, Republic of": "kr", "South Korea": "kr", "Burma": "mm", "Myanmar": "mm", "Kosovo": "xk", "Bahamas, The": "bs", "The Gambia": "gm", "Cote d'Ivoire": "ci",
		"Côte d’Ivoire": "ci", "Congo (Democratic Republic)": "cd", "CONGO, Democratic Republic of (was Zaire)": "cd", "Congo": "cg", "Viet Nam": "vn", "VIRGIN ISLANDS (BRITISH)": "vg",
		"Türkiye": "tr", "Turkey": "tr", "Eswatini": "sz", "BOSNIA AND HERZEGOWINA": "ba", "Saint Lucia": "lc", "St. Lucia": "lc", "Trinidad and Tobago": "tt", "USA": "us", "U.S.A.": "us",
		"Palestinian Territory, Occupied": "ps", "eu": "eu", "suhh": "suhh", "USSR": "suhh", "SU": "suhh", "yucs": "yucs", "Yugoslavia": "yucs", "cshh": "cshh", "csxx": "csxx", "ddde": "ddde", "anhh": "anhh",
	} {
		if got, ok := country.Parse(text); got != want || !ok {
			t.Errorf("Parse(%q) = %q, %t, want %q", text, got, ok, want)
		}
	}
}

// isoCodes has the codes of the standard.
//
//go:embed testdata/iso_3166.tsv
var isoCodes string

// isoLines returns the columns of the lines of one part of the standard.
func isoLines(t *testing.T, part string) (lines [][]string) {
	t.Helper()
	for line := range strings.Lines(isoCodes) {
		if columns := strings.Split(strings.TrimSpace(line), "\t"); columns[0] == part {
			lines = append(lines, columns[1:])
		}
	}
	if len(lines) < 31 {
		t.Fatalf("part %s has %d lines", part, len(lines))
	}
	return lines
}

func TestEveryCodeOfISO3166IsKnown(t *testing.T) {
	for _, line := range isoLines(t, "1") {
		region, err := language.ParseRegion(line[0])
		if err != nil || region.ISO3() != line[1] {
			t.Errorf("CLDR has %s, %v for %s", region.ISO3(), err, line[0])
		}
		for _, code := range line {
			if got, ok := country.Parse(code); got != strings.ToLower(line[0]) || !ok {
				t.Errorf("Parse(%q) = %q, %t, want %s", code, got, ok, line[0])
			}
			if got, ok := country.Alpha2(code); got != line[0] || !ok {
				t.Errorf("Alpha2(%q) = %q, %t, want %s", code, got, ok, line[0])
			}
		}
	}
}

// The last letters of an alpha-4 code say what became of the state: the code of its
// successor, AA for its own code, and HH or XX for none that can be named.
func TestEveryFormerCodeOfISO3166IsKnown(t *testing.T) {
	stays := map[string]bool{"DDDE": true, "YUCS": true} // states that people and lists still name
	for _, line := range isoLines(t, "3") {
		want := line[0][2:]
		switch {
		case want == "HH" || want == "XX" || stays[line[0]]:
			want = line[0]
		case want == "AA":
			want = line[0][:2]
		}
		codes := line[:2]
		if line[1] == "ATF" { // of another country today
			codes = line[:1]
		}
		if line[3] > "1988" && line[0] != "CSHH" && !country.IsAlpha2(line[2]) { // CS is the later state's
			codes = append(codes, line[2])
		}
		for _, code := range codes {
			if got, ok := country.Parse(code); got != strings.ToLower(want) || !ok {
				t.Errorf("Parse(%q) = %q, %t, want %s", code, got, ok, want)
			}
		}
	}
}

// The codes are those of ICAO Doc 9303-3, eighth edition, section 5, which ISO 3166 does not have.
func TestCodesOfTravelDocumentsAreKnown(t *testing.T) {
	for _, row := range []struct{ want, codes string }{
		{"de", "D"},
		{"gb", "GBD GBN GBO GBP GBS"},
		{"xk", "RKS UNK"},
		{"ro", "ROM"},
		{"anhh", "ANT"}, // part F: codes that ISO no longer has
		{"nthh", "NTZ"},
		{"", "EUE UNO UNA XBA XIM XCC XCE XCO XEC XPO XES XMP XOM XDC XXA XXB XXC XXX IAO UTO"},
	} {
		for code := range strings.FieldsSeq(row.codes) {
			if got, ok := country.Parse(code); got != row.want || !ok {
				t.Errorf("Parse(%q) = %q, %t, want %q", code, got, ok, row.want)
			}
			if name := country.Name(code, "en"); name == code && row.want == "" {
				t.Errorf("Name(%q) = %q, want a name", code, name)
			}
		}
	}
}

func TestFormerStatesAreNoCountriesOfToday(t *testing.T) {
	for text, want := range map[string]string{"India": "IN", "ind": "IN", "D": "DE", "GBN": "GB", "Kosovo": "XK"} {
		if got, ok := country.Alpha2(text); got != want || !ok {
			t.Errorf("Alpha2(%q) = %q, %t, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "EU", "Yugoslavia", "SUN", "XXB", "UTO", "Indja"} {
		if got, ok := country.Alpha2(text); ok {
			t.Errorf("Alpha2(%q) = %q, want none", text, got)
		}
	}
}

func TestOtherTextIsNoCountry(t *testing.T) {
	for _, text := range []string{"", " ", "xx", "zz", "00", "000", "-", "QQQ", "999", "Atlantis", "Korea", "de fr", strings.Repeat("a", 1000), "\xff"} {
		if got, ok := country.Parse(text); ok {
			t.Errorf("Parse(%q) = %q, want no country", text, got)
		}
	}
}

func TestAlpha2CodesAreUpperCase(t *testing.T) {
	n := 0
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			if country.IsAlpha2(string([]rune{a, b})) {
				n++
			}
		}
	}
	if n != 250 { // 249 of ISO 3166-1, and Kosovo
		t.Errorf("%d alpha-2 codes, want 250", n)
	}
	for _, code := range []string{"de", "EU", "UK", "AN", "", "D", "DEU", "\nD"} {
		if country.IsAlpha2(code) {
			t.Errorf("IsAlpha2(%q) = true", code)
		}
	}
}

func TestCountriesHaveNamesInALanguage(t *testing.T) {
	for _, row := range []struct{ code, lang, want string }{
		{"ru", "en", "Russia"}, {"IN", "hi", "भारत"}, {"xk", "en", "Kosovo"}, {"suhh", "en", "Soviet Union"}, {"XXA", "hi", "Stateless"}, {"XXB", "en", "Refugee"}, {"-", "en", "-"}, {"gehh", "de", "Gilbert and Ellice Islands"}, {"zz", "en", "ZZ"}, {"Atlantis", "en", "ATLANTIS"}, {"ru", "nonsense", "Russia"},
	} {
		if got := country.Name(row.code, row.lang); got != row.want {
			t.Errorf("Name(%q, %q) = %q, want %q", row.code, row.lang, got, row.want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"de", "Zimbabwe", "Deutschland", "Atlantis", strings.Repeat("é ", 60)} {
		b.Run(text[:2], func(b *testing.B) {
			for b.Loop() {
				country.Parse(text)
			}
		})
	}
}
