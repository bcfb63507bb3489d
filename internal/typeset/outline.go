// Outlines of glyphs, converted from any font to TrueType.

package typeset

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

// point is a point on the outline, or a control point of a curve.
type point struct {
	x, y int
	on   bool // the outline, not a control point
}

type bounds struct{ minX, minY, maxX, maxY int }

func (b bounds) with(c bounds) bounds {
	return bounds{min(b.minX, c.minX), min(b.minY, c.minY), max(b.maxX, c.maxX), max(b.maxY, c.maxY)}
}

// converter converts glyphs. Faces must not be shared, so it has its own.
type converter struct{ faces map[*fontFile]*font.Face }

// shape returns all that a sign draws as one shape.
func (d converter) shape(n sign) shape {
	s := shape{advance: n.advance}
	for _, p := range n.drawn {
		face := d.faces[p.file]
		if face == nil {
			face = font.NewFace(p.file.font)
			d.faces[p.file] = face
		}
		out, _ := face.GlyphDataOutline(p.id)
		pen := pen{scale: p.file.scale * unitsPerEm / 1000}
		for _, seg := range out.Segments {
			pen.draw(seg)
		}
		pen.close()
		for _, c := range pen.contours {
			for i := range c {
				c[i].x, c[i].y = limit(c[i].x+p.x), limit(c[i].y+p.y)
			}
		}
		s.contours = append(s.contours, pen.contours...)
	}
	return s
}

// limit keeps a coordinate in what a 16-bit field can hold.
func limit(v int) int { return max(-32000, min(v, 32000)) }

// clamp rounds to a value that a 16-bit field can hold.
func clamp(v float32, lowest float64) int {
	return int(min(max(math.Round(float64(v)), lowest), 32000))
}

type pen struct {
	scale    float32
	contours [][]point
	at       opentype.SegmentPoint
	current  []point
}

func (p *pen) add(pt opentype.SegmentPoint, on bool) {
	p.current = append(p.current, point{clamp(pt.X*p.scale, -32000), clamp(pt.Y*p.scale, -32000), on})
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

// cube approximates a cubic curve by four quadratic ones, each of which meets it in
// the middle.
func (p *pen) cube(p0, p1, p2, p3 opentype.SegmentPoint) {
	const parts = 4
	curve := func(t float32) opentype.SegmentPoint {
		u := 1 - t
		a, b, c, d := u*u*u, 3*u*u*t, 3*u*t*t, t*t*t
		return opentype.SegmentPoint{
			X: a*p0.X + b*p1.X + c*p2.X + d*p3.X,
			Y: a*p0.Y + b*p1.Y + c*p2.Y + d*p3.Y,
		}
	}
	for i := range parts {
		from, mid, to := curve(float32(i)/parts), curve((float32(i)+0.5)/parts), curve(float32(i+1)/parts)
		p.add(opentype.SegmentPoint{X: 2*mid.X - (from.X+to.X)/2, Y: 2*mid.Y - (from.Y+to.Y)/2}, false)
		p.add(to, true)
	}
}

// close ends a contour. If its last point is its first one, it is dropped.
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

// encode returns the entry of the glyf table; empty for a glyph without outline.
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
			if pt.on {
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

// delta appends the difference along one axis and returns its flags: short means
// one byte; same means zero or, with short, positive.
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
