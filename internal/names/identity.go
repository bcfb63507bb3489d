// Identity: whether two names are the name of one person or company.

package names

import (
	"fmt"
	"slices"
	"strings"
)

// longestWord is the maximum length of a word that may be missing, unless it is a known
// name: a longer one is probably two names.
const longestWord = 8

// Identify returns whether two names of one kind are the same name. It asks for more than
// Compare: each word of a name needs a word of the other, but for titles, particles and
// one middle name. Its score is below 0.5 if one is missing, and the notes say why. The order of
// the names does not matter: words that are equally similar to several others are aligned in
// one order of the names.
func (c *Comparer) Identify(a, b Registered) Match {
	if b.text < a.text {
		return c.Identify(b, a).mirrored()
	}
	best := Match{Score: -1}
	for i, first := range slices.Concat(a.readings, a.aliases) {
		for j, second := range slices.Concat(b.readings, b.aliases) {
			m := c.identify(first, second)
			if i >= len(a.readings) || j >= len(b.readings) {
				m.Score *= c.weights.AliasOnly
				m.Notes = append(m.Notes, "only one of several names is compared")
			}
			if m.Score > best.Score {
				best = m
			}
		}
	}
	if a.parent != nil && b.parent != nil && c.Compare(*a.parent, *b.parent).Score < c.weights.PersonLeast {
		c.refuse(&best, "the names of the fathers differ")
	}
	for _, doubt := range slices.Concat(a.doubts(), b.doubts()) {
		c.refuse(&best, "%s", doubt)
	}
	return best
}

// mirrored returns the match of the names in the other order.
func (m Match) mirrored() Match {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		m.Parts[i].Name, m.Parts[i].Other, m.Parts[i].name, m.Parts[i].other = p.Other, p.Name, p.other, p.name
	}
	return m
}

// refuse notes why two names are not one.
func (c *Comparer) refuse(m *Match, format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
	m.Score = min(m.Score, c.weights.Refused)
}

func (c *Comparer) identify(a, b Name) Match {
	x := c.align(a, b)
	m := Match{Parts: x.parts}
	m = m.Written(a, b)
	var sum, words float32
	var differ []Part
	for i, p := range m.Parts {
		if !x.main(p) {
			continue
		}
		s := x.alike(p)
		words, sum = words+1, sum+s
		if s < c.weights.SameLeast {
			differ = append(differ, p)
			continue
		}
		m.Parts[i].Similarity = s
	}
	if words > 0 {
		m.Score = sum / words
	}
	for _, p := range differ {
		c.refuse(&m, "%s and %s are not one name", p.Name, p.Other)
	}
	if a.Kind == Company {
		x.sameCompany(&m)
	} else {
		x.samePerson(&m)
	}
	return m
}

// main reports whether a part has words of both names that are more than titles and
// particles.
func (x *alignment) main(p Part) bool {
	return p.name.size > 0 && p.other.size > 0 && slices.ContainsFunc(slices.Concat(x.a.tokens(p.name), x.b.tokens(p.other)), (*Token).main)
}

func (n Name) tokens(s span) []*Token { return n.Tokens[s.from : s.from+s.size] }

func (t *Token) main() bool { return t.role != title && t.role != particle }

// alike returns the similarity of the words of a part, which are one word from
// SameLeast on.
func (x *alignment) alike(p Part) float32 {
	w := &x.comparer.weights
	switch p.Reason {
	case letterOnly:
		return w.SameInitial
	case shortForm:
		return w.SameShortForm
	case spelling, typo:
		if shortest := min(len(x.a.Tokens[p.name.from].Text), len(x.b.Tokens[p.other.from].Text)); shortest <= 3 && p.Similarity < w.AlignFirst {
			return 0 // An and Anh
		}
	}
	return p.Similarity
}

// samePerson applies the rules of names of people.
func (x *alignment) samePerson(m *Match) {
	left, other := leftOver(x.a, x.doneA), leftOver(x.b, x.doneB)
	longer := x.a
	if len(other) > len(left) {
		left, other, longer = other, left, x.b
	}
	switch {
	case len(other) > 0:
		x.comparer.refuse(m, "each name has a word that the other has not")
	case len(left) > 1:
		x.comparer.refuse(m, "%d words are only in one name: at most one middle name may be missing", len(left))
	case len(left) == 1:
		x.missing(m, longer, left[0])
	case !slices.ContainsFunc(m.Parts, x.full) && slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Reason == letterOnly }):
		x.comparer.refuse(m, "only initials are the same")
	}
	switch a, b := x.a.Forms, x.b.Forms; {
	case len(a) > 0 && len(b) > 0 && a[0] != b[0]:
		x.comparer.refuse(m, "another generation: %s and %s", a[0], b[0])
	case len(a)+len(b) > 0 && (len(a) == 0 || len(b) == 0):
		m.Notes = append(m.Notes, "only one name says the generation: "+slices.Concat(a, b)[0])
		m.Score *= x.comparer.weights.GenerationMissing
		if len(left) > 0 {
			x.comparer.refuse(m, "two words are only in one name")
		}
	}
}

