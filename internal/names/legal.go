// Legal forms of companies, also misspelt, cut off and glued to a name.

package names

import (
	"slices"
	"strings"
	"unicode"
)

// nearFormLength is the least number of letters of a legal form that is recognized with a
// typing error.
const nearFormLength = 7

// nearForm returns the legal form that a phrase is with one typing error, or the form that it
// is the beginning of, if lists of fixed width may have cut it.
func (t *tables) nearForm(phrase string, cut bool) (family string, ok bool) {
	if !t.legalStarts[phrase[:3]] {
		return "", false
	}
	if cut && len(phrase) > nearFormLength {
		if at, _ := slices.BinarySearch(t.legalSorted, phrase); at < len(t.legalSorted) && strings.HasPrefix(t.legalSorted[at], phrase) {
			return t.legal[t.legalSorted[at]], true
		}
	}
	if family, ok = t.legalNear[phrase]; ok || len(phrase) <= nearFormLength {
		return family, ok
	}
	for i := 0; i < len(phrase) && !ok; i++ {
		short := phrase[:i] + phrase[i+1:]
		if family, ok = t.legal[short]; !ok || len(short) < nearFormLength {
			family, ok = t.legalNear[short]
		}
	}
	return family, ok
}

// unglue splits a legal form in capital letters from the small letters before it, as in
// SiemensAG, and GmbH from any word.
func (c *Comparer) unglue(words []word) []word {
	var out []word
	for _, w := range words {
		at := 0
		if w.script == "latin" && len(w.plain) == len(w.shown) && len(w.plain) > 5 {
			for i := 4; i < len(w.shown); i++ {
				if unicode.IsLower(rune(w.shown[i-1])) && unicode.IsUpper(rune(w.shown[i])) {
					if _, ok := c.tables.legal[w.plain[i:]]; ok {
						at = i
					}
					break
				}
			}
			if stem, ok := strings.CutSuffix(w.plain, "gmbh"); ok && at == 0 && len(stem) >= 3 {
				at = len(stem)
			}
		}
		if at == 0 {
			out = append(out, w)
			continue
		}
		name, form := rename(w, w.plain[:at]), rename(w, w.plain[at:])
		name.shown, form.shown = w.shown[:at], w.shown[at:]
		out = append(out, name, form)
	}
	return out
}

// glued reports whether one word is the other with a legal form behind it.
func (t *tables) glued(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	_, form := t.legal[rest]
	return ok && form && len(a) >= 4
}

// withoutForm calls f with a word without each legal form that may be glued to it.
func (t *tables) withoutForm(s string, f func(string)) {
	for at := max(4, len(s)-7); at+2 <= len(s); at++ {
		if _, ok := t.legal[s[at:]]; ok {
			f(s[:at])
		}
	}
}

// takeForms removes legal forms from the words, the longest first, unless nothing
// else is left.
func (c *Comparer) takeForms(n *Name, words []word) []word {
	var out []word
	for i := 0; i < len(words); {
		taken := 0
		for size := min(6, len(words)-i); size > 0; size-- {
			texts := make([]string, size)
			for k := range size {
				texts[k] = words[i+k].plain
			}
			phrase := strings.Join(texts, "")
			form, ok := c.tables.legal[phrase]
			if !ok && len(phrase) >= nearFormLength-1 && (i == 0 || i+size == len(words)) {
				form, ok = c.tables.nearForm(phrase, (size > 1 || len(phrase) > nearFormLength) && i+size == len(words))
			}
			if !ok || size == 1 && len(phrase) <= 3 && i != 0 && i < len(words)-1 && !c.formAhead(words[i+1:]) {
				continue // a short form is at the beginning or the end
			}
			n.Forms, n.written = append(n.Forms, form), append(n.written, phrase)
			taken = size
			break
		}
		if taken == 0 {
			out = append(out, words[i])
			taken = 1
		}
		i += taken
	}
	if len(out) == 0 {
		n.Forms, n.written = nil, nil
		return words
	}
	return out
}

// formAhead reports whether the words are a legal form, or begin with a bracket's
// content that follows one.
func (c *Comparer) formAhead(words []word) bool {
	texts := make([]string, 0, len(words))
	for _, w := range words {
		texts = append(texts, w.plain)
	}
	for size := range texts {
		if _, ok := c.tables.legal[strings.Join(texts[:size+1], "")]; ok {
			return true
		}
	}
	return false
}

// hanForm returns a legal form that is written in Han characters.
func (c *Comparer) hanForm(text string) string {
	switch text {
	case "有限公司", "有限责任公司", "有限責任公司", "有限会社":
		return "ltd"
	case "股份有限公司", "股份公司", "株式会社", "株式會社":
		return "jsc"
	}
	return ""
}
