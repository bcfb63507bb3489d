// Directions: which way text runs, and how deep it lies in text of the other way.

package pdf

import (
	"slices"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/shaping"
	class "golang.org/x/text/unicode/bidi"
)

// level is an embedding level: even from left to right, odd from right to left.
type level = bidi.Level

// paragraphDirection is that of the first letter that has one.
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

// visualOrder orders the runs of a line from left to right: rule L2 of the
// Unicode bidirectional algorithm.
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

// levels is the level of each character. The libraries tell only which way a
// run goes, and make one run of a number inside text from right to left (level
// 2) and the text from left to right behind it (level 0), which belong in
// different places. In a paragraph from right to left all such text is at 2.
// Embeddings, overrides and isolates were taken out of the text before.
func (s *setter) levels(runes []rune, direction di.Direction) []level {
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

// numberLevels tells the numbers at 2 from the text at 0, in a run from left to
// right of a paragraph that goes the same way. A European number is at 2 as long
// as the last letter before it was one from right to left. It takes its signs
// with it: 1,234 and, behind any such letter but an Arabic one, 10%.
func numberLevels(runes []rune, start, end int) []level {
	levels := make([]level, end-start)
	of := func(i int) class.Class { p, _ := class.LookupRune(runes[i]); return p.Class() }
	raise := func(from, to int) {
		for i := from; i < to; i++ {
			levels[i-start] = 2
		}
	}
	letter := lastLetter(runes[:start])
	number, signs := -2, -1 // where a number ended, and where signs like $ began
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

// lastLetter is the direction that the text before a run ends in: L, R, or AL.
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
