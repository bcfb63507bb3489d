// The tables of known names, and their abbreviations.

package names

import (
	"slices"
	"strings"
)

func (t *tables) readKnown() {
	line := uint16(0)
	add := func(word string, short bool) {
		text := t.text(word)
		if slices.Contains(t.lines[text], line) {
			return
		}
		t.lines[text] = append(t.lines[text], line)
		if short {
			t.short[lineWord{line, text}] = true
		}
		if sound := evenVowels(t.soundOf(text)); !short && len(text) >= 5 && !slices.Contains(t.bySound[sound], line) {
			t.bySound[sound] = append(t.bySound[sound], line)
		}
	}
	for _, file := range []string{"given.txt", "family.txt", "chinese-family.txt"} {
		for _, f := range rows(file) {
			line++
			short := false
			for _, word := range f {
				if word == "|" {
					short = true
					continue
				}
				add(word, short)
				if file == "chinese-family.txt" {
					t.chinese[word] = true
				}
			}
		}
	}
	last := line
	for _, f := range rows("abbreviations.txt") {
		name := strings.TrimSuffix(f[0], ":")
		lines := slices.Clone(t.lines[name])
		if len(lines) == 0 {
			last++
			lines = []uint16{last}
			line = last
			add(name, false)
		}
		for _, abbreviation := range f[1:] {
			if strings.ContainsAny(abbreviation, abbreviationMarks) {
				t.written[strings.ToLower(abbreviation)] = name
				continue
			}
			for _, line = range lines {
				add(abbreviation, true)
			}
		}
	}
}

// abbreviationMarks are the characters by which an abbreviation of a name is told from another
// name.
const abbreviationMarks = ".ªº"

// inFull returns the name of a person with names for their abbreviations that have a mark.
func (t *tables) inFull(text string) string {
	if !strings.ContainsAny(text, abbreviationMarks) {
		return text
	}
	words := strings.Split(text, " ")
	for i, w := range words {
		bare := strings.TrimRight(w, ",;")
		if name, ok := t.written[strings.ToLower(bare)]; ok {
			words[i] = strings.ToUpper(name[:1]) + name[1:] + w[len(bare):]
		}
	}
	return strings.Join(words, " ")
}

// evenVowels returns a sound in which long vowels are short.
func evenVowels(sound string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case 'I':
			return 'i'
		case 'U':
			return 'u'
		}
		return r
	}, sound)
}

// known returns the lines of known names that a word may be.
func (t *tables) known(text, sound string) []uint16 {
	if lines, ok := t.lines[text]; ok || len(text) < 5 {
		return lines
	}
	return t.bySound[evenVowels(sound)]
}
