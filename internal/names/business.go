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
	for _, f := range rows("legal-countries.txt") {
		if f[0] == "before:" {
			for _, form := range f[1:] {
				t.legalBefore[form] = true
			}
			continue
		}
		_, forms, _ := strings.Cut(strings.Join(f, " "), ": ")
		for form := range strings.SplitSeq(forms, " | ") {
			family := strings.TrimSuffix(f[1], ":")
			t.addForm(family, form, standard[family])
		}
	}
	slices.Sort(t.legalSorted)
	var fillers []string
	named := map[string]concept{}
	for _, f := range rows("business.txt") {
		if f[0] == "fillers:" {
			fillers = f[1:]
			continue
		}
		c := concept{strings.TrimSuffix(f[0], ":"), generic}
		if slices.Contains(fillers, c.word) {
			c.role = filler
		}
		named[c.word] = c
		for _, word := range f[1:] {
			t.addConcept(word, c)
		}
	}
	for _, f := range rows("business-short.txt") {
		if f[0] == "written:" {
			for _, pair := range f[1:] {
				short, words, _ := strings.Cut(pair, "=")
				t.severalWords[short] = strings.ReplaceAll(words, "+", " ")
			}
			continue
		}
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
		named[c.word] = c
		t.addConcept(c.word, c)
		for _, word := range f[1:] {
			t.addConcept(word, c)
		}
	}
	t.readTranslated(named)
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

// readTranslated reads the English words for words in other scripts. named are the words that many companies have, and places.
func (t *tables) readTranslated(named map[string]concept) {
	var endings []string // of adjectives; the first ones are those that the table has
	for _, f := range rows("translated.txt") {
		if f[0] == "adjectives:" {
			endings = f[1:]
			continue
		}
		c := concept{strings.TrimSuffix(f[0], ":"), plain}
		for _, known := range []map[string]concept{t.concepts, named} {
			if of, ok := known[c.word]; ok {
				c = of
				break
			}
		}
		for _, counted := range f[1:] {
			text, _, _ := strings.Cut(counted, "=")
			t.addTranslated(text, c)
			for _, ending := range endings[:min(3, len(endings))] {
				if stem, ok := strings.CutSuffix(text, ending); ok {
					for _, other := range endings {
						t.addTranslated(stem+other, c)
					}
				}
			}
		}
	}
}

func (t *tables) addTranslated(text string, c concept) {
	if words := t.words(text); len(words) == 1 && t.translated[words[0].source()].word == "" {
		t.translated[words[0].source()] = c
	}
}

// source is what a word in another script is known by: its characters, or how it is read.
func (w word) source() string {
	if w.script == "han" {
		return w.raw
	}
	return w.script + " " + w.plain
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
