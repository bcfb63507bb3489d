// Words in Han and Hangul characters, and names of foreigners in Chinese and Japanese.

package names

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// characters returns the Han characters of a word in their simplified forms, or its Hangul
// syllables without the difference of North and South Korean spelling; "" for other words.
func (t *tables) characters(w word) string {
	switch {
	case w.script == "hangul":
		return strings.Map(southern, w.raw)
	case w.script == "han" && w.raw != "" && w.raw[0] >= 0x80:
		return strings.Map(func(r rune) rune {
			if simple, ok := t.simplified[r]; ok {
				return simple
			}
			return r
		}, w.raw)
	}
	return ""
}

// southern returns a Hangul syllable as it is written in South Korea at the beginning of a
// word: Ri is I, and Ro is No.
func southern(syllable rune) rune {
	const rieul, nieun, ieung = 'ᄅ', 'ᄂ', 'ᄋ'
	letters := []rune(norm.NFD.String(string(syllable)))
	if len(letters) < 2 || letters[0] != rieul && letters[0] != nieun {
		return syllable
	}
	if strings.ContainsRune("ᅣᅧᅨᅭᅲᅵ", letters[1]) { // ya yeo ye yo yu i
		letters[0] = ieung
	} else {
		letters[0] = nieun
	}
	return []rune(norm.NFC.String(string(letters)))[0]
}

// sameCharacters returns the similarity of two words of one script by their characters.
func (c *Comparer) sameCharacters(a, b *Token) float32 {
	x, y := []rune(a.characters), []rune(b.characters)
	cost := c.weights.OtherHan
	if a.mode == unvoiced {
		cost = c.weights.OtherHangul
	}
	if len(x) != len(y) {
		return 1 - cost
	}
	differ := 0
	for i := range x {
		if x[i] != y[i] {
			differ++
		}
	}
	return 1 - cost*float32(differ)/float32(len(x))
}

// middleDots separate the words of a foreign name in Chinese and Japanese.
const middleDots = "·•・‧∙⋅･"

// markForeign marks the words of a person's name that spell a foreign name in Katakana, or
// in Han characters with a dot between the words.
func (t *tables) markForeign(text string, words []word) {
	dotted := strings.ContainsAny(text, middleDots)
	for i := range words {
		w := &words[i]
		switch {
		case w.script == "kana" && strings.IndexFunc(w.raw, func(r rune) bool { return unicode.Is(unicode.Katakana, r) }) >= 0:
			w.script = "foreign"
		case w.script == "han" && dotted && len(words) > 1:
			w.script = "foreign"
			w.heard = t.transcribed.Replace(w.plain)
		}
	}
}

// foreignFrames calls f with the frames that a foreign name may have in Latin letters if it
// has a frame in Chinese or Japanese syllables, which have one letter for l and r, and for n
// and m before a consonant, and write ti and di as chi and ji.
func foreignFrames(frame string, f func(string)) {
	swaps := map[byte]string{'l': "lr", 'r': "rl", 'n': "nm", 'S': "Sd", 's': "sd", 'f': "fb", 'b': "bf", 'h': "hf"}
	all := []string{""}
	for i := range len(frame) {
		var next []string
		for _, start := range all {
			letters := swaps[frame[i]]
			if letters == "" || len(all) > 32 {
				letters = frame[i : i+1]
			}
			for _, letter := range letters {
				next = append(next, start+string(letter))
			}
		}
		all = next
	}
	for _, s := range all {
		f(s)
		if len(s) >= 4 {
			without(s, f)
		}
	}
}
