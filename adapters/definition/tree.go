// What YAML and JSON have in common: values with their places.

package definition

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
)

// The bounds of one file.
const (
	maxBytes = 1 << 20
	maxLevel = 64
	// maxAliased is how many values aliases may stand for, all together.
	maxAliased = 10000
)

// kind is the JSON type of a value.
type kind int

const (
	kindNull kind = iota
	kindBoolean
	kindNumber
	kindText
	kindObject
	kindList
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "an object", "a list"}[k]
}

// place is where something begins; the first line and column are 1.
type place struct{ line, column int }

// tree is one value of a file.
type tree struct {
	kind kind
	at   place
	// word is the text of a string, the canonical JSON of a number, and true
	// or false of a boolean.
	word    string
	entries []entry // of an object, as written; no name is there twice
	items   []*tree // of a list
}

// entry is one field of an object.
type entry struct {
	name  string
	at    place
	value *tree
}

func (t *tree) entry(name string) (entry, bool) {
	for _, e := range t.entries {
		if e.name == name {
			return e, true
		}
	}
	return entry{}, false
}

// data is the value as encoding/json knows it.
func (t *tree) data() any {
	switch t.kind {
	case kindBoolean:
		return t.word == "true"
	case kindNumber:
		return json.Number(t.word)
	case kindText:
		return t.word
	case kindObject:
		m := make(map[string]any, len(t.entries))
		for _, e := range t.entries {
			m[e.name] = e.value.data()
		}
		return m
	case kindList:
		l := make([]any, len(t.items))
		for i, item := range t.items {
			l[i] = item.data()
		}
		return l
	case kindNull:
	}
	return nil
}

// find is the place of the value at a path such as nodes.risk.rules[0].when, or
// of the nearest value above it that is there. A field begins at its name.
func (t *tree) find(path string) place {
	at := t.at
	for {
		path = strings.TrimPrefix(path, ".")
		e, rest, ok := t.step(path)
		if !ok {
			return at
		}
		at, t, path = e.at, e.value, rest
	}
}

// step finds the entry that a path begins with, the longest name first: a name
// may hold a dot.
func (t *tree) step(path string) (found entry, rest string, ok bool) {
	for _, e := range t.entries {
		after, is := strings.CutPrefix(path, e.name)
		if is && e.name != "" && (after == "" || after[0] == '.' || after[0] == '[') && len(e.name) > len(found.name) {
			found, rest, ok = e, after, true
		}
	}
	if ok || t.kind != kindList || !strings.HasPrefix(path, "[") {
		return found, rest, ok
	}
	digits, rest, _ := strings.Cut(path[1:], "]")
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || i >= len(t.items) {
		return entry{}, "", false
	}
	return entry{at: t.items[i].at, value: t.items[i]}, rest, true
}

// parse makes a tree of a file, and tells all that is wrong with its form. The
// tree is nil when there is none to go on with.
func parse(file string, raw []byte, f *faults) *tree {
	raw, ok := plainText(file, raw, f)
	if !ok {
		return nil
	}
	if isJSON(file, raw) {
		return parseJSON(file, raw, f)
	}
	return parseYAML(file, raw, f)
}

func isJSON(file string, raw []byte) bool {
	return strings.EqualFold(filepath.Ext(file), ".json") ||
		strings.HasPrefix(strings.TrimSpace(string(raw[:min(len(raw), 1024)])), "{") && json.Valid(raw)
}

// plainText refuses what is no text that people write: it tells the first such
// character.
func plainText(file string, raw []byte, f *faults) ([]byte, bool) {
	if len(raw) > maxBytes {
		f.add(Fault{File: file, Message: "the file is larger than 1 MiB"})
		return nil, false
	}
	s := strings.TrimPrefix(string(raw), "\ufeff")
	at := place{line: 1, column: 1}
	for i, r := range s {
		message := ""
		switch {
		case r == '\uFFFD' && !strings.HasPrefix(s[i:], "\uFFFD"):
			message = "the file is not valid UTF-8 here"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
			message = "a control character does not belong in a file"
		}
		if message != "" {
			f.add(Fault{File: file, Line: at.line, Column: at.column, Message: message})
			return nil, false
		}
		at = at.after(r)
	}
	if strings.TrimSpace(s) == "" {
		f.add(Fault{File: file, Message: "the file is empty"})
		return nil, false
	}
	return []byte(s), true
}

func (p place) after(r rune) place {
	if r == '\n' {
		return place{line: p.line + 1, column: 1}
	}
	return place{line: p.line, column: p.column + 1}
}
