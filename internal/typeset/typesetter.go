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

// Span is a part of a text that may be bold.
type Span struct {
	Text string
	Bold bool
}

// Lines breaks text into lines of a width in millimetres, and returns at least
// one. It sets at most limit characters, followed by a note of how many there are.
func (t *Typesetter) Lines(text string, limit int, st Style, width float64) []Line {
	return t.Spans([]Span{{text, false}}, limit, st, width)
}

// Spans is Lines of spans that are one text. The limit is for each span.
func (t *Typesetter) Spans(spans []Span, limit int, st Style, width float64) []Line {
	var all letters
	for _, s := range spans {
		for _, r := range clean(s.Text, limit) {
			all = append(all, letter{r, s.Bold || st.Bold})
		}
	}
	plain, ok := t.plain(all)
	if !ok {
		all = t.replaceMissing(all)
		if plain, ok = t.plain(all); !ok {
			return t.shape(all, st, width)
		}
	}
	return t.setPlain(plain, st, width)
}

// letters are the characters of a text, each in regular or bold.
type letters []letter

type letter struct {
	char rune
	bold bool
}

func (l letters) runes() []rune {
	runes := make([]rune, len(l))
	for i := range l {
		runes[i] = l[i].char
	}
	return runes
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

// plain reports whether Noto Sans can set the text character by character, and returns it
// without the marks that change nothing in a text from left to right.
func (t *Typesetter) plain(text letters) (letters, bool) {
	kept := make(letters, 0, len(text))
	for _, l := range text {
		switch r := l.char; {
		case r >= ' ' && r < 0x7F || r == missing:
		case r == 0x200E || r == isolateLeft || r == isolateFirst || r == isolateEnd:
			continue
		default:
			if _, ok := t.fonts.latin(l.bold).font.NominalGlyph(r); !ok || !encodable(r) || unicode.In(r, unicode.M, unicode.Cf) {
				return nil, false
			}
		}
		kept = append(kept, l)
	}
	return kept, true
}

// replaceMissing replaces each grapheme that no font has.
func (t *Typesetter) replaceMissing(text letters) letters {
	out := make(letters, 0, len(text))
	t.segments.Init(text.runes())
	for it := t.segments.GraphemeIterator(); it.Next(); {
		g := it.Grapheme()
		bold := text[g.Offset].bold
		if t.fonts.find(g.Text[0], bold) == nil && !joins(g.Text[0]) {
			t.lack(g.Text...)
			out = append(out, letter{missing, bold})
			continue
		}
		for _, l := range text[g.Offset : g.Offset+len(g.Text)] {
			if !joins(l.char) && t.fonts.find(l.char, l.bold) == nil {
				t.lack(l.char)
				l.char = missing
			}
			out = append(out, l)
		}
	}
	return out
}

// setPlain sets text in Noto Sans.
func (t *Typesetter) setPlain(text letters, st Style, width float64) []Line {
	perUnit := Millimetres(st.Size) / 1000 // millimetres in a thousandth of an em
	advances := make([]float64, len(text))
	spaces := make([]bool, len(text)+1)
	for i, l := range text {
		latin, subset := t.fonts.latin(l.bold), t.subsets.latin(l.bold)
		face := t.face(latin)
		id, _ := face.NominalGlyph(l.char)
		advances[i] = float64(face.HorizontalAdvance(id)*latin.scale) * perUnit
		if _, known := subset.signs[l.char]; !known {
			subset.addPlain(t.plainSign(latin, l.char))
		}
		spaces[i+1] = l.char == ' '
	}
	var lines []Line
	runes := text.runes()
	for _, cut := range breakLines(runes, advances, spaces, width) {
		l := Line{}
		for i, end := cut.start, 0; i < cut.end; i = end {
			l.Pieces = append(l.Pieces, Piece{X: l.Width, Font: t.subsets.latin(text[i].bold).name})
			for end = i; end < cut.end && text[end].bold == text[i].bold; end++ {
				l.Width += advances[end]
			}
			l.Pieces[len(l.Pieces)-1].Text = string(runes[i:end])
		}
		lines = append(lines, l)
	}
	return lines
}
