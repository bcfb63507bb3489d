// Words of one name that are one word of the other.

package names

import "slices"

// joins aligns a token of one name with two or three neighbours in the other that
// are the same word when they are written as one.
func (x *alignment) joins(swapped bool) {
	single, several := x.sides(swapped)
	for i, t := range single.tokens {
		if single.done[i] || !t.spellable() {
			continue
		}
		for j := 0; j < len(several.tokens) && !single.done[i]; j++ {
			for n := 3; n >= 2 && !single.done[i]; n-- {
				if j+n > len(several.tokens) || slices.Contains(several.done[j:j+n], true) {
					continue
				}
				parts := several.tokens[j : j+n]
				similarity := x.joined(t, parts)
				if similarity == 0 && x.a.Kind == Person && len(single.tokens) == 1 && len(several.tokens) == n {
					for _, other := range Orders(parts) {
						similarity = max(similarity, x.joined(t, other))
					}
				}
				if similarity == 0 {
					continue
				}
				weight := x.weight(t)
				for _, p := range parts {
					weight = max(weight, x.weight(p))
				}
				x.merge(swapped, i, j, n, weight, similarity, "one word")
				if x.a.Kind == Person && len(several.tokens) == n && len(single.tokens) == 1 {
					x.distinctive++
				}
			}
		}
	}
}

// spellable reports whether a token may be several words that are written as one.
func (t *Token) spellable() bool { return t.code || len(t.written) >= 4 && t.role != number }

// Orders returns the other orders in which the name of a person of two or three words may be written as one
// word: the family name is first or last.
func Orders(tokens []*Token) [][]*Token {
	switch len(tokens) {
	case 2:
		return [][]*Token{{tokens[1], tokens[0]}}
	case 3:
		return [][]*Token{{tokens[1], tokens[2], tokens[0]}, {tokens[2], tokens[0], tokens[1]}}
	}
	return nil
}

func join(tokens []*Token) (text, sound string) {
	for _, t := range tokens {
		text, sound = text+t.written, sound+t.writtenSound
	}
	return text, sound
}

// joined returns the similarity of a token and several that are written as one; 0
// unless they are nearly the same.
func (x *alignment) joined(t *Token, parts []*Token) float32 {
	w, differ := &x.comparer.weights, len(t.written)
	for _, p := range parts {
		differ -= len(p.written)
	}
	if abs(differ) > 4 {
		return 0
	}
	text, sound := join(parts)
	if text == t.written {
		return w.Joined
	}
	if t.code || x.a.Kind == Company && !sameDigits(text, t.written) {
		return 0
	}
	mode := t.mode
	for _, p := range parts {
		mode = max(mode, p.mode)
	}
	c := x.comparer
	if x.china != notChinese && t.china {
		if s := c.dialects(t.written, text, x.china); s > 0 {
			return s
		}
		if c.mandarin(t.written) && c.mandarin(text) {
			return 0
		}
	}
	if _, ok := shared(t.lines, c.tables.lines[text]); ok {
		return w.JoinedKnown
	}
	s := c.sounds.similarity(t.writtenSound, sound, mode)
	if whole := c.tables.soundOf(text); whole != sound {
		s = max(s, c.sounds.similarity(t.writtenSound, whole, mode))
	}
	if s < w.JoinedLeast {
		return 0
	}
	return s - w.JoinedCost
}
