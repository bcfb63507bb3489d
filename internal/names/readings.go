// Readings of a text in which a name may be hidden.

package names

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The windows of a name with more words than are compared at a time.
const (
	windowStep  = maxTokens / 2
	maxReadings = 12
)

// Readings returns what the text of a query may say. The first name is the one that Parse
// returns, and has all doubts. A text with more than 16 words has a name for each window of
// 16 words. A text that hides a name has the name that a reader sees: letters that stand
// alone are joined, digits and signs among letters and letters of other scripts are
// replaced by the letters that they look like, and text that is displayed backwards is
// reversed. There are at most 12 names. Readings returns ErrNoName for a text without a
// token.
func (c *Comparer) Readings(kind Kind, text string) ([]Name, error) {
	first, err := c.Parse(kind, text)
	if err != nil {
		return nil, err
	}
	u := c.tables.undo(limit(text))
	first.Doubts = append(first.Doubts, u.doubts(kind)...)
	out := []Name{first}
	windows := func(n Name, from int) {
		for ; (from == 0 || from+windowStep < len(n.Tokens)) && len(out) < maxReadings; from += windowStep {
			out = append(out, n.window(from))
		}
	}
	for _, reading := range u.readings {
		n := c.parse(kind, reading)
		n.Text = reading
		windows(n, 0)
	}
	if len(first.Tokens) == maxTokens {
		windows(c.parse(kind, text), windowStep)
	}
	return out, nil
}

// window returns the name with those tokens that are compared at a time.
func (n Name) window(from int) Name {
	n.Tokens = n.Tokens[from:min(from+maxTokens, len(n.Tokens))]
	if len(n.Words) > 0 {
		n.Words = n.Words[from:min(from+maxTokens, len(n.Words))]
	}
	n.Doubts = nil
	if from > 0 {
		n.Text = ""
	}
	return n
}

// undone is a text after the tricks by which a name can be hidden in it are undone.
type undone struct {
	readings   []string // empty if there are none
	unreadable []string // words that cannot be transliterated
	redirected bool     // the text changes its direction
	spelled    bool     // there are more letters that stand alone than a name has initials
	digits     bool     // there are digits or signs between letters
}

func (u *undone) doubts(kind Kind) []string {
	var out []string
	for _, word := range u.unreadable {
		out = append(out, fmt.Sprintf("the word %q cannot be read", word))
	}
	if u.redirected {
		out = append(out, "the name has characters that reverse its direction")
	}
	if u.spelled {
		out = append(out, "the name is spelled out in single letters")
	}
	if u.digits && kind == Person {
		out = append(out, "the name has digits or signs between letters")
	}
	return out
}

// undo undoes all tricks in a text at once.
func (t *tables) undo(text string) *undone {
	u := &undone{}
	if ascii(text) && !strings.ContainsAny(text, "0123456789$@!|") && !short(text) {
		return u
	}
	changed := false
	text, u.redirected = reversed(text)
	all := pieces(withDigits(norm.NFKC.String(withoutMarks(text))), t.seen)
	for i, p := range all {
		if ascii(p.text) {
			continue
		}
		if words, unread := t.read(p.text); len(words) == 0 && len(unread) == 0 && strings.ContainsFunc(p.text, unicode.IsLetter) {
			u.unreadable = append(u.unreadable, p.text)
		}
		usual, _ := t.lookalikes.oneScript(p.text)
		all[i].text = usual
		if latin, ok := t.lookalikes.in("latin", p.text); ok && utf8.RuneCountInString(latin) >= 3 && latin != usual {
			all[i].text, changed = latin, true
		}
	}
	joined, spelled := joinPieces(all)
	u.spelled = spelled
	changed = changed || u.redirected || len(joined) < len(all)
	for _, letters := range []*strings.Replacer{
		strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b", "9", "g"),
		strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b", "9", "g"),
	} {
		var b strings.Builder
		for _, p := range joined {
			b.WriteString(p.gap)
			word := p.text
			if strings.ContainsFunc(word, unicode.IsLetter) && strings.ContainsFunc(word, unicode.IsDigit) {
				u.digits = u.digits || amongLetters(word)
				word = letters.Replace(word)
				changed = changed || word != p.text
			}
			b.WriteString(word)
		}
		if reading := b.String(); changed && !slices.Contains(u.readings, reading) {
			u.readings = append(u.readings, reading)
		}
	}
	return u
}

