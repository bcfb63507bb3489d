package rules_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification/facts"
)

func TestWordsThatTwoTextsShareAreMarked(t *testing.T) {
	marked := func(c facts.Cell) string {
		var b strings.Builder
		text, at := []rune(c.Text), 0
		for _, m := range c.Marks {
			b.WriteString(string(text[at:m.From]) + "[" + string(text[m.From:m.To]) + "]")
			at = m.To
		}
		return b.String() + string(text[at:])
	}
	for _, row := range []struct{ a, b, wantA, wantB string }{
		{"Viktor Zamoyskov", "ZAMOYSKOV, Viktor A.", "[Viktor] [Zamoyskov]", "[ZAMOYSKOV], [Viktor] A."},
		{"Asha Rao", "Ravi Kumar", "Asha Rao", "Ravi Kumar"},
		{"Ravi-Kumar Ravi", "ravi", "[Ravi]-Kumar [Ravi]", "[ravi]"},
		{"कुमार राजेश", "राजेश", "कुमार [राजेश]", "[राजेश]"},
		{"Jose\u0301 Silva", "Jos\u00e9", "[Jos\u00e9] Silva", "[Jos\u00e9]"},
		{"أحمد علي", "علي", "أحمد [علي]", "[علي]"},
		{"", "Asha", "", "Asha"},
		{"...", "- .", "...", "- ."},
		{"a\xffb", "b", "a\ufffd[b]", "[b]"},
	} {
		a, b := facts.SameWords(row.a, row.b)
		if gotA, gotB := marked(a), marked(b); gotA != row.wantA || gotB != row.wantB {
			t.Errorf("SameWords(%q, %q) = %s and %s, want %s and %s", row.a, row.b, gotA, gotB, row.wantA, row.wantB)
		}
	}
}
