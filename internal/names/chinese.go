// Chinese names: characters, syllables, and the spellings of systems and dialects.

package names

import "strings"

// chinese says whether two names are Chinese.
type chinese byte

const (
	notChinese chinese = iota
	inPinyin           // both in pinyin, or both in another system
	mixed              // one of them in the Wade-Giles system
)

// syllabic reports whether a word can be read as syllables of Chinese names.
func (c *Comparer) syllabic(word string) bool {
	return c.split(word, func(s string) bool {
		_, dialect := c.tables.syllables[s]
		return dialect || c.tables.pinyin[s] || c.tables.pinyin[c.tables.wade.Replace(s)]
	})
}

// mandarin reports whether a word can be read as pinyin.
func (c *Comparer) mandarin(word string) bool {
	return c.split(word, func(s string) bool { return c.tables.pinyin[s] })
}

// split reports whether a word consists of syllables.
func (c *Comparer) split(word string, syllable func(string) bool) bool {
	if len(word) > 18 {
		return false
	}
	reach := [20]bool{0: true}
	for i := range len(word) {
		for n := 1; reach[i] && n <= 6 && i+n <= len(word); n++ {
			if syllable(word[i : i+n]) {
				reach[i+n] = true
			}
		}
	}
	return word != "" && reach[len(word)]
}

// dialects returns the similarity of two words that are the same in two systems of
// writing Chinese, or in two dialects; 0 if they are not.
func (c *Comparer) dialects(a, b string, how chinese) float32 {
	if (how == mixed || c.mandarin(a) != c.mandarin(b)) && c.tables.coarse(a) == c.tables.coarse(b) {
		return c.weights.MixedSystems
	}
	if c.aligned(a, b, 0) {
		return c.weights.Dialect
	}
	return 0
}

// aligned reports whether two words consist of the same syllables, which may be
// written in different dialects.
func (c *Comparer) aligned(a, b string, n int) bool {
	if a == "" || b == "" {
		return a == b
	}
	if n > 4 {
		return false
	}
	for i := 1; i <= min(6, len(a)); i++ {
		left, known := c.tables.syllables[a[:i]]
		if !known && !c.tables.pinyin[a[:i]] {
			continue
		}
		for j := 1; j <= min(6, len(b)); j++ {
			_, both := shared(left, c.tables.syllables[b[:j]])
			if (both || a[:i] == b[:j]) && c.aligned(a[i:], b[j:], n+1) {
				return true
			}
		}
	}
	return false
}

// coarse returns a word without what Wade-Giles and pinyin write differently.
func (t *tables) coarse(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], "ng") && (i+2 == len(s) || !vowel(s[i+2])) {
			b.WriteByte('N')
			i++
			continue
		}
		b.WriteByte(s[i])
	}
	return t.system.Replace(b.String())
}

// hanName returns the words of the name of a person in Han characters: the family
// name, and the given name as one word.
func (c *Comparer) hanName(raw string) []string {
	runes := []rune(raw)
	family := 1
	if len(runes) > 2 && c.tables.doubleSurnames[string(runes[:2])] {
		family = 2
	}
	if len(runes) < 2 || len(runes) > 5 {
		return []string{raw}
	}
	return []string{string(runes[:family]), string(runes[family:])}
}

// chinese returns whether two names look Chinese.
func (c *Comparer) chinese(a, b Name) chinese {
	wadeA, okA := c.isChinese(a)
	wadeB, okB := c.isChinese(b)
	switch {
	case !okA || !okB:
		return notChinese
	case wadeA != wadeB:
		return mixed
	}
	return inPinyin
}

// isChinese reports whether a name looks Chinese, with a Chinese family name and
// another word of Chinese syllables, and whether it is in the Wade-Giles system.
func (c *Comparer) isChinese(n Name) (wade, ok bool) {
	family, syllabic := n.Kind == Company, 0
	for _, t := range n.Tokens {
		if t.china {
			syllabic++
			family = family || c.tables.chinese[t.Text]
			wade = wade || t.aspirated || !c.mandarin(t.Text)
		}
	}
	return wade, family && syllabic > 1
}
