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

// unglue splits a legal form from the word that it is glued to: one in capital letters from the small letters
// before it or the capital letter behind it, as in SiemensAG and JSCMeridor, and forms that no word
// begins or ends with from any word.
func (c *Comparer) unglue(words []word) []word {
	var out []word
	for _, w := range words {
		letters := []rune(w.shown)
		if w.script != "latin" && w.script != "cyrillic" || len(letters) < 5 || strings.Contains(w.plain, ".") {
			out = append(out, w)
			continue
		}
		at := c.formBehind(letters)
		if at == 0 {
			at = c.formInFront(letters, w.plain)
		}
		if at == 0 {
			out = append(out, w)
			continue
		}
		for _, part := range []string{string(letters[:at]), string(letters[at:])} {
			p := c.tables.transliterate(w.script, strings.ToLower(part))
			p.shown = part
			out = append(out, p)
		}
	}
	return out
}

// isForm reports whether letters are a legal form.
func (c *Comparer) isForm(letters []rune) bool {
	_, ok := c.tables.legal[c.tables.text(string(letters))]
	return ok
}

// formBehind returns where a legal form begins that is glued to the end of a word; 0 if there is none.
func (c *Comparer) formBehind(letters []rune) int {
	for i := 4; i < len(letters); i++ {
		if unicode.IsLower(letters[i-1]) && unicode.IsUpper(letters[i]) {
			if c.isForm(letters[i:]) {
				return i
			}
			break
		}
	}
	if at := len(letters) - len("gmbh"); at >= 3 && strings.EqualFold(string(letters[at:]), "gmbh") {
		return at
	}
	return 0
}

// formInFront returns where a name begins that a legal form is glued to the front of; 0 if there is none.
func (c *Comparer) formInFront(letters []rune, plain string) int {
	const leastName = 4
	capitals := 0
	for capitals < len(letters) && unicode.IsUpper(letters[capitals]) {
		capitals++
	}
	if at := capitals - 1; at >= 2 && len(letters)-at >= leastName && c.isForm(letters[:at]) {
		return at
	}
	for _, form := range c.tables.legalFront {
		if len(letters)-len(form) >= leastName && strings.HasPrefix(plain, form) {
			return len(form)
		}
	}
	return 0
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
			ok = ok && (size > 1 || c.tables.translated[words[i].source()].word == "")
			if !ok && len(phrase) >= nearFormLength-1 && (i == 0 || i+size == len(words)) {
				form, ok = c.tables.nearForm(phrase, (size > 1 || len(phrase) > nearFormLength) && i+size == len(words))
			}
			if !ok || size == 1 && len(phrase) <= 3 && i != 0 && i < len(words)-1 && !c.formAhead(words[i+1:]) {
				continue // a short form is at the beginning or the end
			}
			front := i == 0 && size == 1 && c.tables.legalBefore[phrase] && words[0].script == "latin"
			if front && !c.endsInForm(words[1:]) {
				continue
			}
			if taken = size; front {
				break // the other form tells more
			}
			n.Forms, n.written = append(n.Forms, form), append(n.written, phrase)
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

// endsInForm reports whether words end with a legal form.
func (c *Comparer) endsInForm(words []word) bool {
	phrase := ""
	for i := len(words) - 1; i > 0; i-- {
		phrase = words[i].plain + phrase
		if _, ok := c.tables.legal[phrase]; ok {
			return true
		}
	}
	return false
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
