// Searching an index: which names are like a query.

package watchlist

import (
	"cmp"
	"math"
	"slices"

	"github.com/verifyd/verifyd/internal/names"
)

// name returns a name of the list as it is compared.
func (x *index) name(i uint32) names.Name {
	n := names.Name{Kind: x.kind, Forms: x.shapes[x.forms[i]]}
	for _, t := range x.names.of(i) {
		n.Tokens = append(n.Tokens, x.tokens[t])
	}
	return n
}

// weight returns the weight of a token that df names have: from 1.25 for one name to
// 0.75 for all.
func (x *index) weight(df int) float32 {
	n := float64(max(2, x.names.size()))
	return float32(0.75 + 0.5*max(0, math.Log(n/float64(max(1, df)))/math.Log(n)))
}

// found is a name of the list that is like the query.
type found struct {
	name  uint32
	match names.Match
}

// maxCompared is the maximum number of different names that are compared with a query.
const maxCompared = 1000

// search returns the names whose score is at least minimum, in no order. It compares the
// names whose bound is near the minimum or above it, those with the highest bound first.
func (x *index) search(query names.Name, minimum float32) []found {
	if x.names.size() == 0 {
		return nil
	}
	var out []found
	known, key := map[string]names.Match{}, []byte(nil)
	for _, candidate := range x.candidates(query, x.terms(query), minimum) {
		key = x.key(key[:0], candidate)
		m, ok := known[string(key)]
		if !ok {
			if len(known) == maxCompared {
				continue
			}
			m = x.comparer.Compare(query, x.name(candidate))
			known[string(key)] = m
		}
		if m.Score >= minimum {
			out = append(out, found{candidate, m})
		}
	}
	return out
}

// key appends what two names have in common that are compared alike.
func (x *index) key(to []byte, name uint32) []byte {
	to = append(to, byte(x.forms[name]), byte(x.forms[name]>>8))
	for _, t := range x.names.of(name) {
		to = append(to, byte(t), byte(t>>8), byte(t>>16), byte(t>>24))
	}
	return to
}

// term is what of the list is like some neighbours among the tokens of a query, mostly one.
type term struct {
	from, size int
	similar    []likeness   // in the order of their tokens
	pieces     [][]likeness // instead of similar: words that are one in the query, in their order
	beside     []likeness   // instead of similar: a word that is one with its neighbour in the query
	common     bool         // not Distinctive
}

// likeness is a token of the list, and how similar it is.
type likeness struct {
	token      uint32
	similarity float32
}

// terms returns what of the list is like the tokens of a query, also if words are joined or
// split, and sets their weights.
func (x *index) terms(query names.Name) []term {
	var terms []term
	joined := func(from, size int, tokens []*names.Token) {
		var similar []likeness
		for _, word := range x.comparer.Joined(x.kind, tokens) {
			similar = append(similar, slices.DeleteFunc(x.similar(word), func(l likeness) bool { return !x.comparer.SameWord(l.similarity) })...)
		}
		if len(similar) > 0 {
			terms = append(terms, term{from: from, size: size, similar: similar})
		}
	}
	for i, t := range query.Tokens {
		own := term{from: i, size: 1, similar: x.similar(t), common: !t.Distinctive()}
		t.Weight = x.weight(x.reach(own.similar))
		terms = append(terms, own)
		for n := 2; n <= 3 && i+n <= len(query.Tokens); n++ {
			joined(i, n, query.Tokens[i:i+n])
		}
		split, beside := x.split(t)
		for _, pieces := range split {
			terms = append(terms, term{from: i, size: 1, pieces: pieces})
		}
		if len(beside) > 0 {
			terms = append(terms, term{from: i, size: 1, beside: beside})
		}
	}
	if x.kind == names.Person {
		for _, tokens := range names.Orders(query.Tokens) {
			joined(0, len(tokens), tokens)
		}
	}
	return terms
}

// maxBeside is the maximum number of names with a piece of a word whose neighbours are looked at.
const maxBeside = 2000

// split returns the ways in which a token is two or three tokens of the list. At most one of
// two is only similar to a token, and none of three. beside are the rare tokens with which the
// token begins or ends.
func (x *index) split(t *names.Token) (out [][][]likeness, beside []likeness) {
	text := t.Text
	if len(text) < 4 || t.Initial() {
		return nil, nil
	}
	const least, leastBeside = 2, 3 // letters of a piece
	for at := 1; at < len(text); at++ {
		left, right := x.exactly(text[:at]), x.exactly(text[at:])
		if at >= leastBeside && len(left) > 0 && x.reach(left) <= maxBeside {
			beside = append(beside, left...)
		}
		if len(text)-at >= leastBeside && len(right) > 0 && x.reach(right) <= maxBeside {
			beside = append(beside, right...)
		}
		if at < least || at+least > len(text) {
			continue
		}
		for end := at + least; len(left) > 0 && end+least <= len(text); end++ {
			if last := x.exactly(text[end:]); len(last) > 0 {
				if middle := x.exactly(text[at:end]); len(middle) > 0 {
					out = append(out, [][]likeness{left, middle, last})
				}
			}
		}
		switch {
		case len(right) > 0:
			left = x.similar(x.comparer.Plain(x.kind, text[:at]))
		case len(left) > 0:
			right = x.similar(x.comparer.Plain(x.kind, text[at:]))
		}
		if len(left) > 0 && len(right) > 0 {
			out = append(out, [][]likeness{left, right})
		}
	}
	return out, beside
}

// exactly returns the tokens of the list that are written like a text.
func (x *index) exactly(text string) []likeness {
	var out []likeness
	from, to := x.bucket(names.TextKey(text))
	for _, key := range x.keys[from:to] {
		if x.tokens[uint32(key)].Writes(text) {
			out = append(out, likeness{uint32(key), 1})
		}
	}
	return out
}

// reach returns the number of names that have one of some tokens, at most.
func (x *index) reach(tokens []likeness) int {
	n := 0
	for _, like := range tokens {
		n += len(x.postings.of(like.token))
	}
	return n
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

// similar returns the tokens of the list that are similar to a token.
func (x *index) similar(t *names.Token) []likeness {
	var out []likeness
	var numbers []uint32
	x.comparer.Keys(t, func(hash uint32) {
		from, to := x.bucket(hash)
		for _, key := range x.keys[from:to] {
			numbers = append(numbers, uint32(key))
		}
	})
	slices.Sort(numbers)
	for _, number := range slices.Compact(numbers) {
		if s := x.comparer.Similar(x.kind, t, x.tokens[number]); s > 0 {
			out = append(out, likeness{number, s})
		}
	}
	return out
}

// has returns how similar a token of the list is to a term; 0 if it is none of them.
func has(similar []likeness, token uint32) float32 {
	at, ok := slices.BinarySearchFunc(similar, token, func(l likeness, number uint32) int { return cmp.Compare(l.token, number) })
	if !ok {
		return 0
	}
	return similar[at].similarity
}
