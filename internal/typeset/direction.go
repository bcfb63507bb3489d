// Writing direction: paragraph directions and embedding levels.

package typeset

import (
	"slices"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	class "golang.org/x/text/unicode/bidi"
)

// level is an embedding level: even is left to right, odd is right to left.
type level = bidi.Level

// The characters that isolate a part of a text: it runs in a direction of its own, and the text
// around it as if the part were one sign without a direction.
const (
	isolateLeft  = 0x2066 // from left to right
	isolateRight = 0x2067
	isolateFirst = 0x2068 // as its first letter
	isolateEnd   = 0x2069
)

// isolates reports whether a character begins an isolate.
func isolates(r rune) bool { return r >= isolateLeft && r <= isolateFirst }

// isolateFrom returns where the isolate ends that begins at an index: the index of its end, or
// of the end of the text.
func isolateFrom(runes []rune, start int) int {
	depth := 0
	for i := start; i < len(runes); i++ {
		if isolates(runes[i]) {
			depth++
		} else if runes[i] == isolateEnd {
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(runes)
}

// paragraphDirection returns the direction of the first letter that has one, outside of isolates.
func paragraphDirection(runes []rune) di.Direction {
	for i := 0; i < len(runes); i++ {
		if isolates(runes[i]) {
			i = isolateFrom(runes, i)
			continue
		}
		p, _ := class.LookupRune(runes[i])
		switch p.Class() {
		case class.L:
			return di.DirectionLTR
		case class.R, class.AL:
			return di.DirectionRTL
		}
	}
	return di.DirectionLTR
}

// visualOrder sorts the runs of a line from left to right: rule L2 of the Unicode
// bidirectional algorithm.
func visualOrder(runs []run) []run {
	highest := level(0)
	for _, r := range runs {
		highest = max(highest, r.level)
	}
	for at := highest; at > 0; at-- {
		for start := 0; start < len(runs); start++ {
			end := start
			for end < len(runs) && runs[end].level >= at {
				end++
			}
			slices.Reverse(runs[start:end])
			start = max(start, end)
		}
	}
	return runs
}

// maxIsolated is how deep isolates may nest; deeper ones have no effect. A level has 7 bits.
const maxIsolated = 50

// levels returns the level of each character of a text whose lines run in a direction. The
// text contains no embeddings or overrides. The part in an isolate is a text of its own at
// the next level of its direction; the text around it has a neutral sign at its start and its end.
func (s *Typesetter) levels(runes []rune, direction di.Direction, isolated int) []level {
	levels := make([]level, len(runes))
	outer, at := make([]rune, 0, len(runes)), make([]int, 0, len(runes)) // at has the index of each in runes
	for i := 0; i < len(runes); i++ {
		outer, at = append(outer, runes[i]), append(at, i)
		if !isolates(runes[i]) || isolated == maxIsolated {
			continue
		}
		outer[len(outer)-1] = neutral
		end := isolateFrom(runes, i)
		part := runes[i+1 : end]
		within := di.DirectionLTR
		if runes[i] == isolateRight || runes[i] == isolateFirst && paragraphDirection(part) == di.DirectionRTL {
			within = di.DirectionRTL
		}
		raised := level(2)
		if direction == di.DirectionLTR && within == di.DirectionRTL {
			raised = 0 // the next odd level above 0 is that of a text from right to left on its own
		}
		for j, l := range s.levels(part, within, isolated+1) {
			levels[i+1+j] = l + raised
		}
		if i = end; end < len(runes) {
			outer, at = append(outer, neutral), append(at, end)
		}
	}
	for i, l := range s.flatLevels(outer, direction) {
		levels[at[i]] = l
	}
	return levels
}

// neutral is a character without a direction.
const neutral = 0xFFFC

// flatLevels is levels of a text without isolates. The library reports only the
// direction of a run, and joins a number inside right-to-left text (level 2) with
// the left-to-right text after it (level 0), which belong in different positions.
// In a right-to-left paragraph all such text has level 2.
func (s *Typesetter) flatLevels(runes []rune, direction di.Direction) []level {
	base := bidi.LeftToRight
	if direction == di.DirectionRTL {
		base = bidi.RightToLeft
	}
	levels := make([]level, len(runes))
	runs := s.bidi.Segment(runes, base)
	for i := range runs.NumRuns() {
		run := runs.Run(i)
		for j := run.Start; j < run.End; j++ {
			levels[j] = run.Level
		}
		if direction == di.DirectionLTR && run.IsLeftToRight() {
			copy(levels[run.Start:run.End], numberLevels(runes, run.Start, run.End))
		}
	}
	return levels
}

// numberLevels separates the numbers at level 2 from the text at level 0, in a
// left-to-right run of a left-to-right paragraph. A European number has level 2
// if the last letter before it is a right-to-left one. Its signs have the same
// level: 1,234 and, unless that letter is Arabic, 10%.
func numberLevels(runes []rune, start, end int) []level {
	levels := make([]level, end-start)
	of := func(i int) class.Class { p, _ := class.LookupRune(runes[i]); return p.Class() }
	raise := func(from, to int) {
		for i := from; i < to; i++ {
			levels[i-start] = 2
		}
	}
	letter := lastLetter(runes[:start])
	number, european, signs := -2, false, -1 // the end of a number, its digits, and the start of signs like $
	for i := start; i < end; i++ {
		switch c := of(i); c {
		case class.L:
			letter = c
		case class.AN, class.EN:
			if c == class.EN && letter == class.L {
				break
			}
			switch {
			case signs >= 0:
				raise(signs, i)
			case number == i-1:
				raise(i-1, i) // the separator between two numbers
			}
			raise(i, i+1)
			number, european, signs = i+1, c == class.EN, -1
			continue
		case class.NSM:
			if number == i {
				raise(i, i+1)
				number++
			}
			continue
		case class.ET:
			if letter == class.R && number == i && european {
				raise(i, i+1)
				number++
			} else if letter == class.R && signs < 0 {
				signs = i
			}
			continue
		case class.ES, class.CS:
			signs = -1
			continue
		}
		number, signs = -2, -1
	}
	return levels
}

// lastLetter returns the class of the last letter before a run: L, R or AL.
func lastLetter(runes []rune) class.Class {
	for i := len(runes) - 1; i >= 0; i-- {
		p, _ := class.LookupRune(runes[i])
		if c := p.Class(); c == class.L || c == class.R || c == class.AL {
			return c
		}
	}
	return class.L
}
