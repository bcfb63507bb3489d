// No letter of a name vanishes: it is transliterated, or the name says that it was not read.

package names_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/runenames"

	"github.com/verifyd/verifyd/internal/names"
)

// unheard are the letters and signs with which a name is the same name: fold.Name and the table of
// letters leave most of them out. Each is named by the beginning of its name in Unicode.
var unheard = []string{
	"ARABIC TATWEEL", "ARABIC LETTER HAMZA", "ARABIC LETTER HIGH HAMZA", "ARABIC LETTER AIN", "ARABIC TAIL FRAGMENT", "HEBREW LETTER AYIN", "SYRIAC LETTER E",
	"MODIFIER LETTER ", "ARMENIAN MODIFIER LETTER", "NKO LAJANYALAN",
	"LATIN LETTER GLOTTAL STOP", "LATIN SMALL LETTER GLOTTAL STOP", "LATIN CAPITAL LETTER GLOTTAL STOP", "LATIN LETTER REVERSED GLOTTAL STOP", "LATIN LETTER INVERTED GLOTTAL STOP",
	"LATIN LETTER PHARYNGEAL", "LATIN LETTER DENTAL CLICK", "LATIN LETTER LATERAL CLICK", "LATIN LETTER ALVEOLAR CLICK", "LATIN LETTER RETROFLEX CLICK", "LATIN LETTER BILABIAL CLICK",
	"LATIN SMALL LETTER EGYPTOLOGICAL", "LATIN CAPITAL LETTER EGYPTOLOGICAL", "LATIN CAPITAL LETTER SALTILLO", "LATIN SMALL LETTER SALTILLO",
	"CYRILLIC SMALL LETTER HARD SIGN", "CYRILLIC SMALL LETTER SOFT SIGN", "CYRILLIC CAPITAL LETTER HARD SIGN", "CYRILLIC CAPITAL LETTER SOFT SIGN",
	"CYRILLIC SMALL LETTER SEMISOFT SIGN", "CYRILLIC CAPITAL LETTER SEMISOFT SIGN", "CYRILLIC LETTER PALOCHKA", "CYRILLIC SMALL LETTER PALOCHKA",
	"CYRILLIC SMALL LETTER TALL HARD SIGN", "CYRILLIC SMALL LETTER NEUTRAL YER", "CYRILLIC CAPITAL LETTER NEUTRAL YER", "CYRILLIC PAYEROK",
	"GEORGIAN LETTER AIN", "GEORGIAN LETTER HARD SIGN", "GEORGIAN MTAVRULI CAPITAL LETTER AIN", "GEORGIAN MTAVRULI CAPITAL LETTER HARD SIGN",
	"THAANA LETTER ALIFU", "THAANA LETTER AINU", "HANGUL CHOSEONG IEUNG", "TIBETAN LETTER -A", "THAI CHARACTER PAIYANNOI", "LAO ELLIPSIS",
	"DEVANAGARI SIGN AVAGRAHA", "BENGALI SIGN AVAGRAHA", "GUJARATI SIGN AVAGRAHA", "ORIYA SIGN AVAGRAHA", "TELUGU SIGN AVAGRAHA", "KANNADA SIGN AVAGRAHA", "MALAYALAM SIGN AVAGRAHA",
	"DEVANAGARI LETTER GLOTTAL STOP", "DEVANAGARI SIGN HIGH SPACING DOT", "KATAKANA-HIRAGANA PROLONGED SOUND MARK",
	"HANGUL CHOSEONG FILLER", "HANGUL JUNGSEONG FILLER", "HANGUL FILLER", "KHMER SIGN AVAKRAHASANYA", "TIBETAN SUBJOINED LETTER -A",
	"MYANMAR MODIFIER LETTER", "HIRAGANA ITERATION", "HIRAGANA VOICED ITERATION", "KATAKANA ITERATION", "KATAKANA VOICED ITERATION", "IDEOGRAPHIC ITERATION", "VERTICAL IDEOGRAPHIC ITERATION",
}

// isUnheard reports whether a letter, in the form that is compared, is unheard or no letter.
func isUnheard(r rune) bool {
	for _, r = range norm.NFKC.String(string(r)) {
		if unicode.IsLetter(r) || unicode.IsMark(r) && norm.NFC.PropertiesString(string(r)).CCC() == 0 {
			name := runenames.Name(r)
			return slices.ContainsFunc(unheard, func(s string) bool { return strings.HasPrefix(name, s) })
		}
	}
	return true
}

