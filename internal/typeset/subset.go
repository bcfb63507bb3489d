// The fonts inside a document: the code of each sign.

package typeset

import (
	"encoding/binary"
	"fmt"
	"unicode"

	"github.com/go-text/typesetting/font"
)

const (
	privateFirst = 0xE000
	privateLast  = 0xF8FF
)

type glyph struct {
	file *fontFile
	id   font.GID
}

// placed is a glyph at a distance from where its sign begins, in units of unitsPerEm.
type placed struct {
	glyph
	x, y int
}

// sign is one character of shaped text: what it draws, and how wide it is. Of the characters
// of a cluster, the leftmost one draws the whole cluster, and the others are blank.
type sign struct {
	char    rune
	advance int // in units of unitsPerEm
	drawn   []placed
}

// key identifies a sign within a document.
type key struct {
	char    rune
	advance int
	file    *fontFile // of all glyphs
	glyphs  string    // their ids and places
}

func (s sign) key() key {
	k := key{char: s.char, advance: s.advance}
	var raw []byte
	for _, p := range s.drawn {
		k.file = p.file
		raw = binary.BigEndian.AppendUint32(raw, uint32(p.id))
		raw = binary.BigEndian.AppendUint32(raw, uint32(int32(p.x)))
		raw = binary.BigEndian.AppendUint32(raw, uint32(int32(p.y)))
	}
	k.glyphs = string(raw)
	return k
}

// code is the position of a sign: a subset, and a 16-bit character of it.
type code struct {
	subset *Subset
	char   rune
}

// Subset is a font of the document with the signs that the document uses.
type Subset struct {
	name  string
	signs map[rune]sign // by code
}

// Name returns the name of the font.
func (s *Subset) Name() string { return s.name }

// Texts returns the character that each code stands for; nil if each code is its character.
func (s *Subset) Texts() map[rune]rune {
	var texts map[rune]rune
	for code, sign := range s.signs {
		if code < privateFirst || code > privateLast {
			continue
		}
		if texts == nil {
			texts = map[rune]rune{}
		}
		texts[code] = sign.char
	}
	return texts
}

// subsets are the fonts of one document. The first two hold plain text, in regular and in
// bold, whose codes are its characters. The others hold shaped text, whose codes are of the
// private use area.
type subsets struct {
	all   []*Subset
	codes map[key]code
}

func newSubsets() *subsets {
	s := &subsets{codes: map[key]code{}}
	for _, name := range []string{"notosans", "notosansbold"} {
		s.all = append(s.all, &Subset{name: name, signs: map[rune]sign{}})
	}
	return s
}

// latin returns the subset of plain text.
func (s *subsets) latin(bold bool) *Subset {
	if bold {
		return s.all[1]
	}
	return s.all[0]
}

// addPlain adds a sign of the Latin font under the code of its character.
func (s *Subset) addPlain(n sign) code {
	if _, ok := s.signs[n.char]; !ok {
		s.signs[n.char] = n
	}
	return code{s, n.char}
}

// add returns the code of a sign of shaped text. It is the same at every call.
func (s *subsets) add(n sign) code {
	k := n.key()
	c, ok := s.codes[k]
	if !ok {
		last := s.all[len(s.all)-1]
		if len(s.all) == 2 || len(last.signs) > privateLast-privateFirst {
			last = &Subset{name: fmt.Sprintf("notosans%d", len(s.all)), signs: map[rune]sign{}}
			s.all = append(s.all, last)
		}
		c = code{last, privateFirst + rune(len(last.signs))}
		last.signs[c.char] = n
		s.codes[k] = c
	}
	return c
}

// encodable reports whether gofpdf can write the character, which must have 16
// bits. The private use area is reserved for shaped text.
func encodable(r rune) bool {
	return r >= ' ' && r < 0xFFFE && !unicode.Is(unicode.Cs, r) && !unicode.Is(unicode.Cc, r) &&
		(r < privateFirst || r > privateLast)
}
