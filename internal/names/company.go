// Parsing names of companies: legal forms, common words and numbers.

package names

import (
	"slices"
	"strings"
)

// parseCompany splits the name of a company. It sets legal forms aside, and gives
// words that many companies have the same token in every language.
func (c *Comparer) parseCompany(n *Name, text string) {
	text = c.tables.spelledOut(c.tables.registry.addressed(text))
	if !ascii(text) {
		text = c.tables.brackets.Replace(text)
	}
	var words []word
	found, unread := c.tables.read(c.tables.elisions.Replace(" " + strings.ReplaceAll(text, "&", " and ")))
	n.doubtUnread(unread)
	for _, w := range found {
		for _, part := range c.companyParts(w) {
			words = append(words, c.apartDigits(part)...)
		}
	}
	words = joinLetters(words)
	words = c.joinPlaces(c.takeForms(n, c.unglue(words)))
	for i := 0; i < len(words); i++ {
		w := words[i]
		if value, ok := c.numeral(w, i, len(words)); ok {
			if i+1 < len(words) && len(value) == 2 && value[1] == '0' {
				if unit, ok := c.numeral(words[i+1], 0, 1); ok && len(unit) == 1 {
					value = value[:1] + unit // twenty-one
					w = joined(words[i : i+2])
					i++
				}
			}
			n.add(c.token(Company, rename(w, value), number), w.shown)
			continue
		}
		if slices.Contains(c.tables.arabic.articles, w.plain) && len(words) > 1 {
			n.add(c.token(Company, rename(w, "al"), particle), w.shown)
			continue
		}
		if c.tables.fillers[w.plain] && len(words) > 1 && c.tables.translated[w.source()].word == "" {
			continue
		}
		n.add(c.companyToken(w), w.shown)
	}
	if len(n.Tokens) == 0 { // nothing but legal forms and words such as "the": then they are the name
		if len(words) == 0 {
			words, n.Forms, n.written = c.tables.words(text), nil, nil
		}
		for _, w := range words {
			n.add(c.token(Company, w, plain), w.shown)
		}
	}
}

// spelledOut returns the name of a company with words for the abbreviations and signs that stand for them: I/E, A+B.
func (t *tables) spelledOut(text string) string {
	fields := strings.Fields(text)
	for i, field := range fields {
		trimmed := strings.TrimRight(field, ".,;")
		if words, ok := t.severalWords[strings.ToLower(trimmed)]; ok {
			fields[i] = words + field[len(trimmed):]
			continue
		}
		at := strings.IndexByte(field, '+')
		switch {
		case at < 0:
		case at == len(field)-1 && at > 0: // EN+
			fields[i] = field[:at] + " plus"
		case at > 0:
			fields[i] = strings.ReplaceAll(field, "+", " and ")
		}
	}
	return strings.Join(fields, " ")
}

// joinPlaces joins two words that are one place, such as Hong Kong.
func (c *Comparer) joinPlaces(words []word) []word {
	var out []word
	for i := 0; i < len(words); i++ {
		if i+1 < len(words) {
			text := words[i].plain + words[i+1].plain
			if found, ok := c.tables.concepts[text]; ok && found.role == place && len(words[i].plain) > 2 {
				out = append(out, rename(joined(words[i:i+2]), text))
				i++
				continue
			}
		}
		out = append(out, words[i])
	}
	return out
}

