// Patterns: regular expressions, and whether they match whole texts.

package expression

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// pattern is a compiled regular expression.
type pattern struct{ *regexp.Regexp }

// Anchored reports whether every match begins where the text begins, and ends where it
// ends. A part that takes any text, such as .*, counts as an anchor: it says that anything
// may be there. whole is the pattern with the anchors that it lacks; empty if it is not
// known.
func (p pattern) Anchored() (begin, end bool, whole string) {
	begin, end = anchors(p.String())
	if whole = p.String(); strings.ContainsAny(whole, "|(") {
		whole = "(?:" + whole + ")"
	}
	if !begin {
		whole = "^" + whole
	}
	if !end {
		whole += "$"
	}
	if begin, end := anchors(whole); !begin || !end {
		whole = ""
	}
	return begin, end, whole
}

func anchors(text string) (begin, end bool) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	return err == nil && anchored(parsed, syntax.OpBeginText), err == nil && anchored(parsed, syntax.OpEndText)
}

// anchored reports whether each match of an expression passes an anchor, or begins, or ends,
// with a part that takes any text.
func anchored(r *syntax.Regexp, anchor syntax.Op) bool {
	switch r.Op {
	case syntax.OpStar:
		return r.Sub[0].Op == syntax.OpAnyChar || r.Sub[0].Op == syntax.OpAnyCharNotNL
	case syntax.OpCapture:
		return anchored(r.Sub[0], anchor)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(r.Sub, func(part *syntax.Regexp) bool { return !anchored(part, anchor) })
	case syntax.OpConcat:
		outer := r.Sub[0]
		if anchor == syntax.OpEndText {
			outer = r.Sub[len(r.Sub)-1]
		}
		return anchored(outer, anchor) || passes(r, anchor)
	}
	return passes(r, anchor)
}

// passes reports whether each match of an expression passes an anchor. Where it does, what
// lies outside of the anchor is empty.
func passes(r *syntax.Regexp, anchor syntax.Op) bool {
	switch r.Op {
	case anchor:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return passes(r.Sub[0], anchor)
	case syntax.OpRepeat:
		return r.Min > 0 && passes(r.Sub[0], anchor)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(r.Sub, func(part *syntax.Regexp) bool { return !passes(part, anchor) })
	case syntax.OpConcat:
		return slices.ContainsFunc(r.Sub, func(part *syntax.Regexp) bool { return passes(part, anchor) })
	}
	return false
}
