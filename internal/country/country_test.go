package country_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/country"
)

func TestCountriesAreRecognised(t *testing.T) {
	index := country.NewIndex()
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
		if got, ok := index.Parse(text); got != want || !ok {
			t.Errorf("Parse(%q) of the index = %q, %t, want %q", text, got, ok, want)
		}
	}
}

func TestOtherTextIsNoCountry(t *testing.T) {
	index := country.NewIndex()
	for _, text := range []string{"", " ", "xx", "zz", "00", "000", "-", "QQQ", "999", "Atlantis", "Korea", "de fr", strings.Repeat("a", 1000), "\xff"} {
		if got, ok := index.Parse(text); ok {
			t.Errorf("Parse(%q) of the index = %q, want no country", text, got)
		}
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
		{"ru", "en", "Russia"}, {"IN", "hi", "भारत"}, {"xk", "en", "Kosovo"}, {"suhh", "en", "SUHH"}, {"zz", "en", "ZZ"}, {"Atlantis", "en", "ATLANTIS"}, {"ru", "nonsense", "RU"},
	} {
		if got := country.Name(row.code, row.lang); got != row.want {
			t.Errorf("Name(%q, %q) = %q, want %q", row.code, row.lang, got, row.want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"de", "Zimbabwe", "Deutschland", "Atlantis"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				country.Parse(text)
			}
		})
	}
}
