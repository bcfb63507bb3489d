// The tables of the words, the places and the legal forms of companies.

package names

import (
	"slices"
	"strings"
)

func (t *tables) readCompanies() {
	standard := map[string]string{}
	for _, f := range rows("legal.txt") {
		_, forms, _ := strings.Cut(strings.Join(f, " "), ": ")
		switch family := strings.TrimSuffix(f[0], ":"); family {
		case "unspaced":
			for _, pair := range f[1:] {
				of, form, _ := strings.Cut(pair, "=")
				standard[of] = form
			}
		case "before":
			for _, form := range f[1:] {
				t.legalBefore[form] = true
			}
		case "front":
			t.legalFront = f[1:]
		case "brackets":
			var pairs []string
			for pair := range strings.SplitSeq(forms, " | ") {
				short, form, _ := strings.Cut(pair, " = ")
				pairs = append(pairs, short, " "+form+" ")
			}
			t.brackets = strings.NewReplacer(pairs...)
		default:
			for form := range strings.SplitSeq(forms, " | ") {
				t.addForm(family, form, standard[family])
			}
		}
	}
	slices.Sort(t.legalSorted)
	var fillers []string
	for _, f := range rows("business.txt") {
		if f[0] == "fillers:" {
			fillers = f[1:]
			continue
		}
		c := concept{strings.TrimSuffix(f[0], ":"), generic}
		if slices.Contains(fillers, c.word) {
			c.role = filler
		}
		for _, word := range f[1:] {
			t.addConcept(word, c)
		}
	}
	for _, f := range rows("business-short.txt") {
		c := t.concepts[strings.TrimSuffix(f[0], ":")]
		for _, abbreviation := range f[1:] {
			text := t.text(abbreviation)
			if _, known := t.concepts[text]; !known {
				t.concepts[text] = c
			}
			t.shortFor[text] = append(t.shortFor[text], c.word)
		}
	}
	for _, f := range rows("places.txt") {
		c := concept{strings.TrimSuffix(f[0], ":"), place}
		t.addConcept(c.word, c)
		for _, word := range f[1:] {
			t.addConcept(word, c)
		}
	}
	for _, f := range rows("numbers.txt") {
		switch value := strings.TrimSuffix(f[0], ":"); value {
		case "last":
			for _, pair := range f[1:] {
				letter, value, _ := strings.Cut(pair, "=")
				t.lastNumbers[letter] = value
			}
		case "ordinal":
			t.ordinals = f[1:]
		default:
			for _, word := range f[1:] {
				t.numbers[word] = value
			}
		}
	}
}

// addForm adds a legal form of a family. standard is the form that stands for the forms of the family in scripts
// without spaces.
func (t *tables) addForm(family, form, standard string) {
	text := strings.ReplaceAll(t.text(form), ".", "")
	if text == "" {
		return
	}
	if words := t.words(form); len(words) == 1 && (words[0].script == "han" || words[0].script == "hangul") && len([]rune(form)) > 2 {
		t.unspaced[form] = standard
		if words[0].script == "hangul" {
			t.hangulForms = append(t.hangulForms, form)
		}
	}
	if _, known := t.legal[text]; !known {
		t.legal[text] = family
	}
	if len(text) >= nearFormLength {
		t.legalSorted = append(t.legalSorted, text)
		t.legalStarts[text[:3]] = true
		without(text, func(s string) { t.legalNear[s] = family })
	}
}

func (t *tables) addConcept(word string, c concept) {
	if words := t.words(word); len(words) == 1 && words[0].script == "han" {
		t.han[word] = c
		return
	}
	text := t.text(word)
	if _, known := t.concepts[text]; known {
		return
	}
	t.concepts[text] = c
	if len(text) >= 6 {
		t.conceptsBySound[evenVowels(t.soundOf(text))] = c
	}
}
