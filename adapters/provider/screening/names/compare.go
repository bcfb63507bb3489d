// The score of two names.

package names

import (
	"cmp"
	"slices"
	"strings"
)

// Part is what one part of a name was aligned with.
type Part struct {
	Name, Other string // the words; one is empty if nothing is like the other
	Similarity  float32
	Reason      string
}

// Match is the result of a comparison.
type Match struct {
	Score float32 // 0 to 1
	Parts []Part
	// Notes say what else changed the score.
	Notes []string
}

// Compare returns how similar two names of one kind are.
func (c *Comparer) Compare(a, b Name) Match {
	x := c.align(a, b)
	m := Match{Parts: x.parts}
	if x.matched == 0 {
		return m
	}
	if a.Kind == Company {
		m.Score = x.company(&m)
	} else {
		m.Score = x.person(&m)
	}
	m.Score = min(1, max(0, m.Score))
	return m
}

// alignment is how the tokens of two names belong together.
type alignment struct {
	comparer     *Comparer
	a, b         Name
	china        chinese
	doneA, doneB []bool
	matched      float32 // the weight of what is aligned
	sum          float32 // the same, times similarity
	telling      int     // aligned tokens that tell something
	parts        []Part
}

// The least similarity of tokens that belong together.
const (
	personThreshold  = 0.62
	companyThreshold = 0.75
)

// pair is two tokens that may belong together.
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
	x.count(s.written, t.written, min(x.weight(s), x.weight(t)), p.similarity, p.why, s.Telling() && t.Telling())
}

func (x *alignment) count(name, other string, weight, similarity float32, why string, telling bool) {
	x.matched += weight
	x.sum += weight * similarity
	if telling {
		x.telling++
	}
	x.parts = append(x.parts, Part{name, other, similarity, why})
}

// joins aligns a token of one name with two or three neighbours in the other that
// are the same word when they are written as one.
func (x *alignment) joins(swapped bool) {
	single, several, doneSingle, doneSeveral := x.a.Tokens, x.b.Tokens, x.doneA, x.doneB
	if swapped {
		single, several, doneSingle, doneSeveral = several, single, doneSeveral, doneSingle
	}
	for i, t := range single {
		if doneSingle[i] || len(t.written) < 4 || t.role == number {
			continue
		}
		for j := range several {
			for n := 3; n >= 2; n-- {
				if j+n > len(several) || slices.Contains(doneSeveral[j:j+n], true) {
					continue
				}
				text, sound := join(several[j : j+n])
				similarity := x.joined(t, text, sound, several[j:j+n])
				if similarity == 0 {
					continue
				}
				doneSingle[i] = true
				var written []string
				weight := float32(0)
				for k := j; k < j+n; k++ {
					doneSeveral[k] = true
					written = append(written, several[k].written)
					weight = max(weight, x.weight(several[k]))
				}
				name, other := t.written, strings.Join(written, " ")
				if swapped {
					name, other = other, name
				}
				x.count(name, other, max(weight, x.weight(t)), similarity, "one word", true)
				if x.a.Kind == Person && len(several) == n && len(single) == 1 {
					x.telling++
				}
				break
			}
			if doneSingle[i] {
				break
			}
		}
	}
}

func join(tokens []*Token) (text, sound string) {
	var b, s strings.Builder
	for _, t := range tokens {
		b.WriteString(t.written)
		s.WriteString(t.writtenSound)
	}
	return b.String(), s.String()
}

