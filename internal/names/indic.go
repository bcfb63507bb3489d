// Transliteration of the scripts of India, whose Unicode blocks have one order.

package names

import (
	"strings"
	"unicode/utf8"
)

// The letters of an Indic block by their offset: 0x05 to 0x14 are vowels, 0x15 to
// 0x39 consonants, 0x3e to 0x4c vowel signs.
const (
	indicVowels     = "a aa i ii u uu ri li e e e ai o o o au"
	indicConsonants = "k kh g gh n ch chh j jh n t th d dh n t th d dh n n p ph b bh m y r r l l l v sh sh s h"
	indicSigns      = "aa i ii u uu ri ri e e e ai o o o au"
	indicVirama     = 0x4d
)

// indic transliterates a word. In all scripts but those of the south, the vowel of
// the last consonant is silent, and so is one before a consonant with a vowel sign.
func indic(raw string, tamil bool) string {
	vowels, consonants, signs := strings.Fields(indicVowels), strings.Fields(indicConsonants), strings.Fields(indicSigns)
	if tamil {
		consonants = strings.Fields("k kh g gh n s chh j jh n t th d dh n th th d dh n n p ph b bh m y r r l l zh v sh sh s h")
	}
	var syllables []string // each a consonant with its vowel, or a vowel
	implied := []bool{}    // whether the vowel of the syllable is not written
	cluster := []bool{}    // whether the syllable has no vowel before another consonant
	add := func(s string, bare bool) {
		syllables, implied, cluster = append(syllables, s), append(implied, bare), append(cluster, false)
	}
	south := tamil
	for _, r := range raw {
		if r < 0x0900 || r > 0x0d7f {
			if r < utf8.RuneSelf {
				add(string(r), false)
			}
			continue
		}
		south = south || r >= 0x0b80
		last := len(syllables) - 1
		switch offset := int(r) & 0x7f; {
		case offset >= 0x05 && offset <= 0x14:
			add(vowels[offset-0x05], false)
		case offset >= 0x15 && offset <= 0x39:
			add(consonants[offset-0x15], true)
		case offset >= 0x58 && offset <= 0x5f: // letters with a dot
			add(strings.Fields("q kh gh z r rh f y")[offset-0x58], true)
		case offset >= 0x3e && offset <= 0x4c && last >= 0:
			syllables[last] += signs[offset-0x3e]
			implied[last] = false
		case offset == indicVirama && last >= 0:
			implied[last], cluster[last] = false, true
		case (offset == 0x01 || offset == 0x02 || r == 0x0a70) && last >= 0:
			if implied[last] {
				syllables[last] += "a"
			}
			implied[last] = false
			add("n", false)
		case offset >= 0x66 && offset <= 0x6f:
			add(string(rune('0'+offset-0x66)), false)
		}
	}
	var b strings.Builder
	for i, s := range syllables {
		b.WriteString(s)
		if !implied[i] {
			continue
		}
		final := i == len(syllables)-1
		silent := !south && (final && i > 0 && !cluster[i-1] || !final && i > 0 && !implied[i+1] && endsInVowel(syllables[i+1]) && endsInVowel(b.String()[:b.Len()-len(s)]))
		if !silent {
			b.WriteByte('a')
		}
	}
	return b.String()
}

func endsInVowel(s string) bool {
	return s != "" && strings.IndexByte("aeiou", s[len(s)-1]) >= 0
}
