// YAML and JSON become a tree.

package definitions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The bounds of one file.
const (
	maxBytes   = 1 << 20
	maxLevel   = 64
	maxAliased = 10_000 // values that aliases stand for, all together
	// maxAliasedBytes bounds their texts and the names of their fields.
	maxAliasedBytes = 1 << 20
)

// yamlReader turns the nodes of the YAML library into trees.
type yamlReader struct {
	*diagnostics
	file    string
	inside  map[*yaml.Node]bool // anchors that are being expanded
	aliased int
	bytes   int  // of the texts that aliases stand for
	stopped bool // a bound was exceeded
}

// parse returns the values of a file, or nil if it cannot be read.
func parse(file string, raw []byte, d *diagnostics) *tree {
	refuse := func(at position, message string) *tree {
		d.add(file, at, nil, message)
		return nil
	}
	if at, message := checkText(raw); message != "" {
		return refuse(at, message)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	if bytes.HasPrefix(raw, []byte("%YAML 1.2")) { // the library knows the directive of 1.1 only
		raw = append([]byte("#"), raw[1:]...)
	}
	language := "YAML"
	if isJSON(file, raw) {
		language = "JSON"
		if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, new(json.RawMessage))); ok {
			return refuse(positionAt(raw, int(syntax.Offset)-1), "it is not valid JSON: "+syntax.Error())
		}
		raw = withoutSurrogates(raw)
	}
	docs, err := yamlDocuments(raw)
	switch {
	case err != nil:
		at, message := syntaxProblem(language, raw, err)
		return refuse(at, message)
	case len(docs) == 0:
		return refuse(position{}, "the file is empty")
	case len(docs) > 1:
		return refuse(positionOf(docs[1]), "a file must have one document: remove the ---")
	}
	r := &yamlReader{diagnostics: d, file: file, inside: map[*yaml.Node]bool{}}
	t := r.tree(docs[0].Content[0], nil, 1)
	if r.stopped {
		return nil
	}
	t.source = string(raw)
	return t
}

// checkText finds the first character that does not belong in a text file.
func checkText(raw []byte) (position, string) {
	if len(raw) > maxBytes {
		return position{}, "the file is larger than 1 MiB"
	}
	s := strings.TrimPrefix(string(raw), "\ufeff")
	at := position{line: 1, column: 1}
	for i, r := range s {
		switch {
		case r == '\uFFFD' && !strings.HasPrefix(s[i:], "\uFFFD"):
			return at, "the file is not valid UTF-8 here"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
			return at, "a control character does not belong in a file"
		}
		at = at.after(r)
	}
	if strings.TrimSpace(s) == "" {
		return position{}, "the file is empty"
	}
	return at, ""
}

func isJSON(file string, raw []byte) bool {
	return strings.EqualFold(filepath.Ext(file), ".json") || bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) && json.Valid(raw)
}

// withoutSurrogates replaces the escapes of JSON that YAML does not have: those of
// surrogate pairs, by the character. Columns after one in its line become smaller.
func withoutSurrogates(raw []byte) []byte {
	escape := regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)
	return escape.ReplaceAllFunc(raw, func(found []byte) []byte {
		var s string
		if len(found) != 12 || json.Unmarshal(slices.Concat([]byte(`"`), found, []byte(`"`)), &s) != nil {
			return found
		}
		return []byte(s)
	})
}

// positionAt returns the position of a byte.
func positionAt(raw []byte, offset int) position {
	at := position{line: 1, column: 1}
	for _, r := range string(raw[:max(0, min(offset, len(raw)))]) {
		at = at.after(r)
	}
	return at
}

func positionOf(n *yaml.Node) position { return position{line: n.Line, column: n.Column} }

