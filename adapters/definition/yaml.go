// YAML becomes a tree.

package definition

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
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
		message := yamlMessage(err)
		f.add(Fault{File: file, Line: yamlLine(raw, message), Message: message})
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

// yamlDocuments reads at most two documents: a second one is a fault already.
func yamlDocuments(raw []byte) ([]*yaml.Node, error) {
	var docs []*yaml.Node
	for dec := yaml.NewDecoder(bytes.NewReader(raw)); len(docs) < 2; {
		doc := &yaml.Node{}
		switch err := dec.Decode(doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return docs, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// yamlMessage is the library's sentence without its line, which is often that
// of the block around the fault, and without words of the file.
func yamlMessage(err error) string {
	message := regexp.MustCompile(`^yaml: (line \d+: )?`).ReplaceAllString(err.Error(), "")
	if strings.HasPrefix(message, "unknown anchor") {
		return "an alias names an anchor that is not there"
	}
	hint := map[string]string{
		"did not find expected key":                      ": is the indentation right?",
		"mapping values are not allowed in this context": ": text with a colon in it needs quotes",
		"found character that cannot start any token":    ": no tabs, and text that begins with a sign needs quotes",
		"found unexpected end of stream":                 ": a quote is not closed",
	}
	return "it is not valid YAML: " + message + hint[message]
}

// yamlLine finds the line that a syntax fault is on: the first one with which
// the text up to there has the same fault.
func yamlLine(raw []byte, message string) int {
	lines := bytes.SplitAfter(raw, []byte("\n"))
	return 1 + sort.Search(len(lines)-1, func(i int) bool {
		_, err := yamlDocuments(bytes.Join(lines[:i+1], nil))
		return err != nil && yamlMessage(err) == message
	})
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
