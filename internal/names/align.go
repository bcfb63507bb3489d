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

// pair is two tokens that may be aligned.
type pair struct {
	i, j       int
	similarity float32
	why        string
}

// surnames undoes what an initial may not do: it stands for a given name or a middle name,
// but not for the family name of a name whose own family name is another one, as in Paul
// Davis and Paul D. Ryan.
func (x *alignment) surnames() {
	for i := 0; i < len(x.parts); i++ {
		p := x.parts[i]
		if p.Reason != letterOnly {
			continue
		}
		single, several := side{x.a.Tokens, x.doneA}, side{x.b.Tokens, x.doneB}
		at, word := p.name.from, p.other.from
		if single.tokens[at].role != initial {
			single, several, at, word = several, single, word, at
		}
		if !several.end(word) || single.end(at) || !single.open() {
			continue
		}
		single.done[at], several.done[word] = false, false
		weight := min(x.weight(single.tokens[at]), x.weight(several.tokens[word]))
		x.matched -= weight
		x.sum -= weight * p.Similarity
		x.parts = slices.Delete(x.parts, i, i+1)
		i--
	}
}

// end reports whether a token is the first or the last of a name that is no title.
func (s side) end(i int) bool {
	first, last := 0, len(s.tokens)-1
	for first < last && s.tokens[first].role == title {
		first++
	}
	for last > first && s.tokens[last].role == title {
		last--
	}
	return i == first || i == last
}

// open reports whether the first or the last token is a whole word that is not aligned.
func (s side) open() bool {
	for i, t := range s.tokens {
		if !s.done[i] && t.Distinctive() && s.end(i) {
			return true
		}
	}
	return false
}

func (c *Comparer) align(a, b Name) *alignment {
	x := &alignment{
		comparer: c, a: a, b: b, china: c.chinese(a, b),
		doneA: make([]bool, len(a.Tokens)), doneB: make([]bool, len(b.Tokens)),
	}
	threshold := c.least(a.Kind)
	pairs := make([]pair, 0, 8)
	for i, s := range a.Tokens {
		for j, t := range b.Tokens {
			if similarity, why := c.similar(a.Kind, s, t, x.china); similarity >= threshold {
				pairs = append(pairs, pair{i, j, similarity, why})
			}
		}
	}
	if a.Kind == Person {
		pairs = x.foreignEndings(pairs)
	}
	slices.SortStableFunc(pairs, func(p, q pair) int {
		return cmp.Or(cmp.Compare(q.similarity, p.similarity), cmp.Compare(abs(p.i-p.j), abs(q.i-q.j)))
	})
	for _, p := range pairs {
		if p.similarity >= c.weights.AlignFirst {
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
	if a.Kind == Person {
		x.surnames()
	}
	x.rest()
	return x
}

// least returns the least similarity of two tokens that may be aligned.
func (c *Comparer) least(kind Kind) float32 {
	if kind == Company {
		return c.weights.CompanyLeast
	}
	return c.weights.PersonLeast
}

func abs(n int) int { return max(n, -n) }

// take aligns two tokens unless one of them is aligned already.
func (x *alignment) take(p pair) {
	if x.doneA[p.i] || x.doneB[p.j] {
		return
	}
	x.doneA[p.i], x.doneB[p.j] = true, true
	s, t := x.a.Tokens[p.i], x.b.Tokens[p.j]
	x.count(span{p.i, 1}, span{p.j, 1}, min(x.weight(s), x.weight(t)), p.similarity, p.why, s.Distinctive() && t.Distinctive())
}

func (x *alignment) count(name, other span, weight, similarity float32, why string, distinctive bool) {
	x.matched += weight
	x.sum += weight * similarity
	if distinctive {
		x.distinctive++
	}
	x.parts = append(x.parts, Part{Similarity: similarity, Reason: why, name: name, other: other})
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
	for k := j; k < j+n; k++ {
		several.done[k] = true
	}
	name, other := span{i, 1}, span{j, n}
	if swapped {
		name, other = other, name
	}
	x.count(name, other, weight, similarity, why, true)
}

// foreignEndings adds the pairs of words that are similar without the endings that Latvian
// and Lithuanian add to all words of a foreigner's name, as in Sergejs Lavrovs.
func (x *alignment) foreignEndings(pairs []pair) []pair {
	for _, swapped := range []bool{false, true} {
		foreign, other := x.sides(swapped)
		if !allForeign(foreign.tokens) || allForeign(other.tokens) {
			continue
		}
		for i, s := range foreign.tokens {
			x.comparer.tables.withoutForeign(s.Text, func(base string) {
				stem := x.comparer.Plain(Person, base)
				for j, t := range other.tokens {
					if t.role != plain || t.Text == "" || t.Text[0] != base[0] {
						continue
					}
					similarity, _ := x.comparer.similar(Person, stem, t, notChinese)
					if similarity *= x.comparer.weights.ForeignEnding; similarity < x.comparer.weights.AlignFirst {
						continue
					}
					p := pair{i, j, similarity, ending}
					if swapped {
						p.i, p.j = j, i
					}
					pairs = append(pairs, p)
				}
			})
		}
	}
	return pairs
}

// allForeign reports whether two or more words of a name, and all of its long ones, have an
// ending that a language adds to the names of foreigners.
func allForeign(tokens []*Token) bool {
	n := 0
	for _, t := range tokens {
		if t.role != plain || !t.latin {
			continue
		}
		if len(t.Text) < 4 || t.Text[len(t.Text)-1] != 's' {
			return false
		}
		n++
	}
	return n > 1
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
				x.merge(swapped, i, j, n, x.weight(t), x.comparer.weights.Acronym, acronym)
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

// rest adds the tokens that are not aligned to the parts.
func (x *alignment) rest() {
	for i, done := range x.doneA {
		if !done {
			x.parts = append(x.parts, Part{name: span{i, 1}})
		}
	}
	for j, done := range x.doneB {
		if !done {
			x.parts = append(x.parts, Part{other: span{j, 1}})
		}
	}
}
