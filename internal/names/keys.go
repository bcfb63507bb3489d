// Keys by which an index finds tokens that may be similar.

package names

import (
	"strconv"
	"strings"
)

// Keys calls add with hashes of what two similar tokens usually share: all consonants
// but one, all letters but one, or a known name. Tokens without a common key are seldom
// similar.
func (c *Comparer) Keys(t *Token, add func(hash uint32)) {
	add(hash('t', t.Text))
	if t.written != t.Text {
		add(hash('t', t.written))
	}
	if t.meaning != "" {
		add(hash('t', t.meaning))
		add(hash('m', c.tables.stem(t.meaning)))
	}
	if t.role == initial || t.role == number {
		return
	}
	for _, line := range t.lines {
		add(hash('l', strconv.Itoa(int(line))))
	}
	if t.china {
		add(hash('h', c.tables.coarse(t.Text)))
		add(hash('d', c.canonical(t.Text)))
	}
	frame := skeleton(t.writtenSound)
	if len(frame) > 1 || !t.derived {
		add(hash('s', frame))
	}
	if t.mode == foreign {
		foreignFrames(frame, func(s string) { add(hash('s', s)) })
	}
	if t.role == plain && !t.derived {
		c.tables.withoutForm(t.Text, func(s string) { add(hash('t', s)) })
	}
	if t.derived { // only its exact spelling is found
		return
	}
	add(hash('m', c.tables.stem(t.written)))
	if t.mode == abjad {
		add(hash('s', strings.ReplaceAll(frame, "d", "s"))) // one letter, read as d or z
		add(hash('s', skeleton(strings.ReplaceAll(t.writtenSound, "h", ""))))
	}
	t.characterKeys(add)
	if len(frame) >= 4 {
		without(frame, func(s string) { add(hash('s', s)) })
	}
	if len(t.written) >= 8 { // another ending, such as a legal form
		add(hash('p', t.written[:7]))
	}
	if t.sound != t.Text && len(t.sound) >= 3 { // a letter that is written as two
		add(hash('w', t.sound))
		without(t.sound, func(s string) { add(hash('w', s)) })
	}
	add(hash('w', t.written))
	if seen := lookalike(t.written); seen != t.written {
		add(hash('w', seen))
	}
	if len(t.written) >= 3 {
		without(t.written, func(s string) { add(hash('w', s)) })
	}
	if len(t.Text) >= 6 && (t.Text[:2] == "al" || t.Text[:2] == "el") {
		add(hash('s', skeleton(t.sound[2:])))
	}
}

// characterKeys calls add with hashes of the Han or Hangul characters of a token, and of all but
// one of them.
func (t *Token) characterKeys(add func(hash uint32)) {
	if t.characters == "" {
		return
	}
	add(hash('c', t.characters))
	if runes := []rune(t.characters); len(runes) > 1 {
		for i := range runes {
			add(hash('c', string(runes[:i])+string(runes[i+1:])))
		}
	}
}

// TextKey returns the key of the tokens with a text.
func TextKey(text string) uint32 { return hash('t', text) }

// Similar returns how similar two tokens are, in names that are Chinese or in others; 0 if
// they cannot belong together.
func (c *Comparer) Similar(kind Kind, a, b *Token) float32 {
	if d := len(a.sound) - len(b.sound); (d > 4 || d < -4) && len(a.lines) == 0 && a.role != initial && b.role != initial &&
		(kind == Person || a.written == a.Text && b.written == b.Text && a.meaning == b.meaning && !c.tables.glued(a.Text, b.Text)) {
		return 0
	}
	s, _ := c.similar(kind, a, b, notChinese)
	if a.china && b.china {
		chinese, _ := c.similar(kind, a, b, mixed)
		s = max(s, chinese)
	}
	if s < c.least(kind) {
		return 0
	}
	return s
}

// Weight returns how much a token of a list or of a query counts.
func (c *Comparer) Weight(kind Kind, t *Token) float32 {
	x := alignment{comparer: c, a: Name{Kind: kind}}
	return x.weight(t)
}

// Writes reports whether the token is written like a text.
func (t *Token) Writes(text string) bool { return t.Text == text || t.written == text }

// Initial reports whether the token is a single letter.
func (t *Token) Initial() bool { return t.role == initial }

