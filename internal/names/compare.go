// The score of two names.

package names

import "slices"

// Part is what one part of a name was aligned with.
type Part struct {
	Name, Other string // the words; one is empty if the other name has no similar word
	Similarity  float32
	Reason      string

	name, other span
}

// span is some neighbours among the tokens of a name.
type span struct{ from, size int }

// Match is the result of a comparison.
type Match struct {
	Score float32 // 0 to 1
	Parts []Part
	// Notes say what else changed the score.
	Notes []string
}

// Written returns the match with the words of its parts as the names write them. Each name
// must have the tokens of the one that was compared.
func (m Match) Written(a, b Name) Match {
	parts := slices.Clone(m.Parts)
	for i := range parts {
		p := &parts[i]
		p.Name, p.Other = a.word(p.name.from, p.name.size), b.word(p.other.from, p.other.size)
	}
	m.Parts = parts
	return m
}

// Compare returns how similar two names of one kind are.
func (c *Comparer) Compare(a, b Name) Match {
	x := c.align(a, b)
	m := Match{Parts: x.parts}
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Name, p.Other = a.word(p.name.from, p.name.size), b.word(p.other.from, p.other.size)
	}
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
	w, weights := float32(1), &x.comparer.weights
	switch t.role {
	case initial:
		return weights.Initial
	case title, particle:
		return weights.Title
	case generic:
		w = weights.Generic
	case filler:
		return weights.Filler
	case place:
		w = weights.Place
	case number:
		return weights.Number
	case plain:
	}
	switch {
	case t.Weight > 0:
		w *= t.Weight
	case x.a.Kind == Person && x.comparer.tables.common[t.Text]:
		w *= weights.Common
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

// extra returns the weight of the tokens that only one name has. In a chain such as Osama bin
// Muhammad ibn Awad, particles add nothing and the names of fathers less than others.
func (x *alignment) extra(tokens []*Token, done []bool) (weight float32) {
	for i, t := range tokens {
		chain := i > 0 && tokens[i-1].role == particle && x.comparer.tables.chains[tokens[i-1].Text]
		switch {
		case done[i] || t.role == particle:
		case chain:
			weight += x.comparer.weights.ChainExtra * x.weight(t)
		default:
			weight += x.weight(t)
		}
	}
	return weight
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
	w := &x.comparer.weights
	ua, _ := x.unmatched(x.a.Tokens, x.doneA)
	ub, _ := x.unmatched(x.b.Tokens, x.doneB)
	conflict := min(ua, ub)
	extra := max(0, x.extra(x.a.Tokens, x.doneA)-conflict, x.extra(x.b.Tokens, x.doneB)-conflict)
	score := x.sum / (x.matched + conflict + min(w.PersonExtraMost, w.PersonExtra*extra))
	if x.distinctive < 2 && max(ua, ub) >= 0.5 && !(x.distinctive == 1 && x.matched > 1.5) {
		m.Notes = append(m.Notes, "only one part of the name is the same")
		score *= w.OneWord
	}
	if x.distinctive == 0 && x.sum < x.matched+conflict+extra {
		score *= w.NoWord
	}
	switch a, b := x.a.Forms, x.b.Forms; {
	case len(a) > 0 && len(b) > 0 && a[0] != b[0]:
		m.Notes = append(m.Notes, "another generation: "+a[0]+" and "+b[0])
		score *= w.OtherGeneration
	case len(a)+len(b) == 1:
		m.Notes = append(m.Notes, "only one name says the generation: "+slices.Concat(a, b)[0])
		score *= w.OneGeneration
	}
	return score
}

// company returns the score of two names of companies. A distinctive word that
// differs costs much; legal forms and words of many companies cost little.
func (x *alignment) company(m *Match) float32 {
	w := &x.comparer.weights
	ua, distinctiveA := x.unmatched(x.a.Tokens, x.doneA)
	ub, distinctiveB := x.unmatched(x.b.Tokens, x.doneB)
	conflict, extra := min(ua, ub), max(ua, ub)-min(ua, ub)
	cost := w.CompanyExtra
	if x.minor(x.a.Tokens, x.doneA) && x.minor(x.b.Tokens, x.doneB) {
		cost = w.CompanyExtraMinor
	}
	score := x.sum / (x.matched + conflict + cost*extra)
	if x.distinctive == 0 && distinctiveA+distinctiveB > 0 {
		m.Notes = append(m.Notes, "only words that many companies have are the same")
		score *= w.OnlyCommon
	}
	if distinctiveA > 0 && distinctiveB > 0 {
		m.Notes = append(m.Notes, "a distinctive word differs")
		score *= w.DistinctiveDiffers
	}
	if len(x.a.Forms) > 0 && len(x.b.Forms) > 0 && x.a.Forms[0] != x.b.Forms[0] {
		m.Notes = append(m.Notes, "another legal form")
		score *= w.OtherForm
	}
	return score
}
