// Parsing names: from a text to tokens.

package names

import (
	"slices"
	"strings"
)

// Parse splits a name into tokens. It returns ErrNoName for a text without any.
func (c *Comparer) Parse(kind Kind, text string) (Name, error) {
	n := Name{Kind: kind}
	if kind == Company {
		c.parseCompany(&n, text)
	} else {
		c.parsePerson(&n, text)
	}
	if len(n.Tokens) == 0 {
		return n, ErrNoName
	}
	n.Tokens = n.Tokens[:min(len(n.Tokens), maxTokens)]
	return n, nil
}

// token returns the token of a word.
func (c *Comparer) token(kind Kind, w word, r role) *Token {
	if c.known == nil {
		return c.newToken(kind, w, r)
	}
	source := tokenSource{w.script, w.plain, w.heard, kind, r, w.broken}
	t, ok := c.known[source]
	if !ok {
		t = c.newToken(kind, w, r)
		c.known[source] = t
	}
	return t
}

func (c *Comparer) newToken(kind Kind, w word, r role) *Token {
	t := &Token{Text: w.plain, role: r, latin: w.script == "latin"}
	switch w.script {
	case "arabic", "hebrew":
		t.mode = abjad
	case "tamil", "hangul":
		t.mode = unvoiced
	}
	if r == plain && len(t.Text) == 1 && w.script != "hangul" {
		t.role = initial
	}
	t.sound = c.tables.soundOf(w.heard)
	if t.sound == "" {
		t.sound = t.Text
	}
	if kind == Person || r == plain {
		t.lines = c.tables.known(t.Text, t.sound)
	}
	t.china = t.mode == spelled && c.syllabic(t.Text)
	t.aspirated = w.broken && t.china
	t.written, t.writtenSound = t.Text, t.sound
	return t.identify(c)
}

// identify sets the key of a token.
func (t *Token) identify(c *Comparer) *Token {
	t.key = string([]byte{'0' + byte(t.role), '0' + byte(t.mode)}) + t.Text
	if !t.latin {
		t.key += "~"
	}
	if t.aspirated {
		t.key += "'"
	}
	if t.written != t.Text {
		t.key += "=" + t.written
	}
	if t.sound != c.tables.soundOf(t.Text) {
		t.key += "/" + t.sound
	}
	return t
}

// parsePerson splits the name of a person. It marks titles and particles, and joins
// the parts of Arabic names such as Abd al-Rahman and Nur al-Din.
func (c *Comparer) parsePerson(n *Name, text string) {
	text = c.tables.relations.Replace(text)
	var words []word
	for _, w := range c.tables.words(text) {
		words = append(words, c.parts(w)...)
	}
	if len(words) == 1 && words[0].script == "hangul" {
		words = c.hangulName(words[0])
	}
	words = joinArabic(words)
	telling := 0
	roles := make([]role, len(words))
	for i, w := range words {
		roles[i] = c.personRole(words, i, w)
		if roles[i] == plain {
			telling++
		}
	}
	for i, w := range words {
		if generation, ok := c.tables.generations[w.plain]; ok && i > 0 && telling > 1 && (len(w.plain) > 1) {
			n.Forms = append(n.Forms, generation)
			continue
		}
		r := roles[i]
		if r == title && telling < 2 || telling == 0 {
			r = plain
		}
		n.Tokens = append(n.Tokens, c.token(Person, w, r))
	}
}

// personRole returns what a word is in the name of a person.
func (c *Comparer) personRole(words []word, i int, w word) role {
	r := c.tables.titles[w.plain]
	last, first := i == len(words)-1, i == 0
	switch {
	case r == title && last && !slices.Contains([]string{"sahib", "ji", "begum", "bey", "efendi", "pasha", "phd", "mba", "esq", "esquire"}, w.plain) && w.script != "han":
		return plain
	case r == particle && (last || first && slices.Contains([]string{"le", "do", "ben", "di", "da", "lo", "ter", "bin", "u", "e", "y", "i", "o"}, w.plain)):
		return plain
	}
	return r
}

// parts splits a word at full stops, an Arabic word behind its article, and a Chinese
// name behind the family name.
func (c *Comparer) parts(w word) []word {
	switch {
	case w.script == "han":
		var out []word
		for _, name := range c.hanName(w.raw) {
			out = append(out, word{script: "han", raw: name, plain: name, heard: name})
		}
		return out
	case w.script == "arabic" && strings.HasPrefix(w.raw, "ال") && len([]rune(w.raw)) > 4:
		rest := c.tables.transliterate("arabic", strings.TrimPrefix(w.raw, "ال"))
		return []word{{script: "arabic", raw: "ال", plain: "al", heard: "al"}, rest}
	case strings.Contains(w.plain, "."):
		var out []word
		heard := strings.Split(w.heard, ".")
		for i, piece := range strings.Split(w.plain, ".") {
			if piece != "" && i < len(heard) {
				out = append(out, word{script: w.script, raw: piece, plain: piece, heard: heard[i]})
			}
		}
		return out
	}
	return []word{w}
}

