// Where a text that has several names is cut.

package names

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pieces splits a text at what is between names, outside brackets.
func (s *splitter) pieces(text string) []string {
	masked := outsideBrackets(text)
	cuts := append(signCuts(masked, ";/@"), s.between.FindAllIndex(masked, -1)...)
	for _, phrase := range s.inside {
		for from := 0; ; {
			at := strings.Index(string(masked[from:]), phrase)
			if at < 0 {
				break
			}
			cuts = append(cuts, []int{from + at, from + at + len(phrase)})
			from += at + len(phrase)
		}
	}
	for _, at := range s.both.FindAllIndex(masked, -1) {
		and := at[0] + 1 + bytes.IndexFunc(masked[at[0]+1:], unicode.IsLetter)
		cuts = append(cuts, []int{and, and + bytes.IndexFunc(masked[and:], unicode.IsSpace)})
	}
	return cutAt(text, cuts)
}

// aliases returns the names that a registered name has beside the whole text: those before and behind
// @, as identity cards of Malaysia and Singapore write another name, without what is in brackets. What is in
// brackets may be the name of somebody else, such as the holder of an account.
func aliases(text string) []string {
	text = asciiSigns(text)
	var out []string
	for _, piece := range cutAt(text, signCuts(outsideBrackets(text), "@")) {
		outside, _ := bracketed(piece)
		if name := tidy(strings.Join(outside, " ")); name != tidy(text) {
			out = append(out, name)
		}
	}
	return out
}

// outsideBrackets returns a text with zeros for brackets and what is in them.
func outsideBrackets(text string) []byte {
	masked, depth := []byte(text), 0
	for i, b := range masked {
		switch b {
		case '(':
			depth++
		case ')':
			if depth > 0 {
				depth--
				masked[i] = 0
			}
		}
		if depth > 0 {
			masked[i] = 0
		}
	}
	return masked
}

// signCuts returns where the signs of a text that join two names are.
func signCuts(masked []byte, signs string) (cuts [][]int) {
	for i, b := range masked {
		if strings.IndexByte(signs, b) >= 0 && (b == ';' || signJoins(masked, i)) {
			cuts = append(cuts, []int{i, i + 1})
		}
	}
	return cuts
}

// cutAt returns the texts between cuts that have a letter or a digit, and the text behind the last one.
func cutAt(text string, cuts [][]int) (out []string) {
	slices.SortFunc(cuts, func(a, b []int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	from := 0
	for _, cut := range cuts {
		if cut[0] < from || bare(text[from:cut[0]]) == "" {
			continue
		}
		out = append(out, text[from:cut[0]])
		from = cut[1]
		if text[from-1] == '(' || text[from-1] == ')' { // a boundary of a phrase
			from--
		}
	}
	return append(out, text[from:])
}

// signJoins reports whether a slash or @ is between two names, and not in a word such as A/S, S/O, 24/7
// or Toys@Home, between two words of one name, or in a mail address.
func signJoins(text []byte, at int) bool {
	before, behind := string(text[:at]), string(text[at+1:])
	left, right := strings.Fields(before), strings.Fields(behind)
	if len(left) == 0 || len(right) == 0 {
		return false
	}
	last, first := bare(left[len(left)-1]), bare(right[0])
	if utf8.RuneCountInString(last) < 2 || utf8.RuneCountInString(first) < 2 || strings.Trim(last+first, "0123456789") == "" {
		return false
	}
	apart, also := strings.HasSuffix(before, " "), strings.HasPrefix(behind, " ")
	if apart && also || text[at] == '/' && (apart || also) {
		return true
	}
	return len(left) > 1 && len(right) > 1 && (text[at] == '/' || !strings.Contains(right[0], "."))
}

// bracketed returns the texts outside the brackets of a text, and those in brackets between them.
// A bracket within a word, as in Abdul(l)ah, is left out of the word. One that is not closed reaches
// to the end.
func bracketed(text string) (outside, brackets []string) {
	from, begin, depth := 0, 0, 0
	var before strings.Builder
	for i, r := range text {
		switch {
		case r == '(':
			if depth++; depth == 1 {
				before.WriteString(text[from:i])
				begin, from = i+1, len(text)
			}
		case r == ')' && depth > 0:
			if depth--; depth > 0 {
				break
			}
			from = i + 1
			last, _ := utf8.DecodeLastRuneInString(before.String())
			if next, _ := utf8.DecodeRuneInString(text[from:]); unicode.IsLetter(last) && unicode.IsLetter(next) && !unicode.Is(unicode.Han, next) {
				break
			}
			outside, brackets = append(outside, before.String()), append(brackets, text[begin:i])
			before.Reset()
		case r == ')':
			before.WriteString(text[from:i])
			from = i + 1
		}
	}
	if depth > 0 {
		outside, brackets = append(outside, before.String()), append(brackets, text[begin:])
		before.Reset()
	}
	before.WriteString(text[from:])
	return append(outside, before.String()), brackets
}

// tidy returns a name without the signs around it.
func tidy(text string) string {
	return strings.Trim(strings.Join(strings.Fields(text), " "), " ,;:-–—/|\"'“”«»„‘’*=：，、；")
}