// yamlDocuments reads at most two documents: a second one is a problem already.
func yamlDocuments(raw []byte) ([]*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	var docs []*yaml.Node
	for len(docs) < 2 {
		doc := &yaml.Node{}
		switch err := loader.Load(doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return docs, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// syntaxProblem returns what the library says of a syntax error, with a hint where
// the characters at its position allow one. A construct that is still open at the
// end of the file is reported where it begins.
func syntaxProblem(language string, raw []byte, err error) (position, string) {
	syntax, ok := errors.AsType[*yaml.LoadError](err)
	switch {
	case !ok:
		return position{}, "it is not valid " + language
	case syntax.Stage == yaml.ComposerStage:
		// The library's message holds the name of the anchor, which may be a secret.
		return position{line: syntax.Mark.Line, column: syntax.Mark.Column}, "an alias names an anchor that does not exist"
	}
	at := position{line: syntax.Mark.Line, column: syntax.Mark.Column}
	opened := position{line: syntax.ContextMark.Line, column: syntax.ContextMark.Column}
	found, context := characterAt(raw, at), characterAt(raw, opened)
	hint := ""
	switch {
	case found == 0 && (context == '"' || context == '\''):
		at, hint = opened, ": a quote is not closed"
	case found == 0 && (context == '[' || context == '{'):
		at, hint = opened, ": a bracket is not closed"
	case found == ':':
		hint = ": text with a colon in it needs quotes"
	case found == '\t':
		hint = ": indent with spaces, not with tabs"
	case strings.ContainsRune("@`%&*!|>", found):
		hint = ": text that begins with " + string(found) + " needs quotes"
	case at == opened:
	case (context == '[' || context == '{') && (found == ']' || found == '}'):
		hint = ": a bracket is not closed"
	case context == '[' || context == '{':
		hint = ": put a comma between two values, and quotes around text with a bracket or a quote in it"
	case syntax.Stage == yaml.ParserStage && found != 0:
		hint = ": is the indentation right?"
	}
	return at, "it is not valid " + language + ": " + syntax.Message + hint
}

// characterAt returns the character at a position, and 0 at the end of the file or
// for an unknown position.
func characterAt(raw []byte, at position) rune {
	here := position{line: 1, column: 1}
	for _, c := range string(raw) {
		if here == at {
			return c
		}
		here = here.after(c)
	}
	return 0
}

func (r *yamlReader) problem(n *yaml.Node, p path, message string) {
	r.add(r.file, positionOf(n), p, message)
}

// stop reports the last problem of the file.
func (r *yamlReader) stop(n *yaml.Node, p path, message string) {
	if !r.stopped {
		r.problem(n, p, message)
	}
	r.stopped = true
}

func (r *yamlReader) tree(n *yaml.Node, p path, level int) *tree {
	t := &tree{kind: n.Kind, at: positionOf(n)}
	if len(r.inside) > 0 {
		r.aliased++
		r.bytes += len(n.Value)
	}
	switch {
	case r.stopped:
		return t
	case level > maxLevel:
		r.stop(n, p, "the file is nested too deeply")
		return t
	case r.aliased > maxAliased:
		r.stop(n, p, "aliases stand for too many values")
		return t
	case r.bytes > maxAliasedBytes:
		r.stop(n, p, fmt.Sprintf("aliases stand for more than %d MiB of text", maxAliasedBytes>>20))
		return t
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.alias(n, p, level)
	case yaml.ScalarNode:
		t.scalar = r.scalar(n, p)
	case yaml.SequenceNode:
		r.tag(n, p, "!!seq")
		for i, item := range n.Content {
			t.items = append(t.items, r.tree(item, append(p, i), level+1))
		}
	case yaml.MappingNode:
		r.tag(n, p, "!!map")
		r.mapping(n, p, level, t)
	}
	return t
}

func (r *yamlReader) alias(n *yaml.Node, p path, level int) *tree {
	if r.inside[n.Alias] {
		r.stop(n, p, "an anchor must not contain itself")
		return &tree{}
	}
	r.inside[n.Alias] = true
	t := r.tree(n.Alias, p, level+1)
	delete(r.inside, n.Alias)
	t.at = positionOf(n)
	return t
}

func (r *yamlReader) mapping(n *yaml.Node, p path, level int, t *tree) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, ok := r.name(n.Content[i], p)
		if !ok {
			continue
		}
		at := positionOf(n.Content[i])
		value := r.tree(n.Content[i+1], append(p, name), level+1)
		if seen[name] {
			r.add(r.file, at, r.diagnostics.name(p, name), "the field is given twice")
			continue
		}
		seen[name] = true
		t.entries = append(t.entries, entry{name: name, at: at, value: value})
	}
}

// name reads the name of a field: a string, and not a merge key.
func (r *yamlReader) name(n *yaml.Node, p path) (string, bool) {
	at := n
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if at != n || len(r.inside) > 0 {
		r.bytes += len(n.Value)
	}
	var name any
	if n.Kind == yaml.ScalarNode {
		name = r.scalar(n, p)
	}
	s, ok := name.(string)
	switch {
	case n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "<<":
		r.problem(at, p, "merge keys (<<) are not supported: write the fields out")
		return "", false
	case !ok:
		r.problem(at, p, "the name of a field must be a string: put it in quotes")
	}
	return s, ok
}

func (r *yamlReader) scalar(n *yaml.Node, p path) any {
	tagged, quoted := n.Style&yaml.TaggedStyle != 0, n.Style&^yaml.TaggedStyle != 0
	var value any = n.Value
	if !quoted && (!tagged || n.Tag != "!!str") {
		var problem string
		if value, problem = resolve(n.Value); problem != "" {
			r.problem(n, p, problem)
		}
	}
	switch v := value.(type) {
	case nil:
		r.tag(n, p, "!!null")
	case bool:
		r.tag(n, p, "!!bool")
	case json.Number:
		r.tag(n, p, "!!float", "!!int")
	case string:
		r.tag(n, p, "!!str")
		if strings.ContainsRune(v, 0) {
			r.problem(n, p, "must not contain a NUL character")
		}
	}
	return value
}

// tag refuses an explicit tag that does not fit the value.
func (r *yamlReader) tag(n *yaml.Node, p path, allowed ...string) {
	if n.Style&yaml.TaggedStyle != 0 && !slices.Contains(allowed, n.Tag) {
		r.problem(n, p, "the tag does not fit the value: leave it out")
	}
}
