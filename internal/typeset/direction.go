// Writing direction: paragraph directions and embedding levels.

package typeset

import (
	"slices"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/shaping"
	class "golang.org/x/text/unicode/bidi"
)

// level is an embedding level: even is left to right, odd is right to left.
type level = bidi.Level

// paragraphDirection returns the direction of the first letter that has one.
func paragraphDirection(runes []rune) di.Direction {
	for _, r := range runes {
		p, _ := class.LookupRune(r)
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

// levels returns the level of each character. The library reports only the
// direction of a run, and joins a number inside right-to-left text (level 2) with
// the left-to-right text after it (level 0), which belong in different positions.
// In a right-to-left paragraph all such text has level 2. The text contains no
// embeddings, overrides or isolates.
func (s *Typesetter) levels(runes []rune, direction di.Direction) []level {
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
	number, signs := -2, -1 // the end of a number, and the start of signs like $
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
			number, signs = i+1, -1
			continue
		case class.NSM:
			if number == i {
				raise(i, i+1)
				number++
			}
			continue
		case class.ET:
			if letter == class.R && number == i {
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

// splitLevels cuts a run where its level changes.
func splitLevels(in shaping.Input, levels []level) []shaping.Input {
	var parts []shaping.Input
	for start := in.RunStart; start < in.RunEnd; {
		end := start + 1
		for end < in.RunEnd && levels[end] == levels[start] {
			end++
		}
		part := in
		part.RunStart, part.RunEnd = start, end
		parts = append(parts, part)
		start = end
	}
	return parts
}