// acronyms aligns a word with neighbours of the other name that it is the initials of,
// or ignores it if it is the initials of the rest of its own name.
func (x *alignment) acronyms(swapped bool) {
	single, several, doneSingle, doneSeveral := x.a.Tokens, x.b.Tokens, x.doneA, x.doneB
	if swapped {
		single, several, doneSingle, doneSeveral = several, single, doneSeveral, doneSingle
	}
	for i, t := range single {
		n := len(t.Text)
		if doneSingle[i] || t.role != plain || n < 3 || n > 6 {
			continue
		}
		if initials(slices.Delete(slices.Clone(single), i, i+1)) == t.Text {
			doneSingle[i] = true
			continue
		}
		for j := 0; j+n <= len(several); j++ {
			if slices.Contains(doneSeveral[j:j+n], true) || initials(several[j:j+n]) != t.Text {
				continue
			}
			doneSingle[i] = true
			var written []string
			for k := j; k < j+n; k++ {
				doneSeveral[k] = true
				written = append(written, several[k].written)
			}
			name, other := t.written, strings.Join(written, " ")
			if swapped {
				name, other = other, name
			}
			x.count(name, other, x.weight(t), 0.86, "initials", true)
			break
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

// weight returns how much a token counts.
func (x *alignment) weight(t *Token) float32 {
	w := float32(1)
	switch t.role {
	case initial:
		return 0.7
	case title, particle:
		return 0.1
	case generic:
		w = 0.4
	case filler:
		return 0.2
	case place:
		w = 0.6
	case number:
		return 0.9
	case plain:
	}
	switch {
	case t.Weight > 0:
		w *= t.Weight
	case x.a.Kind == Person && x.comparer.tables.common[t.Text]:
		w *= 0.9
	}
	return w
}

// unmatched returns the weight of the tokens that are not aligned, and the number of
// those that tell something.
func (x *alignment) unmatched(tokens []*Token, done []bool) (weight float32, telling int) {
	for i, t := range tokens {
		if !done[i] {
			weight += x.weight(t)
			if t.Telling() {
				telling++
			}
		}
	}
	return weight, telling
}

// minor reports whether only places and words such as group are not aligned.
func (x *alignment) minor(tokens []*Token, done []bool) bool {
	for i, t := range tokens {
		if !done[i] && t.role != place && t.role != filler && t.role != particle {
			return false
		}
	}
	return true
}

// person returns the score of two names of people. What only one name has, such as a
// middle name, costs little; what differs in both costs much.
func (x *alignment) person(m *Match) float32 {
	ua, _ := x.unmatched(x.a.Tokens, x.doneA)
	ub, _ := x.unmatched(x.b.Tokens, x.doneB)
	conflict, extra := min(ua, ub), max(ua, ub)-min(ua, ub)
	score := x.sum / (x.matched + conflict + min(0.27, 0.12*extra))
	if x.telling < 2 && max(ua, ub) >= 0.5 && !(x.telling == 1 && x.matched > 1.5) {
		m.Notes = append(m.Notes, "only one part of the name is the same")
		score *= 0.8
	}
	if x.telling == 0 && x.sum < x.matched+conflict+extra {
		score *= 0.6
	}
	if len(x.a.Forms) > 0 && len(x.b.Forms) > 0 && x.a.Forms[0] != x.b.Forms[0] {
		m.Notes = append(m.Notes, "another generation: "+x.a.Forms[0]+" and "+x.b.Forms[0])
		score *= 0.8
	}
	return score
}

// company returns the score of two names of companies. A word that tells something
// and differs costs much; legal forms and words of many companies cost little.
func (x *alignment) company(m *Match) float32 {
	ua, tellingA := x.unmatched(x.a.Tokens, x.doneA)
	ub, tellingB := x.unmatched(x.b.Tokens, x.doneB)
	conflict, extra := min(ua, ub), max(ua, ub)-min(ua, ub)
	cost := float32(0.35)
	if x.minor(x.a.Tokens, x.doneA) && x.minor(x.b.Tokens, x.doneB) {
		cost = 0.2
	}
	score := x.sum / (x.matched + conflict + cost*extra)
	if x.telling == 0 && tellingA+tellingB > 0 {
		m.Notes = append(m.Notes, "only words that many companies have are the same")
		score *= 0.6
	}
	if tellingA > 0 && tellingB > 0 {
		m.Notes = append(m.Notes, "a telling word differs")
		score *= 0.85
	}
	if len(x.a.Forms) > 0 && len(x.b.Forms) > 0 && x.a.Forms[0] != x.b.Forms[0] {
		m.Notes = append(m.Notes, "another legal form")
		score *= 0.98
	}
	return score
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