// hangulName splits a Korean name of a person into family name and given name.
func (c *Comparer) hangulName(w word) []word {
	runes := []rune(w.raw)
	if len(runes) < 2 || len(runes) > 4 {
		return []word{w}
	}
	return []word{c.tables.transliterate("hangul", string(runes[:1])), c.tables.transliterate("hangul", string(runes[1:]))}
}

// joinArabic writes the parts of a compound Arabic name as one word: abd and a name
// of God, and names that end in al-Din.
func joinArabic(words []word) []word {
	var out []word
	for i := 0; i < len(words); i++ {
		w := words[i]
		next := i + 1
		if next < len(words) && article(words[next].plain) {
			next++
		}
		latin := w.script == "latin" || w.script == "cyrillic"
		switch {
		case latin && isAbd(w.plain) && next < len(words) && len(words[next].plain) > 2:
			w = rename(w, "abd"+withoutAbd("abd"+words[next].plain))
			i = next
		case latin && len(w.plain) > 6 && strings.HasPrefix(w.plain, "abd"):
			w = rename(w, "abd"+withoutAbd(w.plain))
		case latin && strings.HasPrefix(w.plain, "abd") && (w.plain == "abdula" || w.plain == "abdalla" || w.plain == "abdulla"):
			w = rename(w, "abdullah")
		case next < len(words) && next == i+2 && slices.Contains([]string{"din", "deen", "dine", "dyn"}, words[next].plain):
			w = rename(w, w.plain+"din")
			i = next
		case latin:
			if stem := dinStem(w.plain); stem != "" {
				w = rename(w, stem+"din")
			}
		}
		if w.plain == "abdllah" || w.plain == "abdlah" {
			w = rename(w, "abdullah")
		}
		out = append(out, w)
	}
	return out
}

func rename(w word, text string) word {
	return word{script: w.script, raw: text, plain: text, heard: text}
}

// article reports whether a word is the Arabic article, as it is spoken before any
// letter.
func article(s string) bool {
	return len(s) <= 3 && len(s) >= 2 && vowel(s[0]) && strings.IndexByte("lrsdnztu", s[1]) >= 0 && s != "as" && s != "ana" && s != "ali"
}

// isAbd reports whether a word is abd with or without the article.
func isAbd(s string) bool {
	rest, ok := strings.CutPrefix(s, "abd")
	return ok && len(rest) <= 3 && (rest == "" || vowel(rest[0])) && rest != "i" && rest != "ou" && rest != "o"
}

// withoutAbd returns a name without abd and the article.
func withoutAbd(s string) string {
	rest := strings.TrimLeft(strings.TrimPrefix(s, "abd"), "aeiou")
	switch strings.TrimRight(rest, "h") {
	case "lla", "la", "llahi", "ll", "l":
		return "ullah"
	}
	if after, ok := strings.CutPrefix(rest, "l"); ok && len(after) > 3 && s != "abd"+rest {
		rest = after
	}
	if len(rest) > 1 && rest[0] == rest[1] {
		rest = rest[1:]
	}
	if rest == "" {
		return strings.TrimPrefix(s, "abd")
	}
	// A name that begins with a vowel, as in Abd al-Aziz, keeps it.
	if whole := strings.TrimPrefix(s, "abd"); vowel(whole[0]) && !strings.HasPrefix(s, "abdu") && !strings.HasPrefix(s, "abde") && !strings.HasPrefix(s, "abdi") && !strings.HasPrefix(s, "abdo") && !strings.HasPrefix(s, "abdal") && !strings.HasPrefix(s, "abdar") {
		return whole
	}
	return rest
}

// dinStem returns the stem of a name that ends in al-Din, as Nuruddin does, or "".
func dinStem(s string) string {
	for _, end := range []string{"din", "deen", "dine", "dene", "tin", "deane"} {
		stem, ok := strings.CutSuffix(s, end)
		if !ok || len(stem) < 5 {
			continue
		}
		bare := stem[:len(stem)-1]
		if strings.IndexByte("dlt", stem[len(stem)-1]) >= 0 && vowel(bare[len(bare)-1]) {
			return strings.TrimRight(bare, "aeiou")
		}
	}
	return ""
}

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
	if !slices.ContainsFunc(n.Tokens, func(t *Token) bool { return t.role != particle }) && len(words) == 0 && len(n.Forms) > 0 {
		// Nothing but a legal form: then it is the name.
		for _, w := range c.tables.words(text) {
			n.Tokens = append(n.Tokens, c.token(Company, w, plain))
		}
		n.Forms = nil
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

// companyToken returns the token of a word, or of the word that stands for it.
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
// and what is between them, and an Arabic word behind its article.
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
				continue // a short form stands at the beginning or the end
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