// short reports whether a text may have three short words in a row or three signs in a
// word.
func short(text string) bool {
	letters, found := 0, 0
	for i := range len(text) {
		switch b := text[i]; {
		case b >= utf8.RuneSelf, b|0x20 >= 'a' && b|0x20 <= 'z':
			letters++
			continue
		case letters > 2 && b == ' ':
			found = 0
		case letters > 0:
			found++
		}
		letters = 0
		if found >= 2 {
			return true
		}
	}
	return false
}

// reversed returns a text as it is displayed, and whether it has characters that override
// its direction.
func reversed(text string) (string, bool) {
	if !strings.ContainsAny(text, "\u202d\u202e") {
		return text, false
	}
	var out, inner []rune
	depth := 0 // of overrides
	for _, r := range text {
		switch {
		case r == '\u202d' || r == '\u202e':
			depth++
		case depth > 0 && (r == '\u202c' || r == '\n'):
			if depth--; depth == 0 {
				slices.Reverse(inner)
				out, inner = append(out, inner...), inner[:0]
			}
		case depth > 0:
			inner = append(inner, r)
		default:
			out = append(out, r)
		}
	}
	slices.Reverse(inner)
	return string(append(out, inner...)), true
}

// withDigits returns a text with digits for the signs before a letter or digit that are
// written for letters.
func withDigits(text string) string {
	if !strings.ContainsAny(text, "$@!|€") {
		return text
	}
	runes := []rune(text)
	for i, r := range runes[:len(runes)-1] {
		if at := strings.IndexRune("$@!|€", r); at >= 0 && (unicode.IsLetter(runes[i+1]) || unicode.IsDigit(runes[i+1])) {
			runes[i] = rune("54113"[at])
		}
	}
	return string(runes)
}

// amongLetters reports whether a digit of a word has a letter before and after it.
func amongLetters(word string) bool {
	inner := strings.TrimFunc(word, unicode.IsDigit)
	return strings.ContainsFunc(inner, unicode.IsDigit)
}

// The numbers of short pieces in a row that are joined, and that are more than the initials
// of a name.
const (
	manyShort    = 3
	tooManyShort = 8
	onlyShort    = 6 // if the text has no others
)

// joinPieces joins the pieces of a word: three in a row of at most two letters, up to a wider
// gap, and four or more without a space between them. It reports whether the text
// is spelled out.
func joinPieces(all []piece) (out []piece, spelled bool) {
	spaced, within, most, singles := 0, 0, 0, 0 // pieces in a row, with and without spaces between them
	for i, p := range all {
		n := letters(p.text)
		if strings.ContainsFunc(p.gap, unicode.IsSpace) {
			within = 0
		}
		alone := within == 0 && (i+1 == len(all) || all[i+1].text == "" || strings.ContainsFunc(all[i+1].gap, unicode.IsSpace))
		if _, cjk := scriptChanges(p.text); cjk || n > 2 {
			spaced, within, singles = 0, 0, -len(all)
			continue
		}
		if n == 1 {
			singles++
		}
		within++
		if spaced++; !alone {
			spaced = 0
		}
		most = max(most, spaced, within)
	}
	spelled = most >= tooManyShort || singles >= onlyShort
	for i := 0; i < len(all); {
		size := max(shortRun(all[i:]), unspaced(all[i:]))
		p := all[i]
		for _, next := range all[i+1 : i+size] {
			p.text += next.text
		}
		out = append(out, p)
		i += size
	}
	return out, spelled
}

// shortRun returns the number of pieces to join: those of at most two letters, up to a
// wider gap.
func shortRun(all []piece) int {
	n := 0
	for n < len(all) && letters(all[n].text) >= 1 && letters(all[n].text) <= 2 && (n < 2 || len(all[n].gap) <= len(all[1].gap)) {
		n++
	}
	if n < manyShort {
		return 1
	}
	return n
}

// unspaced returns the number of pieces to join: four or more without a space between them, or two or
// more if one has digits among its letters.
func unspaced(all []piece) int {
	n, least := 1, manyShort+1
	for n < len(all) && all[n].text != "" && !strings.ContainsFunc(all[n].gap, unicode.IsSpace) {
		n++
	}
	if slices.ContainsFunc(all[:n], func(p piece) bool { return amongLetters(p.text) }) {
		least = 2
	}
	if n < least {
		return 1
	}
	return n
}

// letters returns the number of letters and digits of a piece.
func letters(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
