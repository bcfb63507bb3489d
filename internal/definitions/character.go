// Positions inside the strings of a file.

package definitions

import "strings"

// character returns the position of a character of a string, counted from 1. It
// follows the string in the source, where line breaks, indentation, quotes and
// escapes may be between its characters. If the source has another form, such as
// an alias, it returns where the value begins.
func (t *tree) character(source string, n int) position {
	text, _ := t.scalar.(string)
	at, rest := t.at, from(source, t.at)
	next := func() (r rune) {
		for _, r = range rest {
			break
		}
		at, rest = at.after(r), rest[len(string(r)):]
		return r
	}
	switch {
	case rest == "":
		return t.at
	case rest[0] == '"' || rest[0] == '\'':
		next()
	case rest[0] == '|' || rest[0] == '>':
		for rest != "" && next() != '\n' {
		}
	}
	for _, r := range text {
		if n--; !strings.ContainsRune(" \t\n", r) {
			for !strings.HasPrefix(rest, string(r)) {
				if rest == "" || !strings.ContainsRune(" \t\r\n\\'\"", next()) {
					return t.at
				}
			}
		}
		if n == 0 {
			return at
		}
		if strings.HasPrefix(rest, string(r)) {
			next()
		}
	}
	return at
}

// from returns the source from a position on.
func from(source string, at position) string {
	here := position{line: 1, column: 1}
	for i, r := range source {
		if here == at {
			return source[i:]
		}
		here = here.after(r)
	}
	return ""
}
