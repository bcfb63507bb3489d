// JSON becomes a tree.

package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// jsonReader turns the tokens of a JSON text into a tree. The text was found
// to be valid JSON before.
type jsonReader struct {
	file   string
	raw    []byte
	faults *faults
	dec    *json.Decoder
	offset int   // of at
	at     place // the place of the newest token
	broken bool  // a bound was passed: read no further
}

func parseJSON(file string, raw []byte, f *faults) *tree {
	r := &jsonReader{file: file, raw: raw, faults: f, at: place{line: 1, column: 1}}
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		message, syntax := "it is not valid JSON", (*json.SyntaxError)(nil)
		if errors.As(err, &syntax) {
			message = "it is not valid JSON: " + syntax.Error()
			r.moveTo(int(syntax.Offset) - 1)
		}
		f.add(Fault{File: file, Line: r.at.line, Column: r.at.column, Message: message})
		return nil
	}
	r.dec = json.NewDecoder(bytes.NewReader(raw))
	r.dec.UseNumber()
	t := r.tree(nil, 1)
	if r.broken {
		return nil
	}
	return t
}

// moveTo counts lines and columns up to an offset.
func (r *jsonReader) moveTo(offset int) {
	for _, c := range string(r.raw[r.offset:max(r.offset, min(offset, len(r.raw)))]) {
		r.at = r.at.after(c)
	}
	r.offset = max(r.offset, offset)
}

// token reads the next token and tells where it begins.
func (r *jsonReader) token() (json.Token, place) {
	start := int(r.dec.InputOffset())
	for start < len(r.raw) && strings.IndexByte(" \t\r\n,:", r.raw[start]) >= 0 {
		start++
	}
	r.moveTo(start)
	token, err := r.dec.Token()
	if err != nil {
		r.stop(nil, r.at, "it is not valid JSON")
	}
	return token, r.at
}

func (r *jsonReader) stop(p *path, at place, message string) {
	if !r.broken {
		r.faults.add(Fault{File: r.file, Line: at.line, Column: at.column, Path: p.String(), Message: message})
	}
	r.broken = true
}

func (r *jsonReader) tree(p *path, level int) *tree {
	token, at := r.token()
	t := &tree{at: at}
	if level > maxLevel {
		r.stop(p, at, "the file nests too deep")
	}
	if r.broken {
		return t
	}
	switch v := token.(type) {
	case bool:
		t.kind, t.word = kindBoolean, strconv.FormatBool(v)
	case json.Number:
		var fault string
		if t.kind, t.word, fault = canonical(v.String()); fault != "" {
			r.fault(p, at, fault)
		}
	case string:
		t.kind, t.word = kindText, v
		r.text(v, p, at)
	case json.Delim:
		if v == '[' {
			t.kind = kindList
			for i := 0; r.dec.More() && !r.broken; i++ {
				t.items = append(t.items, r.tree(p.item(i), level+1))
			}
		} else {
			t.kind = kindObject
			r.object(p, level, t)
		}
		if !r.broken {
			r.token() // the closing bracket
		}
	}
	return t
}

func (r *jsonReader) object(p *path, level int, t *tree) {
	seen := map[string]bool{}
	for r.dec.More() && !r.broken {
		token, at := r.token()
		name, _ := token.(string)
		r.text(name, p, at)
		value := r.tree(p.field(name), level+1)
		if seen[name] {
			r.faults.twice(r.file, at, p, name)
			continue
		}
		seen[name] = true
		t.entries = append(t.entries, entry{name: name, at: at, value: value})
	}
}

// text refuses what JSON can spell and no text may hold: NUL, and half of a
// surrogate pair, which the decoder makes U+FFFD.
func (r *jsonReader) text(s string, p *path, at place) {
	if strings.ContainsRune(s, 0) {
		r.fault(p, at, "must not hold a NUL character")
	}
	if strings.ContainsRune(s, '\uFFFD') {
		written := strings.ToLower(string(r.raw[r.offset:r.dec.InputOffset()]))
		if !strings.ContainsRune(written, '\uFFFD') && !strings.Contains(written, `\ufffd`) {
			r.fault(p, at, "must not hold half of a surrogate pair")
		}
	}
}

func (r *jsonReader) fault(p *path, at place, message string) {
	r.faults.add(Fault{File: r.file, Line: at.line, Column: at.column, Path: p.String(), Message: message})
}
