// Package jsontext writes JSON as histories keep it, and reads and edits the text of a JSON object
// without decoding it.
package jsontext

import (
	"encoding/json"
	"fmt"
	"strings"
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

// Replace returns the object with other texts in some of its fields. The order of the fields
// stays.
func Replace(d []byte, texts map[string]string) []byte {
	return Edit(d, func(name string, value []byte) []byte {
		if text, ok := texts[name]; ok {
			value = Text(text)
		}
		return value
	})
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
