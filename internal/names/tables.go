// The embedded tables of known names and words.

package names

import (
	"embed"
	"strings"
	"unicode/utf8"
)

//go:embed tables/*.txt
var tableFiles embed.FS

// tables is the content of the embedded tables. Words are keys as Token.Text.
type tables struct {
	speller         *strings.Replacer
	wade            *strings.Replacer // Wade-Giles to pinyin
	system          *strings.Replacer // to what both write alike
	relations       *strings.Replacer // of people; they are left out
	elisions        *strings.Replacer // articles before an apostrophe in names of companies; they are left out
	letters         map[rune]letter
	indic           indicTable
	arabic          *arabic
	lookalikes      lookalikes
	readings        map[rune]string     // of Han characters
	doubleSurnames  map[string]bool     // Han family names of two characters
	lines           map[string][]uint16 // known names
	bySound         map[string][]uint16 // the same, by sound
	short           map[lineWord]bool   // short forms of names
	written         map[string]string   // names by their abbreviations that have a full stop, ª or º
	common          map[string]bool
	fillers         map[string]bool // words of companies that are not compared
	titles          map[string]role
	suffixes        map[string]bool // titles that may follow a name
	chains          map[string]bool // particles before the name of a father
	lone            map[string]bool // particles that are names if they come first
	endings         endings
	simplified      map[rune]rune     // of Han characters
	transcribed     *strings.Replacer // pinyin to how it spells a foreign name
	generations     map[string]string // generations
	missing         map[string]bool   // what documents write for no name
	legal           map[string]string // legal form of a text of one or several words
	legalNear       map[string]string // long legal forms without one letter
	legalSorted     []string          // the long legal forms
	legalStarts     map[string]bool   // the first three letters of the long ones
	legalBefore     map[string]bool   // forms that count in front of a name only if it has another one
	legalFront      []string          // forms that no word begins with
	brackets        *strings.Replacer // forms in brackets, to the form in full
	unspaced        map[string]string // forms in scripts without spaces, as others are known
	hangulForms     []string          // those in Hangul
	concepts        map[string]concept
	shortFor        map[string][]string // the words of concepts that an abbreviation may stand for
	conceptsBySound map[string]concept  // by sound, for long words
	han             map[string]concept  // words in Han and other scripts without spaces
	severalWords    map[string]string   // for abbreviations that stand for words of no concept
	translated      map[string]concept  // the English words for words in other scripts, by word.source
	numbers         map[string]string
	lastNumbers     map[string]string // only of a last word
	ordinals        []string          // endings behind digits
	pinyin          map[string]bool
	syllables       map[string][]uint16 // Chinese syllables, by line
	chinese         map[string]bool     // Chinese family names
	registry        *registry
	splitter        *splitter
}

type letter struct {
	script       string
	plain, heard string
}

type lineWord struct {
	line uint16
	word string
}

// concept is the word that replaces the words of companies with one meaning, in any
// language.
type concept struct {
	word string
	role role
}

func rows(file string) [][]string {
	raw, err := tableFiles.ReadFile("tables/" + file)
	if err != nil {
		panic(err) // it is embedded
	}
	var out [][]string
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
			out = append(out, fields)
		}
	}
	return out
}

