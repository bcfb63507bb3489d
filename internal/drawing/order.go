// Order: the slots of each layer, with few crossings.

package drawing

import (
	"cmp"
	"slices"
)

// inOrder fills the layers, and orders them so that few links cross: each layer by the
// mean position of its neighbours in the layer above, then below, and so on. The best
// order so far counts.
func (s *sketch) inOrder() {
	up, down := make([][]int, len(s.slots)), make([][]int, len(s.slots))
	for _, l := range s.links {
		up[l.b], down[l.a] = append(up[l.b], l.a), append(down[l.a], l.b)
	}
	seen := make([]bool, len(s.slots))
	var place func(i int)
	place = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		s.layers[s.slots[i].layer] = append(s.layers[s.slots[i].layer], i)
		for _, next := range down[i] {
			place(next)
		}
	}
	for i := range s.slots {
		if s.slots[i].kind == slotNode || s.slots[i].kind == slotStart {
			place(i)
		}
	}
	for i := range s.slots {
		place(i)
	}
	position := make([]float64, len(s.slots))
	number := func(layer []int) {
		for p, i := range layer {
			position[i] = float64(p)
		}
	}
	for _, layer := range s.layers {
		number(layer)
	}
	sweep := func(layer []int, neighbours [][]int) {
		mean := map[int]float64{}
		for _, i := range layer {
			mean[i] = position[i]
			if len(neighbours[i]) > 0 {
				sum := 0.0
				for _, j := range neighbours[i] {
					sum += position[j]
				}
				mean[i] = sum / float64(len(neighbours[i]))
			}
		}
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
		number(layer)
	}
	best, fewest := s.copyLayers(), s.crossings(position)
	for round := 0; round < 24 && fewest > 0; round++ {
		for i := range s.layers {
			if round%2 == 0 {
				sweep(s.layers[i], up)
			} else {
				sweep(s.layers[len(s.layers)-1-i], down)
			}
		}
		s.swap(position, up, down)
		if n := s.crossings(position); n < fewest {
			best, fewest = s.copyLayers(), n
		}
	}
	s.layers = best
}

func (s *sketch) copyLayers() [][]int {
	var layers [][]int
	for _, l := range s.layers {
		layers = append(layers, slices.Clone(l))
	}
	return layers
}

// swap exchanges neighbours in a layer where that removes crossings.
func (s *sketch) swap(position []float64, up, down [][]int) {
	crossed := func(a, b int) (n int) { // with a before b
		for _, near := range [][][]int{up, down} {
			for _, i := range near[a] {
				for _, j := range near[b] {
					if position[i] > position[j] {
						n++
					}
				}
			}
		}
		return n
	}
	for range 4 {
		better := false
		for _, layer := range s.layers {
			for p := range len(layer) - 1 {
				if a, b := layer[p], layer[p+1]; crossed(b, a) < crossed(a, b) {
					layer[p], layer[p+1] = b, a
					position[a], position[b] = position[b], position[a]
					better = true
				}
			}
		}
		if !better {
			return
		}
	}
}

// crossings counts the pairs of links that cross.
func (s *sketch) crossings(position []float64) int {
	byLayer := make([][]link, len(s.layers))
	for _, l := range s.links {
		byLayer[s.slots[l.a].layer] = append(byLayer[s.slots[l.a].layer], l)
	}
	total := 0
	for layer, links := range byLayer {
		if len(links) < 2 {
			continue
		}
		slices.SortFunc(links, func(a, b link) int {
			return cmp.Or(cmp.Compare(position[a.a], position[b.a]), cmp.Compare(position[a.b], position[b.b]))
		})
		// A Fenwick tree counts the ends so far that are further to the right.
		tree := make([]int, len(s.layers[layer+1])+1)
		for n, l := range links {
			end, left := int(position[l.b])+1, 0
			for i := end; i > 0; i -= i & -i {
				left += tree[i]
			}
			total += n - left
			for i := end; i < len(tree); i += i & -i {
				tree[i]++
			}
		}
	}
	return total
}
