// The fonts inside a document: which glyph stands under which code.

package pdf

import (
	"fmt"
	"unicode"

	"github.com/go-text/typesetting/font"
)

// gofpdf writes text as 16-bit codes and tells the reader that a code is the
// character it stands for. So a glyph stands under its character wherever that
// is possible, and the text can be searched and copied; a glyph that is no
// character by itself, such as a ligature, stands in the private use area.
const (
	privateFirst = 0xE000
	privateLast  = 0xF8FF
	spareSheets  = 4 // tried before a glyph goes to the private use area
)

// glyph is one shape of one font.
type glyph struct {
	face *typeface
	id   font.GID
}

// place is where a glyph stands: a sheet, and the code in it.
type place struct {
	sheet int
	code  rune
}

// sheet becomes one font of the document. It holds only what is printed.
type sheet struct {
	family string
	glyphs map[rune]glyph
	spare  rune // the next free private code
}

// sheets are the fonts of one document. The first two hold the live text, in
// regular and in bold; the rest is made when needed.
type sheets struct {
	faces  *typefaces
	all    []*sheet
	placed map[wish]place
}

// wish is a glyph and the character that it should be read as; 0 for none.
type wish struct {
	glyph
	want rune
}

func newSheets(faces *typefaces) *sheets {
	s := &sheets{faces: faces, placed: map[wish]place{}}
	s.at(0)
	s.at(1)
	return s
}

// at returns sheet number i, which is the next one at most.
func (s *sheets) at(i int) *sheet {
	if i == len(s.all) {
		family := fmt.Sprintf("notosans%d", i)
		switch i {
		case 0:
			family = "notosans"
		case 1:
			family = "notosansbold"
		}
		s.all = append(s.all, &sheet{family: family, glyphs: map[rune]glyph{}, spare: privateFirst})
	}
	return s.all[i]
}

// place finds the glyph its place, the same one every time.
func (s *sheets) place(g glyph, want rune) place {
	w := wish{g, want}
	if p, ok := s.placed[w]; ok {
		return p
	}
	p := s.find(g, want)
	s.all[p.sheet].glyphs[p.code] = g
	s.placed[w] = p
	return p
}

func (s *sheets) find(g glyph, want rune) place {
	if encodable(want) {
		for i := range spareSheets {
			if s.welcome(i, g, want) {
				return place{i, want}
			}
		}
	}
	for i := 2; ; i++ {
		if sh := s.at(i); sh.spare <= privateLast {
			sh.spare++
			return place{i, sh.spare - 1}
		}
	}
}

// welcome tells whether a glyph may stand under this code of a sheet. The codes
// that live text needs are kept for it.
func (s *sheets) welcome(i int, g glyph, want rune) bool {
	if i < 2 {
		live := s.faces.live(i == 1)
		nominal, ok := live.font.NominalGlyph(want)
		if ok && (g.face != live || g.id != nominal) || g.face == s.faces.live(i == 0) {
			return false
		}
	}
	there, taken := s.at(i).glyphs[want]
	return !taken || there == g
}

// encodable tells whether gofpdf can write the character: it fails beyond 16
// bits. The private use area is ours.
func encodable(r rune) bool {
	return r >= ' ' && r < 0xFFFE && !unicode.Is(unicode.Cs, r) && !unicode.Is(unicode.Cc, r) &&
		(r < privateFirst || r > privateLast)
}
