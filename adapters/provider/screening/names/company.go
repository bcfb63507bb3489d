// Parsing names of companies: legal forms, common words and numbers.

package names

import (
	"slices"
	"strings"
)

// parseCompany splits the name of a company. It sets legal forms aside, and gives
// words that many companies have the same token in every language.
func (c *Comparer) parseCompany(n *Name, text string) {
	var words []word
	for _, w := range c.tables.words(strings.ReplaceAll(text, "&", " and ")) {
		words = append(words, c.companyParts(w)...)
	}
	words = joinLetters(words)
	words = c.joinPlaces(c.takeForms(n, words))
	for i := 0; i < len(words); i++ {
		w := words[i]
		if value, ok := c.numeral(w, i, len(words)); ok {
			if i+1 < len(words) && len(value) == 2 && value[1] == '0' {
				if unit, ok := c.numeral(words[i+1], 0, 1); ok && len(unit) == 1 {
					value = value[:1] + unit // twenty-one
					i++
				}
			}
			n.Tokens = append(n.Tokens, c.token(Company, rename(w, value), number))
			continue
		}
		if slices.Contains([]string{"al", "el", "ol", "ul", "il"}, w.plain) && len(words) > 1 {
			n.Tokens = append(n.Tokens, c.token(Company, rename(w, "al"), particle))
			continue
		}
		if slices.Contains([]string{"and", "und", "et", "y", "i", "ve", "e", "og", "och", "en", "the", "of", "for", "de", "des", "du", "di", "da", "del", "della", "do", "la", "le", "les", "los", "las", "der", "die", "das", "no", "nr", "num", "number", "li", "lil", "wa", "ta", "lel", "von", "van", "z"}, w.plain) && len(words) > 1 {
			n.Tokens = append(n.Tokens, c.token(Company, w, particle))
			continue
		}
		n.Tokens = append(n.Tokens, c.companyToken(w))
	}
	n.Tokens = slices.DeleteFunc(n.Tokens, func(t *Token) bool { return t.role == particle && t.Text != "al" })
	if len(n.Tokens) == 0 { // nothing but legal forms and words such as "the": then they are the name
		if len(words) == 0 {
			words, n.Forms = c.tables.words(text), nil
		}
		for _, w := range words {
			n.Tokens = append(n.Tokens, c.token(Company, w, plain))
		}
	}
}

// joinPlaces joins two words that are one place, such as Hong Kong.
func (c *Comparer) joinPlaces(words []word) []word {
	var out []word
	for i := 0; i < len(words); i++ {
		if i+1 < len(words) {
			joined := words[i].plain + words[i+1].plain
			if found, ok := c.tables.concepts[joined]; ok && found.role == place && len(words[i].plain) > 2 {
				out = append(out, rename(words[i], joined))
				i++
				continue
			}
		}
		out = append(out, words[i])
	}
	return out
}

func (c *Comparer) companyToken(w word) *Token {
	found, ok := c.tables.concepts[w.plain]
	if !ok && w.script == "han" {
		found, ok = c.tables.han[w.raw]
	}
	if !ok && len(w.plain) >= 6 {
		found, ok = c.tables.conceptsBySound[evenVowels(c.tables.soundOf(w.heard))]
	}
	if ok {
		t := c.newToken(Company, rename(w, found.word), found.role)
		t.written, t.writtenSound = w.plain, c.tables.soundOf(w.heard)
		return t.identify(c)
	}
	if w.script == "latin" && len(w.plain) == 1 {
		return c.token(Company, w, initial)
	}
	return c.token(Company, w, plain)
}

// numeral returns the number that a word is.
func (c *Comparer) numeral(w word, i, n int) (string, bool) {
	if strings.Trim(w.plain, "0123456789") == "" {
		value := strings.TrimLeft(w.plain, "0")
		return value + "0"[:1-min(1, len(value))], true
	}
	if w.plain == "i" || w.plain == "v" || w.plain == "x" {
		return map[string]string{"i": "1", "v": "5", "x": "10"}[w.plain], i == n-1 && n > 1
	}
	value, ok := c.tables.numbers[w.plain]
	return value, ok
}

// companyParts splits text in Han characters into the words that many companies have
// and what is between them, and an Arabic word after its article.
func (c *Comparer) companyParts(w word) []word {
	switch w.script {
	case "han", "kana":
		return c.segment(w)
	case "arabic":
		if _, ok := c.tables.concepts[w.plain]; ok {
			return []word{w}
		}
		return c.parts(w)
	}
	if !strings.Contains(w.plain, ".") {
		return []word{w}
	}
	longest := 0
	for piece := range strings.SplitSeq(w.plain, ".") {
		longest = max(longest, len(piece))
	}
	if longest <= 2 || len(w.plain) <= 6 {
		joined := rename(w, strings.ReplaceAll(w.plain, ".", ""))
		joined.script = w.script
		return []word{joined}
	}
	return c.parts(w)
}

// segment splits Han characters at the longest known words.
func (c *Comparer) segment(w word) []word {
	if w.script == "kana" {
		return []word{w}
	}
	runes := []rune(w.raw)
	var out []word
	from := 0
	rest := func(to int) {
		if to > from {
			reading := strings.Join(c.tables.readHan(string(runes[from:to])), "")
			out = append(out, word{script: "han", raw: string(runes[from:to]), plain: reading, heard: reading})
		}
	}
	for i := 0; i < len(runes); {
		length := 0
		for n := min(6, len(runes)-i); n >= 2; n-- {
			text := string(runes[i : i+n])
			_, known := c.tables.han[text]
			if known || c.hanForm(text) != "" {
				length = n
				break
			}
		}
		if length == 0 {
			i++
			continue
		}
		rest(i)
		text := string(runes[i : i+length])
		if form := c.hanForm(text); form != "" {
			out = append(out, word{script: "latin", raw: text, plain: form, heard: form})
		} else {
			known := c.tables.han[text]
			out = append(out, word{script: "han", raw: text, plain: known.word, heard: known.word})
		}
		i += length
		from = i
	}
	rest(len(runes))
	return out
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

// joinLetters joins single letters that stand side by side, as in S A or A B C.
func joinLetters(words []word) []word {
	var out []word
	for i := 0; i < len(words); {
		j := i
		var letters strings.Builder
		for j < len(words) && len(words[j].plain) == 1 && words[j].plain[0] >= 'a' {
			letters.WriteString(words[j].plain)
			j++
		}
		if j-i >= 2 {
			out = append(out, rename(words[i], letters.String()))
			i = j
			continue
		}
		out = append(out, words[i])
		i++
	}
	return out
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
			if !ok || size == 1 && len(phrase) <= 3 && i != 0 && i < len(words)-1 && !c.formAhead(words[i+1:]) {
				continue // a short form is at the beginning or the end
			}
			n.Forms = append(n.Forms, form)
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
		n.Forms = nil
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
