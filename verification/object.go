// JSON objects as texts.

package verification

import (
	"encoding/json"
	"fmt"
	"strings"
)

// plainJSON encodes v as JSON without escaping HTML characters.
func plainJSON(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// appendText appends s as plainJSON encodes it.
func appendText[S ~string](b []byte, s S) []byte {
	if isPlain(string(s)) {
		return append(append(append(b, '"'), s...), '"')
	}
	raw, _ := plainJSON(s) // a string always encodes
	return append(b, raw...)
}

// isPlain reports whether s is ASCII that no encoder escapes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// jsonOf returns a text, or a list of texts, as JSON, as NewData writes it.
func jsonOf(v any) []byte {
	raw, err := plainJSON(v)
	if err != nil {
		return []byte("null") // texts always encode
	}
	return raw
}

// eachField calls f with the name and the JSON text of every field of the object,
// in order.
func eachField(d []byte, f func(name, value []byte)) {
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

// extended returns the object, which must have a field, with one more field at its end.
func extended(d []byte, name string, value any) []byte {
	raw, err := plainJSON(value)
	if err != nil {
		return d // derived values always encode
	}
	return fmt.Appendf(d[:len(d)-1:len(d)-1], `,%q:%s}`, name, raw)
}

// replaced returns the object with other texts in some of its fields. The order of the fields
// stays.
func replaced(d []byte, texts map[string]string) []byte {
	return edited(d, func(name string, value []byte) []byte {
		if text, ok := texts[name]; ok {
			value = jsonOf(text)
		}
		return value
	})
}

// edited returns the object with other values, and then with more fields, each with its name
// and its value as JSON. A field without a value is left out.
func edited(d []byte, edit func(name string, value []byte) []byte, more ...[2]string) []byte {
	var fields []string
	eachField(d, func(name, value []byte) {
		if value = edit(string(name), value); value != nil {
			fields = append(fields, string(jsonOf(string(name)))+":"+string(value))
		}
	})
	for _, field := range more {
		fields = append(fields, string(jsonOf(field[0]))+":"+field[1])
	}
	return []byte("{" + strings.Join(fields, ",") + "}")
}
