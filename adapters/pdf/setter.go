// Sets text into lines: live where the Latin font has it all, shaped where not.

package pdf

import (
	"unicode"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/segmenter"
	"github.com/go-text/typesetting/shaping"
)

// desk is what one document at a time is made on: tools that keep state, and
// so are used by one goroutine.
type desk struct {
	faces *typefaces
	space glyph
	open  map[*typeface]*font.Face
	owner map[*font.Face]*typeface

	segments segmenter.Segmenter
	splitter shaping.Segmenter
	bidi     bidi.Paragraph
	shaper   shaping.HarfbuzzShaper
}

func newDesk(faces *typefaces) *desk {
	space, _ := faces.regular.font.NominalGlyph(' ')
	return &desk{
		faces: faces, space: glyph{faces.regular, space},
		open: map[*typeface]*font.Face{}, owner: map[*font.Face]*typeface{},
	}
}

func (d *desk) face(t *typeface) *font.Face {
	f := d.open[t]
	if f == nil {
		f = font.NewFace(t.font)
		d.open[t], d.owner[f] = f, t
	}
	return f
}

// setter sets the text of one document.
type setter struct {
	*desk
	sheets *sheets
	blanks map[glyph]bool // whether a glyph shows nothing, as far as it was asked
}

func newSetter(d *desk) *setter {
	return &setter{desk: d, sheets: newSheets(d.faces), blanks: map[glyph]bool{}}
}

// line is a line of text, measured in millimetres.
type line struct {
	width  float64
	pieces []piece
}

// piece is a string in one font of the document. x is from the start of the
// line, rise from the baseline up.
type piece struct {
	x, rise float64
	sheet   int
	text    string
}

// set breaks a text into lines of a width. It returns at least one.
func (s *setter) set(text string, limit int, st style, width float64) []line {
	runes := clean(text, limit)
	if !s.plain(runes, st.bold) {
		if runes = s.cover(runes, st.bold); !s.plain(runes, st.bold) {
			return s.shape(runes, st, width)
		}
	}
	return s.setPlain(runes, st, width)
}

// name sets a text of at most limitName characters into at most so many lines,
// and ends it with an ellipsis if it is longer.
func (s *setter) name(text string, st style, width float64, most int) []line {
	lines := s.set(text, limitName, st, width)
	if len(lines) <= most {
		return lines
	}
	dots := s.word("…", st)
	lines = s.set(text, limitName, st, width-dots.width)
	lines = lines[:min(most, len(lines))]
	last := &lines[len(lines)-1]
	for _, p := range dots.pieces {
		p.x += last.width
		last.pieces = append(last.pieces, p)
	}
	last.width += dots.width
	return lines
}

// word sets a short text of ours into one line.
func (s *setter) word(text string, st style) line {
	return s.set(text, limitName, st, contentWidth)[0]
}

// plain tells whether the Latin font can set the text as it stands: each
// character by itself, one after the other.
func (s *setter) plain(runes []rune, bold bool) bool {
	live := s.faces.live(bold).font
	for _, r := range runes {
		if r >= ' ' && r < 0x7F || r == missing {
			continue
		}
		if _, ok := live.NominalGlyph(r); !ok || !encodable(r) || unicode.In(r, unicode.M, unicode.Cf) {
			return false
		}
	}
	return true
}

// cover puts a box for each letter, or picture made of several characters,
// that no font has.
func (s *setter) cover(runes []rune, bold bool) []rune {
	out := make([]rune, 0, len(runes))
	s.segments.Init(runes)
	for it := s.segments.GraphemeIterator(); it.Next(); {
		cluster := it.Grapheme().Text
		base := s.faces.find(cluster[0], bold)
		if base == nil && !joins(cluster[0]) {
			out = append(out, missing)
			continue
		}
		for _, r := range cluster {
			if joins(r) || s.faces.find(r, bold) != nil {
				out = append(out, r)
			} else {
				out = append(out, missing)
			}
		}
	}
	return out
}

// setPlain sets a text in the Latin font.
func (s *setter) setPlain(runes []rune, st style, width float64) []line {
	live := s.faces.live(st.bold)
	face := s.face(live)
	em := millimetres(st.size) / 1000
	sheet := 0
	if st.bold {
		sheet = 1
	}
	advances := make([]float64, len(runes))
	for i, r := range runes {
		id, _ := face.NominalGlyph(r)
		advances[i] = float64(face.HorizontalAdvance(id)*live.scale) * em
		s.sheets.place(glyph{live, id}, r)
	}
	spaces := make([]bool, len(runes)+1)
	for i, r := range runes {
		spaces[i+1] = r == ' '
	}
	var lines []line
	for _, cut := range breakLines(runes, advances, spaces, width) {
		l := line{}
		for _, a := range advances[cut.start:cut.end] {
			l.width += a
		}
		if cut.end > cut.start {
			l.pieces = []piece{{sheet: sheet, text: string(runes[cut.start:cut.end])}}
		}
		lines = append(lines, l)
	}
	return lines
}
