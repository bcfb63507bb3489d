// Numbers in names of companies, glued to letters or apart from them.

package names_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
)

func TestANumberCountsGluedAsItDoesApart(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	c := names.New()
	word := func(length int) string {
		text := make([]byte, length)
		for i := range text {
			text[i] = []string{"bdfgklmnprstvz", "aeiou"}[i%2][random.IntN(5+9*((i+1)%2))]
		}
		return string(text)
	}
	for range 500 {
		name, unit := word(9), []string{"SPV", "Fund", "Block", "Завод", "Unit", word(5)}[random.IntN(6)]
		n := 1 + random.IntN(998)
		glued, apart := fmt.Sprintf("%s %s%d", name, unit, n), fmt.Sprintf("%s %s %d", name, unit, n)
		if m := score(t, c, "company", glued, apart); m.Score != 1 {
			t.Errorf("%q and %q: %.3f %v, want 1 (seed %d)", glued, apart, m.Score, m.Parts, seed)
		}
		for _, other := range []string{fmt.Sprintf("%s %s%d", name, unit, n+1), fmt.Sprintf("%s %s%d", name, unit, n*10), fmt.Sprintf("%s %s %d", name, unit, n+1)} {
			if m := score(t, c, "company", glued, other); m.Score >= threshold {
				t.Errorf("%q and %q: %.3f %v, want below %.2f (seed %d)", glued, other, m.Score, m.Parts, threshold, seed)
			}
			if m := identified(t, c, "company", glued, other); m.Score >= threshold {
				t.Errorf("%q and %q are one name: %.3f %v (seed %d)", glued, other, m.Score, m.Parts, seed)
			}
		}
	}
}

func TestACodeIsOneWordOfItsCompany(t *testing.T) {
	c := names.New()
	for text, want := range map[string]int{
		"A320": 1, "3M": 1, "24x7": 1, "SPV1": 2, "Unit4B": 2, "B2Gold": 2, "1st": 1, "第7机械厂": 3, "No.7": 1, "abc1de2f": 3,
	} {
		n, err := c.Parse(names.Company, "Melk "+text)
		if err != nil || len(n.Tokens) != 1+want {
			t.Errorf("%q has %d words %q (%v), want %d", text, len(n.Tokens)-1, n.Words, err, want)
		}
	}
}
