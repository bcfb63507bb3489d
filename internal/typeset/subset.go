// The fonts inside a document: the code of each glyph.

package typeset

import (
	"fmt"
	"unicode"

	"github.com/go-text/typesetting/font"
)

const (
	privateFirst = 0xE000
	privateLast  = 0xF8FF
	// maxAttempts is how many subsets are considered for a glyph under its own
	// character before it gets a code of the private use area.
	maxAttempts = 4
)

type glyph struct {
	file *fontFile
	id   font.GID
}

// code is the position of a glyph: a subset, and a character of it.
type code struct {
	subset *Subset
	char   rune
}

// Subset is a font of the document with the glyphs that the document uses.
type Subset struct {
	name   string
	glyphs map[rune]glyph
	next   rune // the next free private code
}

// Name returns the name of the font.
func (s *Subset) Name() string { return s.name }

// subsets are the fonts of one document. The first two hold plain text, in regular
// and in bold; more are added when needed.
type subsets struct {
	fonts *Fonts
	all   []*Subset
	codes map[request]code
}

// request is a glyph and the character that it should be copied as; 0 for none.
type request struct {
	glyph
	char rune
}

func newSubsets(fonts *Fonts) *subsets {
	s := &subsets{fonts: fonts, codes: map[request]code{}}
	s.at(0)
	s.at(1)
	return s
}

// latin returns the subset of plain text.
func (s *subsets) latin(bold bool) *Subset {
	if bold {
		return s.all[1]
	}
	return s.all[0]
}

// at returns subset number i, and adds it if it is the next one.
func (s *subsets) at(i int) *Subset {
	if i == len(s.all) {
		name := fmt.Sprintf("notosans%d", i)
		switch i {
		case 0:
			name = "notosans"
		case 1:
			name = "notosansbold"
		}
		s.all = append(s.all, &Subset{name: name, glyphs: map[rune]glyph{}, next: privateFirst})
	}
	return s.all[i]
}

// add returns the code of a glyph. It is the same at every call.
func (s *subsets) add(g glyph, char rune) code {
	r := request{g, char}
	c, ok := s.codes[r]
	if !ok {
		c = s.assign(g, char)
		c.subset.glyphs[c.char] = g
		s.codes[r] = c
	}
	return c
}

func (s *subsets) assign(g glyph, char rune) code {
	if encodable(char) {
		for i := range maxAttempts {
			if s.accepts(i, g, char) {
				return code{s.at(i), char}
			}
		}
	}
	for i := 2; ; i++ { // at adds a subset when all are full
		if sub := s.at(i); sub.next <= privateLast {
			sub.next++
			return code{sub, sub.next - 1}
		}
	}
}

// accepts reports whether a glyph may have this code in subset i. The codes of
// plain text are reserved for it.
func (s *subsets) accepts(i int, g glyph, char rune) bool {
	if i < 2 {
		latin := s.fonts.latin(i == 1)
		nominal, ok := latin.font.NominalGlyph(char)
		if ok && (g.file != latin || g.id != nominal) || g.file == s.fonts.latin(i == 0) {
			return false
		}
	}
	assigned, taken := s.at(i).glyphs[char]
	return !taken || assigned == g
}

// encodable reports whether gofpdf can write the character, which must have 16
// bits. The private use area is reserved for glyphs without a character.
func encodable(r rune) bool {
	return r >= ' ' && r < 0xFFFE && !unicode.Is(unicode.Cs, r) && !unicode.Is(unicode.Cc, r) &&
		(r < privateFirst || r > privateLast)
}
