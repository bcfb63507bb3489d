// Coordinates: where the slots of the layers are.

package drawing

import (
	"cmp"
	"math"
	"slices"
)

// Sizes and distances, in pixels.
const (
	margin      = 16.0
	startSize   = 14.0
	nodeGap     = 28.0 // between nodes in a layer
	labelGap    = 14.0 // between a label or a bend and its neighbour
	minLayerGap = 16.0
	maxLayerGap = 40.0
	turnGap     = 24.0 // at least, where an arrow turns
)

// picture is a sketch with coordinates.
type picture struct {
	*sketch
	width, height float64
	top, bottom   []float64 // of each layer
}

// place computes the coordinates. The slots of a layer keep their order and their
// distances, and are as near as possible to the median of their neighbours.
func (s *sketch) place() picture {
	up, down := make([][]link, len(s.slots)), make([][]link, len(s.slots))
	for _, l := range s.links {
		up[l.b], down[l.a] = append(up[l.b], l), append(down[l.a], l)
	}
	for _, layer := range s.layers {
		x := 0.0
		for p, i := range layer {
			if p > 0 {
				x += s.distance(layer[p-1], i)
			}
			s.slots[i].x = x
		}
	}
	const rounds = 16
	for round := range rounds {
		for i := range s.layers {
			layer := s.layers[i]
			if round%2 == 1 {
				layer = s.layers[len(s.layers)-1-i]
			}
			switch {
			case round >= rounds-4:
				s.shift(layer, func(i int) []link { return slices.Concat(up[i], down[i]) })
			case round%2 == 0:
				s.shift(layer, func(i int) []link { return up[i] })
			default:
				s.shift(layer, func(i int) []link { return down[i] })
			}
		}
	}
	s.straighten(up, down)
	p := picture{sketch: s}
	p.frame()
	return p
}

// distance returns the distance between the centres of neighbours in a layer.
func (s *sketch) distance(left, right int) float64 {
	a, b := s.slots[left], s.slots[right]
	gap := labelGap
	if a.kind == slotNode && b.kind == slotNode {
		gap = nodeGap
	}
	return (a.w+b.w)/2 + gap
}

