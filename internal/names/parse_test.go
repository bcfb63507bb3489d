// Tests of names that have few letters, or no words of their own.

package names_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
)

func TestEveryReadableNameMatchesItself(t *testing.T) {
	c := names.New()
	for text, kind := range map[string]names.Kind{
		"The The": names.Company, "Van De": names.Company, "De La Ltd": names.Company, "Ltd": names.Company, "of": names.Company,
		"Li": names.Company, "Li Li": names.Company, "7": names.Company, "De & Le GmbH": names.Company,
		"Dr": names.Person, "Van Der": names.Person, "bin bin": names.Person, "Mr. Jr.": names.Person, "X": names.Person,
	} {
		n, err := c.Parse(kind, text)
		if err != nil || len(n.Tokens) == 0 {
			t.Errorf("Parse(%q) = %+v, %v, want tokens", text, n, err)
			continue
		}
		if got := c.Compare(n, n).Score; got != 1 {
			t.Errorf("%q scores %.2f with itself, want 1", text, got)
		}
	}
	for _, text := range []string{"", " ", "-", "...", "!?"} {
		for _, kind := range []names.Kind{names.Person, names.Company} {
			if n, err := c.Parse(kind, text); !errors.Is(err, names.ErrNoName) {
				t.Errorf("Parse(%q) of a %s = %+v, %v, want ErrNoName", text, kind, n, err)
			}
		}
	}
}

func TestANameThatIsCutHasADoubt(t *testing.T) {
	c := names.New()
	for _, test := range []struct {
		text string
		kind names.Kind
		want string // the doubt; empty for none
	}{
		{strings.Repeat("Viktor ", 16), names.Person, ""},
		{strings.Repeat("Viktor ", 17), names.Person, "the name has 17 words: no more than 16 are compared"},
		{strings.Repeat("Granite ", 17), names.Company, "the name has 17 words: no more than 16 are compared"},
		{strings.Repeat("Ж", 500), names.Person, ""},
		{strings.Repeat("Ж", 501), names.Person, "the name has 501 characters: no more than 500 are compared"},
		{strings.Repeat("a ", 300) + "Viktor Zamoyskov", names.Person, "the name has 616 characters: no more than 500 are compared"},
	} {
		n, err := c.Parse(test.kind, test.text)
		if err != nil {
			t.Errorf("Parse(%.20q...) = %v", test.text, err)
		}
		if got := strings.Join(n.Doubts, "; "); got != test.want {
			t.Errorf("Parse(%.20q...) has the doubts %q, want %q", test.text, got, test.want)
		}
	}
}

// Some letters, such as a Hebrew ayin, have no counterpart in ASCII.
func TestAWordOfSilentLettersIsNoToken(t *testing.T) {
	c := names.New()
	for text, kind := range map[string]names.Kind{"ע.ע Adam": names.Company, "ע.ע.ע אדם": names.Company, "אדם ע.ע": names.Person, "الععع Adam": names.Person} {
		n, err := c.Parse(kind, text)
		if err != nil {
			t.Fatalf("Parse(%q): %v", text, err)
		}
		for _, token := range n.Tokens {
			if token.Text == "" {
				t.Errorf("Parse(%q) has a token without text", text)
			}
		}
		other, err := c.Parse(kind, "Adam Ida")
		if err != nil {
			t.Fatal(err)
		}
		c.Compare(n, other)
		for _, token := range n.Tokens {
			c.Similar(kind, token, other.Tokens[0])
		}
	}
	if n, err := c.Parse(names.Company, "ע.ע"); !errors.Is(err, names.ErrNoName) {
		t.Errorf("Parse of an ayin alone = %+v, %v, want ErrNoName", n, err)
	}
}
