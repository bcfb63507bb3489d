// Package country recognises countries by their codes and names.
package country

import (
	_ "embed"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/unicode/norm"
)

// countries has a line for each country: alpha-2, alpha-3 and numeric code, and names. The
// first code of a line that stands for no country is none.
//
//go:embed countries.txt
var countries string

// IsAlpha2 reports whether code is an alpha-2 code of ISO 3166-1, or XK for Kosovo, in
// upper case.
func IsAlpha2(code string) bool {
	return len(code) == 2 && code != "EU" && strings.Contains(countries, "\n"+code+" ")
}

// maxText is the maximum length of a name of a country in bytes.
const maxText = 200

// Parse returns the lower-case alpha-2 code of a country, and whether the text is known. It
// knows alpha-2, alpha-3 and numeric codes, the names that ISO and official lists use, and
// the common names in some languages. Codes of subdivisions, such as ua-43, count as their
// country. Former codes, and the codes that travel documents have for a state (ICAO Doc
// 9303-3, section 5: D, GBN, RKS), count as the country of today. States that are no more
// have the codes of ISO 3166-3, such as suhh; the European Union is eu. What travel
// documents write in place of a country, such as XXB for refugees, is known, and its code
// is empty.
func Parse(text string) (code string, ok bool) {
	x := all()
	text = bare(text)
	if code, ok = x.codes[strings.ToLower(text)]; ok {
		return code, true
	}
	if wanted := fold(text); wanted != "" {
		code, ok = x.names[wanted]
	}
	return code, ok
}

// Alpha2 returns the alpha-2 code, in upper case, of a country or territory of today, of
// which the text is a code or a name as Parse reads them.
func Alpha2(text string) (code string, ok bool) {
	code, _ = Parse(text)
	code = strings.ToUpper(code)
	return code, IsAlpha2(code)
}

// Names returns the English names of all countries and territories of today.
func Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for codes, names := range lines() {
			name, _, _ := strings.Cut(names, ";")
			if IsAlpha2(codes[0]) && !yield(name) {
				return
			}
		}
	}
}

// Name returns the name of a country in a language such as hi, by a code that Parse returns
// or that a travel document has. If the language has none, the name is English; a text that
// is no code is returned in upper case.
func Name(code, lang string) string {
	code = strings.ToUpper(code)
	region, err := language.ParseRegion(code)
	if names := display.Regions(language.Make(lang)); err == nil && names != nil && code != "ZZ" { // the code of no country
		if name := names.Name(region); name != "" {
			return name
		}
	}
	for codes, names := range lines() {
		if code != none && slices.Contains(codes, code) {
			name, _, _ := strings.Cut(names, ";")
			return name
		}
	}
	return code
}

// index has the codes of all countries by their codes and folded names.
type index struct{ codes, names map[string]string }

var all = sync.OnceValue(newIndex) //nolint:gochecknoglobals // nothing changes it, and reading the names takes milliseconds

func newIndex() index {
	x := index{map[string]string{}, map[string]string{}}
	for codes := range lines() {
		for _, code := range codes {
			x.codes[strings.ToLower(code)] = countryOf(codes)
		}
	}
	for name, code := range names() {
		if _, known := x.names[name]; !known {
			x.names[name] = code
		}
	}
	return x
}

// bare returns a text without spaces around it, and the country of a subdivision. It returns
// nothing for a text that is too long, and for none.
func bare(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxText || text == none {
		return ""
	}
	if country, _, ok := strings.Cut(text, "-"); ok && len(country) == 2 && len(text) <= 7 {
		return country
	}
	return text
}

// names returns the folded names of countries and their codes: those of the table first, and
// then those in common languages.
func names() iter.Seq2[string, string] {
	return func(yield func(name, code string) bool) {
		for codes, names := range lines() {
			for name := range strings.SplitSeq(names, ";") {
				if !yield(fold(name), countryOf(codes)) {
					return
				}
			}
		}
		for _, tag := range []language.Tag{
			language.German, language.French, language.Spanish, language.Italian, language.Portuguese, language.Dutch, language.Polish,
			language.Turkish, language.Ukrainian, language.Russian, language.Arabic, language.Persian, language.Hindi, language.Chinese, language.Japanese,
		} {
			regions := display.Regions(tag)
			for codes := range lines() {
				region, err := language.ParseRegion(codes[0])
				if err != nil { // not a country of today
					continue
				}
				if name := fold(regions.Name(region)); name != "" && !yield(name, strings.ToLower(codes[0])) {
					return
				}
			}
		}
	}
}

// none is what the table has for a missing code.
const none = "-"

// countryOf returns the code of a country by the codes of its line; empty for a line of no
// country.
func countryOf(codes []string) string {
	if codes[0] == none {
		return ""
	}
	return strings.ToLower(codes[0])
}

// lines returns the codes of each country and its names, separated by semicolons.
func lines() iter.Seq2[[]string, string] {
	return func(yield func([]string, string) bool) {
		for line := range strings.Lines(countries) {
			if fields := strings.SplitN(strings.TrimSpace(line), " ", 4); fields[0] != "#" && !yield(fields[:3], fields[3]) {
				return
			}
		}
	}
}

// fold returns the words of a name in a form in which equal names are equal: in lower case
// and alphabetical order, without accents, punctuation and articles.
func fold(name string) string {
	var words []string
	letters := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r), r == '\'', r == '’', r == '.':
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFKD.String(name))
	for word := range strings.FieldsSeq(letters) {
		switch word {
		case "the", "of", "and":
		case "st":
			words = append(words, "saint")
		default:
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
