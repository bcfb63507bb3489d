// Shaping of scripts that join, stack, reorder, or run from right to left.

package typeset

import (
	"math"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
)

// shapingSize makes one unit of the shaper's output 1/1000 em.
const shapingSize = 1000

// fontChoice implements shaping.Fontmap.
type fontChoice struct {
	shaper *Shaper
	bold   bool
}

// ResolveFace returns the first font that has the character, or else the Latin font, which
// has the replacement character.
func (c fontChoice) ResolveFace(r rune) *font.Face {
	if r != missing {
		if f := c.shaper.fonts.find(r, c.bold); f != nil {
			return c.shaper.face(f)
		}
	}
	return c.shaper.face(c.shaper.fonts.latin(c.bold))
}

// shape breaks text into lines of a width in millimetres, and shapes it by the rules of
// its scripts.
func (s *Typesetter) shape(runes []rune, st Style, width float64) []Line {
	perUnit := Millimetres(st.Size) / 1000 // millimetres in a thousandth of an em
	direction := paragraphDirection(runes)
	levels := s.levels(runes, direction)
	var runs []run
	for _, in := range s.splitter.Split(shaping.Input{
		Text: runes, RunEnd: len(runes), Direction: direction,
		Size: fixed.I(shapingSize), Language: "en",
	}, fontChoice{s.Shaper, st.Bold}) {
		for _, part := range splitLevels(in, levels) {
			runs = append(runs, run{s.shaper.ShapeNoExtents(part), levels[part.RunStart]})
		}
	}
	// A cluster is not divided: its first character gets the advance of the whole cluster.
	advances := make([]float64, len(runes))
	for _, r := range runs {
		for _, g := range r.Glyphs {
			advances[g.TextIndex()] += units(g.Advance) * perUnit
		}
	}
	lines := make([]Line, 0, 1)
	widest := 0.0
	for _, cut := range breakLines(runes, advances, s.opportunities(runes), width) {
		l := s.emit(runs, runes, cut, perUnit)
		lines = append(lines, l)
		widest = max(widest, l.Width)
	}
	if direction == di.DirectionRTL {
		// Align the lines of a right-to-left paragraph to the right.
		for i, l := range lines {
			for j := range l.Pieces {
				l.Pieces[j].X += widest - l.Width
			}
			lines[i].Width = widest
		}
	}
	return lines
}

// run is shaped text of one font and one level.
type run struct {
	shaping.Output
	level level
}

// opportunities reports before which characters a line may break.
func (s *Typesetter) opportunities(runes []rune) []bool {
	may := make([]bool, len(runes)+1)
	s.segments.Init(runes)
	for it := s.segments.LineIterator(); it.Next(); {
		l := it.Line()
		may[l.Offset+len(l.Text)] = true
	}
	return may
}

func (s *Typesetter) emit(runs []run, runes []rune, cut span, perUnit float64) Line {
	var within []run
	for _, r := range runs {
		if r.Runes.Offset < cut.end && r.Runes.Offset+r.Runes.Count > cut.start {
			within = append(within, r)
		}
	}
	var l Line
	x := 0.0   // in thousandths of an em
	end := 0.0 // where the last Piece ends, in the same unit
	for _, r := range visualOrder(within) {
		file := s.files[r.Face]
		for _, g := range r.Glyphs {
			if g.TextIndex() < cut.start || g.TextIndex() >= cut.end {
				continue
			}
			at, rise := x+units(g.XOffset), units(g.YOffset)
			x += units(g.Advance)
			if g.GlyphID == font.EmptyGlyph {
				continue
			}
			shown, char := glyph{file, g.GlyphID}, s.character(r.Face, g, runes)
			if char == ' ' {
				// The space of the Latin font replaces the spaces of all fonts.
				shown = s.space
			} else if s.blank(shown) {
				continue
			}
			c := s.subsets.add(shown, char)
			next := Piece{X: at * perUnit, Rise: rise * perUnit, Font: c.subset.name, Text: string(c.char)}
			if n := len(l.Pieces); n > 0 && l.Pieces[n-1].Font == next.Font && l.Pieces[n-1].Rise == next.Rise && math.Abs(end-at) < 0.5 {
				l.Pieces[n-1].Text += next.Text
			} else {
				l.Pieces = append(l.Pieces, next)
				end = at
			}
			end += math.Round(float64(s.face(shown.file).HorizontalAdvance(shown.id) * shown.file.scale))
		}
	}
	l.Width = x * perUnit
	return l
}

// blank reports whether a glyph has no outline.
func (s *Typesetter) blank(g glyph) bool {
	b, known := s.blanks[g]
	if !known {
		out, ok := s.face(g.file).GlyphDataOutline(g.id)
		b = !ok || len(out.Segments) == 0
		s.blanks[g] = b
	}
	return b
}

// character returns the character that a copy of the glyph yields, or 0 if there is not
// exactly one.
func (s *Typesetter) character(face *font.Face, g shaping.Glyph, runes []rune) rune {
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
