// Parsing names of people: titles, particles, and compound Arabic names.

package names

import (
	"slices"
	"strings"
)

// parsePerson splits the name of a person. It marks titles and particles, and joins
// the parts of Arabic names such as Abd al-Rahman and Nur al-Din.
func (c *Comparer) parsePerson(n *Name, text string) {
	text = abdFirst(c.tables.relations.Replace(text))
	var words []word
	found, unread := c.tables.read(text)
	n.doubtUnread(unread)
	c.tables.markForeign(text, found)
	for _, w := range c.tables.withoutMissing(found) {
		words = append(words, c.parts(w)...)
	}
	words = c.splitInitials(words)
	if len(words) == 1 && words[0].script == "hangul" {
		words = c.hangulName(words[0])
	}
	words = joinArabic(words)
	distinctive := 0
	roles := make([]role, len(words))
	for i, w := range words {
		roles[i] = c.personRole(words, i, w)
		if roles[i] == plain {
			distinctive++
		}
	}
	for i, w := range words {
		if generation, ok := c.tables.generations[w.plain]; ok && i > 0 && distinctive > 1 && (len(w.plain) > 1) {
			n.Forms = append(n.Forms, generation)
			continue
		}
		r := roles[i]
		if r == title && distinctive < 2 || distinctive == 0 {
			r = plain
		}
		n.add(c.token(Person, w, r), w.shown)
	}
}

// withoutMissing returns words without those that documents write for a name that a person has not, unless there are no
// others.
func (t *tables) withoutMissing(words []word) []word {
	isMissing := func(w word) bool { return t.missing[w.plain] }
	if !slices.ContainsFunc(words, isMissing) || !slices.ContainsFunc(words, func(w word) bool { return !isMissing(w) }) {
		return words
	}
	return slices.DeleteFunc(words, isMissing)
}

func (c *Comparer) personRole(words []word, i int, w word) role {
	r := c.tables.titles[w.plain]
	last, first := i == len(words)-1, i == 0
	switch {
	case r == title && last && !c.tables.suffixes[w.plain]:
		return plain
	case r == particle && len(w.plain) == 1 && w.script == "latin" && w.shown != strings.ToLower(w.shown) && mixedCase(words):
		return plain // the initial of Hans O Friedrich
	case r == particle && (last || first && c.tables.lone[w.plain]):
		return plain
	}
	return r
}

// parts splits a word at full stops, an Arabic word after its article, and a Chinese
// name after the family name.
func (c *Comparer) parts(w word) []word {
	switch {
	case w.script == "han":
		var out []word
		for _, part := range c.hanName(w.raw) {
			w := c.tables.transliterate("han", part)
			w.shown = part
			out = append(out, w)
		}
		return out
	case w.script == "arabic" && strings.HasPrefix(w.raw, "ال") && len([]rune(w.raw)) > 4:
		rest := c.tables.transliterate("arabic", strings.TrimPrefix(w.raw, "ال"))
		rest.shown = rest.raw
		return []word{{script: "arabic", raw: "ال", shown: "ال", plain: "al", heard: "al"}, rest}
	case strings.Contains(w.plain, "."):
		var out []word
		heard, shown := strings.Split(w.heard, "."), strings.Split(w.shown, ".")
		for i, piece := range strings.Split(w.plain, ".") {
			if piece != "" && i < len(heard) {
				out = append(out, word{script: w.script, raw: piece, shown: shown[min(i, len(shown)-1)], plain: piece, heard: heard[i]})
			}
		}
		return out
	}
	return []word{w}
}

// abdFirst returns a name that is written family name first with the parts of Abd al-Rahman
// side by side: Abdul Rahman for "Rahman, Abdul".
func abdFirst(text string) string {
	family, given, ok := strings.Cut(text, ",")
	words := strings.Fields(given)
	if !ok {
		words = strings.Fields(text)
		if len(words) != 2 {
			return text
		}
		family, given = words[0], words[1]
	}
	if len(words) == 0 || !isAbd(strings.ToLower(strings.Trim(words[len(words)-1], ",.'’"))) {
		return text
	}
	return strings.TrimRight(given, ",. ") + " " + family
}