// all calls f with the characters of a table.
func all(table *unicode.RangeTable, f func(r rune)) {
	for _, in := range table.R16 {
		for r := in.Lo; r <= in.Hi && r >= in.Lo; r += in.Stride {
			f(rune(r))
		}
	}
	for _, in := range table.R32 {
		for r := in.Lo; r <= in.Hi; r += in.Stride {
			f(rune(r))
		}
	}
}

// keysIn returns the keys of the tokens of a name and its forms, and whether it has a doubt.
func keysIn(t *testing.T, c *names.Comparer, text string) (keys []string, doubts bool) {
	t.Helper()
	n, err := c.Parse(names.Person, text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	for _, token := range n.Tokens {
		keys = append(keys, token.Key())
	}
	return append(keys, n.Forms...), len(n.Doubts) > 0
}

func TestNoLetterOfAnyScriptVanishes(t *testing.T) {
	c := names.New()
	without, _ := keysIn(t, c, "Viktor Zamoyskov")
	letters, flagged, vanished := 0, map[string]int{}, 0
	for script, table := range unicode.Scripts {
		all(table, func(r rune) {
			if !unicode.IsLetter(r) || isUnheard(r) {
				return
			}
			letters++
			with, doubts := keysIn(t, c, "Viktor "+string(r)+" Zamoyskov")
			if doubts {
				flagged[script]++
			} else if slices.Equal(with, without) {
				vanished++
				if vanished < 50 {
					t.Errorf("U+%04X %s: the name is the same without it", r, runenames.Name(r))
				}
			}
		})
	}
	t.Logf("%d letters, %d vanish, cannot be read: %v", letters, vanished, flagged)
	if letters < 130_000 {
		t.Errorf("%d letters were tried, want those of all scripts", letters)
	}
	// The scripts of Unicode Standard Annex 31, table 5, are read. Their letters that are not are of old texts.
	for script, most := range map[string]int{
		"Latin": 30, "Cyrillic": 20, "Greek": 5, "Armenian": 0, "Georgian": 20, "Arabic": 10, "Hebrew": 0, "Devanagari": 12, "Bengali": 2, "Gurmukhi": 1, "Gujarati": 0,
		"Oriya": 0, "Tamil": 0, "Telugu": 0, "Kannada": 3, "Malayalam": 0, "Sinhala": 0, "Thai": 1, "Lao": 1, "Khmer": 2, "Myanmar": 5, "Tibetan": 6, "Ethiopic": 0,
		"Hiragana": 290, "Katakana": 16, "Bopomofo": 0, "Thaana": 0,
	} {
		if flagged[script] > most {
			t.Errorf("%s: %d letters cannot be read, want at most %d", script, flagged[script], most)
		}
	}
}

// The Unicode names of signs say which of them are vowels or consonants.
func TestNoSignThatIsHeardVanishes(t *testing.T) {
	c := names.New()
	signs := 0
	for script, table := range unicode.Scripts {
		base := rune(0)
		all(table, func(r rune) {
			if base == 0 && unicode.Is(unicode.Lo, r) && strings.Contains(runenames.Name(r), "LETTER KA") {
				base = r
			}
		})
		if base == 0 {
			continue
		}
		all(table, func(r rune) {
			name := runenames.Name(r)
			if !unicode.In(r, unicode.Mn, unicode.Mc) || isUnheard(r) || norm.NFC.PropertiesString(string(r)).CCC() != 0 ||
				!strings.Contains(name, "VOWEL SIGN") && !strings.Contains(name, "CONSONANT SIGN") && !strings.Contains(name, "ANUSVARA") && !strings.Contains(name, "LETTER") || strings.HasSuffix(name, "VOWEL SIGN A") {
				return
			}
			signs++
			without, _ := keysIn(t, c, string(base)+string(base)+" Zamoyskov")
			with, doubts := keysIn(t, c, string(base)+string(r)+string(base)+" Zamoyskov")
			if !doubts && slices.Equal(with, without) {
				t.Errorf("%s, U+%04X %s: the name is the same without it", script, r, name)
			}
		})
	}
	t.Logf("%d signs", signs)
	if signs < 500 {
		t.Errorf("%d signs were tried, want those of all scripts", signs)
	}
}
