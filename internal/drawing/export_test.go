// Parts of a picture, for tests.

package drawing

import (
	"github.com/verifyd/verifyd/verification/workflow"
)

// Box is a rectangle of a picture that nothing else may cover.
type Box struct {
	Name                     string
	Left, Top, Right, Bottom float64
}

// Line is an arrow of a picture: the numbers of its nodes, and its path in SVG. From is -1
// for the arrow to the first node.
type Line struct {
	From, To int
	Path     string
}

// Laid is the layout of a picture.
type Laid struct {
	Width, Height float64
	Nodes         []Box // by number
	All           []Box // nodes, labels, and where arrows pass between them
	Lines         []Line
}

// Lay lays out a definition.
func Lay(d workflow.Definition, o Options) (Laid, error) {
	w := newWriter(d, o)
	s, err := newSketch(len(w.vertices), w.boxSize, w.arrows)
	if err != nil {
		return Laid{}, err
	}
	p := s.place()
	l := Laid{Width: p.width, Height: p.height}
	for i, one := range p.slots {
		middle := (p.top[one.layer] + p.bottom[one.layer]) / 2
		b := Box{"label", one.x - one.w/2, middle - one.h/2, one.x + one.w/2, middle + one.h/2}
		switch one.kind {
		case slotNode:
			b.Name = string(w.vertices[one.ref].id)
		case slotBend:
			b.Name, b.Top, b.Bottom = "bend", p.top[one.layer], p.bottom[one.layer]
		case slotTurn:
			continue
		case slotStart, slotLabel:
		}
		l.All = append(l.All, b)
		if one.kind == slotNode && p.nodes[one.ref] == i {
			l.Nodes = append(l.Nodes, b)
		}
	}
	for i, path := range w.routes(p) {
		l.Lines = append(l.Lines, Line{p.arrows[i].from, p.arrows[i].to, path})
	}
	return l, nil
}
