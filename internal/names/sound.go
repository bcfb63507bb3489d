// Sound: the phonemes of words, and the costs of confusing them.

package names

import "strings"

// Phonemes are written as single bytes: consonants as letters, S for sh, C for ch,
// Z for zh, J for the j of John, X for kh, T for ts, c for a c that may be any of k,
// s or ts, Y for a y before a vowel; vowels as a e i o u, U and I for long ones, E for
// ei and ai.
const phonemes = "abcdefghijklmnoprstuvzSCZJXTYUIE"

// newSpeller returns a replacer of spellings by phonemes, the longest first.
func newSpeller() *strings.Replacer {
	return strings.NewReplacer(
		"schtsch", "SC", "shch", "SC", "tsch", "C", "dsch", "J", "sch", "S", "tch", "C", "dzh", "J",
		"sh", "S", "ch", "C", "kh", "X", "gh", "g", "ph", "f", "th", "t", "dh", "d", "bh", "b", "jh", "J", "rh", "r",
		"zh", "Z", "wh", "v", "ck", "k", "cz", "C", "sz", "S", "rz", "Z", "dj", "J", "dz", "z", "tz", "T", "ts", "T", "tc", "C",
		"qu", "k", "cc", "c", "hs", "ks", "x", "ks", "q", "k", "w", "v",
	)
}

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
	s, costs := &sounds{}, map[string][]string{}
	for _, f := range rows("sounds.txt") {
		costs[f[0]] = append(costs[f[0]], f[1:]...)
	}
	for i := range s.code {
		s.code[i] = 31 // digits
	}
	for i := range len(phonemes) - 1 {
		s.code[phonemes[i]] = uint8(i)
	}
	s.code['E'] = 30
	for m := range modes {
		for i := range 32 {
			s.drop[m][i], s.weight[i] = 1, 1
			for j := range 32 {
				if i != j {
					s.replace[m][i][j] = 1.2
				}
			}
		}
		for _, v := range []byte("aeiouUIEY") {
			s.drop[m][s.code[v]], s.weight[s.code[v]] = 0.4, 0.6
			for _, w := range []byte("aeiouUIEY") {
				if v != w {
					s.replace[m][s.code[v]][s.code[w]] = 0.5
				}
			}
		}
		s.drop[m][s.code['Y']], s.drop[m][s.code['h']] = 0.2, 0.35
		s.near(m, costs["any"])
	}
	for _, v := range []byte("aeiou") {
		s.drop[abjad][s.code[v]] = 0.06
		s.drop[abjad][s.code['Y']] = 0.1
	}
	s.drop[abjad][s.code['U']], s.drop[abjad][s.code['I']], s.drop[abjad][s.code['E']] = 0.3, 0.3, 0.2
	s.drop[unvoiced][s.code['v']] = 0.3
	for _, v := range []byte("aeiouUIEY") {
		s.drop[foreign][s.code[v]] = 0.12
		for _, w := range []byte("aeiouUIEY") {
			if v != w {
				s.replace[foreign][s.code[v]][s.code[w]] = 0.12
			}
		}
	}
	s.drop[foreign][s.code['r']], s.drop[foreign][s.code['l']], s.drop[foreign][s.code['h']] = 0.2, 0.3, 0.2
	s.near(abjad, costs["abjad"])
	s.near(unvoiced, costs["unvoiced"])
	s.near(foreign, costs["foreign"])
	return s
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
