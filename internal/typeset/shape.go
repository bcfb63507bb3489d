// Shaping of scripts that join, stack, reorder, or run from right to left.

package typeset

import (
	"iter"
	"math"
	"slices"

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
func (s *Typesetter) shape(text letters, st Style, width float64) []Line {
	perUnit := Millimetres(st.Size) / 1000 // millimetres in a thousandth of an em
	runes := text.runes()
	direction := paragraphDirection(runes)
	levels := s.levels(runes, direction, 0)
	var runs []run
	for start, end := 0, 0; start < len(runes); start = end {
		for end = start + 1; end < len(runes) && levels[end] == levels[start] && text[end].bold == text[start].bold; end++ {
		}
		in := shaping.Input{
			Text: runes, RunStart: start, RunEnd: end, Direction: di.DirectionLTR, Size: fixed.I(shapingSize), Language: "en",
		}
		if levels[start]%2 == 1 {
			in.Direction = di.DirectionRTL
		}
		for _, part := range s.splitter.Split(in, fontChoice{s.Shaper, text[start].bold}) {
			runs = append(runs, run{s.shaper.ShapeNoExtents(part), levels[start]})
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
		for cluster := range clusters(r.Glyphs) {
			if at := cluster[0].TextIndex(); at < cut.start || at >= cut.end {
				continue
			}
			at := x
			for _, g := range cluster {
				x += units(g.Advance)
			}
			for _, n := range s.signs(r, cluster, runes) {
				c := s.code(n)
				if p := len(l.Pieces) - 1; p >= 0 && l.Pieces[p].Font == c.subset.name && math.Abs(end-at) < 0.5 {
					l.Pieces[p].Text += string(c.char)
				} else {
					l.Pieces = append(l.Pieces, Piece{X: at * perUnit, Font: c.subset.name, Text: string(c.char)})
					end = at
				}
				width := math.Round(float64(n.advance) * 1000 / unitsPerEm)
				at, end = at+width, end+width
			}
		}
	}
	l.Width = x * perUnit
	return l
}

// clusters returns the glyphs of each cluster: of characters that the shaper has joined.
func clusters(glyphs []shaping.Glyph) iter.Seq[[]shaping.Glyph] {
	return func(yield func([]shaping.Glyph) bool) {
		for from, to := 0, 0; from < len(glyphs); from = to {
			for to = from + 1; to < len(glyphs) && glyphs[to].TextIndex() == glyphs[from].TextIndex(); to++ {
			}
			if !yield(glyphs[from:to]) {
				return
			}
		}
	}
}

// signs returns the characters of a cluster from left to right, each with a part of its
// width. The leftmost one draws the cluster.
func (s *Typesetter) signs(r run, cluster []shaping.Glyph, runes []rune) []sign {
	file := s.files[r.Face]
	var drawn []placed
	x := 0.0
	for _, g := range cluster {
		shown := placed{glyph{file, g.GlyphID}, rounded(x + units(g.XOffset)), rounded(units(g.YOffset))}
		x += units(g.Advance)
		space := runes[g.TextIndex()] == ' ' && (file == s.fonts.regular || file == s.fonts.bold) // of plain text, which it stays in
		if g.GlyphID != font.EmptyGlyph && (space || !s.blank(shown.glyph)) {
			drawn = append(drawn, shown)
		}
	}
	from := cluster[0].TextIndex()
	var all []sign
	for _, char := range runes[from:min(from+cluster[0].RunesCount(), len(runes))] {
		if !directs(char) {
			all = append(all, sign{char: char})
		}
	}
	switch {
	case len(all) == 0 && len(drawn) == 0:
		return nil
	case len(all) == 0:
		all = []sign{{char: missing}}
	}
	if r.level%2 == 1 {
		slices.Reverse(all)
	}
	width, given := max(0, int(math.Round(x))), 0
	for i := range all {
		share := width*(i+1)/len(all) - given
		all[i].advance, given = share*unitsPerEm/1000, given+share
	}
	all[0].drawn = drawn
	return all
}

// rounded returns a distance in thousandths of an em in units of unitsPerEm.
func rounded(v float64) int { return int(math.Round(v * unitsPerEm / 1000)) }

// code returns the code of a sign: the one of plain text if that has the sign as it is.
func (s *Typesetter) code(n sign) code {
	if len(n.drawn) == 1 && n.drawn[0].x == 0 && n.drawn[0].y == 0 && encodable(n.char) {
		for _, bold := range []bool{false, true} {
			if g := n.drawn[0].glyph; g.file == s.fonts.latin(bold) {
				plain := s.plainSign(g.file, n.char)
				if plain.drawn[0].glyph == g && math.Round(float64(plain.advance)*1000/unitsPerEm) == math.Round(float64(n.advance)*1000/unitsPerEm) {
					return s.subsets.latin(bold).addPlain(plain)
				}
			}
		}
	}
	return s.subsets.add(n)
}

// plainSign returns a character on its own.
func (s *Typesetter) plainSign(f *fontFile, r rune) sign {
	face := s.face(f)
	id, _ := face.NominalGlyph(r)
	return sign{
		char: r, advance: clamp(face.HorizontalAdvance(id)*f.scale*unitsPerEm/1000, 0), drawn: []placed{{glyph: glyph{f, id}}},
	}
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

func units(v fixed.Int26_6) float64 { return float64(v) / 64 }
