// Endings of names: those of women, of other languages, of patronymics and of plurals.

package names

import (
	"slices"
	"strings"
)

// endings is the table of endings.txt.
type endings struct {
	family     map[[2]string][][2]string // of men and of women, and of two languages, by what differs in them; in both orders
	patronymic []string
	foreign    []string
	stem       [][2]string
	longest    int // letters of an ending of a family name
}

func readEndings() endings {
	e := endings{family: map[[2]string][][2]string{}}
	for _, f := range rows("endings.txt") {
		for i := range f {
			f[i] = strings.TrimSuffix(f[i], "-")
		}
		switch f[0] {
		case "family:", "language:":
			e.longest = max(e.longest, len(f[1]), len(f[2]))
			for _, forms := range [][2]string{{f[1], f[2]}, {f[2], f[1]}} {
				n := commonPrefix(forms[0], forms[1])
				key := [2]string{forms[0][n:], forms[1][n:]}
				e.family[key] = append(e.family[key], forms)
			}
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
	if n := commonPrefix(a, b); len(b)-n <= e.longest {
		for _, forms := range e.family[[2]string{a[n:], b[n:]}] { // n is behind all that the endings have in common
			if len(a) > len(forms[0]) && strings.HasSuffix(a, forms[0]) && strings.HasSuffix(b, forms[1]) {
				return c.weights.FamilyForm
			}
		}
	}
	if strings.HasPrefix(b, a) && strings.HasSuffix(b, "ova") && len(b) == len(a)+3 {
		return c.weights.FamilyOva
	}
	for _, article := range c.tables.arabic.glued {
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

// withoutForeign calls f with a name without each ending that a language adds to the names
// of foreigners, such as Lavrov for Lavrovs.
func (t *tables) withoutForeign(s string, f func(string)) {
	for _, ending := range t.endings.foreign {
		if base, ok := strings.CutSuffix(s, ending); ok && len(base) >= 3 {
			f(base)
		}
	}
}
