// Data: a JSON object as it was recorded.

package verification

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep objects and arrays may nest inside Data, the object
// itself included.
const MaxDepth = 32

// Data is a JSON object as it was recorded: compact, valid Unicode, free of
// NUL, with numbers that fit a float64, and with <, > and & escaped inside
// strings, so that it is the same bytes after it was part of another JSON text.
// nil means none. It is never changed after it was made, so it may be shared.
type Data []byte

// NewData encodes v, which must encode to a JSON object, or be nil or an empty
// map for none. It fails with ErrInvalid when the object nests deeper than
// MaxDepth, holds a NUL character, or cannot be encoded.
func NewData(v map[string]any) (Data, error) {
	if len(v) == 0 {
		return nil, nil
	}
	raw, err := plainJSON(v)
	if err != nil {
		return nil, &Error{Kind: ErrInvalid, Subject: "data", Message: "it cannot be written as JSON", Cause: err}
	}
	return ParseData(raw)
}

// ParseData checks and compacts one JSON object. An empty or null text means
// none.
func ParseData(raw []byte) (Data, error) {
	fault := func(message string, cause error) (Data, error) {
		return nil, &Error{Kind: ErrInvalid, Subject: "data", Message: message, Cause: cause}
	}
	text := strings.Trim(string(raw), " \t\r\n")
	switch {
	case text == "" || text == "null":
		return nil, nil
	case text[0] != '{':
		return fault("it must be an object", nil)
	case !utf8.ValidString(text):
		return fault("it must be valid UTF-8", nil)
	}
	if message := refuseJSON(text); message != "" {
		return fault(message, nil)
	}
	// The encoder compacts the text, checks it, and escapes what any other
	// encoder of this package would escape later.
	d, err := json.Marshal(json.RawMessage(text))
	if err != nil {
		return fault("it must be valid JSON", err)
	}
	return d, nil
}

// Map decodes the object; numbers become float64. A nil Data is an empty map.
func (d Data) Map() map[string]any {
	m := map[string]any{}
	if len(d) > 0 {
		// What was recorded is valid: a failure leaves the map empty.
		_ = json.Unmarshal(d, &m)
	}
	return m
}

// MarshalJSON writes the object as it was recorded, and null for none.
func (d Data) MarshalJSON() ([]byte, error) {
	if len(d) == 0 {
		return []byte("null"), nil
	}
	return d, nil
}

// UnmarshalJSON takes the object over as it stands.
func (d *Data) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*d = nil
		return nil
	}
	*d = append((*d)[:0:0], raw...)
	return nil
}

// String is the JSON text.
func (d Data) String() string { return string(d) }

// with returns an object that is not empty with one more field at its end.
func (d Data) with(name string, value any) Data {
	raw, err := plainJSON(value)
	if err != nil {
		return d // facts of ours always encode
	}
	return fmt.Appendf(d[:len(d)-1:len(d)-1], `,%q:%s}`, name, raw)
}

// refuseJSON says why a JSON text cannot be kept, or nothing. It looks at what
// the decoder lets through: the nesting, the escapes and the numbers.
func refuseJSON(text string) string {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Sprintf("it must not nest deeper than %d", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		case c == '"':
			end, message := refuseString(text, i+1)
			if message != "" {
				return message
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(text) && strings.IndexByte("+-.eE0123456789", text[end]) >= 0 {
				end++
			}
			if _, err := strconv.ParseFloat(text[i:end], 64); errors.Is(err, strconv.ErrRange) {
				return "it must not hold a number beyond the range of a float64"
			}
			i = end - 1
		}
	}
	return ""
}

// refuseString looks at the escapes of a string that begins at i, and finds
// its closing quote.
func refuseString(text string, i int) (end int, message string) {
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		switch unit := escaped(text, i); {
		case unit == 0:
			return i, "it must not hold a NUL character"
		case unit >= 0xdc00 && unit <= 0xdfff:
			return i, "it must not hold half of a surrogate pair"
		case unit >= 0xd800 && unit <= 0xdbff:
			i += len(`u0000\`)
			if low := escaped(text, i); i > len(text) || text[i-1] != '\\' || low < 0xdc00 || low > 0xdfff {
				return i, "it must not hold half of a surrogate pair"
			}
		}
	}
	return i, ""
}

// escaped reads the four digits of an escape at i; -1 when there is another one.
func escaped(text string, i int) int64 {
	if i+5 > len(text) || text[i] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(text[i+1:i+5], 16, 16)
	if err != nil {
		return -1
	}
	return int64(unit)
}
