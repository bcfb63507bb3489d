// Data: recorded JSON objects.

package verification

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification/internal/jsontext"
)

// MaxDepth is the maximum nesting depth of objects and arrays in Data, including
// the object itself.
const MaxDepth = 32

// Data is a recorded JSON object: compact, valid Unicode without NUL. Its numbers are
// as they were written, and ParseNumber takes each of them. Inside strings <, > and &
// are escaped, so that it keeps its bytes when it is embedded in another JSON text. nil
// means none. Data is immutable and may be shared.
type Data []byte

// DataOf returns the object with these members, as NewData does. It panics if they are
// not valid, so it is for constants, as in tests.
func DataOf(members map[string]any) Data {
	d, err := NewData(members)
	if err != nil {
		panic(err)
	}
	return d
}

// NewData encodes v; nil and an empty map give nil. It fails with ErrInvalid if
// the object nests deeper than MaxDepth, contains a NUL character or a number that
// ParseNumber refuses, or cannot be encoded.
func NewData(v map[string]any) (Data, error) {
	if len(v) == 0 {
		return nil, nil
	}
	var buffer [512]byte
	if raw, ok := appendValue(buffer[:0], v, 1); ok {
		return slices.Clone(raw), nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, &Error{Kind: ErrInvalid, Subject: "data", Message: "it cannot be written as JSON", Cause: err}
	}
	return ParseData(raw)
}

// ParseData checks and compacts one JSON object. An empty or null text gives
// nil. It returns ErrInvalid for a text that is no JSON object, or that Data cannot
// hold: see Data and MaxDepth.
func ParseData(raw []byte) (Data, error) {
	refuse := func(message string, cause error) (Data, error) {
		return nil, &Error{Kind: ErrInvalid, Subject: "data", Message: message, Cause: cause}
	}
	text := strings.Trim(string(raw), " \t\r\n")
	switch {
	case text == "" || text == "null":
		return nil, nil
	case text[0] != '{':
		return refuse("it must be an object", nil)
	case !utf8.ValidString(text):
		return refuse("it must be valid UTF-8", nil)
	}
	if d, ok := compact(text); ok {
		return d, nil
	}
	message, number := checkJSON(text)
	switch {
	case message != "" && number < 0:
		return refuse(message, nil)
	case message != "" && json.Valid([]byte(text)):
		return nil, InvalidField("data", pathAt(text, number), message)
	}
	// The encoder says what is wrong.
	d, err := json.Marshal(json.RawMessage(text))
	if err != nil {
		return refuse("it must be valid JSON", err)
	}
	return d, nil
}

// Map decodes the object. A number becomes a float64 if that has the same digits, and
// else stays a json.Number: see ParseNumber. A nil Data gives an empty map.
func (d Data) Map() map[string]any {
	m := map[string]any{}
	// Recorded data is valid JSON; otherwise the map stays empty.
	switch {
	case len(d) == 0:
	case d.short():
		_ = json.Unmarshal(d, &m)
	default:
		numbers := json.NewDecoder(strings.NewReader(string(d)))
		numbers.UseNumber()
		_ = numbers.Decode(&m)
		plainNumbers(m)
	}
	return m
}

// MarshalJSON returns the object unchanged, and null for nil.
func (d Data) MarshalJSON() ([]byte, error) {
	if len(d) == 0 {
		return []byte("null"), nil
	}
	return d, nil
}

// UnmarshalJSON keeps a copy of the object, unchecked.
func (d *Data) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*d = nil
		return nil
	}
	*d = append((*d)[:0:0], raw...)
	return nil
}

// IsZero reports whether there is no object, so that omitzero leaves the field out.
func (d Data) IsZero() bool { return len(d) == 0 }

// String returns the JSON text.
func (d Data) String() string { return string(d) }

const numberBytes = "+-.eE0123456789"

// checkJSON returns why a JSON text cannot be stored; empty if it can. It checks
// what the decoder does not: the nesting, the escapes and the numbers. number is the
// index of the number at fault, or -1.
func checkJSON(text string) (message string, number int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Sprintf("it must not nest deeper than %d", MaxDepth), -1
			}
		case c == '}' || c == ']':
			depth--
		case c == '"':
			end, message := jsontext.CheckString(text, i+1)
			if message != "" {
				return message, -1
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := len(text) - len(strings.TrimLeft(text[i:], numberBytes))
			if _, message := parseNumber(text[i:end]); message != "" {
				return message, i
			}
			i = end - 1
		}
	}
	return "", -1
}

// pathAt returns the path of the value at an index of a valid JSON object.
func pathAt(text string, index int) string {
	type level struct {
		name string
		item int // -1 in an object
	}
	var levels []level
	tokens, named := json.NewDecoder(strings.NewReader(text)), false
	tokens.UseNumber()
	for int(tokens.InputOffset()) <= index {
		token, err := tokens.Token()
		if err != nil {
			break // unreachable: the index is inside
		}
		delimiter, _ := token.(json.Delim)
		if delimiter == '}' || delimiter == ']' {
			levels = levels[:len(levels)-1]
			continue
		}
		if len(levels) > 0 {
			switch last := &levels[len(levels)-1]; {
			case last.item >= 0:
				last.item++
			case !named:
				last.name, _ = token.(string)
				named = true
				continue
			}
			named = false
		}
		switch delimiter {
		case '{':
			levels = append(levels, level{item: -1})
		case '[':
			levels = append(levels, level{})
		}
	}
	path := ""
	for i, l := range levels {
		switch {
		case l.item > 0:
			path += "[" + strconv.Itoa(l.item-1) + "]"
		case i > 0 && path != "":
			path += "." + l.name
		default:
			path = l.name
		}
	}
	return path
}