// mixedCase reports whether a name has words with small letters, so that capital letters
// mean something.
func mixedCase(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool { return len(w.shown) > 1 && w.shown != strings.ToUpper(w.shown) })
}

// splitInitials splits initials that are written as one word, as in JC Juncker: two or three
// consonants in capital letters that are no known name, or two capital letters at the
// beginning of a name with small ones.
func (c *Comparer) splitInitials(words []word) []word {
	mixed := mixedCase(words)
	var out []word
	for i, w := range words {
		n := len(w.plain)
		_, role := c.tables.titles[w.plain]
		_, generation := c.tables.generations[w.plain]
		vowels := strings.ContainsAny(w.plain, "aeiouy")
		if len(words) == 1 || w.script != "latin" || n < 2 || n > 3 || n != len(w.shown) || w.shown != strings.ToUpper(w.shown) ||
			role || generation || len(c.tables.lines[w.plain]) > 0 || c.syllabic(w.plain) || strings.Trim(w.plain, "abcdefghijklmnopqrstuvwxyz") != "" ||
			vowels && (!mixed || n > 2 || i > 0) {
			out = append(out, w)
			continue
		}
		for at := range n {
			letter := rename(w, w.plain[at:at+1])
			letter.shown = w.shown[at : at+1]
			out = append(out, letter)
		}
	}
	return out
}

// hangulName splits a Korean name of a person into family name and given name.
func (c *Comparer) hangulName(w word) []word {
	runes := []rune(w.raw)
	if len(runes) < 2 || len(runes) > 4 {
		return []word{w}
	}
	family, given := c.tables.transliterate("hangul", string(runes[:1])), c.tables.transliterate("hangul", string(runes[1:]))
	family.shown, given.shown = family.raw, given.raw
	return []word{family, given}
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
		vowels := !slices.Contains([]string{"arabic", "hebrew", "han", "hangul", "kana", "foreign"}, w.script) // it writes vowels
		switch {
		case vowels && isAbd(w.plain) && next < len(words) && len(words[next].plain) > 2:
			w = rename(joined(words[i:next+1]), "abd"+withoutAbd("abd"+words[next].plain))
			i = next
		case vowels && len(w.plain) > 6 && strings.HasPrefix(w.plain, "abd"):
			w = rename(w, "abd"+withoutAbd(w.plain))
		case vowels && strings.HasPrefix(w.plain, "abd") && (w.plain == "abdula" || w.plain == "abdalla" || w.plain == "abdulla"):
			w = rename(w, "abdullah")
		case next < len(words) && next == i+2 && slices.Contains([]string{"din", "deen", "dine", "dyn"}, words[next].plain):
			w = rename(joined(words[i:next+1]), w.plain+"din")
			i = next
		case vowels:
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
	return word{script: w.script, raw: text, shown: w.shown, plain: text, heard: text}
}

// joined returns the first of several words, shown as all of them.
func joined(words []word) word {
	w := words[0]
	for _, next := range words[1:] {
		w.shown += " " + next.shown
	}
	return w
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
	if after, ok := strings.CutPrefix(rest, "l"); ok && s != "abd"+rest {
		rest = after
	}
	if len(rest) > 1 && rest[0] == rest[1] {
		rest = rest[1:]
	}
	if rest == "" {
		return strings.TrimPrefix(s, "abd")
	}
	// A name that begins with a vowel, as in Abd al-Aziz, keeps it.
	whole := strings.TrimPrefix(s, "abd")
	article := func(start string) bool { return strings.HasPrefix(whole, start) }
	if vowel(whole[0]) && !slices.ContainsFunc([]string{"u", "e", "i", "o", "al", "ar"}, article) {
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