func (c *Comparer) companyToken(w word) *Token {
	found, ok := c.tables.translated[w.source()]
	meaning := found.word
	if found.role == plain {
		found, ok = c.tables.concepts[w.plain]
		ok = ok && meaning == ""
	}
	if !ok && w.script == "han" {
		found, ok = c.tables.han[w.raw]
	}
	if !ok && w.broken && len(w.plain) >= 5 {
		found, ok = c.tables.concepts[strings.TrimSuffix(w.plain, "s")] // Bank's
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
	t := c.token(Company, w, plain)
	if meaning != "" && t.meaning == "" {
		t.meaning = meaning
		t.identify(c)
	}
	return t
}

// numeral returns the number that a word is.
func (c *Comparer) numeral(w word, i, n int) (string, bool) {
	if strings.Trim(w.plain, "0123456789") == "" {
		value := strings.TrimLeft(w.plain, "0")
		return value + "0"[:1-min(1, len(value))], true
	}
	if value, ok := c.tables.lastNumbers[w.plain]; ok {
		return value, i == n-1 && n > 1
	}
	if value, ok := c.tables.numbers[w.plain]; ok {
		return value, true
	}
	for _, ordinal := range c.tables.ordinals {
		if value, ok := strings.CutSuffix(w.plain, ordinal); ok && value != "" && strings.Trim(value, "0123456789") == "" {
			return value, true
		}
	}
	return "", false
}

// companyParts splits text in Han characters into the words that many companies have
// and what is between them, and an Arabic word after its article.
func (c *Comparer) companyParts(w word) []word {
	switch w.script {
	case "han", "kana":
		return c.segment(w)
	case "hangul":
		return c.endsWithKnown(w)
	case "arabic":
		if _, ok := c.tables.concepts[w.plain]; ok {
			return []word{w}
		}
		for _, prefix := range []string{"", "لل", "وال", "بال", "ال", "و"} { // for the, and the, in the, the, and
			rest := c.tables.transliterate("arabic", strings.TrimPrefix(w.raw, prefix))
			if rest.shown = w.shown; strings.HasPrefix(w.raw, prefix) && c.tables.translated[rest.source()].word != "" {
				return c.inEnglish(rest)
			}
		}
		return c.parts(w)
	case "cyrillic":
		return c.inEnglish(w)
	}
	if !strings.Contains(w.plain, ".") {
		return []word{w}
	}
	longest := 0
	for piece := range strings.SplitSeq(w.plain, ".") {
		longest = max(longest, len(piece))
	}
	if longest == 0 {
		return nil
	}
	if longest <= 2 || len(w.plain) <= 6 {
		return []word{rename(w, strings.ReplaceAll(w.plain, ".", ""))}
	}
	return c.parts(w)
}

// endsWithKnown splits a word in Hangul before a word that many companies have: Hanbit
// Jeonja is written as one. It also splits a legal form from the beginning or the end.
func (c *Comparer) endsWithKnown(w word) []word {
	runes := []rune(w.raw)
	for _, form := range c.tables.hangulForms {
		known := c.tables.unspaced[form]
		latin := word{script: "latin", raw: form, shown: form, plain: known, heard: known}
		if rest, ok := strings.CutPrefix(w.raw, form); ok {
			if rest == "" {
				return []word{latin}
			}
			return append([]word{latin}, c.endsWithKnown(c.hangul(rest))...)
		} else if rest, ok := strings.CutSuffix(w.raw, form); ok {
			return append(c.endsWithKnown(c.hangul(rest)), latin)
		}
	}
	if c.tables.translated[w.source()].word != "" {
		return c.inEnglish(w)
	}
	for at := 1; at < len(runes)-1; at++ {
		last := c.hangul(string(runes[at:]))
		if _, known := c.tables.concepts[last.plain]; known || c.tables.translated[last.source()].word != "" {
			return append(c.endsWithKnown(c.hangul(string(runes[:at]))), c.inEnglish(last)...) // shorter with each turn
		}
	}
	return []word{w}
}

// hangul returns a part of a word in Hangul.
func (c *Comparer) hangul(raw string) word {
	w := c.tables.transliterate("hangul", raw)
	w.shown = raw
	return w
}

// inEnglish returns the words for which a word in another script stands: itself, or several English ones.
func (c *Comparer) inEnglish(w word) []word {
	several := strings.Split(c.tables.translated[w.source()].word, "+")
	if len(several) == 1 {
		return []word{w}
	}
	out := make([]word, len(several))
	for i, english := range several {
		out[i] = word{script: "latin", raw: w.raw, shown: w.shown, plain: english, heard: english}
	}
	return out
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
			part := c.tables.transliterate("han", string(runes[from:to]))
			part.shown = part.raw
			out = append(out, part)
		}
	}
	for i := 0; i < len(runes); {
		length := 0
		for n := min(6, len(runes)-i); n >= 2; n-- {
			text := string(runes[i : i+n])
			_, known := c.tables.han[text]
			if known || c.tables.unspaced[text] != "" || c.tables.translated[text].word != "" {
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
		if form := c.tables.unspaced[text]; form != "" {
			out = append(out, word{script: "latin", raw: text, shown: text, plain: form, heard: form})
		} else if known, ok := c.tables.han[text]; ok {
			out = append(out, word{script: "han", raw: text, shown: text, plain: known.word, heard: known.word})
		} else {
			known := c.tables.transliterate("han", text)
			known.shown = text
			out = append(out, c.inEnglish(known)...)
		}
		i += length
		from = i
	}
	rest(len(runes))
	return out
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
			out = append(out, rename(joined(words[i:j]), letters.String()))
			i = j
			continue
		}
		out = append(out, words[i])
		i++
	}
	return out
}
