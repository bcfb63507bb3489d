// The similarity of two tokens.

package names

import (
	"slices"
	"strings"
)

// SameMeaning is the reason of a part whose words are translations of each other.
const SameMeaning = "same meaning"

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
	acronym    = "initials"
	characters = "other characters"
	ending     = "ending of another language"
	formGlued  = "legal form"
	misread    = "letters that look alike"
)

// similar compares two tokens of names of one kind. It returns their similarity and the
// reason for it. china says whether both names are Chinese, and how they are written.
func (c *Comparer) similar(kind Kind, a, b *Token, china chinese) (float32, string) {
	if a.characters != "" && b.characters != "" && a.mode == b.mode {
		if s := c.sameCharacters(a, b); s < 1 && (a.Text == b.Text || a.mode == unvoiced) {
			return s, characters
		} else if s == 1 {
			return 1, same
		}
	}
	if a.Text == b.Text && (a.role == b.role || kind == Person) {
		if a.written != b.written {
			return 1, SameMeaning
		}
		return 1, same
	}
	switch {
	case (a.code || b.code) && (a.latin == b.latin || !sameDigits(a.Text, b.Text)):
		return 0, ""
	case a.role == initial || b.role == initial:
		return c.initials(a, b)
	case a.role == number || b.role == number:
		return 0, ""
	}
	if kind == Company {
		if c.tables.means(a, b) || c.tables.means(b, a) {
			return 1, SameMeaning
		}
		if s, why, done := c.words(a, b); done {
			return s, why
		}
		if c.tables.glued(a.Text, b.Text) {
			return c.weights.GluedForm, formGlued
		}
	}
	w := &c.weights
	m := max(a.mode, b.mode)
	if a.mode == b.mode && (a.mode == abjad || a.mode == foreign) {
		m = spelled
	}
	if line, ok := shared(a.lines, b.lines); ok {
		switch short := c.tables.short[lineWord{line, a.Text}] || c.tables.short[lineWord{line, b.Text}]; {
		case !short:
			return w.Variant, variant
		case kind == Person:
			return w.ShortForm, shortForm
		}
	}
	if a.sound == b.sound && m == spelled {
		return w.SameSound, spelling
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
	if m == abjad {
		s = c.unwritten(a, b, s)
	}
	why := spelling
	if m == spelled {
		if kind == Person {
			if f := c.familyForm(a.Text, b.Text); f > 0 && (len(a.lines) == 0 || len(b.lines) == 0) {
				return f, familyName
			}
			if a.latin == b.latin && otherGender(a.sound, b.sound) || c.tables.patronymic(a.Text, b.Text) {
				return min(s, w.OtherGender), spelling
			}
		}
		if a.latin == b.latin {
			s = 1 - w.LatinSpelling*(1-s)
		}
		if kind == Company {
			s = 1 - w.CompanySpelling*(1-s)
		}
		if s < w.TypingErrorsFrom { // a typing error in a word of up to nine letters costs more than this
			if t := c.typed(a.Text, b.Text); t > s {
				s, why = t, typo
			}
			if kind == Company && s < w.CompanyTyping && oneError(a.Text, b.Text) {
				s, why = w.CompanyTyping, typo
			}
		}
	}
	if s < w.Misread && a.latin && b.latin && len(a.Text) != len(b.Text) && lookalike(a.Text) == lookalike(b.Text) {
		s, why = w.Misread, misread
	}
	switch {
	case kind == Person && len(a.lines) > 0 && len(b.lines) > 0:
		s = min(s, w.KnownMost)
	case kind == Person && s >= w.PersonLeast && coded(a.Text) && coded(b.Text) && !sameDigits(a.Text, b.Text):
		return 0, ""
	}
	return max(0, s), why
}

// words compares two words of company names. done is false if neither is a common word and
// their stems differ: then they are compared by sound.
func (c *Comparer) words(a, b *Token) (similarity float32, why string, done bool) {
	if a.role == plain && b.role == plain {
		if len(a.Text) >= leastStem && len(b.Text) >= leastStem && a.Text[:leastStem] == b.Text[:leastStem] && c.tables.stem(a.Text) == c.tables.stem(b.Text) {
			return c.weights.SameStem, spelling, true
		}
		return 0, "", false
	}
	if a.written == b.written {
		return 1, same, true
	}
	if c.tables.standsFor(a, b) || c.tables.standsFor(b, a) {
		return c.weights.SameStem, shortForm, true
	}
	if len(a.written) < 4 || len(b.written) < 4 {
		return 0, "", true
	}
	s := c.sounds.similarity(a.writtenSound, b.writtenSound, max(a.mode, b.mode))
	if s < c.weights.CommonWordLeast {
		return 0, "", true
	}
	return s, spelling, true
}

// means reports whether one word has the meaning of the other.
func (t *tables) means(a, b *Token) bool {
	return a.meaning != "" && (a.meaning == b.meaning || t.stem(a.meaning) == t.stem(b.Text))
}

// standsFor reports whether one word is an abbreviation of the other, which has the same meaning in
// every language.
func (t *tables) standsFor(short, long *Token) bool {
	words := t.shortFor[short.written]
	if slices.Contains(words, long.Text) {
		return true
	}
	return slices.ContainsFunc(t.shortFor[long.written], func(w string) bool { return slices.Contains(words, w) })
}

// lookalike returns a word of six letters or more as readers of images take it: rn looks like m.
func lookalike(word string) string {
	if len(word) < leastLookalike {
		return word
	}
	return strings.ReplaceAll(word, "rn", "m")
}

// leastLookalike is the least number of letters of a word in which rn may have been an m, or of the word with
// rn for m.
const leastLookalike = 6

// typed returns the similarity of two words of which one may have typing errors: one
// in four letters or more, two in eight or more.
func (c *Comparer) typed(a, b string) float32 {
	longest := max(len(a), len(b))
	shortest := min(len(a), len(b))
	if longest-shortest > 2 || shortest < 4 {
		return 0
	}
	errors := typing(a, b)
	if errors > 1.3 && longest < 8 || errors > 2.3 {
		return 0
	}
	return 1 - c.weights.TypingError*errors/float32(longest)
}

// oneError reports whether two words differ by one typing error: words of four letters or more,
// of eight if the first letter is another one.
func oneError(a, b string) bool {
	short := min(len(a), len(b))
	return short >= 4 && abs(len(a)-len(b)) <= 1 && (a[0] == b[0] || a[:2] == string([]byte{b[1], b[0]}) || short >= 8) && typing(a, b) <= 1.3
}

func (c *Comparer) initials(a, b *Token) (float32, string) {
	if a.role != initial {
		a, b = b, a
	}
	if b.role != plain || a.Text == "" || b.Text == "" {
		return 0, ""
	}
	if a.Text[0] == b.Text[0] || a.sound[0] == b.sound[0] {
		return c.weights.InitialOf, letterOnly
	}
	return 0, ""
}

// unwritten returns the similarity of a word without short vowels and one with them. A vowel
// at the beginning or the end of a word is written in every script, and a word of one or two
// consonants is like too many words.
func (c *Comparer) unwritten(a, b *Token, s float32) float32 {
	if a.mode != abjad {
		a, b = b, a
	}
	const vowels = "aeiouUIEYvh"
	spelled := func(sound string, i int) bool { return strings.IndexByte(vowels, sound[i]) >= 0 }
	if vowel(b.sound[0]) && !spelled(a.sound, 0) {
		s -= c.weights.UnwrittenEdge
	}
	if last := len(b.sound) - 1; vowel(b.sound[last]) && !spelled(a.sound, len(a.sound)-1) {
		s -= c.weights.UnwrittenEdge
	}
	if len(skeleton(a.sound)) < 3 {
		s -= c.weights.UnwrittenShort
	}
	return s
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
