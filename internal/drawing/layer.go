// Layers: the rows of a picture.

package drawing

import (
	"errors"
	"slices"
)

// ErrTooLarge is returned for a definition whose picture would have more than
// 20,000 nodes, labels and bends.
var ErrTooLarge = errors.New("the graph is too large for a picture")

// maxSlots bounds the time and the size of a picture.
const maxSlots = 20_000

type slotKind int

const (
	slotNode  slotKind = iota
	slotStart          // the mark above the first node
	slotLabel          // the label of an arrow
	slotBend           // an arrow passes here; arrows to the same node share their bends
	slotTurn           // keeps the two sides of a turning arrow together
)

// slot is one element of a layer. Sizes and positions are in pixels.
type slot struct {
	kind  slotKind
	layer int
	ref   int     // the number of the vertex or of the arrow
	w, h  float64 // its size
	x     float64 // its centre
}

// link joins slots of adjacent layers: a in the upper one, b in the lower one.
type link struct {
	a, b   int
	weight float64 // how straight it should be
}

// sketch is the layered form of a drawing. The layers with odd numbers hold the
// nodes, those between them the labels.
type sketch struct {
	arrows []arrow
	slots  []slot
	links  []link
	linked map[[2]int]bool
	layers [][]int // the slots of each layer in their order
	nodes  []int   // the slot of each vertex
	start  int     // the slot of the start mark; -1 for none
}

// arrow is all edges from one vertex to another.
type arrow struct {
	from, to int // numbers of vertices; from is -1 at the start
	edges    []edge
	lines    []line // of its label
	count    int    // of the runs that went along it; -1 if unknown
	back     bool   // it leads up, to an earlier node
	via      []int  // the slots between its nodes, in its direction
}

// newSketch puts every vertex in a layer, and the labels and bends of arrows in the
// layers between. size returns the size of a vertex, arrows come in their order.
func newSketch(n int, size func(int) (w, h float64), arrows []arrow) (*sketch, error) {
	s := &sketch{arrows: arrows, start: -1, nodes: make([]int, n), linked: map[[2]int]bool{}}
	ranks := s.rank(n)
	layers := 1
	for v, r := range ranks {
		w, h := size(v)
		s.nodes[v] = s.add(slot{kind: slotNode, layer: 2*r + 1, ref: v, w: w, h: h})
		layers = max(layers, 2*r+3)
	}
	type shared struct {
		to, layer int
		back      bool
	}
	bends := map[shared]int{}
	bend := func(to, layer int, back bool) int {
		key := shared{to, layer, back}
		if _, ok := bends[key]; !ok {
			bends[key] = s.add(slot{kind: slotBend, layer: layer, ref: to, w: 2})
		}
		return bends[key]
	}
	for i := range s.arrows {
		a := &s.arrows[i]
		to := s.nodes[a.to]
		if a.from < 0 {
			s.start = s.add(slot{kind: slotStart, layer: s.slots[to].layer - 1, w: startSize, h: startSize})
			s.link(s.start, to)
			continue
		}
		from := s.nodes[a.from]
		first, last, step := s.slots[from].layer+1, s.slots[to].layer-1, 1
		if a.back {
			first, last, step = s.slots[from].layer, s.slots[to].layer, -1
		}
		for layer := first; layer != last+step; layer += step {
			if layer == first && len(a.lines) > 0 {
				w, h := sizeOf(a.lines)
				a.via = append(a.via, s.add(slot{kind: slotLabel, layer: layer, ref: i, w: w, h: h}))
			} else {
				a.via = append(a.via, bend(a.to, layer, a.back))
			}
			if len(s.slots) > maxSlots {
				return nil, ErrTooLarge
			}
		}
		s.join(*a)
	}
	s.layers = make([][]int, layers)
	s.inOrder()
	return s, nil
}

func (s *sketch) add(one slot) int {
	s.slots = append(s.slots, one)
	return len(s.slots) - 1
}

func (s *sketch) join(a arrow) {
	from, to := s.nodes[a.from], s.nodes[a.to]
	if !a.back {
		all := slices.Concat([]int{from}, a.via, []int{to})
		for i := range all[1:] {
			s.link(all[i], all[i+1])
		}
		return
	}
	for i := range a.via[1:] {
		s.link(a.via[i+1], a.via[i])
	}
	below := s.add(slot{kind: slotTurn, layer: s.slots[from].layer + 1, w: 2})
	s.link(from, below)
	s.link(a.via[0], below)
	above := s.add(slot{kind: slotTurn, layer: s.slots[to].layer - 1, w: 2})
	s.link(above, to)
	s.link(above, a.via[len(a.via)-1])
}

// link joins two slots, once. The longer an arrow, the more it matters that it is straight.
func (s *sketch) link(a, b int) {
	weight := 1.0
	switch {
	case s.slots[a].kind == slotBend && s.slots[b].kind == slotBend:
		weight = 8
	case s.slots[a].kind == slotLabel && s.slots[b].kind == slotBend:
		weight = 2
	case s.slots[b].kind == slotLabel || s.slots[a].kind == slotLabel || s.slots[a].kind == slotStart:
		weight = 3
	case s.slots[a].kind == slotBend || s.slots[b].kind == slotBend:
		weight = 2
	}
	if !s.linked[[2]int{a, b}] {
		s.linked[[2]int{a, b}] = true
		s.links = append(s.links, link{a, b, weight})
	}
}

// rank returns the layer of each vertex: one more than the layers of all that lead to
// it. It marks the arrows that lead back in a loop, which do not count.
func (s *sketch) rank(n int) []int {
	out := make([][]int, n)
	for i, a := range s.arrows {
		if a.from >= 0 {
			out[a.from] = append(out[a.from], i)
		}
	}
	const unseen, open, closed = 0, 1, 2
	state, order := make([]int, n), []int{}
	var visit func(v int)
	visit = func(v int) {
		state[v] = open
		for _, i := range out[v] {
			switch to := s.arrows[i].to; state[to] {
			case unseen:
				visit(to)
			case open:
				s.arrows[i].back = true
			}
		}
		state[v] = closed
		order = append(order, v)
	}
	for v := range n {
		if state[v] == unseen {
			visit(v)
		}
	}
	ranks := make([]int, n)
	for _, v := range slices.Backward(order) { // every vertex before those that it leads to
		for _, i := range out[v] {
			if a := s.arrows[i]; !a.back {
				ranks[a.to] = max(ranks[a.to], ranks[v]+1)
			}
		}
	}
	return ranks
}
