// The score of two names.

package names

import "slices"

// Part is what one part of a name was aligned with.
type Part struct {
	Name, Other string // the words; one is empty if the other name has no similar word
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
// those that are Distinctive.
func (x *alignment) unmatched(tokens []*Token, done []bool) (weight float32, distinctive int) {
	for i, t := range tokens {
		if !done[i] {
			weight += x.weight(t)
			if t.Distinctive() {
				distinctive++
			}
		}
	}
	return weight, distinctive
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

// person returns the score of two names of people. A word that only one name has, such as
// a middle name, costs little; words that differ in both cost much.
func (x *alignment) person(m *Match) float32 {
	ua, _ := x.unmatched(x.a.Tokens, x.doneA)
	ub, _ := x.unmatched(x.b.Tokens, x.doneB)
	conflict, extra := min(ua, ub), max(ua, ub)-min(ua, ub)
	score := x.sum / (x.matched + conflict + min(0.27, 0.12*extra))
	if x.distinctive < 2 && max(ua, ub) >= 0.5 && !(x.distinctive == 1 && x.matched > 1.5) {
		m.Notes = append(m.Notes, "only one part of the name is the same")
		score *= 0.8
	}
	if x.distinctive == 0 && x.sum < x.matched+conflict+extra {
		score *= 0.6
	}
	switch a, b := x.a.Forms, x.b.Forms; {
	case len(a) > 0 && len(b) > 0 && a[0] != b[0]:
		m.Notes = append(m.Notes, "another generation: "+a[0]+" and "+b[0])
		score *= 0.8
	case len(a)+len(b) == 1:
		m.Notes = append(m.Notes, "only one name says the generation: "+slices.Concat(a, b)[0])
		score *= 0.97
	}
	return score
}

// company returns the score of two names of companies. A distinctive word that
// differs costs much; legal forms and words of many companies cost little.
func (x *alignment) company(m *Match) float32 {
	ua, distinctiveA := x.unmatched(x.a.Tokens, x.doneA)
	ub, distinctiveB := x.unmatched(x.b.Tokens, x.doneB)
	conflict, extra := min(ua, ub), max(ua, ub)-min(ua, ub)
	cost := float32(0.35)
	if x.minor(x.a.Tokens, x.doneA) && x.minor(x.b.Tokens, x.doneB) {
		cost = 0.2
	}
	score := x.sum / (x.matched + conflict + cost*extra)
	if x.distinctive == 0 && distinctiveA+distinctiveB > 0 {
		m.Notes = append(m.Notes, "only words that many companies have are the same")
		score *= 0.6
	}
	if distinctiveA > 0 && distinctiveB > 0 {
		m.Notes = append(m.Notes, "a distinctive word differs")
		score *= 0.85
	}
	if len(x.a.Forms) > 0 && len(x.b.Forms) > 0 && x.a.Forms[0] != x.b.Forms[0] {
		m.Notes = append(m.Notes, "another legal form")
		score *= 0.98
	}
	return score
}