// Bound is what an index knows of two names before they are compared.
type Bound struct {
	Matched, Sum float32 // the weight of the tokens that are alike, and the same times similarity
	Query, Name  float32 // the weights of the other tokens
	Distinctive  int     // tokens that are alike and Distinctive
}

// Bound returns about what Compare will return at most.
func (c *Comparer) Bound(kind Kind, b Bound) float32 {
	if b.Matched == 0 {
		return 0
	}
	w := &c.weights
	conflict, extra := min(b.Query, b.Name), max(b.Query, b.Name)-min(b.Query, b.Name)
	if kind == Company {
		return b.Sum / (b.Matched + conflict + min(w.CompanyExtra, w.CompanyExtraMinor)*extra)
	}
	score := b.Sum / (b.Matched + conflict + min(w.PersonExtraMost, w.PersonExtra*extra))
	if b.Distinctive < 2 && max(b.Query, b.Name) >= 0.5 && !(b.Distinctive == 1 && b.Matched > 1.5) {
		score *= w.OneWord
	}
	return score
}

// Spells reports whether a token may be neighbours among the tokens of a name, written as one word.
func (c *Comparer) Spells(kind Kind, t *Token, parts []*Token) bool {
	if !t.spellable() {
		return false
	}
	x := alignment{comparer: c, a: Name{Kind: kind}, china: notChinese}
	return x.joined(t, parts) > 0
}

// SameWord reports whether a word and several that are written as one may be the same.
func (c *Comparer) SameWord(similarity float32) bool { return similarity >= c.weights.JoinedLeast-0.08 }

// Joined returns the tokens of neighbours written as one word: as it is read, and as its parts
// sound if that differs.
func (c *Comparer) Joined(kind Kind, tokens []*Token) []*Token {
	text, sound := join(tokens)
	whole := c.Plain(kind, text)
	if sound == whole.sound {
		return []*Token{whole}
	}
	parts := *whole
	parts.sound, parts.writtenSound = sound, sound
	return []*Token{whole, &parts}
}

// Plain returns the token of a word of ASCII lower-case letters that was made from the
// words of a name: some of them joined, or a part of one.
func (c *Comparer) Plain(kind Kind, text string) *Token {
	w := word{script: "latin", raw: text, plain: text, heard: text}
	source := tokenSource{"made", text, text, "", kind, plain, false}
	if t, ok := c.known[source]; ok {
		return t
	}
	t := c.newToken(kind, w, plain)
	t.derived = true
	t.key += "+"
	if c.known != nil {
		c.known[source] = t
	}
	return t
}

// skeleton returns the consonants of a sound, without differences that are often
// lost.
func skeleton(sound string) string {
	out := make([]byte, 0, len(sound))
	for i := range len(sound) {
		c := sound[i]
		switch c {
		case 'a', 'e', 'i', 'o', 'u', 'U', 'I', 'E', 'Y':
			continue
		case 'p':
			c = 'b'
		case 'v':
			c = 'f'
		case 't':
			c = 'd'
		case 'k', 'c':
			c = 'g'
		case 'X':
			c = 'h'
		case 'z', 'T':
			c = 's'
		case 'Z', 'C', 'J':
			c = 'S'
		}
		if len(out) == 0 || out[len(out)-1] != c {
			out = append(out, c)
		}
	}
	return string(out)
}

// without calls f with the string less each of its bytes.
func without(s string, f func(string)) {
	for i := range len(s) {
		if i == 0 || s[i] != s[i-1] {
			f(s[:i] + s[i+1:])
		}
	}
}

// canonical returns a word of Chinese syllables with one number for all spellings of
// a syllable, as far as it can be read from left to right.
func (c *Comparer) canonical(s string) string {
	out := ""
	for s != "" {
		n := min(6, len(s))
		for ; n > 1; n-- {
			if _, ok := c.tables.syllables[s[:n]]; ok || c.tables.pinyin[s[:n]] {
				break
			}
		}
		if lines := c.tables.syllables[s[:n]]; len(lines) > 0 {
			out += strconv.Itoa(int(lines[0])) + ","
		} else {
			out += s[:n] + ","
		}
		s = s[n:]
	}
	return out
}

// hash is FNV-1a of a kind of key and its text.
func hash(kind byte, s string) uint32 {
	h := (uint32(2166136261) ^ uint32(kind)) * 16777619
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
