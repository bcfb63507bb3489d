// Endings of names: those of women, of other languages, of patronymics and of plurals.

package names

import (
	"slices"
	"strings"
)

// endings is the table of endings.txt.
type endings struct {
	family     [][2]string // of men and of women
	language   [][2]string // of one name in two languages
	patronymic []string
	foreign    []string
	stem       [][2]string
	longest    int // letters of an ending of a family name
}

func readEndings() endings {
	var e endings
	for _, f := range rows("endings.txt") {
		for i := range f {
			f[i] = strings.TrimSuffix(f[i], "-")
		}
		switch f[0] {
		case "family:":
			e.family = append(e.family, [2]string{f[1], f[2]})
			e.longest = max(e.longest, len(f[1]), len(f[2]))
		case "language:":
			e.language = append(e.language, [2]string{f[1], f[2]})
			e.longest = max(e.longest, len(f[1]), len(f[2]))
		case "stem:":
			e.stem = append(e.stem, [2]string{f[1], f[2]})
		case "patronymic:":
			e.patronymic = f[1:]
		case "foreign:":
			e.foreign = f[1:]
		}
	}
	return e
}

// leastStem is the minimum number of letters of a stem.
const leastStem = 4

// stem returns a word without the endings of a plural or of a Slavic adjective.
func (t *tables) stem(s string) string {
	for _, ending := range t.endings.stem {
		if base, ok := strings.CutSuffix(s, ending[0]); ok && len(base) >= leastStem {
			return base + ending[1]
		}
	}
	return s
}

// patronymic reports whether one name is the patronymic of the other, as Ivanovich is
// of Ivan or Ivanov.
func (t *tables) patronymic(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && len(a) >= 4 && slices.Contains(t.endings.patronymic, rest)
}

// familyForm returns the similarity of two forms of one family name, or 0: those of men and
// of women, as Petrov and Petrova, those of two languages, as Petrenko and Petrenka, and
// those with and without an Arabic article.
func (c *Comparer) familyForm(a, b string) float32 {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 4 {
		return 0
	}
	e := &c.tables.endings
	if len(b)-commonPrefix(a, b) <= e.longest && (differIn(e.family, a, b) || differIn(e.language, a, b)) {
		return c.weights.FamilyForm
	}
	if strings.HasPrefix(b, a) && strings.HasSuffix(b, "ova") && len(b) == len(a)+3 {
		return c.weights.FamilyOva
	}
	for _, article := range []string{"al", "el"} {
		if rest, ok := strings.CutPrefix(b, article); ok && len(rest) >= 4 && c.tables.soundOf(rest) == c.tables.soundOf(a) {
			return c.weights.Article
		}
	}
	return 0
}

// commonPrefix returns the number of bytes with which both texts begin.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// differIn reports whether two names differ only in a pair of endings.
func differIn(pairs [][2]string, a, b string) bool {
	return slices.ContainsFunc(pairs, func(forms [2]string) bool { return haveForms(a, b, forms) || haveForms(b, a, forms) })
}

func haveForms(a, b string, forms [2]string) bool {
	base, ok := strings.CutSuffix(a, forms[0])
	other, also := strings.CutSuffix(b, forms[1])
	return ok && also && base == other && base != ""
}

// withoutForeign calls f with a name without each ending that a language adds to the names
// of foreigners, such as Lavrov for Lavrovs.
func (t *tables) withoutForeign(s string, f func(string)) {
	for _, ending := range t.endings.foreign {
		if base, ok := strings.CutSuffix(s, ending); ok && len(base) >= 3 {
			f(base)
		}
	}
}
