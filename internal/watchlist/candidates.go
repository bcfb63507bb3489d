// The names that are compared with a query: those that may reach a score.

package watchlist

import (
	"slices"

	"github.com/verifyd/verifyd/internal/names"
)

// margin is how much lower than the score that is looked for the bound of a name may be: the
// index does not know of all tokens that are alike.
const margin = 0.2

// maxTokens is the most tokens that a name has.
const maxTokens = 16

// scratch is what is known of the names that share a token with a query. Each has a slot.
type scratch struct {
	slots   []uint32 // by name: the number of its slot and 1, or 0
	touched []uint32 // the name of each slot
	size    int      // the tokens of the query
	similar []uint8  // by slot and token of the query: the similarity of what is most alike
	// covered is, by slot, the weight of what is alike in the name less that in the query: not
	// 0 if words are joined or split.
	covered []float32
	// rare says, by slot, that the name has a word that is like one of the query and that few names have.
	rare []bool
	none [maxTokens]uint8
}

// raise notes that a token of the query, or some neighbours, are like a name.
func (s *scratch) raise(name uint32, from, size int, similarity, covered float32) {
	slot := int(s.slots[name]) - 1
	if slot < 0 {
		s.touched = append(s.touched, name)
		slot = len(s.touched) - 1
		s.slots[name] = uint32(slot) + 1
		s.similar = append(s.similar, s.none[:s.size]...)
		s.covered = append(s.covered, 0)
		s.rare = append(s.rare, false)
	}
	quantized := uint8(similarity*250 + 0.5)
	if size == 1 && covered == 0 {
		at := &s.similar[slot*s.size+from]
		*at = max(*at, quantized)
		return
	}
	similar := s.similar[slot*s.size+from : slot*s.size+from+size]
	if covered > 0 && similar[0] < quantized || covered < 0 && !slices.ContainsFunc(similar, func(known uint8) bool { return known > 0 }) {
		s.covered[slot] = covered
	}
	for i, known := range similar {
		similar[i] = max(known, quantized)
	}
}

func (s *scratch) clear() {
	for _, name := range s.touched {
		s.slots[name] = 0
	}
	s.touched, s.similar, s.covered, s.rare = s.touched[:0], s.similar[:0], s.covered[:0], s.rare[:0]
}

// maxRare is the maximum number of names that have a word that is rare.
const maxRare = 50

// candidates returns the names whose bound is at least minimum less the margin, those with
// the highest bound first. Names that have a rare word of the query are candidates whatever their bound is: another word
// may be alike that the index does not know of, and what is found must not depend on the minimum.
func (x *index) candidates(query names.Name, terms []term, minimum float32) []uint32 {
	s, ok := x.scratch.Get().(*scratch)
	if !ok {
		return nil
	}
	defer func() {
		s.clear()
		x.scratch.Put(s)
	}()
	s.size = min(len(query.Tokens), maxTokens)
	common := !slices.ContainsFunc(terms, func(t term) bool { return !t.common && t.size == 1 && len(t.similar) > 0 })
	weights := make([]float32, s.size)
	for i, t := range query.Tokens {
		weights[i] = x.comparer.Weight(x.kind, t)
	}
	for _, t := range terms {
		if common || !t.common {
			x.touch(s, query, t, weights)
		}
	}
	if len(s.touched) > maxCompared && !common {
		x.recall(s, terms)
	}
	const levels = 256
	var byLevel [levels + 1]uint32
	bounds := make([]uint8, len(s.touched))
	least := uint8(max(0, minimum-margin) * (levels - 1))
	for slot := range s.touched {
		bounds[slot] = uint8(min(1, x.bound(s, slot, query, weights, common)) * (levels - 1))
		if s.rare[slot] {
			bounds[slot] = max(bounds[slot], least)
		}
		byLevel[levels-1-int(bounds[slot])+1]++
	}
	for i := 1; i <= levels; i++ {
		byLevel[i] += byLevel[i-1]
	}
	out := make([]uint32, byLevel[levels-int(least)])
	for slot, name := range s.touched {
		if bounds[slot] >= least {
			at := &byLevel[levels-1-int(bounds[slot])]
			out[*at] = name
			*at++
		}
	}
	return out
}

