// Values of PDF: dictionaries and what they contain.

package media

import (
	"bytes"
	"encoding/hex"
	"strconv"
)

// The values of PDF (ISO 32000-2, 7.3). A string is a []byte, an array a []any, a whole number
// an int64, true is true; other values are nil.
type (
	pdfDict map[string]any
	pdfName string
	pdfRef  int64 // the number of the object
)

// maxPDFDepth limits the nesting of values.
const maxPDFDepth = 16

// pdfReader reads values. After a mistake it returns nil; it reads no byte twice but the
// numbers before a reference.
type pdfReader struct {
	text []byte
	at   int
}

const (
	pdfSpace      = "\x00\t\n\f\r "
	pdfDelimiters = "()<>[]{}/%"
)

// value reads a value.
func (r *pdfReader) value(depth int) any {
	r.space()
	rest := r.text[r.at:]
	switch {
	case len(rest) == 0 || depth > maxPDFDepth:
		return nil
	case bytes.HasPrefix(rest, []byte("<<")):
		return r.dict(depth)
	case rest[0] == '<':
		return r.hex()
	case rest[0] == '(':
		return r.literal()
	case rest[0] == '[':
		return r.array(depth)
	case rest[0] == '/':
		r.at++
		return pdfName(r.word())
	}
	return r.number()
}

// dict reads a dictionary up to its end.
func (r *pdfReader) dict(depth int) any {
	d := pdfDict{}
	for r.at += len("<<"); ; {
		r.space()
		switch {
		case bytes.HasPrefix(r.text[r.at:], []byte(">>")):
			r.at += len(">>")
			return d
		case r.at == len(r.text) || r.text[r.at] != '/':
			return nil
		}
		r.at++
		name := r.word()
		r.space()
		before := r.at
		d[name] = r.value(depth + 1)
		if r.at == before {
			return nil // what is no value would be read for ever
		}
	}
}

func (r *pdfReader) array(depth int) any {
	all := []any{}
	for r.at++; ; {
		r.space()
		if r.at == len(r.text) {
			return nil
		}
		if r.text[r.at] == ']' {
			r.at++
			return all
		}
		before := r.at
		all = append(all, r.value(depth+1))
		if r.at == before {
			return nil
		}
	}
}

// hex reads a string in hexadecimal digits.
func (r *pdfReader) hex() any {
	end := bytes.IndexByte(r.text[r.at:], '>')
	if end < 0 {
		return nil
	}
	digits := bytes.Join(bytes.FieldsFunc(r.text[r.at+1:r.at+end], func(c rune) bool { return bytes.ContainsRune([]byte(pdfSpace), c) }), nil)
	r.at += end + 1
	if len(digits)%2 == 1 {
		digits = append(digits, '0')
	}
	text := make([]byte, len(digits)/2)
	if _, err := hex.Decode(text, digits); err != nil {
		return nil
	}
	return text
}

// literal reads a string in parentheses.
func (r *pdfReader) literal() any {
	text, open := []byte{}, 0
	for ; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		switch c {
		case '\\':
			r.at++
			text = r.escape(text)
			continue
		case '(':
			if open++; open == 1 {
				continue
			}
		case ')':
			if open--; open == 0 {
				r.at++
				return text
			}
		}
		text = append(text, c)
	}
	return nil
}

// escape appends the character of the escape sequence whose second byte is the next, and
// moves to its last byte.
func (r *pdfReader) escape(text []byte) []byte {
	if r.at >= len(r.text) {
		return text
	}
	c := r.text[r.at]
	if i := bytes.IndexByte([]byte("nrtbf"), c); i >= 0 {
		return append(text, "\n\r\t\b\f"[i])
	}
	switch {
	case c == '\r' && r.at+1 < len(r.text) && r.text[r.at+1] == '\n':
		r.at++
		return text
	case c == '\r' || c == '\n':
		return text
	case c < '0' || c > '7':
		return append(text, c)
	}
	code := c - '0'
	for range 2 {
		if r.at+1 == len(r.text) || r.text[r.at+1] < '0' || r.text[r.at+1] > '7' {
			break
		}
		r.at++
		code = code<<3 | (r.text[r.at] - '0') // a high-order overflow is ignored
	}
	return append(text, code)
}

// number reads a number, a reference or a keyword.
func (r *pdfReader) number() any {
	word := r.word()
	n, err := strconv.ParseInt(word, 10, 64)
	switch {
	case word == "true":
		return true
	case err != nil:
		return nil
	}
	behind := *r
	behind.space()
	generation := behind.word()
	behind.space()
	if _, err := strconv.ParseUint(generation, 10, 16); err == nil && behind.word() == "R" {
		r.at = behind.at
		return pdfRef(n)
	}
	return n
}

// word reads up to a space or a delimiter.
func (r *pdfReader) word() string {
	rest := r.text[r.at:]
	end := bytes.IndexAny(rest, pdfSpace+pdfDelimiters)
	if end < 0 {
		end = len(rest)
	}
	r.at += end
	return string(rest[:end])
}

// space skips spaces and comments.
func (r *pdfReader) space() {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == '%':
			end := bytes.IndexAny(r.text[r.at:], "\r\n")
			if end < 0 {
				end = len(r.text) - r.at
			}
			r.at += end
		case bytes.IndexByte([]byte(pdfSpace), c) >= 0:
			r.at++
		default:
			return
		}
	}
}
