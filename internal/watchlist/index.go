// The index of the names of a list.

package watchlist

import (
	"slices"
	"sync"

	"github.com/verifyd/verifyd/internal/names"
)

// index finds names of one kind. It never changes once it is built. Names and tokens
// are numbered; the items of number i of a list are those from starts[i] to
// starts[i+1].
type index struct {
	kind     names.Kind
	comparer *names.Comparer
	tokens   []*names.Token
	memory   int64    // bytes of the tokens
	keys     []uint64 // the hash of a key, and the token that has it; sorted
	names    groups   // the tokens of each name
	postings groups   // the names of each token
	entries  []uint32 // the entry of each name
	aliases  []uint16 // which name of its entry each name is
	forms    []uint16 // the forms of each name, in shapes
	weights  []uint8  // the weight of each name, as packed
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

type builder struct {
	index
	batch   *names.Comparer
	numbers map[string]uint32       // of tokens, by key
	seen    map[*names.Token]uint32 // the same, by token
	shaped  map[string]uint16
	buffer  []uint32
}

func newBuilder(kind names.Kind, c *names.Comparer) *builder {
	return &builder{
		index: index{kind: kind, comparer: c, names: groups{starts: []uint32{0}}, shapes: [][]string{nil}},
		batch: c.Batch(), numbers: map[string]uint32{}, seen: map[*names.Token]uint32{}, shaped: map[string]uint16{"": 0},
	}
}

// add adds a name of an entry. It reports whether the whole text is compared.
func (b *builder) add(entry uint32, alias uint16, text string) bool {
	n, err := b.batch.Parse(b.kind, text)
	if err != nil {
		return false
	}
	for _, t := range n.Tokens {
		b.names.items = append(b.names.items, b.number(t))
	}
	b.names.starts = append(b.names.starts, uint32(len(b.names.items)))
	b.entries = append(b.entries, entry)
	b.aliases = append(b.aliases, alias)
	b.forms = append(b.forms, b.shape(n.Forms))
	return len(n.Doubts) == 0
}

func (b *builder) number(t *names.Token) uint32 {
	number, ok := b.seen[t]
	if !ok {
		if number, ok = b.numbers[t.Key()]; !ok {
			number = uint32(len(b.tokens))
			b.numbers[t.Key()] = number
			b.tokens = append(b.tokens, t)
			b.memory += int64(t.Size())
			b.batch.Keys(t, func(hash uint32) { b.keys = append(b.keys, uint64(hash)<<32|uint64(number)) })
		}
		b.seen[t] = number
	}
	return number
}

// bytes returns the memory that the index takes, about: it counts what the index keeps by its
// length, and the scratch of one search.
func (x *index) bytes() int64 {
	const perName, perToken, perItem, perKey = 4 + 4 + 2 + 2 + 1 + 4, 8 + 4, 4 + 4, 8
	return x.memory + perName*int64(len(x.entries)) + perToken*int64(len(x.tokens)) + perItem*int64(len(x.names.items)) + perKey*int64(len(x.keys))
}

// forget drops what only add needs.
func (b *builder) forget() { b.batch, b.numbers, b.seen, b.shaped = nil, nil, nil, nil }

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
	for i, t := range x.tokens {
		t.Weight = x.weight(len(x.postings.of(uint32(i))))
	}
	slices.Sort(x.keys)
	// Copies have no room to grow, which would be up to a quarter.
	x.keys = slices.Clone(slices.Compact(x.keys))
	x.tokens, x.entries, x.aliases, x.forms = slices.Clone(x.tokens), slices.Clone(x.entries), slices.Clone(x.aliases), slices.Clone(x.forms)
	x.names.items, x.names.starts = slices.Clone(x.names.items), slices.Clone(x.names.starts)
	x.weights = make([]uint8, x.names.size())
	for i := range x.weights {
		x.weights[i] = x.packed(uint32(i))
	}
	x.scratch.New = func() any { return &scratch{slots: make([]uint32, x.names.size())} }
	return x
}

// tokensOf returns the tokens of a name without repetitions.
func (b *builder) tokensOf(name uint32) []uint32 {
	b.buffer = append(b.buffer[:0], b.names.of(name)...)
	slices.Sort(b.buffer)
	return slices.Compact(b.buffer)
}
