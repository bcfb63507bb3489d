// Transliteration of the scripts of India, whose Unicode blocks have one order.

package names

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The letters of an Indic block by their offset: 0x05 to 0x14 are vowels, 0x15 to
// 0x39 consonants, 0x3e to 0x4c vowel signs. tables/indic.txt has the other letters.
const (
	indicVowels     = "a aa i ii u uu ri li e e e ai o o o au"
	indicConsonants = "k kh g gh n ch chh j jh n t th d dh n t th d dh n n p ph b bh m y r r l l l v sh sh s h"
	indicTamil      = "k kh g gh n s chh j jh n t th d dh n th th d dh n n p ph b bh m y r r l l zh v sh sh s h"
	indicSigns      = "aa i ii u uu ri ri e e e ai o o o au"
	indicVirama     = 0x4d
	indicNukta      = 0x3c
)

// indicKind says what a letter of the table is.
type indicKind byte

const (
	indicVowel     indicKind = iota
	indicConsonant           // an a is heard after it
	indicBare                // no vowel is heard after it
	indicSign                // a vowel for the a
	indicSilent
	indicNoVowel // a virama
)

type indicLetter struct {
	kind    indicKind
	reading string
}

// indicTable is the content of tables/indic.txt.
type indicTable struct {
	letters map[rune]indicLetter
	places  map[int]indicLetter // by the offset in each block
	nukta   map[string]string
}

func readIndic() indicTable {
	t := indicTable{map[rune]indicLetter{}, map[int]indicLetter{}, map[string]string{}}
	kinds := map[string]indicKind{
		"vowel:": indicVowel, "consonant:": indicConsonant, "bare:": indicBare, "sign:": indicSign, "silent:": indicSilent, "virama:": indicNoVowel,
	}
	for _, f := range rows("indic.txt") {
		if f[0] == "nukta:" {
			for _, pair := range f[1:] {
				plain, dotted, _ := strings.Cut(pair, "=")
				t.nukta[plain] = dotted
			}
			continue
		}
		letter, letters := indicLetter{kind: kinds[f[0]]}, f[1:]
		if letter.kind != indicSilent && letter.kind != indicNoVowel {
			letter.reading, letters = f[1], f[2:]
		}
		for _, written := range letters {
			if place, ok := strings.CutPrefix(written, "+"); ok {
				offset, _ := strconv.ParseInt(place, 16, 32)
				t.places[int(offset)] = letter
				continue
			}
			r, _ := utf8.DecodeRuneInString(written)
			t.letters[r] = letter
		}
	}
	return t
}

// letter returns a letter of an Indic block, and false for what is none.
func (t *indicTable) letter(r rune, tamil bool) (indicLetter, bool) {
	if l, ok := t.letters[r]; ok {
		return l, true
	}
	offset := int(r) & 0x7f
	consonants := indicConsonants
	if tamil {
		consonants = indicTamil
	}
	switch {
	case r < 0x0900 || r > 0x0d7f:
		return indicLetter{}, false
	case offset >= 0x05 && offset <= 0x14:
		return indicLetter{indicVowel, strings.Fields(indicVowels)[offset-0x05]}, true
	case offset >= 0x15 && offset <= 0x39:
		return indicLetter{indicConsonant, strings.Fields(consonants)[offset-0x15]}, true
	case offset >= 0x3e && offset <= 0x4c:
		return indicLetter{indicSign, strings.Fields(indicSigns)[offset-0x3e]}, true
	case offset == indicVirama:
		return indicLetter{kind: indicNoVowel}, true
	case offset >= 0x58 && offset <= 0x5f: // letters with a dot
		return indicLetter{indicConsonant, strings.Fields("q kh gh z r rh f y")[offset-0x58]}, true
	case offset >= 0x66 && offset <= 0x6f:
		return indicLetter{indicBare, string(rune('0' + offset - 0x66))}, true
	}
	l, ok := t.places[offset]
	return l, ok
}

// syllable is a consonant with its vowel, or a vowel.
type syllable struct {
	text    string
	implied bool // the vowel is not written
	cluster bool // there is no vowel before another consonant
}

// read transliterates a word. In all scripts but those of the south, the vowel of
// the last consonant is silent, and so is one before a consonant with a vowel sign. lost is
// the first letter that has no reading; 0 for none.
func (t *indicTable) read(raw string, tamil bool) (plain string, lost rune) {
	var syllables []syllable
	south := tamil
	var nasals []int // the syllables that are an anusvara
	for _, r := range raw {
		if r < utf8.RuneSelf {
			syllables = append(syllables, syllable{text: string(r)})
			continue
		}
		south = south || r >= 0x0b80 && r <= 0x0d7f
		offset, last := int(r)&0x7f, len(syllables)-1
		nasal := offset == 0x01 || offset == 0x02 || r == 0x0a70
		l, ok := t.letter(r, tamil)
		switch {
		case nasal && r >= 0x0900 && r <= 0x0d7f:
			if last >= 0 {
				syllables[last] = syllables[last].voiced()
			}
			nasals = append(nasals, len(syllables))
			syllables = append(syllables, syllable{text: "n"})
		case offset == indicNukta && last >= 0 && !ok:
			if dotted, known := t.nukta[syllables[last].text]; known {
				syllables[last].text = dotted
			}
		case !ok:
			if silentMark(r) {
				continue
			}
			if lost == 0 {
				lost = r
			}
		case l.kind == indicVowel:
			syllables = append(syllables, syllable{text: l.reading})
		case l.kind == indicConsonant:
			syllables = append(syllables, syllable{text: l.reading, implied: true})
		case l.kind == indicBare:
			if offset == 0x03 && last >= 0 { // the breath after a vowel
				syllables[last] = syllables[last].voiced()
			}
			syllables = append(syllables, syllable{text: l.reading})
		case l.kind == indicSign && last >= 0:
			syllables[last].text += l.reading
			syllables[last].implied = false
		case l.kind == indicNoVowel && last >= 0:
			syllables[last].implied, syllables[last].cluster = false, true
		}
	}
	for _, i := range nasals { // Mumbai, and Sundaram in the south
		if i == len(syllables)-1 && south || i < len(syllables)-1 && strings.IndexByte("pbm", syllables[i+1].text[0]) >= 0 {
			syllables[i].text = "m"
		}
	}
	return spoken(syllables, south), lost
}

// voiced returns a syllable with its vowel.
func (s syllable) voiced() syllable {
	if s.implied {
		s.text, s.implied = s.text+"a", false
	}
	return s
}

// spoken returns the text of syllables without the vowels that are silent.
func spoken(syllables []syllable, south bool) string {
	var b strings.Builder
	for i, s := range syllables {
		before := b.String()
		b.WriteString(s.text)
		if !s.implied {
			continue
		}
		final := i == len(syllables)-1
		silent := !south && i > 0 && (final && !syllables[i-1].cluster ||
			!final && !syllables[i+1].implied && endsInVowel(syllables[i+1].text) && endsInVowel(before))
		if !silent {
			b.WriteByte('a')
		}
	}
	return b.String()
}

func endsInVowel(s string) bool {
	return s != "" && strings.IndexByte("aeiou", s[len(s)-1]) >= 0
}