// recall notes which of the names that are known have the common terms too, so that those with the most in
// common are compared first.
func (x *index) recall(s *scratch, terms []term) {
	for _, t := range terms {
		if !t.common {
			continue
		}
		for _, like := range t.similar {
			for _, name := range x.postings.of(like.token) {
				if s.slots[name] > 0 {
					s.raise(name, t.from, t.size, like.similarity, 0)
				}
			}
		}
	}
}

// touch notes the names that have a term.
func (x *index) touch(s *scratch, query names.Name, t term, weights []float32) {
	if len(t.pieces) > 0 {
		x.touchPieces(s, t, weights[t.from])
		return
	}
	if len(t.beside) > 0 {
		x.touchBeside(s, t, query.Tokens[t.from], weights[t.from])
		return
	}
	covered := float32(0)
	for _, w := range weights[t.from+1 : t.from+t.size] {
		covered -= w // the name has one word for them
	}
	rare := !t.common && t.size == 1 && x.reach(t.similar) <= maxRare
	for _, like := range t.similar {
		for _, name := range x.postings.of(like.token) {
			s.raise(name, t.from, t.size, like.similarity, covered)
			if rare {
				s.rare[s.slots[name]-1] = true
			}
		}
	}
}

// touchPieces notes the names that have the pieces of a token side by side. It looks at the
// names of the rarest piece.
func (x *index) touchPieces(s *scratch, t term, weight float32) {
	rarest := 0
	for i := range t.pieces {
		if x.reach(t.pieces[i]) < x.reach(t.pieces[rarest]) {
			rarest = i
		}
	}
	for _, like := range t.pieces[rarest] {
		for _, name := range x.postings.of(like.token) {
			tokens := x.names.of(name)
			for at := 0; at+len(t.pieces) <= len(tokens); at++ {
				window := tokens[at : at+len(t.pieces)]
				turned := s.size == 1 && len(window) == len(tokens) && x.spellsTurned(window, t.pieces)
				if !turned && !spells(window, t.pieces) {
					continue
				}
				covered := -weight
				for _, token := range window {
					covered += x.tokens[token].Weight
				}
				s.raise(name, t.from, 1, 0.98, covered)
			}
		}
	}
}

// spells reports whether tokens are the pieces of a word in their order.
func spells(tokens []uint32, pieces [][]likeness) bool {
	for i, piece := range pieces {
		if has(piece, tokens[i]) == 0 {
			return false
		}
	}
	return true
}

// spellsTurned reports whether the name of a person is the pieces of a word in another order, as
// names.Orders has them.
func (x *index) spellsTurned(tokens []uint32, pieces [][]likeness) bool {
	if x.kind != names.Person {
		return false
	}
	for first := 1; first < len(tokens); first++ {
		if turned := slices.Concat(tokens[first:], tokens[:first]); spells(turned, pieces) {
			return true
		}
	}
	return false
}

// touchBeside notes the names that have a piece of a token and beside it any word with which it is
// the token.
func (x *index) touchBeside(s *scratch, t term, word *names.Token, weight float32) {
	type side struct {
		pair [2]uint32
		only bool // the name has no other word
	}
	known := map[side]bool{}
	for _, like := range t.beside {
		for _, name := range x.postings.of(like.token) {
			tokens := x.names.of(name)
			for at := range len(tokens) - 1 {
				pair := [2]uint32(tokens[at : at+2])
				if pair[0] != like.token && pair[1] != like.token {
					continue
				}
				left, right := x.tokens[pair[0]], x.tokens[pair[1]]
				at := side{pair, len(tokens) == 2}
				same, ok := known[at]
				if !ok {
					same = x.comparer.Spells(x.kind, word, []*names.Token{left, right}) ||
						x.kind == names.Person && s.size == 1 && at.only && x.comparer.Spells(x.kind, word, []*names.Token{right, left})
					known[at] = same
				}
				if same {
					s.raise(name, t.from, 1, 0.98, left.Weight+right.Weight-weight)
				}
			}
		}
	}
}

