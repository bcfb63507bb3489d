package names_test

import (
	"testing"

	"github.com/verifyd/verifyd/internal/names"
)

func TestEachRuleDecidesOnItsWords(t *testing.T) {
	c, seen := names.New(), map[string]bool{}
	for _, row := range []struct {
		rule      string
		kind      names.Kind
		a, b, why string
	}{
		{"characters", names.Person, "张", "章", "other characters"},
		{"same text", names.Person, "anna", "Anna", "same"},
		{"same text", names.Company, "mechanical", "Maschinenbau", "same meaning"},
		{"numbers", names.Company, "A320", "A330", ""},
		{"numbers", names.Company, "5G", "Hong", ""},
		{"initials", names.Person, "J", "John", "initial"},
		{"meanings", names.Company, "Уральский", "Ural", "same meaning"},
		{"words of companies", names.Company, "Tymoshenkov", "Machinery", ""},
		{"legal forms", names.Company, "Gazprom", "GAZPROMOAO", "legal form"},
		{"forms of a name", names.Person, "William", "Bill", "short form"},
		{"forms of a name", names.Person, "Mohammed", "Muhammad", "same name"},
		{"same sound", names.Company, "Tymoshenkov", "Timoschenkow", "spelling"},
		{"Chinese", names.Person, "Xiuying", "Xiaoying", ""},
		{"other names", names.Person, "Maria", "Marko", ""},
		{"family names", names.Person, "Ivanov", "Ivanova", "form of a family name"},
		{"genders", names.Person, "Mihailo", "Mihaila", "spelling"},
		{"sounds", names.Person, "Skrzypek", "Skzypek", "spelling"},
		{"sounds", names.Company, "teodor", "Teodorin", "typing error"},
	} {
		token := func(text string) *names.Token {
			n, err := c.Parse(row.kind, text)
			if err != nil {
				t.Fatal(err)
			}
			return n.Tokens[0]
		}
		rule, why, similarity, without := c.Deciding(row.kind, token(row.a), token(row.b))
		if seen[rule] = true; rule != row.rule || why != row.why {
			t.Errorf("%s and %s: %.3f %q by the rule %q, want %q by %q", row.a, row.b, similarity, why, rule, row.why, row.rule)
		}
		if similarity == without {
			t.Errorf("%s and %s: %.3f also without the rule %q", row.a, row.b, similarity, rule)
		}
	}
	for _, rule := range c.Rules() {
		if !seen[rule] {
			t.Errorf("the rule %q decides on no words of the table", rule)
		}
	}
}
