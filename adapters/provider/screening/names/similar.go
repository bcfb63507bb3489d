// The similarity of two tokens.

package names

import (
	"slices"
	"strings"
)

// Reasons for a similarity.
const (
	same       = "same"
	variant    = "same name"
	shortForm  = "short form"
	spelling   = "spelling"
	typo       = "typing error"
	letterOnly = "initial"
	dialect    = "Chinese dialect"
	familyName = "form of a family name"
)

// similar compares two tokens of names of one kind. It returns their similarity and the
// reason for it. china says whether both names are Chinese, and how they are written.
func (c *Comparer) similar(kind Kind, a, b *Token, china chinese) (float32, string) {
	if a.Text == b.Text && (a.role == b.role || kind == Person) {
		return 1, same
	}
	if a.role == initial || b.role == initial {
		return c.initials(a, b)
	}
	if a.role == number || b.role == number {
		return 0, ""
	}
	if kind == Company {
		if s, why, done := c.words(a, b); done {
			return s, why
		}
	}
	m := max(a.mode, b.mode)
	if a.mode == b.mode && a.mode == abjad {
		m = spelled
	}
	if line, ok := shared(a.lines, b.lines); ok {
		switch short := c.tables.short[lineWord{line, a.Text}] || c.tables.short[lineWord{line, b.Text}]; {
		case !short:
			return 0.96, variant
		case kind == Person:
			return 0.93, shortForm
		}
	}
	if a.sound == b.sound && m == spelled {
		return 0.97, spelling
	}
	if china != notChinese && a.china && b.china {
		if s := c.dialects(a.Text, b.Text, china); s > 0 {
			return s, dialect
		}
		if c.mandarin(a.Text) && c.mandarin(b.Text) {
			return 0, ""
		}
	}
	if len(a.lines) > 0 && len(b.lines) > 0 && (a.mode == b.mode || a.mode == abjad || b.mode == abjad) {
		return 0, ""
	}
	s := c.sounds.similarity(a.sound, b.sound, m)
	why := spelling
	if m == spelled {
		if kind == Person {
			if f := c.familyForm(a.Text, b.Text); f > 0 && (len(a.lines) == 0 || len(b.lines) == 0) {
				return f, familyName
			}
			if a.latin == b.latin && otherGender(a.sound, b.sound) || patronymic(a.Text, b.Text) {
				return min(s, 0.5), spelling
			}
		}
		if a.latin == b.latin {
			s = 1 - 1.15*(1-s)
		}
		if kind == Company {
			s = 1 - 1.5*(1-s)
		}
		if s < 0.86 { // a typing error in a word of up to nine letters costs more than this
			if t := typed(a.Text, b.Text); t > s {
				s, why = t, typo
			}
		}
	}
	if kind == Person && len(a.lines) > 0 && len(b.lines) > 0 {
		s = min(s, 0.8)
	}
	return max(0, s), why
}

// words compares two words of company names. done is false if neither is a common word and
// their stems differ: then they are compared by sound.
func (c *Comparer) words(a, b *Token) (similarity float32, why string, done bool) {
	if a.role == plain && b.role == plain {
		if stem(a.Text) == stem(b.Text) {
			return 0.97, spelling, true
		}
		return 0, "", false
	}
	if a.written == b.written {
		return 1, same, true
	}
	if len(a.written) < 4 || len(b.written) < 4 {
		return 0, "", true
	}
	s := c.sounds.similarity(a.writtenSound, b.writtenSound, max(a.mode, b.mode))
	if s < 0.85 {
		return 0, "", true
	}
	return s, spelling, true
}

// stem returns a word without the endings of a plural or of a Slavic adjective.
func stem(s string) string {
	for _, ending := range [][2]string{{"skiy", ""}, {"skii", ""}, {"skyi", ""}, {"skyy", ""}, {"skaya", ""}, {"sky", ""}, {"ies", "y"}, {"es", "e"}, {"s", ""}} {
		if base, ok := strings.CutSuffix(s, ending[0]); ok && len(base) >= 4 {
			return base + ending[1]
		}
	}
	return s
}

// typed returns the similarity of two words of which one may have typing errors: one
// in four letters or more, two in eight or more.
func typed(a, b string) float32 {
	longest := max(len(a), len(b))
	shortest := min(len(a), len(b))
	if longest-shortest > 2 || shortest < 4 {
		return 0
	}
	errors := typing(a, b)
	if errors > 1.3 && longest < 8 || errors > 2.3 {
		return 0
	}
	return 1 - 1.4*errors/float32(longest)
}

func (c *Comparer) initials(a, b *Token) (float32, string) {
	if a.role != initial {
		a, b = b, a
	}
	if b.role != plain || a.Text == "" || b.Text == "" {
		return 0, ""
	}
	if a.Text[0] == b.Text[0] || a.sound[0] == b.sound[0] {
		return 0.8, letterOnly
	}
	return 0, ""
}

func shared(a, b []uint16) (uint16, bool) {
	for _, line := range a {
		if slices.Contains(b, line) {
			return line, true
		}
	}
	return 0, false
}

// otherGender reports whether two given names differ only in the last vowels, as Ivan
// and Ivana, Mario and Maria, or Yevgeny and Yevgenia do.
func otherGender(a, b string) bool {
	if strings.HasSuffix(a, "a") == strings.HasSuffix(b, "a") {
		return false
	}
	const endings = "aeiouUIEY"
	return strings.TrimRight(a, endings) == strings.TrimRight(b, endings)
}

// patronymic reports whether one name is the patronymic of the other, as Ivanovich is
// of Ivan or Ivanov.
func patronymic(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	if !ok || len(a) < 4 {
		return false
	}
	switch rest {
	case "ich", "ych", "itch", "ic", "na", "ovich", "evich", "ovna", "evna", "ovic", "evic":
		return true
	}
	return false
}

// familyForm returns the similarity of two forms of one family name, or 0: those of men and
// of women, as Petrov and Petrova, and those with and without an Arabic article.
func (c *Comparer) familyForm(a, b string) float32 {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 4 {
		return 0
	}
	for _, forms := range [][2]string{
		{"ov", "ova"},
		{"ev", "eva"},
		{"in", "ina"},
		{"yn", "yna"},
		{"off", "ova"},
		{"ii", "aya"},
		{"iy", "aya"},
		{"y", "aya"},
		{"i", "aya"},
		{"ky", "ka"},
		{"ki", "ka"},
		{"skyi", "ska"},
		{"skii", "skaia"},
	} {
		if haveForms(a, b, forms) || haveForms(b, a, forms) {
			return 0.95
		}
	}
	if strings.HasPrefix(b, a) && strings.HasSuffix(b, "ova") && len(b) == len(a)+3 {
		return 0.93
	}
	for _, article := range []string{"al", "el"} {
		if rest, ok := strings.CutPrefix(b, article); ok && len(rest) >= 4 && c.tables.soundOf(rest) == c.tables.soundOf(a) {
			return 0.95
		}
	}
	return 0
}

// haveForms reports whether two names differ only in their endings: that of men and that
// of women.
func haveForms(a, b string, forms [2]string) bool {
	men, ok := strings.CutSuffix(a, forms[0])
	women, also := strings.CutSuffix(b, forms[1])
	return ok && also && men == women
}
