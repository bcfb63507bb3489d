// Paths of arrows in a picture.

package drawing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// end is where an arrow meets a node: at the top or at the bottom.
type end struct {
	node   int
	bottom bool
	via    int     // the next slot of the arrow
	toward float64 // where it comes from or goes to
}

// routes returns the path of each arrow as SVG, with its head.
func (w *writer) routes(p picture) []string {
	ports := w.ports(p)
	paths := make([]string, len(p.arrows))
	for i, a := range p.arrows {
		paths[i] = w.route(p, a, ports)
	}
	return paths
}

// ends returns the first and the last slot beside the nodes of an arrow.
func (p picture) ends(a arrow) (first, last int) {
	if a.from < 0 {
		return p.start, p.start
	}
	if len(a.via) == 0 {
		return p.nodes[a.to], p.nodes[a.from]
	}
	return a.via[0], a.via[len(a.via)-1]
}

// ports spreads the ends of arrows over the tops and bottoms of nodes, in the order in
// which they come. Arrows that share a bend share an end.
func (w *writer) ports(p picture) map[end]float64 {
	sides := map[[2]int][]end{}
	add := func(e end) {
		side := [2]int{e.node, 0}
		if e.bottom {
			side[1] = 1
		}
		if !slices.Contains(sides[side], e) {
			sides[side] = append(sides[side], e)
		}
	}
	for _, a := range p.arrows {
		first, last := p.ends(a)
		if a.from >= 0 {
			add(end{a.from, true, first, p.slots[first].x})
		}
		add(end{a.to, false, last, p.slots[last].x})
	}
	x := map[end]float64{}
	for side, ends := range sides {
		slices.SortFunc(ends, func(a, b end) int { return cmp.Or(cmp.Compare(a.toward, b.toward), cmp.Compare(a.via, b.via)) })
		spread(x, ends, p.slots[p.nodes[side[0]]])
	}
	return x
}

// spread puts ends on the side of a node: where their arrows come from if possible, and
// some pixels apart.
func spread(x map[end]float64, ends []end, node slot) {
	room := node.w/2 - 26
	gap := 0.0
	if len(ends) > 1 {
		gap = min(14, 2*room/float64(len(ends)-1))
	}
	for i, e := range ends {
		x[e] = min(max(e.toward, node.x-room), node.x+room)
		if i > 0 {
			x[e] = max(x[e], x[ends[i-1]]+gap)
		}
	}
	for i, right := len(ends)-1, node.x+room; i >= 0; i-- {
		x[ends[i]] = min(x[ends[i]], right)
		right = x[ends[i]] - gap
	}
}

// pen writes a path of vertical lines and of curves that begin and end vertically.
type pen struct {
	b    strings.Builder
	x, y float64
	down bool // the line to x, y is not written yet
}

func (p *pen) move(x, y float64) {
	fmt.Fprintf(&p.b, "M%g %g", x, y)
	p.x, p.y = x, y
}

func (p *pen) line(y float64) { p.y, p.down = y, true }

// curve leaves and arrives through the heights of its control points.
func (p *pen) curve(x, y, leave, arrive float64) {
	if x == p.x && leave == arrive && min(p.y, y) <= leave && leave <= max(p.y, y) {
		p.line(y)
		return
	}
	p.finish()
	fmt.Fprintf(&p.b, "C%g %g %g %g %g %g", p.x, leave, x, arrive, x, y)
	p.x, p.y = x, y
}

func (p *pen) bend(x, y float64) { p.curve(x, y, (p.y+y)/2, (p.y+y)/2) }

func (p *pen) finish() {
	if p.down {
		fmt.Fprintf(&p.b, "V%g", p.y)
		p.down = false
	}
}

// route returns an arrow from the bottom of a node to the top of another. An arrow that
// leads up goes around its node, up beside the others, and around the other node.
func (w *writer) route(p picture, a arrow, ports map[end]float64) string {
	first, last := p.ends(a)
	to := p.slots[p.nodes[a.to]]
	toX := ports[end{a.to, false, last, p.slots[last].x}]
	toY := (p.top[to.layer]+p.bottom[to.layer]-to.h)/2 - 1
	var pen pen
	if a.from < 0 {
		pen.move(p.slots[p.start].x, p.bottom[p.slots[p.start].layer])
	} else {
		from := p.slots[p.nodes[a.from]]
		pen.move(ports[end{a.from, true, first, p.slots[first].x}], (p.top[from.layer]+p.bottom[from.layer]+from.h)/2)
		pen.line(p.bottom[from.layer])
	}
	for i, v := range a.via {
		one := p.slots[v]
		begin, finish := p.top[one.layer], p.bottom[one.layer]
		switch {
		case !a.back:
			pen.bend(one.x, begin)
		case i == 0:
			begin, finish = finish, begin
			pen.curve(one.x, begin, begin+turnGap, begin+turnGap)
		default:
			begin, finish = finish, begin
			pen.bend(one.x, begin)
		}
		pen.line(finish)
	}
	if top := p.top[to.layer]; a.back {
		pen.curve(toX, top, top-turnGap, top-turnGap)
	} else {
		pen.bend(toX, top)
	}
	pen.line(toY - 6)
	pen.finish()
	return fmt.Sprintf(`<path class="g-line" d="%s"/><path class="g-head" d="M%g %gl-4.5 -9h9Z"/>`, pen.b.String(), toX, toY)
}
