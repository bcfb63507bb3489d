// Legal forms by country, and words of companies in other scripts.

package names_test

import (
	"os"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
)

// tableRows returns the lines of a table, without comments.
func tableRows(t *testing.T, file string) (rows []string) {
	t.Helper()
	raw, err := os.ReadFile("tables/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			rows = append(rows, line)
		}
	}
	return rows
}

// TestEachLegalFormIsLeftOut tries each form of each country behind a name of one word, in brackets, and with a full stop behind each letter:
// the name is found without the form, and another company of the same form is not.
func TestEachLegalFormIsLeftOut(t *testing.T) {
	c, tried := names.New(), 0
	for _, row := range tableRows(t, "legal-countries.txt") {
		head, forms, _ := strings.Cut(row, ": ")
		if head == "before" {
			continue
		}
		for form := range strings.SplitSeq(forms, " | ") {
			written := []string{form, strings.ToUpper(form), "(" + form + ")", "(" + strings.ToUpper(form) + ")"}
			if !strings.Contains(form, " ") && len(form) <= 5 && form[0] < 0x80 {
				written = append(written, strings.Join(strings.Split(form, ""), ".")+".")
			}
			for _, form := range written {
				tried++
				if m := score(t, c, "company", "Zelmarind "+form, "Zelmarind"); m.Score < threshold {
					t.Errorf("%s: Zelmarind %s and Zelmarind: %.3f", head, form, m.Score)
				}
				if m := score(t, c, "company", "Zelmarind "+form, "Koverapund "+form); m.Score >= threshold {
					t.Errorf("%s: Zelmarind %s and Koverapund %s: %.3f", head, form, form, m.Score)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("%d forms were tried, want more", tried)
	}
}

func TestAFormInFrontThatMayBeInitialsIsKept(t *testing.T) {
	c := names.New()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"CA Technologies", "Technologies", false},
		{"ПП «Зелмарін»", "Zelmarin", true}, // not in Latin letters, so no initials
		{"PP Zelmarind Ltd", "Zelmarind Ltd", true},
		{"Vereniging Zelmarind", "Zelmarind", true},
		{"SE Zelmarind", "Zelmarind SE", false},
	} {
		if m := score(t, c, "company", tc.a, tc.b); m.Score >= threshold != tc.want {
			t.Errorf("%q and %q: %.3f, want match %t", tc.a, tc.b, m.Score, tc.want)
		}
	}
}

// TestEachTranslatedWordHasItsMeaning tries each word behind a distinctive one, and beside each English word of another line.
func TestEachTranslatedWordHasItsMeaning(t *testing.T) {
	c, tried := names.New(), 0
	for _, row := range tableRows(t, "translated.txt") {
		english, words, _ := strings.Cut(row, ": ")
		if english == "adjectives" {
			continue
		}
		english = strings.ReplaceAll(english, "+", " ")
		for counted := range strings.FieldsSeq(words) {
			word, _, _ := strings.Cut(counted, "=")
			m := score(t, c, "company", "Zelmarind "+word, "Zelmarind "+english)
			if tried++; m.Score < threshold { // "association" alone is also a legal form
				t.Errorf("%s and %s: %.3f", word, english, m.Score)
			}
		}
	}
	if tried < 1000 {
		t.Errorf("%d words were tried, want more", tried)
	}
}

// TestEachAbbreviationOfSeveralWordsIsReadAsThem tries what business-short.txt has for several words, such as R&D.
func TestEachAbbreviationOfSeveralWordsIsReadAsThem(t *testing.T) {
	c := names.New()
	for _, row := range tableRows(t, "business-short.txt") {
		pairs, written := strings.CutPrefix(row, "written: ")
		if !written {
			continue
		}
		for pair := range strings.FieldsSeq(pairs) {
			short, words, _ := strings.Cut(pair, "=")
			words = strings.ReplaceAll(words, "+", " ")
			for _, text := range []string{short, strings.ToUpper(short), short + "."} {
				n, err := c.Parse(names.Company, "Zelmarind "+text)
				if err != nil {
					t.Fatal(err)
				}
				if got := n.ReadAs(); !strings.HasPrefix(got, "Zelmarind "+words) {
					t.Errorf("Zelmarind %s is read as %q, want %s", text, got, words)
				}
				if m := score(t, c, "company", "Zelmarind "+text, "Zelmarind "+words); m.Score < threshold {
					t.Errorf("Zelmarind %s and Zelmarind %s: %.3f", text, words, m.Score)
				}
			}
		}
	}
}

func TestATranslatedWordIsAlsoComparedAsItIsWritten(t *testing.T) {
	c := names.New()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"华新水泥股份有限公司", "Huaxin Cement Co Ltd", true},
		{"华新水泥股份有限公司", "Huaxin Shuini", true},
		{"华新水泥股份有限公司", "Huaxin Steel Co Ltd", false},
		{"АО «Зелмаринский цементный завод»", "Zelmarinskii Tsementnyi Zavod", true},
		{"АО «Зелмаринский цементный завод»", "Zelmarinskii Cement Plant", true},
		{"АО «Зелмаринский цементный завод»", "Zelmarinskii Sugar Plant", false},
		{"شركة زلماريند للتصدير والاستيراد", "Zelmarind Export and Import Company", true},
		{"شرکت سیمان زلماریند", "Zelmarind Cement Company", true},
		{"현빛중공업", "Hyeonbit Heavy Industry", true},
	} {
		if m := score(t, c, "company", tc.a, tc.b); m.Score >= threshold != tc.want {
			t.Errorf("%q and %q: %.3f, want match %t", tc.a, tc.b, m.Score, tc.want)
		}
	}
}

func TestANameSaysHowItWasRead(t *testing.T) {
	c := names.New()
	for text, want := range map[string]string{
		"Zelmarind™ Shipping S.A.C.":     "Zelmarind Shipping; legal form sac",
		"АО «Зелмаринд цемент» №12":      "Зелмаринд цемент (means cement) 12; legal form ao",
		"Zelmarind Fund XXII GmbH":       "Zelmarind Fund XXII (number 22); legal form gmbh",
		"Zelmarind I/E Co., Ltd.":        "Zelmarind import export; legal form coltd",
		"A+B Zelmarind Handel":           "A B Zelmarind Handel (means trading)",
		"Thirteenth Zelmarind Brigade 4": "Thirteenth (number 13) Zelmarind Brigade 4",
	} {
		n, err := c.Parse(names.Company, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.ReadAs(); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// A sign of a trade mark is no letter, in a comparison, in a search and in offline.name_match.
func TestSignsOfTradeMarksAreLeftOut(t *testing.T) {
	c := names.New()
	for _, name := range []string{"Zelmarind™ Trading", "Zelmarind℠ Trading", "Zelmarind® Trading", "© Zelmarind Trading"} {
		if m := score(t, c, "company", name, "Zelmarind Trading"); m.Score < 1 {
			t.Errorf("%s: %.3f", name, m.Score)
		}
		a, err := c.ParseRegistered(names.Company, name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.ParseRegistered(names.Company, "Zelmarind Trading")
		if err != nil {
			t.Fatal(err)
		}
		if m := c.Identify(a, b); m.Score < threshold {
			t.Errorf("%s is not the name: %.3f", name, m.Score)
		}
		readings, err := c.Readings(names.Company, name)
		if err != nil || len(readings) != 1 {
			t.Errorf("%s has %d readings, %v", name, len(readings), err)
		}
	}
}
