// Compound Arabic names: Abd al-Rahman, Nur al-Din.

package names

import (
	"slices"
	"strings"
)

// arabic is the table of arabic.txt.
type arabic struct {
	articles, glued, notArticles, notAbd, allah, abdullah, starts, din, dinEndings []string
}

func readArabic() *arabic {
	a := &arabic{}
	lists := map[string]*[]string{
		"article:": &a.articles, "glued:": &a.glued, "not-article:": &a.notArticles, "not-abd:": &a.notAbd, "allah:": &a.allah,
		"abdullah:": &a.abdullah, "starts:": &a.starts, "din:": &a.din, "din-ending:": &a.dinEndings,
	}
	for _, f := range rows("arabic.txt") {
		*lists[f[0]] = f[1:]
	}
	return a
}

// joinNames writes the parts of a compound Arabic name as one word: abd and a name
// of God, and names that end in al-Din.
func (a *arabic) joinNames(words []word) []word {
	var out []word
	for i := 0; i < len(words); i++ {
		w := words[i]
		next := i + 1
		if next < len(words) && a.article(words[next].plain) {
			next++
		}
		vowels := !slices.Contains([]string{"arabic", "hebrew", "han", "hangul", "kana", "foreign"}, w.script) // it writes vowels
		switch {
		case vowels && a.isAbd(w.plain) && next < len(words) && len(words[next].plain) > 2:
			w = rename(joined(words[i:next+1]), "abd"+a.withoutAbd("abd"+words[next].plain))
			i = next
		case vowels && len(w.plain) > 6 && strings.HasPrefix(w.plain, "abd"):
			w = rename(w, "abd"+a.withoutAbd(w.plain))
		case vowels && w.plain == "abdula":
			w = rename(w, "abdullah")
		case next < len(words) && next == i+2 && slices.Contains(a.din, words[next].plain):
			w = rename(joined(words[i:next+1]), w.plain+"din")
			i = next
		case vowels:
			if stem := a.dinStem(w.plain); stem != "" {
				w = rename(w, stem+"din")
			}
		}
		if slices.Contains(a.abdullah, w.plain) {
			w = rename(w, "abdullah")
		}
		out = append(out, w)
	}
	return out
}

// abdFirst returns a name that is written family name first with the parts of Abd al-Rahman
// side by side: Abdul Rahman for "Rahman, Abdul".
func (a *arabic) abdFirst(text string) string {
	family, given, ok := strings.Cut(text, ",")
	words := strings.Fields(given)
	if !ok {
		words = strings.Fields(text)
		if len(words) != 2 {
			return text
		}
		family, given = words[0], words[1]
	}
	if len(words) == 0 || !a.isAbd(strings.ToLower(strings.Trim(words[len(words)-1], ",.'’"))) {
		return text
	}
	return strings.TrimRight(given, ",. ") + " " + family
}

// article reports whether a word is the Arabic article, as it is spoken before any
// letter.
func (a *arabic) article(s string) bool {
	return len(s) <= 3 && len(s) >= 2 && vowel(s[0]) && strings.IndexByte("lrsdnztu", s[1]) >= 0 && !slices.Contains(a.notArticles, s)
}

// isAbd reports whether a word is abd with or without the article.
func (a *arabic) isAbd(s string) bool {
	rest, ok := strings.CutPrefix(s, "abd")
	return ok && len(rest) <= 3 && (rest == "" || vowel(rest[0])) && !slices.Contains(a.notAbd, s)
}

// withoutAbd returns a name without abd and the article.
func (a *arabic) withoutAbd(s string) string {
	rest := strings.TrimLeft(strings.TrimPrefix(s, "abd"), "aeiou")
	if slices.Contains(a.allah, strings.TrimRight(rest, "h")) {
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
	starts := func(start string) bool { return strings.HasPrefix(whole, start) }
	if vowel(whole[0]) && !slices.ContainsFunc(a.starts, starts) {
		return whole
	}
	return rest
}

// dinStem returns the stem of a name that ends in al-Din, as Nuruddin does, or "".
func (a *arabic) dinStem(s string) string {
	for _, end := range a.dinEndings {
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
