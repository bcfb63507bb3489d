// Sound: the phonemes of words, and the costs of confusing them.

package names

import (
	"slices"
	"strconv"
	"strings"
)

// Phonemes are written as single bytes: consonants as letters, S for sh, C for ch,
// Z for zh, J for the j of John, X for kh, T for ts, c for a c that may be any of k,
// s or ts, Y for a y before a vowel; vowels as a e i o u, U and I for long ones, E for
// ei and ai.
const phonemes = "abcdefghijklmnoprstuvzSCZJXTYUIE"

// soundOf returns the phonemes of a word: ASCII lower-case letters and digits.
func (t *tables) soundOf(word string) string {
	s := t.speller.Replace(word)
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c, used := vowelSound(s, i)
		i += used - 1
		switch {
		case len(out) > 0 && c == out[len(out)-1]: // doubled
		case c == 'h' && i > 1 && vowel(s[i-1]) && (i == len(s)-1 || !vowel(s[i+1])) && !strongH(s, i): // Sarah, Ohta
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// vowelSound returns the phoneme at a position in which consonants are phonemes
// already, and the number of letters that it takes.
func vowelSound(s string, i int) (phoneme byte, used int) {
	at := func(k int) byte {
		if k < len(s) {
			return s[k]
		}
		return 0
	}
	c, next := s[i], at(i+1)
	glide := next == 'i' || next == 'y' || next == 'j'
	beforeVowel := vowel(at(i+2)) || at(i+2) == 'y' && next != 'y'
	switch {
	case (c == 'a' || c == 'e') && glide && !beforeVowel:
		return 'E', 2
	case c == 'i' && next == 'i' && !beforeVowel:
		return 'I', 2
	case (c == 'i' || c == 'y') && glide && !beforeVowel:
		return 'i', 2
	case c == 'e' && next == 'e':
		return 'I', 2
	case c == 'o' && (next == 'o' || next == 'u'):
		return 'U', 2
	case next == 'e' && (c == 'o' || c == 'u' || c == 'a' || c == 'i'):
		return c, 2
	case c == 'y' && vowel(next), c == 'i' && (next == 'a' || next == 'u' || next == 'o'):
		return 'Y', 1
	case c == 'y':
		return 'i', 1
	case c == 'j':
		return 'J', 1
	}
	return c, 1
}

// strongH reports whether an h inside a word is spoken: one between a vowel and m, d
// or f, as in Ahmed.
func strongH(s string, i int) bool {
	return i+1 < len(s) && strings.IndexByte("mdf", s[i+1]) >= 0
}

func vowel(c byte) bool { return strings.IndexByte("aeiouUIE", c) >= 0 }

// mode says how exactly the writing of a word gives its sound.
type mode byte

const (
	spelled  mode = iota
	abjad         // short vowels are not written: Arabic, Hebrew
	unvoiced      // one letter for k and g, t and d, p and b: Tamil, Korean
	foreign       // a name of another language in Chinese or Japanese syllables
	modes
)

// sounds holds the costs of differences between words.
type sounds struct {
	code    [256]uint8
	replace [modes][32][32]float32
	drop    [modes][32]float32
	weight  [32]float32
}

func newSounds() *sounds {
	s := &sounds{}
	for i := range s.code {
		s.code[i] = 31 // digits
	}
	for i := range len(phonemes) - 1 {
		s.code[phonemes[i]] = uint8(i)
	}
	s.code['E'] = s.code['I']
	for m := range modes {
		for i := range 32 {
			s.drop[m][i], s.weight[i] = 1, 1
			for j := range 32 {
				if i != j {
					s.replace[m][i][j] = 1.2
				}
			}
		}
	}
	named := map[string][]mode{"any": {spelled, abjad, unvoiced, foreign}, "abjad": {abjad}, "unvoiced": {unvoiced}, "foreign": {foreign}}
	for _, f := range rows("sounds.txt") {
		for _, m := range named[f[0]] {
			switch f[1] {
			case "weight:", "drop:", "replace:":
				for set := range slices.Chunk(f[2:], 2) {
					s.class(m, f[1], set[0], set[1])
				}
			default:
				s.near(m, f[1:])
			}
		}
	}
	return s
}

// class sets a weight or a cost of phonemes.
func (s *sounds) class(m mode, what, phonemes, number string) {
	value, err := strconv.ParseFloat(number, 32)
	if err != nil {
		panic(err) // it is embedded
	}
	n := float32(value)
	for i := range len(phonemes) {
		a := s.code[phonemes[i]]
		switch what {
		case "weight:":
			s.weight[a] = n
		case "drop:":
			s.drop[m][a] = n
		case "replace:":
			for j := range i {
				b := s.code[phonemes[j]]
				s.replace[m][a][b], s.replace[m][b][a] = n, n
			}
		}
	}
}

// near sets costs of replacing, written as two phonemes and a number.
func (s *sounds) near(m mode, costs []string) {
	for _, cost := range costs {
		a, b := s.code[cost[0]], s.code[cost[1]]
		c := float32(0)
		for i, digit := range cost[3:] {
			c += float32(digit-'0') / []float32{10, 100}[i]
		}
		s.replace[m][a][b], s.replace[m][b][a] = c, c
	}
}

// maxSound is the maximum number of phonemes that are compared.
const maxSound = 40

// unlike is a similarity below which words have nothing to do with each other.
const unlike = 0.5

// similarity compares two words by their phonemes: 1 for the same, and 0 for words whose
// similarity is certain to be less than unlike.
func (s *sounds) similarity(a, b string, m mode) float32 {
	if a == b {
		return 1
	}
	a, b = a[:min(len(a), maxSound)], b[:min(len(b), maxSound)]
	var weightA, weightB float32
	for i := range len(a) {
		weightA += s.weight[s.code[a[i]]]
	}
	for i := range len(b) {
		weightB += s.weight[s.code[b[i]]]
	}
	replace, drop := &s.replace[m], &s.drop[m]
	var row [maxSound + 1]float32
	for j := range len(b) {
		row[j+1] = row[j] + drop[s.code[b[j]]]
	}
	for i := range len(a) {
		ca := s.code[a[i]]
		diagonal, least := row[0], float32(1000)
		row[0] += drop[ca]
		for j := range len(b) {
			cb := s.code[b[j]]
			cost := diagonal + replace[ca][cb]
			if i == 0 && j == 0 && ca != cb {
				cost += 0.3 * replace[ca][cb] // the first sound is seldom wrong
			}
			cost = min(cost, row[j+1]+drop[ca], row[j]+drop[cb])
			diagonal = row[j+1]
			row[j+1] = cost
			least = min(least, cost)
		}
		if least > (1-unlike)*max(weightA, weightB) {
			return 0
		}
	}
	return max(0, 1-row[len(b)]/max(weightA, weightB))
}

// typing returns the number of typing errors between two words: letters that are
// wrong, missing, doubled or swapped.
func typing(a, b string) float32 {
	if len(a) > maxSound || len(b) > maxSound {
		return maxSound
	}
	var before, above, row [maxSound + 1]float32
	for j := range len(b) + 1 {
		above[j] = float32(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = float32(i)
		for j := 1; j <= len(b); j++ {
			cost := float32(1)
			switch {
			case a[i-1] == b[j-1]:
				cost = 0
			case i == 1 && j == 1:
				cost = 1.3
			}
			best := min(above[j-1]+cost, above[j]+gap(a, i-1), row[j-1]+gap(b, j-1))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				best = min(best, before[j-2]+0.9)
			}
			row[j] = best
		}
		before, above = above, row
	}
	return above[len(b)]
}

// gap is the cost of a letter that the other word does not have.
func gap(s string, i int) float32 {
	if i > 0 && s[i] == s[i-1] || i+1 < len(s) && s[i] == s[i+1] {
		return 0.3
	}
	return 1
}
