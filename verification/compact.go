// Compaction of JSON in one pass.

package verification

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification/internal/jsontext"
)

// compaction copies what is in text from at on.
type compaction struct {
	text string
	at   int
	out  []byte
}

// compact returns an object of valid UTF-8 as json.Marshal writes a json.RawMessage: without white space, and with
// what any encoder of this package escapes. ok is false for a text that is not valid, or that checkJSON refuses.
func compact(text string) (_ Data, ok bool) {
	c := compaction{text: text, out: make([]byte, 0, len(text))}
	if !c.value(1) || c.at < len(text) {
		return nil, false
	}
	if len(c.out) < len(text)/2 {
		c.out = slices.Clone(c.out)
	}
	return c.out, true
}

// value copies a value. An object or array is nested depth levels deep.
func (c *compaction) value(depth int) bool {
	switch b := c.next(); {
	case b == '"':
		c.out, c.at = jsontext.AppendCompact(c.out, c.text, c.at)
		return c.at > 0
	case b == '{' || b == '[':
		return depth <= MaxDepth && c.list(b+2, depth) // two characters later in ASCII
	case b == '-' || b >= '0' && b <= '9':
		n := len(c.text) - c.at - len(strings.TrimLeft(c.text[c.at:], numberBytes))
		_, message := parseNumber(c.text[c.at : c.at+n])
		return message == "" && c.copy(n)
	}
	for _, name := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(c.text[c.at:], name) {
			return c.copy(len(name))
		}
	}
	return false
}

// list copies an object or an array.
func (c *compaction) list(end byte, depth int) bool {
	if c.copy(1); c.next() == end {
		return c.copy(1)
	}
	for {
		if end == '}' && (c.next() != '"' || !c.value(depth) || c.next() != ':' || !c.copy(1)) || !c.value(depth+1) {
			return false
		}
		if next := c.next(); next != ',' {
			return next == end && c.copy(1)
		}
		c.copy(1)
	}
}

// next skips white space and returns the byte after it; 0 at the end.
func (c *compaction) next() byte {
	for ; c.at < len(c.text); c.at++ {
		if b := c.text[c.at]; b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b
		}
	}
	return 0
}

// copy copies n bytes.
func (c *compaction) copy(n int) bool {
	c.out = append(c.out, c.text[c.at:c.at+n]...)
	c.at += n
	return true
}
