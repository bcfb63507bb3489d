// Package jsontext writes JSON as histories keep it, and reads and edits the text of a JSON object
// without decoding it.
package jsontext

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode encodes v as JSON without escaping HTML characters.
func Encode(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// AppendText appends s as Encode does.
func AppendText[S ~string](b []byte, s S) []byte {
	if Plain(string(s)) {
		return append(append(append(b, '"'), s...), '"')
	}
	raw, _ := Encode(s) // a string always encodes
	return append(b, raw...)
}

// Plain reports whether s is ASCII that no encoder escapes.
func Plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// Text returns a text, or a list of texts, as JSON, as verification.NewData writes it.
func Text(v any) []byte {
	raw, err := Encode(v)
	if err != nil {
		return []byte("null") // texts always encode
	}
	return raw
}

// Each calls f with the name and the JSON text of every field of the object,
// in order.
func Each(d []byte, f func(name, value []byte)) {
	depth, from := 0, 0
	var name []byte
	for i := 0; i < len(d); i++ {
		switch d[i] {
		case '"':
			begin, escaped := i, false
			for i++; i < len(d) && d[i] != '"'; i++ {
				if d[i] == '\\' {
					escaped = true
					i++
				}
			}
			if depth != 1 || name != nil || i >= len(d) {
				continue
			}
			name = d[begin+1 : i]
			if escaped {
				var text string
				_ = json.Unmarshal(d[begin:i+1], &text) // recorded data is valid JSON
				name = []byte(text)
			}
		case ':':
			if depth == 1 {
				from = i + 1
			}
		case '{', '[':
			depth++
		case ',', '}', ']':
			if depth == 1 && name != nil {
				f(name, d[from:i])
				name = nil
			}
			if d[i] != ',' {
				depth--
			}
		}
	}
}

// Extend returns the object, which must have a field, with one more field at its end.
func Extend(d []byte, name string, value any) []byte {
	raw, err := Encode(value)
	if err != nil {
		return d // derived values always encode
	}
	return fmt.Appendf(d[:len(d)-1:len(d)-1], `,%q:%s}`, name, raw)
}

// Edit returns the object with other values, and then with more fields, each with its name
// and its value as JSON. A field without a value is left out.
func Edit(d []byte, edit func(name string, value []byte) []byte, more ...[2]string) []byte {
	var fields []string
	Each(d, func(name, value []byte) {
		if value = edit(string(name), value); value != nil {
			fields = append(fields, string(Text(string(name)))+":"+string(value))
		}
	})
	for _, field := range more {
		fields = append(fields, string(Text(field[0]))+":"+field[1])
	}
	return []byte("{" + strings.Join(fields, ",") + "}")
}

// AppendCompact appends the string that begins at i as json.Marshal compacts it, and returns the index after it; 0 if the
// string is not valid or CheckString refuses it.
func AppendCompact(b []byte, text string, i int) (_ []byte, end int) {
	const hex, special = "0123456789abcdef", uint64(1<<' ' - 1 | 1<<'"' | 1<<'&' | 1<<'<' | 1<<'>') // of the first 64 bytes
	from := i                                                                                       // what is before it is appended
	for i++; i < len(text); {
		switch c := text[i]; {
		case c >= 64 && c != '\\' && c != "\u2028"[0], c < 64 && special>>c&1 == 0:
			i++
		case c < ' ':
			return b, 0
		case c == '"':
			return append(b, text[from:i+1]...), i + 1
		case c == '\\':
			n, message := checkEscape(text, i)
			if message != "" || n == 2 && (i+1 == len(text) || strings.IndexByte(`"\/bfnrt`, text[i+1]) < 0) {
				return b, 0
			}
			i += n
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			if n == 1 || r == '\u2028' || r == '\u2029' {
				b = append(append(b, text[from:i]...), '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
				from = i + n
			}
			i += n
		}
	}
	return b, 0
}

// CheckString checks the escapes of the string that begins at i, and returns the
// index of its closing quote.
func CheckString(text string, i int) (end int, message string) {
	for i < len(text) && text[i] != '"' {
		n := 1
		if text[i] == '\\' {
			if n, message = checkEscape(text, i); message != "" {
				return i, message
			}
		}
		i += n
	}
	return i, ""
}

// checkEscape returns the length of the escape at i, or of both of a surrogate pair. An unknown escape has 2 bytes.
func checkEscape(text string, i int) (n int, message string) {
	switch unit := escaped(text, i); {
	case unit == 0:
		return 0, "it must not contain a NUL character"
	case unit >= 0xd800 && unit <= 0xdbff:
		if low := escaped(text, i+6); low >= 0xdc00 && low <= 0xdfff {
			return 12, ""
		}
		fallthrough
	case unit >= 0xdc00 && unit <= 0xdfff:
		return 0, "it must not contain half of a surrogate pair"
	case unit > 0:
		return 6, ""
	}
	return 2, ""
}

// escaped parses the \u escape at i; -1 if there is another one.
func escaped(text string, i int) int64 {
	if i+6 > len(text) || text[i:i+2] != `\u` {
		return -1
	}
	if unit, err := strconv.ParseUint(text[i+2:i+6], 16, 16); err == nil {
		return int64(unit)
	}
	return -1
}

// Names returns the names of the fields of the object at a path, in their order.
func Names(d []byte, path ...string) (names []string) {
	Each(d, func(name, value []byte) {
		switch {
		case len(path) == 0:
			names = append(names, string(name))
		case string(name) == path[0] && strings.HasPrefix(string(value), "{"):
			names = Names(value, path[1:]...)
		}
	})
	return names
}

// Ordered returns the object with the fields of those names first, in their order.
func Ordered(d []byte, names []string) []byte {
	if len(d) == 0 || len(names) == 0 || !json.Valid(d) || d[0] != '{' {
		return d
	}
	values, rest := map[string]string{}, []string(nil)
	Each(d, func(name, value []byte) {
		if _, twice := values[string(name)]; !twice && !slices.Contains(names, string(name)) {
			rest = append(rest, string(name))
		}
		values[string(name)] = string(value)
	})
	var fields []string
	for _, name := range slices.Concat(names, rest) {
		value, ok := values[name]
		if !ok {
			continue
		}
		delete(values, name)
		key, err := Encode(name)
		if err != nil {
			return d // texts always encode
		}
		fields = append(fields, string(key)+":"+value)
	}
	return []byte("{" + strings.Join(fields, ",") + "}")
}
