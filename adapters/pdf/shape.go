// Sets text that needs shaping: scripts that join, stack, reorder, or run from right to left.

package pdf

import (
	"math"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
)

// shapingSize makes one unit of the shaper's output a thousandth of an em.
const shapingSize = 1000

// fontChoice finds the font for each character of a text to be shaped.
type fontChoice struct {
	desk *desk
	bold bool
}

// ResolveFace is asked for characters that some font has, and for boxes.
func (c fontChoice) ResolveFace(r rune) *font.Face {
	if r != missing {
		if f := c.desk.faces.find(r, c.bold); f != nil {
			return c.desk.face(f)
		}
	}
	return c.desk.face(c.desk.faces.live(c.bold))
}

// shape sets a text by the rules of its scripts.
func (s *setter) shape(runes []rune, st style, width float64) []line {
	em := millimetres(st.size) / 1000
	direction := paragraphDirection(runes)
	levels := s.levels(runes, direction)
	var runs []run
	for _, in := range s.splitter.Split(shaping.Input{
		Text: runes, RunEnd: len(runes), Direction: direction,
		Size: fixed.I(shapingSize), Language: "en",
	}, fontChoice{s.desk, st.bold}) {
		for _, part := range splitLevels(in, levels) {
			runs = append(runs, run{s.shaper.ShapeNoExtents(part), levels[part.RunStart]})
		}
	}
	// A cluster is never divided: its first character has all of its width.
	advances := make([]float64, len(runes))
	for _, r := range runs {
		for _, g := range r.Glyphs {
			advances[g.TextIndex()] += units(g.Advance) * em
		}
	}
	lines := make([]line, 0, 1)
	widest := 0.0
	for _, cut := range breakLines(runes, advances, s.opportunities(runes), width) {
		l := s.emit(runs, runes, cut, em)
		lines = append(lines, l)
		widest = max(widest, l.width)
	}
	if direction == di.DirectionRTL {
		// The lines of a paragraph from right to left meet at its right.
		for i, l := range lines {
			for j := range l.pieces {
				l.pieces[j].x += widest - l.width
			}
			lines[i].width = widest
		}
	}
	return lines
}

// run is shaped text of one font and one level.
type run struct {
	shaping.Output
	level level
}

// opportunities tells before which characters a line may start.
func (s *setter) opportunities(runes []rune) []bool {
	may := make([]bool, len(runes)+1)
	s.segments.Init(runes)
	for it := s.segments.LineIterator(); it.Next(); {
		l := it.Line()
		may[l.Offset+len(l.Text)] = true
	}
	return may
}

// emit places the glyphs of a line.
func (s *setter) emit(runs []run, runes []rune, cut span, em float64) line {
	var within []run
	for _, r := range runs {
		if r.Runes.Offset < cut.end && r.Runes.Offset+r.Runes.Count > cut.start {
			within = append(within, r)
		}
	}
	var l line
	x := 0.0   // in thousandths of an em
	end := 0.0 // where the last piece ends
	for _, r := range visualOrder(within) {
		owner := s.owner[r.Face]
		for _, g := range r.Glyphs {
			if g.TextIndex() < cut.start || g.TextIndex() >= cut.end {
				continue
			}
			at, rise := x+units(g.XOffset), units(g.YOffset)
			x += units(g.Advance)
			if g.GlyphID == font.EmptyGlyph {
				continue
			}
			shown, want := glyph{owner, g.GlyphID}, s.reading(r.Face, g, runes)
			if want == ' ' {
				// Whatever the font, a space looks the same, and is read so in one.
				shown = s.space
			} else if s.blank(shown) {
				continue
			}
			p := s.sheets.place(shown, want)
			next := piece{x: at * em, rise: rise * em, sheet: p.sheet, text: string(p.code)}
			if n := len(l.pieces); n > 0 && l.pieces[n-1].sheet == p.sheet && l.pieces[n-1].rise == next.rise && math.Abs(end-at) < 0.5 {
				l.pieces[n-1].text += next.text
			} else {
				l.pieces = append(l.pieces, next)
				end = at
			}
			end += math.Round(float64(s.face(shown.face).HorizontalAdvance(shown.id) * shown.face.scale))
		}
	}
	l.width = x * em
	return l
}

// blank tells whether a glyph shows nothing.
func (s *setter) blank(g glyph) bool {
	b, known := s.blanks[g]
	if !known {
		out, ok := s.face(g.face).GlyphDataOutline(g.id)
		b = !ok || len(out.Segments) == 0
		s.blanks[g] = b
	}
	return b
}

// reading is the character that a glyph should be read as, or 0.
func (s *setter) reading(face *font.Face, g shaping.Glyph, runes []rune) rune {
	if g.GlyphID == 0 {
		return missing
	}
	from := g.TextIndex()
	cluster := runes[from:min(from+g.RunesCount(), len(runes))]
	for _, r := range cluster {
		if id, ok := face.NominalGlyph(r); ok && id == g.GlyphID {
			return r
		}
	}
	if len(cluster) == 1 && g.GlyphsCount() == 1 {
		return cluster[0]
	}
	return 0
}

func units(v fixed.Int26_6) float64 { return float64(v) / 64 }