// missing applies the rules of a word that only the longer name has.
func (x *alignment) missing(m *Match, longer Name, at int) {
	r := x.comparer.tables.registry
	words := mainWords(longer)
	t := longer.Tokens[at]
	explained, full := 0, false
	for _, p := range m.Parts {
		if !x.main(p) {
			continue
		}
		explained += max(p.name.size, p.other.size)
		if !r.patronymic(t.Text) && (r.patronymic(x.a.Tokens[p.name.from].Text) || r.patronymic(x.b.Tokens[p.other.from].Text)) {
			explained--
		}
		full = full || x.full(p)
	}
	w := longer.word(at, 1)
	switch {
	case explained < 2 || !full:
		x.comparer.refuse(m, "only one part of the name is the same")
	case strings.ContainsAny(t.Text, "0123456789"):
		x.comparer.refuse(m, "%s is no name", w)
	case t.role == initial && x.particles():
		x.comparer.refuse(m, "an initial and a particle are only in one name")
	case t.role == initial:
		m.Score *= x.comparer.weights.MiddleMissing
	case x.eastAsian(longer, at):
		x.comparer.refuse(m, "%s is a part of the given name", w)
	case words[0] == at && !r.optional(x.comparer, t) && (x.china == notChinese || len(t.lines) == 0):
		x.comparer.refuse(m, "%s is the first name, and not a middle name", w)
	case x.comparer.twoNames(t):
		x.comparer.refuse(m, "%s looks like two names", w)
	case r.patronymic(t.Text):
		m.Score *= x.comparer.weights.PatronymicMissing
	default:
		m.Score *= x.comparer.weights.MiddleMissing
	}
}

// particles reports whether a particle is only in one name. After an initial it is a family
// name, as in O. Lê.
func (x *alignment) particles() bool {
	only := func(n Name, done []bool) bool {
		for i, t := range n.Tokens {
			if t.role == particle && !done[i] {
				return true
			}
		}
		return false
	}
	return only(x.a, x.doneA) || only(x.b, x.doneB)
}

// full reports whether a part has words of both names in full.
func (x *alignment) full(p Part) bool {
	return x.main(p) && p.Reason != letterOnly && length(x.a.tokens(p.name)) > 1 && length(x.b.tokens(p.other)) > 1
}

// length returns how long words are together, in ASCII.
func length(tokens []*Token) (n int) {
	for _, t := range tokens {
		n += len(t.Text)
	}
	return n
}

// mainWords returns the indexes of the words that are no titles and no particles.
func mainWords(n Name) []int {
	var out []int
	for i, t := range n.Tokens {
		if t.main() {
			out = append(out, i)
		}
	}
	return out
}

// leftOver returns the indexes of the main words that are not aligned.
func leftOver(n Name, done []bool) []int {
	return slices.DeleteFunc(mainWords(n), func(i int) bool { return done[i] })
}

// eastAsian reports whether a word is a syllable of a Chinese or Korean given name, so
// that the name without it is another one.
func (x *alignment) eastAsian(n Name, at int) bool {
	t, r := n.Tokens[at], x.comparer.tables.registry
	words := mainWords(n)
	first, last := n.Tokens[words[0]].Text, n.Tokens[words[len(words)-1]].Text
	if r.vietnamese[first] || r.vietnamese[last] {
		return false
	}
	if r.characters.MatchString(n.word(at, 1)) || x.china != notChinese && t.china {
		return true
	}
	if !r.korean[first] && !r.korean[last] {
		return false
	}
	return !slices.ContainsFunc(words, func(i int) bool { return !r.koreanWord.MatchString(n.Tokens[i].Text) })
}

// twoNames reports whether a word is too long for a name, or consists of two known names.
func (c *Comparer) twoNames(t *Token) bool {
	r := c.tables.registry
	word, limit := r.withoutPatronymic(t.Text), longestWord
	if t.mode == abjad {
		limit -= 2 // short vowels are not written
	}
	known := func(s string) bool { return len(c.tables.lines[s]) > 0 || r.known[s] }
	if known(word) {
		return false
	}
	for i := 3; i <= len(word)-3; i++ {
		if known(word[:i]) && known(word[i:]) {
			return true
		}
	}
	return len(word) > limit
}

// sameCompany applies the rules of names of companies.
func (x *alignment) sameCompany(m *Match) {
	extra := len(leftOver(x.a, x.doneA)) + len(leftOver(x.b, x.doneB))
	if extra > 0 {
		x.comparer.refuse(m, "a word of a company's name is only in one name")
	}
	for _, p := range m.Parts {
		switch {
		case p.Reason == acronym:
			x.comparer.refuse(m, "%s are only the initials", shorter(p.Name, p.Other))
		case p.Name != "" && p.Other != "" && p.Similarity == 1 && !x.sameWord(p):
			x.comparer.refuse(m, "%s and %s are not one word", p.Name, p.Other)
		}
	}
	a, b := x.comparer.tables.registry.forms(x.a), x.comparer.tables.registry.forms(x.b)
	switch {
	case len(a) == 0 && len(b) == 0:
	case len(a) == 0 || len(b) == 0:
		m.Notes = append(m.Notes, "only one name has a legal form: "+slices.Concat(a, b)[0].written)
		m.Score *= x.comparer.weights.FormMissing
	case !agree(a, b):
		x.comparer.refuse(m, "another legal form: %s and %s", a[0].written, b[0].written)
	}
}

func shorter(a, b string) string {
	if len(a) > len(b) {
		return b
	}
	return a
}

// sameWord reports whether two words with one meaning are the same word, or one is short
// for the other.
func (x *alignment) sameWord(p Part) bool {
	s, t := x.a.Tokens[p.name.from], x.b.Tokens[p.other.from]
	a, b := s.written, t.written
	if len(a) > len(b) {
		a, b = b, a
	}
	c := x.comparer
	if c.tables.standsFor(s, t) || c.tables.standsFor(t, s) {
		return true
	}
	return p.name.size+p.other.size > 2 || s.role == number || s.latin != t.latin || strings.HasPrefix(b, strings.TrimSuffix(a, "s")) || a[0] == b[0] && len(a) <= 4 ||
		c.sounds.similarity(c.tables.soundOf(a), c.tables.soundOf(b), spelled) >= c.weights.SameLeast
}
