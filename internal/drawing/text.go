// Text of pictures: its width, and its lines.

package drawing

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Font sizes in pixels. The style sheet has the same.
const (
	nameSize = 14.0
	kindSize = 11.0
	textSize = 12.0 // of labels
	codeSize = 11.0 // of conditions, in a font whose letters are equally wide
)

const ellipsis = "…"

// width estimates the width of a text in a sans serif font of a size, generously,
// because the reader's font is unknown.
func width(text string, size float64) float64 {
	em := 0.0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r):
		case strings.ContainsRune("iljI|.,:;'!()[]ft ", r):
			em += 0.34
		case strings.ContainsRune("mwMW@%…—", r):
			em += 0.95
		case r < 0x80 && (unicode.IsLower(r) || unicode.IsDigit(r)):
			em += 0.58
		case r < 0x2000:
			em += 0.72
		default:
			em += 1.02
		}
	}
	return em * size
}

func codeWidth(text string) float64 {
	em := 0.0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r):
		case r < 0x2000:
			em += 0.62
		default:
			em += 1.02
		}
	}
	return em * codeSize
}

// wrap breaks a text into at most so many lines of at most so many pixels. The last line
// ends with an ellipsis if the text is longer.
func wrap(text string, lines int, limit float64, width func(string) float64) []string {
	var all []string
	for rest := oneLine(text); rest != ""; {
		if len(all) == lines-1 {
			return append(all, shorten(rest, limit, width))
		}
		head := fitting(rest, limit, width)
		if head < len(rest) {
			if space := strings.LastIndexAny(rest[:head+1], " ."); space > head/2 {
				head = space
			}
		}
		all = append(all, strings.TrimSpace(rest[:head]))
		rest = strings.TrimSpace(rest[head:])
	}
	return all
}

// shorten returns a text of at most so many pixels, with an ellipsis for what is left out.
func shorten(text string, limit float64, width func(string) float64) string {
	if width(text) <= limit {
		return text
	}
	return strings.TrimSpace(text[:fitting(text, limit-width(ellipsis), width)]) + ellipsis
}

// fitting returns the length of the longest beginning of a text that fits, at least one
// character.
func fitting(text string, limit float64, width func(string) float64) int {
	end := 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		if i > 0 && width(text[:next]) > limit {
			break
		}
		end = next
	}
	return end
}