func newTables() *tables {
	t := &tables{
		registry: newRegistry(), splitter: newSplitter(), arabic: readArabic(),
		speller: newReplacer("sound:"), wade: newReplacer("wade:"), system: newReplacer("system:"), transcribed: newReplacer("transcribed:"),
		missing:  map[string]bool{},
		elisions: newElisions(),
		indic:    readIndic(),
		letters:  map[rune]letter{}, readings: map[rune]string{}, doubleSurnames: map[string]bool{},
		lines: map[string][]uint16{}, bySound: map[string][]uint16{}, short: map[lineWord]bool{}, written: map[string]string{}, common: map[string]bool{}, fillers: map[string]bool{},
		titles: map[string]role{}, suffixes: map[string]bool{}, chains: map[string]bool{}, lone: map[string]bool{},
		simplified: map[rune]rune{}, generations: map[string]string{}, legal: map[string]string{},
		legalNear: map[string]string{}, legalStarts: map[string]bool{}, legalBefore: map[string]bool{}, unspaced: map[string]string{},
		concepts: map[string]concept{}, shortFor: map[string][]string{}, conceptsBySound: map[string]concept{}, han: map[string]concept{}, translated: map[string]concept{}, severalWords: map[string]string{},
		numbers: map[string]string{}, lastNumbers: map[string]string{}, pinyin: map[string]bool{}, syllables: map[string][]uint16{}, chinese: map[string]bool{},
	}
	relations := []string{"عبد ال", "عبدال"}
	for _, relation := range t.registry.relations {
		if strings.Contains(relation, "/") {
			relations = append(relations, " "+relation+" ", " ", " "+strings.ToUpper(relation)+" ", " ")
		}
	}
	t.relations = strings.NewReplacer(relations...)
	t.lookalikes = newLookalikes()
	for _, f := range rows("letters.txt") {
		l := letter{script: f[0], plain: strings.Trim(f[2], "-")}
		l.heard = l.plain
		if len(f) > 3 {
			l.heard = f[3]
		}
		t.letters[[]rune(f[1])[0]] = l
	}
	for _, f := range rows("letters-more.txt") {
		reading := strings.Trim(f[0], "-")
		for _, written := range f[1:] {
			t.letters[[]rune(written)[0]] = letter{plain: reading, heard: reading}
		}
	}
	for _, f := range rows("readings.txt") {
		t.readings[[]rune(f[0])[0]] = f[1]
	}
	for _, f := range rows("han-variants.txt") {
		for _, forms := range f {
			simple, n := utf8.DecodeRuneInString(forms)
			for _, r := range forms[n:] {
				t.simplified[r] = simple
			}
		}
	}
	t.endings = readEndings()
	for _, f := range rows("double-surnames.txt") {
		t.doubleSurnames[f[0]] = true
	}
	t.readKnown()
	for _, f := range rows("fillers.txt") {
		for _, word := range f {
			t.fillers[word] = true
		}
	}
	for _, f := range rows("common.txt") {
		for _, w := range f {
			t.common[w] = true
		}
	}
	t.readTitles()
	t.readCompanies()
	t.readChinese()
	return t
}

// newReplacer returns a replacer of the table of spellings.
func newReplacer(use string) *strings.Replacer {
	var pairs []string
	for _, f := range rows("spellings.txt") {
		for _, pair := range f[1:] {
			if old, with, ok := strings.Cut(pair, "="); ok && f[0] == use {
				pairs = append(pairs, old, with)
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// newElisions returns a replacer that removes articles before an apostrophe at the beginning of
// a word, such as L' in L'Étoile d'Or.
func newElisions() *strings.Replacer {
	var pairs []string
	for _, f := range rows("elisions.txt") {
		for _, article := range f {
			for _, written := range []string{article, strings.ToUpper(article), strings.ToUpper(article[:1]) + article[1:]} {
				for _, mark := range []string{"'", "’", "ʼ", "‘"} {
					pairs = append(pairs, " "+written+mark, " ")
				}
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// text returns the form of a word of a table that the text of a token has.
func (t *tables) text(word string) string {
	var b strings.Builder
	for _, w := range t.words(word) {
		b.WriteString(w.plain)
	}
	return b.String()
}

func (t *tables) readTitles() {
	for _, f := range rows("titles.txt") {
		for _, word := range f[1:] {
			switch text := strings.ReplaceAll(t.text(word), ".", ""); f[0] {
			case "title:":
				t.titles[text] = title
			case "suffix:":
				t.titles[text], t.suffixes[text] = title, true
			case "particle:":
				t.titles[text] = particle
			case "chain:":
				t.titles[text], t.chains[text] = particle, true
			case "lone:":
				t.lone[text] = true
			case "missing:":
				t.missing[text] = true
			case "generation:":
				t.generations[text] = f[1]
			}
		}
	}
}

func (t *tables) readChinese() {
	for _, f := range rows("pinyin.txt") {
		for _, final := range f[1:] {
			t.pinyin[strings.TrimSuffix(f[0], "-")+final] = true
		}
	}
	line := uint16(0)
	for _, file := range []string{"chinese.txt", "chinese-family.txt"} {
		for _, f := range rows(file) {
			line++
			for _, word := range f {
				t.syllables[word] = append(t.syllables[word], line)
			}
		}
	}
}
