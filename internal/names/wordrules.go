// The rules by which two words are compared, in their order: see rules.

package names

// byCharacters compares words in Han or Hangul characters, whose readings may be the same though they differ.
func byCharacters(c *Comparer, w words) verdict {
	if w.a.characters == "" || w.b.characters == "" || w.a.mode != w.b.mode {
		return verdict{}
	}
	s := c.sameCharacters(w.a, w.b)
	if s == 1 {
		return verdict{1, same, true}
	}
	return verdict{s, characters, s < 1 && (w.a.Text == w.b.Text || w.a.mode == unvoiced)}
}

func sameText(_ *Comparer, w words) verdict {
	why := same
	if w.a.written != w.b.written {
		why = SameMeaning
	}
	return verdict{1, why, w.a.Text == w.b.Text && (w.a.role == w.b.role || w.person)}
}

// byNumbers tells numbers, which differ here, and codes such as A320 apart.
func byNumbers(_ *Comparer, w words) verdict {
	code := (w.a.code || w.b.code) && (w.a.latin == w.b.latin || !sameDigits(w.a.Text, w.b.Text))
	return verdict{0, "", code || w.a.role == number || w.b.role == number}
}

// byInitials compares a letter with the word that it may stand for.
func byInitials(c *Comparer, w words) verdict {
	a, b := w.a, w.b
	switch {
	case a.role != initial && b.role != initial:
		return verdict{}
	case a.role != initial:
		a, b = b, a
	}
	if b.role == plain && a.Text != "" && b.Text != "" && (a.Text[0] == b.Text[0] || a.sound[0] == b.sound[0]) {
		return verdict{c.weights.InitialOf, letterOnly, true}
	}
	return verdict{0, "", true}
}

// byMeaning compares words of companies in other languages.
func byMeaning(c *Comparer, w words) verdict {
	return verdict{1, SameMeaning, c.tables.means(w.a, w.b) || c.tables.means(w.b, w.a)}
}

// ofCompanies compares words of company names. It decides if one of them is a common word, or if their stems are
// the same; otherwise they are compared by sound.
func ofCompanies(c *Comparer, w words) verdict {
	a, b := w.a, w.b
	switch {
	case a.role == plain && b.role == plain:
		stems := len(a.Text) >= leastStem && len(b.Text) >= leastStem && a.Text[:leastStem] == b.Text[:leastStem] && c.tables.stem(a.Text) == c.tables.stem(b.Text)
		return verdict{c.weights.SameStem, spelling, stems}
	case a.written == b.written:
		return verdict{1, same, true}
	case c.tables.standsFor(a, b) || c.tables.standsFor(b, a):
		return verdict{c.weights.SameStem, shortForm, true}
	case len(a.written) < 4 || len(b.written) < 4:
		return verdict{0, "", true}
	}
	s := c.sounds.similarity(a.writtenSound, b.writtenSound, max(a.mode, b.mode))
	if s < c.weights.CommonWordLeast {
		return verdict{0, "", true}
	}
	return verdict{s, spelling, true}
}

// gluedForms compares a word of a company with the same one and its legal form.
func gluedForms(c *Comparer, w words) verdict {
	return verdict{c.weights.GluedForm, formGlued, c.tables.glued(w.a.Text, w.b.Text)}
}

// formsOfAName compares two forms of one known name.
func formsOfAName(c *Comparer, w words) verdict {
	line, ok := shared(w.a.lines, w.b.lines)
	switch {
	case !ok:
		return verdict{}
	case c.tables.short[lineWord{line, w.a.Text}] || c.tables.short[lineWord{line, w.b.Text}]:
		return verdict{c.weights.ShortForm, shortForm, w.person}
	}
	return verdict{c.weights.Variant, variant, true}
}

func sameSound(c *Comparer, w words) verdict {
	return verdict{c.weights.SameSound, spelling, w.a.sound == w.b.sound && w.mode == spelled}
}

// inChinese compares two words of Chinese names: by their dialects, and words in Mandarin not by sound.
func inChinese(c *Comparer, w words) verdict {
	if w.china == notChinese || !w.a.china || !w.b.china {
		return verdict{}
	}
	if s := c.dialects(w.a.Text, w.b.Text, w.china); s > 0 {
		return verdict{s, dialect, true}
	}
	return verdict{0, "", c.mandarin(w.a.Text) && c.mandarin(w.b.Text)}
}

// otherNames tells two different known names apart.
func otherNames(_ *Comparer, w words) verdict {
	a, b := w.a, w.b
	return verdict{0, "", len(a.lines) > 0 && len(b.lines) > 0 && (a.mode == b.mode || a.mode == abjad || b.mode == abjad)}
}

// familyNames compares the forms of a family name of which at most one is a known name.
func familyNames(c *Comparer, w words) verdict {
	if w.mode != spelled || len(w.a.lines) > 0 && len(w.b.lines) > 0 {
		return verdict{}
	}
	f := c.familyForm(w.a.Text, w.b.Text)
	return verdict{f, familyName, f > 0}
}

// byGender compares given names and patronymics of a man and a woman.
func byGender(c *Comparer, w words) verdict {
	given := w.mode == spelled && w.a.latin == w.b.latin && otherGender(w.a.sound, w.b.sound)
	if !given && (w.mode != spelled || !c.tables.patronymic(w.a.Text, w.b.Text)) {
		return verdict{}
	}
	return verdict{max(0, min(c.sounds.similarity(w.a.sound, w.b.sound, w.mode), c.weights.OtherGender)), spelling, true}
}

// bySound compares the sounds of words that no rule before is for, and looks for typing errors.
func bySound(c *Comparer, w words) verdict {
	a, b, weights := w.a, w.b, &c.weights
	s, why := c.sounds.similarity(a.sound, b.sound, w.mode), spelling
	switch w.mode {
	case abjad:
		s = c.unwritten(a, b, s)
	case spelled:
		s, why = asSpelled(c, w, s)
	case unvoiced, foreign, modes:
	}
	if s < weights.Misread && a.latin && b.latin && len(a.Text) != len(b.Text) && lookalike(a.Text) == lookalike(b.Text) {
		s, why = weights.Misread, misread
	}
	switch {
	case w.person && len(a.lines) > 0 && len(b.lines) > 0:
		s = min(s, weights.KnownMost)
	case w.person && s >= weights.PersonLeast && coded(a.Text) && coded(b.Text) && !sameDigits(a.Text, b.Text):
		return verdict{0, "", true}
	}
	return verdict{max(0, s), why, true}
}

// asSpelled returns the similarity of two words whose letters say how they sound, with that of their sounds.
func asSpelled(c *Comparer, w words, s float32) (float32, string) {
	a, b, weights, why := w.a, w.b, &c.weights, spelling
	if a.latin == b.latin {
		s = 1 - weights.LatinSpelling*(1-s)
	}
	if !w.person {
		s = 1 - weights.CompanySpelling*(1-s)
	}
	if s >= weights.TypingErrorsFrom { // a typing error in a word of up to nine letters costs more than this
		return s, why
	}
	if t := c.typed(a.Text, b.Text); t > s {
		s, why = t, typo
	}
	if !w.person && s < weights.CompanyTyping && oneError(a.Text, b.Text) {
		s, why = weights.CompanyTyping, typo
	}
	return s, why
}
