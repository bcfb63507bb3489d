// The cases of each rule of the comparison, and the keys by which an index finds them.

package names_test

import (
	"slices"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
)

func TestEachRuleHasItsCases(t *testing.T) {
	c := names.New()
	rules := map[string]map[string]bool{}
	for _, row := range pairs(t, "testdata/cases.csv") {
		rule, kind, a, b, want := row[0], row[1], row[2], row[3], row[4]
		if rules[rule] == nil {
			rules[rule] = map[string]bool{}
		}
		rules[rule][want] = true
		for _, in := range [][2]string{{a, b}, {b, a}} {
			if m := score(t, c, kind, in[0], in[1]); m.Score >= threshold != (want == "yes") {
				t.Errorf("%s: %q and %q: %.3f %v %v, want match %s", rule, in[0], in[1], m.Score, m.Parts, m.Notes, want)
			}
		}
	}
	for rule, kinds := range rules {
		if len(kinds) != 2 {
			t.Errorf("%s: %v, want a pair that matches and one that does not", rule, kinds)
		}
	}
}

func TestNamesThatMatchShareAKey(t *testing.T) {
	c := names.New()
	for _, row := range pairs(t, "testdata/cases.csv") {
		kind, a, b := row[1], row[2], row[3]
		if score(t, c, kind, a, b).Score < threshold {
			continue
		}
		keys, shared := keysOf(t, c, kind, a), false
		for key := range keysOf(t, c, kind, b) {
			shared = shared || keys[key]
		}
		if !shared {
			t.Errorf("%s: %q and %q match, and have no common key", row[0], a, b)
		}
	}
}

// keysOf returns the keys of the distinctive words of a name, and of its words that are joined.
func keysOf(t *testing.T, c *names.Comparer, kind, text string) map[uint32]bool {
	t.Helper()
	n, err := c.Parse(names.Kind(kind), text)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[uint32]bool{}
	add := func(hash uint32) { keys[hash] = true }
	distinctive := slices.ContainsFunc(n.Tokens, (*names.Token).Distinctive)
	for _, token := range n.Tokens {
		if token.Distinctive() || !distinctive { // as an index does
			c.Keys(token, add)
		}
	}
	for i := range n.Tokens {
		for size := 2; size <= 3 && i+size <= len(n.Tokens); size++ {
			for _, word := range c.Joined(n.Kind, n.Tokens[i:i+size]) {
				c.Keys(word, add)
			}
		}
	}
	return keys
}
