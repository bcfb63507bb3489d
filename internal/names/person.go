// Parsing names of people: titles, particles, initials and generations.

package names

import (
	"slices"
	"strings"
)

// parsePerson splits the name of a person. It marks titles and particles, and joins
// the parts of Arabic names such as Abd al-Rahman and Nur al-Din.
func (c *Comparer) parsePerson(n *Name, text string) {
	text = c.tables.arabic.abdFirst(c.tables.relations.Replace(text))
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
	words = c.tables.arabic.joinNames(words)
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
