// The shape of one glyph, from the segments of any font to TrueType.

package pdf

import (
	"math"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// shape is a glyph in TrueType units.
type shape struct {
	advance  int
	contours [][]point
}

// point is a corner, or the handle of a curve.
type point struct {
	x, y   int
	corner bool
}

type bounds struct{ minX, minY, maxX, maxY int }

func (b bounds) with(c bounds) bounds {
	return bounds{min(b.minX, c.minX), min(b.minY, c.minY), max(b.maxX, c.maxX), max(b.maxY, c.maxY)}
}

// drawer draws glyphs. A face may not be shared, so it has its own.
type drawer struct{ faces map[*typeface]*font.Face }

func (d drawer) shape(g glyph) shape {
	face := d.faces[g.face]
	if face == nil {
		face = font.NewFace(g.face.font)
		d.faces[g.face] = face
	}
	scale := g.face.scale * unitsPerEm / 1000
	s := shape{advance: clamp(face.HorizontalAdvance(g.id)*scale, 0)}
	out, _ := face.GlyphDataOutline(g.id)
	pen := pen{scale: scale}
	for _, seg := range out.Segments {
		pen.draw(seg)
	}
	pen.close()
	s.contours = pen.contours
	return s
}

// clamp rounds to what a table of 16 bits can hold.
func clamp(v float32, lowest float64) int {
	return int(min(max(math.Round(float64(v)), lowest), 32000))
}

// pen follows the segments of an outline.
type pen struct {
	scale    float32
	contours [][]point
	at       opentype.SegmentPoint
	current  []point
}

func (p *pen) add(pt opentype.SegmentPoint, corner bool) {
	p.current = append(p.current, point{clamp(pt.X*p.scale, -32000), clamp(pt.Y*p.scale, -32000), corner})
	p.at = pt
}

func (p *pen) draw(seg opentype.Segment) {
	switch a := seg.Args; seg.Op {
	case opentype.SegmentOpMoveTo:
		p.close()
		p.add(a[0], true)
	case opentype.SegmentOpLineTo:
		p.add(a[0], true)
	case opentype.SegmentOpQuadTo:
		p.add(a[0], false)
		p.add(a[1], true)
	case opentype.SegmentOpCubeTo:
		p.cube(p.at, a[0], a[1], a[2])
	}
}

// cube draws a cubic curve as four quadratic ones, each with the handle that
// meets the curve at its middle.
func (p *pen) cube(p0, p1, p2, p3 opentype.SegmentPoint) {
	const pieces = 4
	on := func(t float32) opentype.SegmentPoint {
		u := 1 - t
		a, b, c, d := u*u*u, 3*u*u*t, 3*u*t*t, t*t*t
		return opentype.SegmentPoint{
			X: a*p0.X + b*p1.X + c*p2.X + d*p3.X,
			Y: a*p0.Y + b*p1.Y + c*p2.Y + d*p3.Y,
		}
	}
	for i := range pieces {
		from, mid, to := on(float32(i)/pieces), on((float32(i)+0.5)/pieces), on(float32(i+1)/pieces)
		p.add(opentype.SegmentPoint{X: 2*mid.X - (from.X+to.X)/2, Y: 2*mid.Y - (from.Y+to.Y)/2}, false)
		p.add(to, true)
	}
}

// close ends a contour. Its last corner is its first one.
func (p *pen) close() {
	c := p.current
	if n := len(c); n > 1 && c[n-1] == c[0] {
		c = c[:n-1]
	}
	if len(c) > 2 {
		p.contours = append(p.contours, c)
	}
	p.current = nil
}

func (s shape) points() int {
	n := 0
	for _, c := range s.contours {
		n += len(c)
	}
	return n
}

func (s shape) bounds() bounds {
	if len(s.contours) == 0 {
		return bounds{}
	}
	first := s.contours[0][0]
	b := bounds{first.x, first.y, first.x, first.y}
	for _, c := range s.contours {
		for _, pt := range c {
			b = b.with(bounds{pt.x, pt.y, pt.x, pt.y})
		}
	}
	return b
}

// encode writes the shape as an entry of the table glyf; empty for a space.
func (s shape) encode() writer {
	if len(s.contours) == 0 {
		return nil
	}
	var w, flags, xs, ys writer
	b := s.bounds()
	w.u16s(len(s.contours), b.minX, b.minY, b.maxX, b.maxY)
	last, at := -1, point{}
	for _, c := range s.contours {
		last += len(c)
		w.u16(last)
		for _, pt := range c {
			flag := 0
			if pt.corner {
				flag = 1
			}
			flag |= xs.delta(pt.x-at.x, 0x02, 0x10) | ys.delta(pt.y-at.y, 0x04, 0x20)
			flags.u8(flag)
			at = pt
		}
	}
	w.u16(0) // no instructions
	return append(append(append(w, flags...), xs...), ys...)
}

// delta appends a step along one axis and returns its flags: short says that it
// takes one byte, same that it is zero or, when short, positive.
func (w *writer) delta(d, short, same int) int {
	switch {
	case d == 0:
		return same
	case d > 0 && d < 256:
		w.u8(d)
		return short | same
	case d < 0 && d > -256:
		w.u8(-d)
		return short
	}
	w.u16(d)
	return 0
}
