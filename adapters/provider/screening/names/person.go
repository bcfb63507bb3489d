// Parsing names of people: titles, particles, and compound Arabic names.

package names

import (
	"slices"
	"strings"
)

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
		n.Tokens = append(n.Tokens, c.token(Person, w, r))
	}
}

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

// parts splits a word at full stops, an Arabic word after its article, and a Chinese
// name after the family name.
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
