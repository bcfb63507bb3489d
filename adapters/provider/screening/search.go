// Searching an index: which names share words with a query, and how alike they are.

package screening

import (
	"cmp"
	"math"
	"slices"

	"github.com/verifyd/verifyd/adapters/provider/screening/names"
)

type scratch struct {
	scores  []float32 // by name
	touched []uint32  // names with a score
}

// name returns a name of the list as it is compared.
func (x *index) name(i uint32) names.Name {
	n := names.Name{Kind: x.kind, Forms: x.shapes[x.forms[i]]}
	for _, t := range x.names.of(i) {
		n.Tokens = append(n.Tokens, &x.tokens[t])
	}
	return n
}

// weight returns the weight of a token that df names have: from 1.25 for one name to
// 0.75 for all.
func (x *index) weight(df int) float32 {
	n := float64(max(2, x.names.size()))
	return float32(0.75 + 0.5*max(0, math.Log(n/float64(max(1, df)))/math.Log(n)))
}

// term is what is looked up for one token of a query.
type term struct {
	token   *names.Token
	similar []likeness // tokens of the list, in the order of their numbers
	reach   int        // names that have one of them, at most
	own     bool       // a token of the query itself, not one that was made of it
}

// likeness is a token of the list, and how similar it is.
type likeness struct {
	token      uint32
	similarity float32
}

// maxCandidates is the maximum number of names that are compared with a query.
const maxCandidates = 160

// found is a name of the list that is like the query.
type found struct {
	name  uint32
	match names.Match
}

// search returns the names whose score is at least minimum, in no order.
func (x *index) search(query names.Name, minimum float32) []found {
	if x.names.size() == 0 {
		return nil
	}
	terms := x.terms(query)
	var out []found
	for _, candidate := range x.candidates(terms) {
		m := x.comparer.Compare(query, x.name(candidate))
		if m.Score >= minimum {
			out = append(out, found{candidate, m})
		}
	}
	return out
}

// terms returns the tokens of a query with what is similar to them: its own, and
// those that it has if words are joined or split.
func (x *index) terms(query names.Name) []term {
	terms := x.termsOf(query, (*names.Token).Distinctive)
	if !slices.ContainsFunc(terms, func(t term) bool { return len(t.similar) > 0 }) {
		terms = x.termsOf(query, func(*names.Token) bool { return true })
	}
	return terms
}

// termsOf returns the terms of those tokens that use accepts.
func (x *index) termsOf(query names.Name, use func(*names.Token) bool) []term {
	var terms []term
	add := func(t *names.Token, own bool) {
		if own && !use(t) {
			return
		}
		found := term{token: t, own: own}
		x.similar(&found)
		if len(found.similar) == 0 && !own {
			return
		}
		t.Weight = x.weight(found.reach)
		terms = append(terms, found)
	}
	for i, t := range query.Tokens {
		add(t, true)
		for n := 2; n <= 3 && i+n <= len(query.Tokens); n++ {
			add(x.comparer.Joined(x.kind, query.Tokens[i:i+n]), false)
		}
		for at := 2; at+2 <= len(t.Text) && len(t.Text) >= 5; at++ {
			left, right := x.comparer.Plain(x.kind, t.Text[:at]), x.comparer.Plain(x.kind, t.Text[at:])
			if x.has(left) && x.has(right) {
				add(left, false)
				add(right, false)
			}
		}
	}
	return terms
}

func (x *index) has(t *names.Token) bool {
	ok := false
	first := true
	x.comparer.Keys(t, func(hash uint32) {
		if first { // the key of the text
			from, to := x.bucket(hash)
			for _, key := range x.keys[from:to] {
				ok = ok || x.tokens[uint32(key)].Text == t.Text
			}
		}
		first = false
	})
	return ok
}

// bucket returns the range of the tokens with a key.
func (x *index) bucket(hash uint32) (from, to int) {
	from, _ = slices.BinarySearch(x.keys, uint64(hash)<<32)
	to = from
	for to < len(x.keys) && uint32(x.keys[to]>>32) == hash {
		to++
	}
	return from, to
}

// similar finds the tokens of the list that are similar to a term.
func (x *index) similar(t *term) {
	seen := map[uint32]bool{}
	x.comparer.Keys(t.token, func(hash uint32) {
		from, to := x.bucket(hash)
		for _, key := range x.keys[from:to] {
			number := uint32(key)
			if seen[number] {
				continue
			}
			seen[number] = true
			if s := x.comparer.Similar(x.kind, t.token, &x.tokens[number]); s > 0 {
				t.similar = append(t.similar, likeness{number, s})
				t.reach += len(x.postings.of(number))
			}
		}
	})
	slices.SortFunc(t.similar, func(a, b likeness) int { return cmp.Compare(a.token, b.token) })
}

// candidates returns the names that share most with the terms. The most common term
// adds no name that has none of the others.
func (x *index) candidates(terms []term) []uint32 {
	s, ok := x.scratch.Get().(*scratch)
	if !ok {
		return nil
	}
	defer func() {
		for _, name := range s.touched {
			s.scores[name] = 0
		}
		s.touched = s.touched[:0]
		x.scratch.Put(s)
	}()
	slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(a.reach, b.reach) })
	own := 0
	for _, t := range terms {
		if t.own && len(t.similar) > 0 {
			own++
		}
	}
	for _, t := range terms {
		if t.own && len(t.similar) > 0 {
			own--
		}
		if own == 0 && t.own && len(s.touched) > 0 {
			x.raise(s, t)
			continue
		}
		for _, like := range t.similar {
			for _, name := range x.postings.of(like.token) {
				if s.scores[name] == 0 {
					s.touched = append(s.touched, name)
				}
				s.scores[name] += like.similarity * t.token.Weight
			}
		}
	}
	return x.best(s)
}

// raise adds a term to the scores of names that have one already.
func (x *index) raise(s *scratch, t term) {
	if t.reach < len(s.touched) {
		for _, like := range t.similar {
			for _, name := range x.postings.of(like.token) {
				if s.scores[name] > 0 {
					s.scores[name] += like.similarity * t.token.Weight
				}
			}
		}
		return
	}
	for _, name := range s.touched {
		for _, token := range x.names.of(name) {
			at, ok := slices.BinarySearchFunc(t.similar, token, func(l likeness, number uint32) int { return cmp.Compare(l.token, number) })
			if ok {
				s.scores[name] += t.similar[at].similarity * t.token.Weight
			}
		}
	}
}

// best returns the names with the highest scores; of equal ones, those with the
// fewest tokens.
func (x *index) best(s *scratch) []uint32 {
	const levels = 512
	level := func(name uint32) int { return int(min(levels-1, s.scores[name]*64)) }
	var count [levels]int
	for _, name := range s.touched {
		count[level(name)]++
	}
	least, n := levels-1, 0
	for ; least > 0 && n+count[least] <= maxCandidates; least-- {
		n += count[least]
	}
	out, equal := make([]uint32, 0, maxCandidates), make([]uint32, 0, count[least])
	for _, name := range s.touched {
		switch l := level(name); {
		case l > least:
			out = append(out, name)
		case l == least:
			equal = append(equal, name)
		}
	}
	for size := 1; len(out) < maxCandidates && len(equal) > 0; size++ {
		rest := equal[:0]
		for _, name := range equal {
			switch {
			case len(x.names.of(name)) > size && size < 8:
				rest = append(rest, name)
			case len(out) < maxCandidates:
				out = append(out, name)
			}
		}
		equal = rest
	}
	return out
}
