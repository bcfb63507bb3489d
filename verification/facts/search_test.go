package facts_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/verification/facts"
)

// words returns the words of a text as KIND:TEXT, in alphabetical order.
func words(text string) (all []string) {
	for _, w := range facts.ParseSearch(text) {
		all = append(all, string(w.Kind)+":"+w.Text)
	}
	slices.Sort(all)
	return all
}

func TestWordsOfATypedText(t *testing.T) {
	for _, row := range []struct {
		text string
		want []string
	}{
		{"Asha Rao", []string{"name:asha", "name:rao"}},
		{"  rao,  ASHA rao", []string{"name:asha", "name:rao"}},
		{"José Ángel O'Neill", []string{"name:angel", "name:jose", "name:oneill"}},
		{"Marie-Claire d’Aubigné", []string{"name:claire", "name:daubigne", "name:marie"}},
		{"A.P.J. Abdul", []string{"name:a", "name:abdul", "name:j", "name:p"}},
		{"आशा राव", []string{"name:आशा", "name:राव"}},
		{"राम रमा", []string{"name:रमा", "name:राम"}},
		{"مُحَمَّد عليّ", []string{"name:علي", "name:محمد"}},
		{"Ｇｒｏß", []string{"name:gross"}},
		{"王小明", []string{"name:王小明"}},
		{"abcde1234f", []string{"number:abcde1234f"}},
		{"1234 5678-9012", []string{"number:123456789012"}},
		{"QQ 12 34 56 C", []string{"number:qq123456c"}},
		{"Asha 1234", []string{"name:asha", "number:1234"}},
		{"AA० AA०", []string{"number:aa0aa0"}},
		{"AA० Asha A1", []string{"name:asha", "number:aa0a1"}},
		{"१२३४५६७", []string{"number:1234567"}},
		{"٠١٢٣", []string{"number:0123"}},
		{"+91 98123-45678", []string{"number:919812345678"}},
		{"0091 (98123) 45678", []string{"number:919812345678"}},
		{"Asha.Rao@Example.COM", []string{"mail:asha.rao@example.com"}},
		{"Asha 1990-04-12", []string{"date:1990-04-12", "name:asha"}},
		{"1990-04-31", []string{"number:19900431"}},
		{" -'- \u200b", nil},
		{"", nil},
		{strings.Repeat("x", 101), []string{"name:" + strings.Repeat("x", 100)}},
		{"\xff@\xff", []string{"mail:\ufffd@\ufffd"}},
	} {
		if diff := cmp.Diff(row.want, words(row.text)); diff != "" {
			t.Errorf("words of %q (-want +got):\n%s", row.text, diff)
		}
	}
	var many []string
	for r := 'a'; r < 'z'; r++ {
		many = append(many, string(r))
	}
	if got := words(strings.Join(many, " ")); len(got) != 16 {
		t.Errorf("a text with %d words has %d, want 16", len(many), len(got))
	}
}

// Case, marks, order and punctuation do not matter.
func TestWordsDependOnLettersAndDigitsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom(nil, unicode.Latin, unicode.Devanagari, unicode.Arabic).Filter(
			func(r rune) bool { return !unicode.IsDigit(r) }), 1, 12, -1)
		parts := rapid.SliceOfN(letters, 1, 6).Draw(t, "parts")
		want := words(strings.Join(parts, " "))
		other := slices.Clone(parts)
		slices.Reverse(other)
		if got := words("  " + strings.Join(other, ",  ") + " "); !slices.Equal(got, want) {
			t.Fatalf("words of %q = %q, want %q", other, got, want)
		}
	})
}
