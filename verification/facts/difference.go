// Differences: whether two values agree, and which characters differ.

package facts

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/verifyd/verifyd/internal/birthdate"
	"github.com/verifyd/verifyd/internal/fold"
)

// Range is a range of the characters of a text: from From up to, but not including, To.
type Range struct{ From, To int }

// composed returns a text in NFC, so that equal texts have equal characters.
func composed(s string) string { return norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD")) }

// Agree reports whether two values of a fact agree: texts with the same words, the same days, and
// the same numbers. Of two lists, one item must agree.
func Agree(a, b any) bool {
	for _, x := range items(a) {
		for _, y := range items(b) {
			if x == y || sameWords(x, y) || sameDate(x, y) {
				return true
			}
		}
	}
	return false
}

// items returns the texts of a value in normal form: of each item of a list.
func items(v any) (all []string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list[:min(len(list), maxFactItems)] {
		if text := fold.Text(full(item)); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// sameWords reports whether two texts in normal form have the same words, in any order:
// registries put the family name first.
func sameWords(a, b string) bool {
	return len(a) == len(b) && len(a) <= maxFactText && slices.Equal(slices.Sorted(strings.FieldsSeq(a)), slices.Sorted(strings.FieldsSeq(b)))
}

// otherScript reports whether two texts have letters, and no script in common.
func otherScript(a, b string) bool {
	of := func(text string) (scripts []*unicode.RangeTable) {
		for _, r := range text {
			if unicode.IsLetter(r) && !unicode.In(r, scripts...) {
				for _, script := range unicode.Scripts {
					if unicode.Is(script, r) {
						scripts = append(scripts, script)
					}
				}
			}
		}
		return scripts
	}
	first, second := of(a), of(b)
	return len(first) > 0 && len(second) > 0 && !slices.ContainsFunc(first, func(s *unicode.RangeTable) bool { return slices.Contains(second, s) })
}

// sameDate reports whether two texts are the same day, or one is a year or a month and the other a day in it.
func sameDate(a, b string) bool {
	x, ok := date(a)
	y, same := date(b)
	switch {
	case ok && same:
		return x == y
	case ok:
		return birthdate.Is(b) && birthdate.Agree(x, b)
	case same:
		return birthdate.Is(a) && birthdate.Agree(a, y)
	}
	return birthdate.Is(a) && birthdate.Is(b) && len(a) != len(b) && birthdate.Agree(a, b)
}

// date returns the day that a text in normal form is; the day comes before the month unless the
// year is first.
func date(s string) (day string, ok bool) {
	if len(s) > len(time.RFC3339Nano) {
		return "", false
	}
	for _, layout := range []string{
		time.DateOnly, "2006/1/2", "2.1.2006", "2/1/2006", "2-1-2006", "2 Jan 2006", "2 January 2006", "2-Jan-2006",
		time.RFC3339, "2006-01-02T15:04:05",
	} {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
}

// SameWords returns two texts, in NFC. Their marks are the words that both have, in any
// order: case and punctuation do not matter.
func SameWords(a, b string) (x, y Cell) {
	x, y = Cell{Text: composed(a)}, Cell{Text: composed(b)}
	inX, inY := plainWordsOf([]rune(x.Text)), plainWordsOf([]rune(y.Text))
	x.Marks, y.Marks = wordsAlsoIn(inY, inX), wordsAlsoIn(inX, inY)
	return x, y
}

// wordsAlsoIn returns the ranges of words that others have, too.
func wordsAlsoIn(others, words []word) (found []Range) {
	known := map[string]bool{}
	for _, w := range others {
		known[w.folded] = true
	}
	for _, w := range words {
		if known[w.folded] {
			found = append(found, w.Range)
		}
	}
	return found
}

// plainWordsOf returns the words of a text without its punctuation.
func plainWordsOf(text []rune) []word {
	plain := slices.Clone(text)
	for i, r := range plain {
		if !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number) {
			plain[i] = ' '
		}
	}
	return wordsOf(plain)
}

// maxWords bounds the words of texts that are compared word by word.
const maxWords = 64

// word is a word of a text, and where its characters are.
type word struct {
	Range
	folded string
}

// marks returns the ranges of text that differ from another text. Words that both have in
// order do not differ. Other words are compared one by one: the characters at the beginning and
// at the end that both have do not differ.
func marks(other, text string) (found []Range) {
	a, b := []rune(other), []rune(text)
	before, words := wordsOf(a), wordsOf(b)
	if len(before) > maxWords || len(words) > maxWords {
		return changed(a, b, 0, nil)
	}
	common := commonWords(before, words)
	fromA, fromB := 0, 0
	for _, pair := range append(common, [2]int{len(before), len(words)}) {
		for ; fromB < pair[1]; fromA, fromB = fromA+1, fromB+1 {
			was, is := a[:0], words[fromB]
			if fromA < pair[0] {
				was = a[before[fromA].From:before[fromA].To]
			}
			found = changed(was, b[is.From:is.To], is.From, found)
		}
		fromA, fromB = pair[0]+1, pair[1]+1
	}
	return found
}

// changed adds the range of b without the characters that both begin and end with. The first
// character of b has the index at.
func changed(a, b []rune, at int, found []Range) []Range {
	from, to := 0, len(b)
	for from < min(len(a), to) && sameRune(a[from], b[from]) {
		from++
	}
	for end := len(a); to > from && end > from && sameRune(a[end-1], b[to-1]); end-- {
		to--
	}
	if from == to {
		return found
	}
	return append(found, Range{at + from, at + to})
}

func sameRune(a, b rune) bool { return a == b || strings.EqualFold(string(a), string(b)) }

// wordsOf returns the words of a text.
func wordsOf(text []rune) (words []word) {
	from := -1
	for i := 0; i <= len(text); i++ {
		space := i == len(text) || unicode.IsSpace(text[i])
		switch {
		case !space && from < 0:
			from = i
		case space && from >= 0:
			words = append(words, word{Range{from, i}, fold.Text(string(text[from:i]))})
			from = -1
		}
	}
	return words
}

// commonWords returns the indices of a longest sequence of words that two texts have in order.
func commonWords(a, b []word) (pairs [][2]int) {
	longest := make([][]int, len(a)+1) // of a[i:] and b[k:]
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for k := range slices.Backward(b) {
			if a[i].folded == b[k].folded {
				longest[i][k] = longest[i+1][k+1] + 1
			} else {
				longest[i][k] = max(longest[i+1][k], longest[i][k+1])
			}
		}
	}
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i].folded == b[k].folded:
			pairs = append(pairs, [2]int{i, k})
			i, k = i+1, k+1
		case longest[i+1][k] >= longest[i][k+1]:
			i++
		default:
			k++
		}
	}
	return pairs
}
