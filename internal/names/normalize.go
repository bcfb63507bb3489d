// Normalising a text: characters that are not seen, and words of two scripts.

package names

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/verifyd/verifyd/internal/fold"
)

// normalize returns a text in Unicode NFKC without characters that are not seen. A word
// with letters of two scripts is brought to one if its letters look like letters of that
// script. If they do not, the doubts say so.
func (t *tables) normalize(kind Kind, text string) (normal string, doubts []string) {
	if ascii(text) {
		return text, nil
	}
	text = norm.NFKC.String(limit(withoutMarks(text)))
	if t.usual(text) {
		return text, nil
	}
	var b strings.Builder
	for _, p := range pieces(text, t.seen) {
		b.WriteString(p.gap)
		if changes, cjk := scriptChanges(p.text); changes > 0 {
			folded, ok := t.lookalikes.oneScript(p.text)
			// Two words without a space between them change the script once, and are split
			// there. Companies in East Asia write brands between characters.
			if !ok && changes > 1 && (kind == Person || !cjk || changes > 3) {
				doubts = append(doubts, fmt.Sprintf("the word %q has letters of several scripts", p.text))
			}
			p.text = folded
		}
		b.WriteString(p.text)
	}
	return b.String(), doubts
}

// withoutMarks returns a text without the signs of trade marks, which NFKC makes letters of.
func withoutMarks(text string) string {
	if !strings.ContainsAny(text, "™℠®©") {
		return text
	}
	return strings.NewReplacer("™", " ", "℠", " ", "®", " ", "©", " ").Replace(text)
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// usual reports whether a text has no character that is not seen, no sign that stands for
// a letter, and no word of two scripts.
func (t *tables) usual(text string) bool {
	last := ' ' // a letter of the word so far
	for _, r := range text {
		switch {
		case r < 0x250: // ASCII and Latin letters
			if r <= ' ' || r == '-' {
				last = ' '
			} else if r|0x20 >= 'a' && unicode.IsLetter(r) {
				if last >= 0x250 {
					return false
				}
				last = r
			}
		case fold.Apostrophe(r):
		case unicode.IsLetter(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			if last != ' ' && block(r) != block(last) && scriptOf(r) != scriptOf(last) {
				return false
			}
			last = r
		case unicode.IsMark(r) && r < 0xfe00 && r != '\u034f':
		case t.seen(r) != r:
			return false
		}
	}
	return true
}

// block returns a number that letters of the same large block have in common.
func block(r rune) rune { return r >> 8 }

// seen returns the character that a reader sees: 0 for none.
func (t *tables) seen(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case r == '\u200c' || r == '\u200d': // joiners have a meaning in Arabic and Indic scripts
		return 0
	case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return 0
	case unicode.Is(unicode.So, r):
		if letter, ok := t.lookalikes.latin[r]; ok {
			return letter
		}
	}
	return r
}

// piece is a sequence of letters and digits, and what is before it.
type piece struct {
	gap, text string
}

// pieces splits a text. It replaces each character by what seen returns. Marks and
// apostrophes within a piece belong to it. The last piece has no text if the text ends in
// something else.
func pieces(text string, seen func(rune) rune) []piece {
	var out []piece
	var gap, word strings.Builder
	flush := func() {
		out = append(out, piece{gap.String(), word.String()})
		gap.Reset()
		word.Reset()
	}
	for _, r := range text {
		r = seen(r)
		switch {
		case r == 0:
		case unicode.IsLetter(r) || unicode.IsDigit(r) || word.Len() > 0 && (unicode.IsMark(r) || fold.Apostrophe(r)):
			word.WriteRune(r)
		default:
			if word.Len() > 0 {
				flush()
			}
			gap.WriteRune(r)
		}
	}
	flush()
	return out
}

// scriptChanges returns how often the script changes within a word, and whether one of
// the scripts is written without spaces.
func scriptChanges(word string) (n int, cjk bool) {
	last := ""
	for _, r := range word {
		if !unicode.IsLetter(r) || fold.Apostrophe(r) {
			continue
		}
		s := scriptOf(r)
		switch s {
		case "han", "kana", "hangul":
			s, cjk = "cjk", true
		}
		if last != "" && s != last {
			n++
		}
		last = s
	}
	return n, cjk
}
