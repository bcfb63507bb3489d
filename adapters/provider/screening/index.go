// The index of the names of a list.

package screening

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/adapters/provider/screening/names"
)

// index finds names of one kind. It never changes once it is built. Names and tokens
// are numbered; what belongs to number i of a list stands from starts[i] to
// starts[i+1].
type index struct {
	kind     names.Kind
	comparer *names.Comparer
	tokens   []names.Token
	keys     []uint64 // the hash of a key, and the token that has it; sorted
	names    groups   // the tokens of each name
	postings groups   // the names of each token
	entries  []uint32 // the entry of each name
	forms    []uint16 // the forms of each name, in shapes
	shapes   [][]string
	scratch  sync.Pool
}

// groups are lists of numbers, one after the other.
type groups struct {
	starts []uint32
	items  []uint32
}

func (g *groups) of(i uint32) []uint32 { return g.items[g.starts[i]:g.starts[i+1]] }
func (g *groups) size() int            { return len(g.starts) - 1 }

// builder collects names for an index.
type builder struct {
	index
	batch   *names.Comparer
	numbers map[string]uint32       // of tokens, by key
	seen    map[*names.Token]uint32 // the same, by token
	shaped  map[string]uint16
	joins   groups // the tokens that each name has besides if words are joined
	buffer  []uint32
}

func newBuilder(kind names.Kind, c *names.Comparer) *builder {
	return &builder{
		joins: groups{starts: []uint32{0}},
		index: index{kind: kind, comparer: c, names: groups{starts: []uint32{0}}, shapes: [][]string{nil}},
		batch: c.Batch(), numbers: map[string]uint32{}, seen: map[*names.Token]uint32{}, shaped: map[string]uint16{"": 0},
	}
}

// add adds a name of an entry. It reports whether the text is a name.
func (b *builder) add(entry uint32, text string) bool {
	n, err := b.batch.Parse(b.kind, text)
	if err != nil {
		return false
	}
	for _, t := range n.Tokens {
		b.names.items = append(b.names.items, b.number(t))
	}
	b.batch.Joins(n, func(t *names.Token) { b.joins.items = append(b.joins.items, b.number(t)) })
	b.joins.starts = append(b.joins.starts, uint32(len(b.joins.items)))
	b.names.starts = append(b.names.starts, uint32(len(b.names.items)))
	b.entries = append(b.entries, entry)
	b.forms = append(b.forms, b.shape(n.Forms))
	return true
}

// number returns the number of a token.
func (b *builder) number(t *names.Token) uint32 {
	number, ok := b.seen[t]
	if !ok {
		if number, ok = b.numbers[t.Key()]; !ok {
			number = uint32(len(b.tokens))
			b.numbers[t.Key()] = number
			b.tokens = append(b.tokens, *t)
		}
		b.seen[t] = number
	}
	return number
}

// maxShapes is the maximum number of different combinations of forms that are kept.
const maxShapes = 60_000

func (b *builder) shape(forms []string) uint16 {
	key := ""
	for _, f := range forms {
		key += f + "\n"
	}
	number, ok := b.shaped[key]
	if !ok && len(b.shapes) < maxShapes {
		number = uint16(len(b.shapes))
		b.shapes = append(b.shapes, forms)
		b.shaped[key] = number
	}
	return number
}

// build returns the index of the names so far.
func (b *builder) build() *index {
	x := &b.index
	starts := make([]uint32, len(x.tokens)+1)
	for i := range uint32(x.names.size()) {
		for _, t := range b.tokensOf(i) {
			starts[t+1]++
		}
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	items, next := make([]uint32, starts[len(starts)-1]), slices.Clone(starts)
	for i := range uint32(x.names.size()) {
		for _, t := range b.tokensOf(i) {
			items[next[t]] = i
			next[t]++
		}
	}
	x.postings = groups{starts, items}
	for i := range x.tokens {
		x.tokens[i].Weight = x.weight(len(x.postings.of(uint32(i))))
		x.comparer.Keys(&x.tokens[i], func(hash uint32) { x.keys = append(x.keys, uint64(hash)<<32|uint64(i)) })
	}
	slices.Sort(x.keys)
	x.keys = slices.Clip(slices.Compact(x.keys))
	x.tokens, x.entries, x.forms = slices.Clip(x.tokens), slices.Clip(x.entries), slices.Clip(x.forms)
	x.names.items, x.names.starts = slices.Clip(x.names.items), slices.Clip(x.names.starts)
	x.scratch.New = func() any { return &scratch{scores: make([]float32, x.names.size())} }
	return x
}

// tokensOf returns the tokens under which a name is found, without repetitions.
func (b *builder) tokensOf(name uint32) []uint32 {
	b.buffer = append(append(b.buffer[:0], b.names.of(name)...), b.joins.of(name)...)
	slices.Sort(b.buffer)
	return slices.Compact(b.buffer)
}

// scratch is the memory of one search.
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

// weight returns how much a token tells: 1.25 if one name has it, 0.75 if all have.
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

// search returns the names whose score is at least least, the best first.
func (x *index) search(query names.Name, least float32) []found {
	if x.names.size() == 0 {
		return nil
	}
	terms := x.terms(query)
	var out []found
	for _, candidate := range x.candidates(terms) {
		m := x.comparer.Compare(query, x.name(candidate))
		if m.Score >= least {
			out = append(out, found{candidate, m})
		}
	}
	slices.SortFunc(out, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.match.Score, a.match.Score), cmp.Compare(a.name, b.name))
	})
	return out
}

// terms returns the tokens of a query with what is similar to them: its own, and
// those that it has if words are joined or split.
func (x *index) terms(query names.Name) []term {
	terms := x.termsOf(query, (*names.Token).Telling)
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

// has reports whether the list has a token.
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

// bucket returns where the tokens with a key stand.
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
