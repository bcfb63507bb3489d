// Aligning the tokens of two names.

package names

import (
	"cmp"
	"slices"
	"strings"
)

// alignment pairs the tokens of two names.
type alignment struct {
	comparer     *Comparer
	a, b         Name
	china        chinese
	doneA, doneB []bool  // the tokens that are aligned
	matched      float32 // the weight of what is aligned
	sum          float32 // the same, times similarity
	distinctive  int     // aligned tokens that are Distinctive
	parts        []Part
}

// The least similarity of two tokens that may be aligned.
const (
	personThreshold  = 0.62
	companyThreshold = 0.75
)

// pair is two tokens that may be aligned.
type pair struct {
	i, j       int
	similarity float32
	why        string
}

func (c *Comparer) align(a, b Name) *alignment {
	x := &alignment{
		comparer: c, a: a, b: b, china: c.chinese(a, b),
		doneA: make([]bool, len(a.Tokens)), doneB: make([]bool, len(b.Tokens)),
	}
	threshold := float32(personThreshold)
	if a.Kind == Company {
		threshold = companyThreshold
	}
	pairs := make([]pair, 0, 8)
	for i, s := range a.Tokens {
		for j, t := range b.Tokens {
			if similarity, why := c.similar(a.Kind, s, t, x.china); similarity >= threshold {
				pairs = append(pairs, pair{i, j, similarity, why})
			}
		}
	}
	slices.SortStableFunc(pairs, func(p, q pair) int {
		return cmp.Or(cmp.Compare(q.similarity, p.similarity), cmp.Compare(abs(p.i-p.j), abs(q.i-q.j)))
	})
	for _, p := range pairs {
		if p.similarity >= 0.9 {
			x.take(p)
		}
	}
	if a.Kind == Company {
		x.acronyms(false)
		x.acronyms(true)
	}
	x.joins(false)
	x.joins(true)
	for _, p := range pairs {
		x.take(p)
	}
	x.rest()
	return x
}

func abs(n int) int { return max(n, -n) }

// take aligns two tokens unless one of them is aligned already.
func (x *alignment) take(p pair) {
	if x.doneA[p.i] || x.doneB[p.j] {
		return
	}
	x.doneA[p.i], x.doneB[p.j] = true, true
	s, t := x.a.Tokens[p.i], x.b.Tokens[p.j]
	x.count(s.written, t.written, min(x.weight(s), x.weight(t)), p.similarity, p.why, s.Distinctive() && t.Distinctive())
}

func (x *alignment) count(name, other string, weight, similarity float32, why string, distinctive bool) {
	x.matched += weight
	x.sum += weight * similarity
	if distinctive {
		x.distinctive++
	}
	x.parts = append(x.parts, Part{name, other, similarity, why})
}

// side is one of the two names.
type side struct {
	tokens []*Token
	done   []bool
}

// sides returns the two names for an alignment of one token with several: the name with
// the one token, which is b if they are swapped, and the name with the several.
func (x *alignment) sides(swapped bool) (single, several side) {
	single, several = side{x.a.Tokens, x.doneA}, side{x.b.Tokens, x.doneB}
	if swapped {
		return several, single
	}
	return single, several
}

// merge aligns token i of one name with n tokens of the other, from token j on.
func (x *alignment) merge(swapped bool, i, j, n int, weight, similarity float32, why string) {
	single, several := x.sides(swapped)
	single.done[i] = true
	var written []string
	for k := j; k < j+n; k++ {
		several.done[k] = true
		written = append(written, several.tokens[k].written)
	}
	name, other := single.tokens[i].written, strings.Join(written, " ")
	if swapped {
		name, other = other, name
	}
	x.count(name, other, weight, similarity, why, true)
}

// joins aligns a token of one name with two or three neighbours in the other that
// are the same word when they are written as one.
func (x *alignment) joins(swapped bool) {
	single, several := x.sides(swapped)
	for i, t := range single.tokens {
		if single.done[i] || len(t.written) < 4 || t.role == number {
			continue
		}
		for j := 0; j < len(several.tokens) && !single.done[i]; j++ {
			for n := 3; n >= 2 && !single.done[i]; n-- {
				if j+n > len(several.tokens) || slices.Contains(several.done[j:j+n], true) {
					continue
				}
				parts := several.tokens[j : j+n]
				text, sound := join(parts)
				similarity := x.joined(t, text, sound, parts)
				if similarity == 0 {
					continue
				}
				weight := x.weight(t)
				for _, p := range parts {
					weight = max(weight, x.weight(p))
				}
				x.merge(swapped, i, j, n, weight, similarity, "one word")
				if x.a.Kind == Person && len(several.tokens) == n && len(single.tokens) == 1 {
					x.distinctive++
				}
			}
		}
	}
}

func join(tokens []*Token) (text, sound string) {
	for _, t := range tokens {
		text, sound = text+t.written, sound+t.writtenSound
	}
	return text, sound
}

// acronyms aligns a word with neighbours of the other name that it is the initials of,
// or ignores it if it is the initials of the rest of its own name.
func (x *alignment) acronyms(swapped bool) {
	single, several := x.sides(swapped)
	for i, t := range single.tokens {
		n := len(t.Text)
		if single.done[i] || t.role != plain || n < 3 || n > 6 {
			continue
		}
		if initials(slices.Delete(slices.Clone(single.tokens), i, i+1)) == t.Text {
			single.done[i] = true
			continue
		}
		for j := 0; j+n <= len(several.tokens); j++ {
			if !slices.Contains(several.done[j:j+n], true) && initials(several.tokens[j:j+n]) == t.Text {
				x.merge(swapped, i, j, n, x.weight(t), 0.86, "initials")
				break
			}
		}
	}
}

// initials returns the first letters of words.
func initials(tokens []*Token) string {
	var b strings.Builder
	for _, t := range tokens {
		if t.written != "" {
			b.WriteByte(t.written[0])
		}
	}
	return b.String()
}

// joined returns the similarity of a token and several that are written as one; 0
// unless they are nearly the same.
func (x *alignment) joined(t *Token, text, sound string, parts []*Token) float32 {
	if abs(len(text)-len(t.written)) > 4 {
		return 0
	}
	if text == t.written {
		return 0.98
	}
	mode := t.mode
	for _, p := range parts {
		mode = max(mode, p.mode)
	}
	c := x.comparer
	if x.china != notChinese && t.china {
		if s := c.dialects(t.written, text, x.china); s > 0 {
			return s
		}
		if c.mandarin(t.written) && c.mandarin(text) {
			return 0
		}
	}
	if _, ok := shared(t.lines, c.tables.lines[text]); ok {
		return 0.95
	}
	s := c.sounds.similarity(t.writtenSound, sound, mode)
	if whole := c.tables.soundOf(text); whole != sound {
		s = max(s, c.sounds.similarity(t.writtenSound, whole, mode))
	}
	if s < 0.88 {
		return 0
	}
	return s - 0.02
}

// rest adds the tokens that are not aligned to the parts.
func (x *alignment) rest() {
	for i, done := range x.doneA {
		if !done {
			x.parts = append(x.parts, Part{Name: x.a.Tokens[i].written})
		}
	}
	for j, done := range x.doneB {
		if !done {
			x.parts = append(x.parts, Part{Other: x.b.Tokens[j].written})
		}
	}
}