// shift moves the slots of a layer towards the medians of their neighbours: the least
// squares under the distances of the layer. Where slots would come too close, they move
// together as a block to their weighted mean.
func (s *sketch) shift(layer []int, neighbours func(int) []link) {
	type block struct{ mean, weight, n float64 }
	var blocks []block
	offset := make([]float64, len(layer)) // from the first slot, if all are as close as possible
	for p, i := range layer {
		if p > 0 {
			offset[p] = offset[p-1] + s.distance(layer[p-1], i)
		}
		near := neighbours(i)
		b := block{weight: 0.01, n: 1}
		var points []point
		for _, l := range near {
			points = append(points, point{s.slots[l.a+l.b-i].x, l.weight})
			b.weight += l.weight
		}
		b.mean = median(points, s.slots[i].x) - offset[p]
		for len(blocks) > 0 && blocks[len(blocks)-1].mean > b.mean {
			last := blocks[len(blocks)-1]
			sum := last.weight + b.weight
			b = block{(last.mean*last.weight + b.mean*b.weight) / sum, sum, last.n + b.n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	p := 0
	for _, b := range blocks {
		for range int(b.n) {
			s.slots[layer[p]].x = b.mean + offset[p]
			p++
		}
	}
}

// point is a position with a weight.
type point struct{ x, weight float64 }

// median returns the weighted median of points, or x if there are none. Between two
// medians it is their mean.
func median(points []point, x float64) float64 {
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	total, sum := 0.0, 0.0
	for _, p := range points {
		total += p.weight
	}
	for i, p := range points {
		sum += p.weight
		if sum == total/2 {
			return (p.x + points[i+1].x) / 2
		}
		if sum > total/2 {
			return p.x
		}
	}
	return x
}

// straighten moves slots that follow each other in an arrow to the same x where their
// neighbours leave room, as near as possible to what they are linked to.
func (s *sketch) straighten(up, down [][]link) {
	position := make([]int, len(s.slots))
	for _, layer := range s.layers {
		for p, i := range layer {
			position[i] = p
		}
	}
	room := func(i int) (low, high float64) {
		layer, p := s.layers[s.slots[i].layer], position[i]
		low, high = math.Inf(-1), math.Inf(1)
		if p > 0 {
			low = s.slots[layer[p-1]].x + s.distance(layer[p-1], i)
		}
		if p < len(layer)-1 {
			high = s.slots[layer[p+1]].x - s.distance(i, layer[p+1])
		}
		return low, high
	}
	inside, current := make([]int, len(s.slots)), 0 // the number of the column of a slot
	settle := func(column []int, low, high float64) {
		current++
		for _, i := range column {
			inside[i] = current
		}
		var outside []point
		for _, i := range column {
			for _, l := range slices.Concat(up[i], down[i]) {
				if other := l.a + l.b - i; inside[other] != current {
					outside = append(outside, point{s.slots[other].x, l.weight})
				}
			}
		}
		x := min(max(median(outside, s.slots[column[0]].x), low), high)
		for _, i := range column {
			s.slots[i].x = x
		}
	}
	columns := s.columns()
	for range 12 {
		for _, column := range columns {
			begin, low, high := 0, math.Inf(-1), math.Inf(1)
			for n, i := range column {
				l, h := room(i)
				if n > begin && max(low, l) > min(high, h) {
					settle(column[begin:n], low, high)
					begin, low, high = n, math.Inf(-1), math.Inf(1)
				}
				low, high = max(low, l), min(high, h)
			}
			settle(column[begin:], low, high)
		}
		slices.Reverse(columns)
	}
}

// columns returns the slots that should be above each other: every slot in one column,
// with the heaviest of its links up and down if it is also the heaviest of the other.
func (s *sketch) columns() [][]int {
	above, below := make([]int, len(s.slots)), make([]int, len(s.slots))
	for i := range s.slots {
		above[i], below[i] = -1, -1
	}
	links := slices.Clone(s.links)
	slices.SortStableFunc(links, func(a, b link) int { return cmp.Compare(b.weight, a.weight) })
	for _, l := range links {
		if below[l.a] < 0 && above[l.b] < 0 {
			below[l.a], above[l.b] = l.b, l.a
		}
	}
	var columns [][]int
	for i := range s.slots {
		if above[i] >= 0 {
			continue
		}
		column := []int{i}
		for next := below[i]; next >= 0; next = below[next] {
			column = append(column, next)
		}
		columns = append(columns, column)
	}
	return columns
}

// frame moves everything to positive, whole coordinates and sets the rows.
func (p *picture) frame() {
	left, right := math.Inf(1), math.Inf(-1)
	for _, one := range p.slots {
		left, right = min(left, one.x-one.w/2), max(right, one.x+one.w/2)
	}
	for i := range p.slots {
		p.slots[i].x = math.Round(p.slots[i].x - left + margin)
	}
	if p.width = math.Round(right - left + 2*margin); len(p.slots) == 0 {
		p.width = 2 * margin
	}
	widest := make([]float64, len(p.layers)) // how far links go to the side, below each layer
	for _, l := range p.links {
		layer := p.slots[l.a].layer
		widest[layer] = max(widest[layer], math.Abs(p.slots[l.a].x-p.slots[l.b].x))
	}
	y := margin
	for n, layer := range p.layers {
		height := 0.0
		gap := min(minLayerGap+widest[n]/12, maxLayerGap)
		for _, i := range layer {
			height = max(height, p.slots[i].h)
		}
		for _, i := range slices.Concat(layer, p.next(n)) {
			if p.slots[i].kind == slotTurn {
				gap = max(gap, turnGap)
			}
		}
		p.top, p.bottom = append(p.top, y), append(p.bottom, y+height)
		if n < len(p.layers)-1 {
			y += math.Round(gap)
		}
		y += height
	}
	p.height = y + margin
}

func (p *picture) next(layer int) []int {
	if layer+1 < len(p.layers) {
		return p.layers[layer+1]
	}
	return nil
}
