// The values of a file with their positions.

package definitions

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// position is where a value begins; the first line and column are 1.
type position struct{ line, column int }

func (p position) after(r rune) position {
	if r == '\n' {
		return position{line: p.line + 1, column: 1}
	}
	return position{line: p.line, column: p.column + 1}
}

type tree struct {
	kind    yaml.Kind // mapping, sequence or scalar
	at      position
	scalar  any     // nil, a bool, a json.Number or a string
	entries []entry // of a mapping, as written, without duplicates
	items   []*tree // of a sequence
	source  string  // of the root: the text of the file
	// index has the places of the entries by their names. It is made when first needed.
	index map[string]int
}

// entry is one field of an object. It begins at its name.
type entry struct {
	name  string
	at    position
	value *tree
}

func (t *tree) entry(name string) (entry, bool) {
	if t.index == nil {
		t.index = make(map[string]int, len(t.entries))
		for i, e := range t.entries {
			t.index[e.name] = i
		}
	}
	if i, ok := t.index[name]; ok {
		return t.entries[i], true
	}
	return entry{}, false
}

// value returns the value as encoding/json decodes it.
func (t *tree) value() any {
	switch t.kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(t.entries))
		for _, e := range t.entries {
			m[e.name] = e.value.value()
		}
		return m
	case yaml.SequenceNode:
		l := make([]any, len(t.items))
		for i, item := range t.items {
			l[i] = item.value()
		}
		return l
	}
	return t.scalar
}

// locate follows a location of the JSON Schema library. It returns the path, the
// value and where it begins.
func (t *tree) locate(location []string) (path, *tree, position) {
	p, at := make(path, 0, len(location)+1), t.at
	for _, step := range location {
		if t.kind == yaml.SequenceNode {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(t.items) {
				break
			}
			p, t = append(p, i), t.items[i]
			at = t.at
			continue
		}
		e, ok := t.entry(step)
		if !ok {
			break
		}
		p, t, at = append(p, step), e.value, e.at
	}
	return p, t, at
}

// find returns the value at a path such as nodes.risk.rules[0].when, or the nearest
// one above it that exists, and where it begins.
func (t *tree) find(path string) (position, *tree) {
	at := t.at
	for {
		path = strings.TrimPrefix(path, ".")
		e, rest, ok := t.step(path)
		if !ok {
			return at, t
		}
		at, t, path = e.at, e.value, rest
	}
}

// step returns the entry that a path begins with, the longest name first: a name
// may contain a dot.
func (t *tree) step(path string) (found entry, rest string, ok bool) {
	if quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(path, "[")); err == nil {
		name, _ := strconv.Unquote(quoted) // never fails for a quoted prefix
		found, ok = t.entry(name)
		return found, strings.TrimPrefix(path, "["+quoted+"]"), ok
	}
	for _, e := range t.entries {
		after, is := strings.CutPrefix(path, e.name)
		if is && e.name != "" && (after == "" || after[0] == '.' || after[0] == '[') && len(e.name) > len(found.name) {
			found, rest, ok = e, after, true
		}
	}
	if ok || t.kind != yaml.SequenceNode || !strings.HasPrefix(path, "[") {
		return found, rest, ok
	}
	digits, rest, _ := strings.Cut(path[1:], "]")
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || i >= len(t.items) {
		return entry{}, "", false
	}
	return entry{at: t.items[i].at, value: t.items[i]}, rest, true
}

// path leads from the root to a value: names of fields and indices of items.
type path []any

// String writes the path as nodes.risk.rules[0].when.
func (p path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(quotedName(step))
		}
	}
	return b.String()
}

// quotedName returns a name for a message: at most 64 characters of it, in quotes
// if it is not plain.
func quotedName(name string) string {
	const limit = 64
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '$' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if runes := []rune(name[:min(len(name), 4*limit+4)]); len(runes) > limit {
		name = string(runes[:limit]) + "..."
	}
	if plain {
		return name
	}
	return strconv.Quote(name)
}
