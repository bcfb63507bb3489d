// Package typeset breaks text of any script into lines, shapes it, and makes the
// fonts that a document needs for it.
//
// Text in Latin, Greek and Cyrillic is set character by character in Noto Sans.
// Other text is shaped by the rules of its scripts with a port of HarfBuzz, and
// each glyph keeps the position that the shaper gave it.
//
// # Fonts
//
// gofpdf writes text as 16-bit characters of TrueType fonts, does not shape, and
// cannot read the outlines of many fonts. Therefore what a document shows, whatever font it
// is from, is collected in small TrueType fonts of that document ([Subset]). Each of their codes
// stands for exactly one character, see [Subset.Texts], so that text can be searched, copied
// and read aloud: of a Devanagari conjunct of three characters, the first one draws the
// conjunct, and the others are blank and share its width. The codes of a line are in visual
// order, as readers of PDF expect them.
//
// A character that no font has, a control character, and an override of the
// writing direction are set as the replacement character.
package typeset

import (
	"maps"
	"slices"
	"unicode"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/segmenter"
	"github.com/go-text/typesetting/shaping"
)

// Style is the size, in points, and the weight of text.
type Style struct {
	Size float64
	Bold bool
}

// Leading returns the distance between two baselines, in millimetres. It leaves
// space for Indic and Arabic marks.
func (s Style) Leading() float64 { return Millimetres(s.Size * 1.48) }

// Ascent returns the distance from the top of a line to its baseline, in
// millimetres.
func (s Style) Ascent() float64 { return Millimetres(s.Size * 1.1) }

// Millimetres converts a length in points.
func Millimetres(points float64) float64 { return points * 25.4 / 72 }

// Line is a line of text. Its width is in millimetres.
type Line struct {
	Width  float64
	Pieces []Piece
}

// Piece is a string in one font of the document. X is the distance from the start
// of the line, in millimetres.
type Piece struct {
	X    float64
	Font string // the name of a Subset
	Text string // codes of the Subset
}

// Shaper holds what typesetters reuse from one document to the next. One
// typesetter at a time may use it.
type Shaper struct {
	fonts *Fonts
	faces map[*fontFile]*font.Face
	files map[*font.Face]*fontFile

	segments segmenter.Segmenter
	splitter shaping.Segmenter
	bidi     bidi.Paragraph
	shaper   shaping.HarfbuzzShaper
}

// NewShaper returns a shaper for the fonts.
func NewShaper(fonts *Fonts) *Shaper {
	return &Shaper{fonts: fonts, faces: map[*fontFile]*font.Face{}, files: map[*font.Face]*fontFile{}}
}

func (s *Shaper) face(t *fontFile) *font.Face {
	f := s.faces[t]
	if f == nil {
		f = font.NewFace(t.font)
		s.faces[t], s.files[f] = f, t
	}
	return f
}

// Typesetter sets the text of one document.
type Typesetter struct {
	*Shaper
	subsets *subsets
	lacking map[rune]bool  // characters that no font has
	blanks  map[glyph]bool // whether a glyph has no outline, for glyphs seen so far
}

// New returns a typesetter for a new document.
func (s *Shaper) New() *Typesetter {
	return &Typesetter{Shaper: s, subsets: newSubsets(), lacking: map[rune]bool{}, blanks: map[glyph]bool{}}
}

// Lines breaks text into lines of a width in millimetres, and returns at least
// one. It sets at most limit characters, followed by a note of how many there are.
func (t *Typesetter) Lines(text string, limit int, st Style, width float64) []Line {
	runes := clean(text, limit)
	if !t.plain(runes, st.Bold) {
		if runes = t.replaceMissing(runes, st.Bold); !t.plain(runes, st.Bold) {
			return t.shape(runes, st, width)
		}
	}
	return t.setPlain(runes, st, width)
}

// Truncated is Lines with at most maxLines lines, the last of which ends with an
// ellipsis if there are more.
func (t *Typesetter) Truncated(text string, limit int, st Style, width float64, maxLines int) []Line {
	lines := t.Lines(text, limit, st, width)
	if len(lines) <= maxLines {
		return lines
	}
	dots := t.Lines("…", limit, st, width)[0]
	lines = t.Lines(text, limit, st, width-dots.Width)
	lines = lines[:min(maxLines, len(lines))]
	last := &lines[len(lines)-1]
	for _, p := range dots.Pieces {
		p.X += last.Width
		last.Pieces = append(last.Pieces, p)
	}
	last.Width += dots.Width
	return lines
}

// Subsets returns the fonts of the document, for the text that was set so far.
func (t *Typesetter) Subsets() []*Subset {
	var used []*Subset
	for _, s := range t.subsets.all {
		if len(s.signs) > 0 {
			used = append(used, s)
		}
	}
	return used
}

// Missing returns the characters of the text so far that no font has, in their order.
// Control characters are not among them.
func (t *Typesetter) Missing() []rune { return slices.Sorted(maps.Keys(t.lacking)) }

// lack records the characters that no font has.
func (t *Typesetter) lack(runes ...rune) {
	for _, r := range runes {
		if r != missing && !joins(r) && t.fonts.find(r, false) == nil {
			t.lacking[r] = true
		}
	}
}

// plain reports whether Noto Sans can set the text character by character.
func (t *Typesetter) plain(runes []rune, bold bool) bool {
	latin := t.fonts.latin(bold).font
	for _, r := range runes {
		if r >= ' ' && r < 0x7F || r == missing {
			continue
		}
		if _, ok := latin.NominalGlyph(r); !ok || !encodable(r) || unicode.In(r, unicode.M, unicode.Cf) {
			return false
		}
	}
	return true
}

// replaceMissing replaces each grapheme that no font has.
func (t *Typesetter) replaceMissing(runes []rune, bold bool) []rune {
	out := make([]rune, 0, len(runes))
	t.segments.Init(runes)
	for it := t.segments.GraphemeIterator(); it.Next(); {
		cluster := it.Grapheme().Text
		base := t.fonts.find(cluster[0], bold)
		if base == nil && !joins(cluster[0]) {
			t.lack(cluster...)
			out = append(out, missing)
			continue
		}
		for _, r := range cluster {
			if joins(r) || t.fonts.find(r, bold) != nil {
				out = append(out, r)
			} else {
				t.lack(r)
				out = append(out, missing)
			}
		}
	}
	return out
}

// setPlain sets text in Noto Sans.
func (t *Typesetter) setPlain(runes []rune, st Style, width float64) []Line {
	latin := t.fonts.latin(st.Bold)
	face := t.face(latin)
	perUnit := Millimetres(st.Size) / 1000 // millimetres in a thousandth of an em
	subset := t.subsets.latin(st.Bold)
	advances := make([]float64, len(runes))
	for i, r := range runes {
		id, _ := face.NominalGlyph(r)
		advances[i] = float64(face.HorizontalAdvance(id)*latin.scale) * perUnit
		if _, known := subset.signs[r]; !known {
			subset.addPlain(t.plainSign(latin, r))
		}
	}
	spaces := make([]bool, len(runes)+1)
	for i, r := range runes {
		spaces[i+1] = r == ' '
	}
	var lines []Line
	for _, cut := range breakLines(runes, advances, spaces, width) {
		l := Line{}
		for _, a := range advances[cut.start:cut.end] {
			l.Width += a
		}
		if cut.end > cut.start {
			l.Pieces = []Piece{{Font: subset.name, Text: string(runes[cut.start:cut.end])}}
		}
		lines = append(lines, l)
	}
	return lines
}