// bound returns about the highest score that a name can reach. Words that many names have
// are taken to be alike as far as they can be.
func (x *index) bound(s *scratch, slot int, query names.Name, weights []float32, common bool) float32 {
	var b names.Bound
	name := s.touched[slot]
	maybe := float32(0)
	for i, similar := range s.similar[slot*s.size : (slot+1)*s.size] {
		distinctive := query.Tokens[i].Distinctive()
		switch {
		case similar > 0:
			b.Matched += weights[i]
			b.Sum += weights[i] * float32(similar) / 250
			if distinctive {
				b.Distinctive++
			}
		case !distinctive && !common:
			maybe += weights[i]
		default:
			b.Query += weights[i]
		}
	}
	total, initials := unpacked(x.weights[name])
	b.Name = max(0, total-b.Matched-s.covered[slot])
	if s.covered[slot] > 0 {
		b.Distinctive++
	}
	if maybe > 0 {
		alike := min(maybe, b.Name)
		if x.kind == names.Person && alike > 0 {
			alike -= min(alike, x.otherInitials(query, weights, name))
		}
		b.Matched, b.Sum, b.Name, b.Query = b.Matched+alike, b.Sum+alike, b.Name-alike, b.Query+maybe-alike
	}
	if initials && b.Query > 0 && x.abbreviated(s, slot, query, name) {
		alike := min(b.Query, b.Name, 0.7)
		b.Matched, b.Sum, b.Name, b.Query = b.Matched+alike, b.Sum+0.8*alike, b.Name-alike, b.Query-min(b.Query, 1)
	}
	return x.comparer.Bound(x.kind, b)
}

// otherInitials returns the weight of the initials of a query for which a name has no word.
func (x *index) otherInitials(query names.Name, weights []float32, name uint32) float32 {
	without := float32(0)
	used := uint64(0)
	for i, t := range query.Tokens {
		if !t.Initial() {
			continue
		}
		found := false
		for at, token := range x.names.of(name) {
			if used&(1<<at) == 0 && x.comparer.Similar(x.kind, t, x.tokens[token]) > 0 {
				used |= 1 << at
				found = true
				break
			}
		}
		if !found {
			without += weights[i]
		}
	}
	return without
}

// abbreviated reports whether a name has the initial of a token of the query that it does
// not have.
func (x *index) abbreviated(s *scratch, slot int, query names.Name, name uint32) bool {
	for i, similar := range s.similar[slot*s.size : (slot+1)*s.size] {
		if similar == 0 && slices.ContainsFunc(x.names.of(name), func(token uint32) bool {
			t := x.tokens[token]
			return t.Initial() && x.comparer.Similar(x.kind, query.Tokens[i], t) > 0
		}) {
			return true
		}
	}
	return false
}

// The weight of a name is packed with a bit that says whether it has an initial.
const (
	withInitial = 0x80
	weightUnit  = 0.1
)

func (x *index) packed(name uint32) uint8 {
	total, initials := float32(0), uint8(0)
	for _, token := range x.names.of(name) {
		t := x.tokens[token]
		total += x.comparer.Weight(x.kind, t)
		if t.Initial() {
			initials = withInitial
		}
	}
	return uint8(min(withInitial-1, total/weightUnit)) | initials
}

func unpacked(weight uint8) (total float32, initials bool) {
	return float32(weight&^withInitial) * weightUnit, weight&withInitial > 0
}
