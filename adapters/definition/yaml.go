// YAML becomes a tree.

package definition

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlReader turns the nodes of the YAML library into trees.
type yamlReader struct {
	file    string
	faults  *faults
	inside  map[*yaml.Node]bool // anchors that are being expanded
	aliased int
	broken  bool // a bound was passed: read no further
}

func parseYAML(file string, raw []byte, f *faults) *tree {
	docs, err := yamlDocuments(raw)
	if err != nil {
		f.add(yamlFault(file, raw, err))
		return nil
	}
	if len(docs) == 0 {
		f.add(Fault{File: file, Message: "the file is empty"})
		return nil
	}
	if len(docs) > 1 {
		f.add(Fault{File: file, Line: docs[1].Line, Column: docs[1].Column, Message: "a file holds one document: take out the ---"})
		return nil
	}
	r := &yamlReader{file: file, faults: f, inside: map[*yaml.Node]bool{}}
	t := r.tree(docs[0].Content[0], nil, 1)
	if r.broken {
		return nil
	}
	return t
}

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

// yamlFault places a syntax error of the library. A construct that is still
// open at the end of the file is reported where it begins.
func yamlFault(file string, raw []byte, err error) Fault {
	syntax, ok := errors.AsType[*yaml.LoadError](err)
	switch {
	case !ok:
		return Fault{File: file, Message: "it is not valid YAML"}
	case syntax.Stage == yaml.ComposerStage:
		// The library's message holds the name of the anchor, which may be a secret.
		return Fault{File: file, Line: syntax.Mark.Line, Column: syntax.Mark.Column, Message: "an alias names an anchor that is not there"}
	}
	at := place{line: syntax.Mark.Line, column: syntax.Mark.Column}
	opened := place{line: syntax.ContextMark.Line, column: syntax.ContextMark.Column}
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
	return Fault{File: file, Line: at.line, Column: at.column, Message: "it is not valid YAML: " + syntax.Message + hint}
}

// characterAt returns the character at a place, and 0 for a place that is unknown
// or at the end of the file.
func characterAt(raw []byte, at place) rune {
	here := place{line: 1, column: 1}
	for _, c := range string(raw) {
		if here == at {
			return c
		}
		here = here.after(c)
	}
	return 0
}

func (r *yamlReader) fault(n *yaml.Node, p *path, message string) {
	r.faults.add(Fault{File: r.file, Line: n.Line, Column: n.Column, Path: p.String(), Message: message})
}

// stop tells the last fault of the file.
func (r *yamlReader) stop(n *yaml.Node, p *path, message string) {
	if !r.broken {
		r.fault(n, p, message)
	}
	r.broken = true
}

func (r *yamlReader) tree(n *yaml.Node, p *path, level int) *tree {
	t := &tree{at: place{line: n.Line, column: n.Column}}
	if len(r.inside) > 0 {
		r.aliased++
	}
	switch {
	case r.broken:
		return t
	case level > maxLevel:
		r.stop(n, p, "the file nests too deep")
		return t
	case r.aliased > maxAliased:
		r.stop(n, p, "aliases stand for too many values")
		return t
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.alias(n, p, level)
	case yaml.ScalarNode:
		r.scalar(n, p, t)
	case yaml.SequenceNode:
		r.tag(n, p, "!!seq")
		t.kind = kindList
		for i, item := range n.Content {
			t.items = append(t.items, r.tree(item, p.item(i), level+1))
		}
	case yaml.MappingNode:
		r.tag(n, p, "!!map")
		t.kind = kindObject
		r.mapping(n, p, level, t)
	}
	return t
}

func (r *yamlReader) alias(n *yaml.Node, p *path, level int) *tree {
	if r.inside[n.Alias] {
		r.stop(n, p, "an anchor must not hold itself")
		return &tree{}
	}
	r.inside[n.Alias] = true
	t := r.tree(n.Alias, p, level+1)
	delete(r.inside, n.Alias)
	t.at = place{line: n.Line, column: n.Column}
	return t
}

func (r *yamlReader) mapping(n *yaml.Node, p *path, level int, t *tree) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, ok := r.key(n.Content[i], p)
		if !ok {
			continue
		}
		at := place{line: n.Content[i].Line, column: n.Content[i].Column}
		value := r.tree(n.Content[i+1], p.field(key), level+1)
		if seen[key] {
			r.faults.twice(r.file, at, p, key)
			continue
		}
		seen[key] = true
		t.entries = append(t.entries, entry{name: key, at: at, value: value})
	}
}

// key reads the name of a field: a string, and not a merge key.
func (r *yamlReader) key(n *yaml.Node, p *path) (string, bool) {
	at := n
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	t := &tree{}
	if n.Kind == yaml.ScalarNode {
		r.scalar(n, p, t)
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "<<":
		r.fault(at, p, "merge keys (<<) are not supported: write the fields out")
		return "", false
	case t.kind != kindText:
		r.fault(at, p, "the name of a field must be a string: put it in quotes")
		return "", false
	}
	return t.word, true
}

func (r *yamlReader) scalar(n *yaml.Node, p *path, t *tree) {
	tagged, quoted := n.Style&yaml.TaggedStyle != 0, n.Style&^yaml.TaggedStyle != 0
	t.kind, t.word = kindText, n.Value
	if !quoted && (!tagged || n.Tag != "!!str") {
		var fault string
		if t.kind, t.word, fault = resolve(n.Value); fault != "" {
			r.fault(n, p, fault)
		}
	}
	if t.kind == kindText && strings.ContainsRune(t.word, 0) {
		r.fault(n, p, "must not hold a NUL character")
	}
	r.tag(n, p, scalarTags(t)...)
}

// scalarTags are the tags that a scalar may carry.
func scalarTags(t *tree) []string {
	switch {
	case t.kind == kindNull:
		return []string{"!!null"}
	case t.kind == kindBoolean:
		return []string{"!!bool"}
	case t.kind == kindNumber && strings.ContainsAny(t.word, ".e"):
		return []string{"!!float"}
	case t.kind == kindNumber:
		return []string{"!!int", "!!float"}
	default:
		return []string{"!!str"}
	}
}

// tag refuses a tag that is written and says something else than the value.
func (r *yamlReader) tag(n *yaml.Node, p *path, allowed ...string) {
	if n.Style&yaml.TaggedStyle == 0 {
		return
	}
	for _, tag := range allowed {
		if n.Tag == tag {
			return
		}
	}
	r.fault(n, p, "the tag does not fit the value: leave it out")
}
