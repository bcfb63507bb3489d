// Reading lists in XML, one element of an entry at a time.

package watchlist

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Limits of an element of an entry.
const (
	maxDepth = 50
	maxNodes = 100_000 // elements and attributes
)

// node is an element of XML with its content.
type node struct {
	name  string
	attrs []xml.Attr
	text  string
	nodes []*node
	used  bool   // a reader has looked at it
	seen  uint64 // the attributes that a reader has looked at, by their bits
}

// attr returns the value of an attribute, or nothing.
func (n *node) attr(name string) string {
	for i, a := range n.attrs {
		if a.Name.Local == name {
			n.seen |= 1 << min(i, 63)
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// all returns the elements at a path below an element.
func (n *node) all(path ...string) []*node {
	found := []*node{n}
	for _, name := range path {
		var next []*node
		for _, parent := range found {
			for _, child := range parent.nodes {
				if child.name == name {
					next = append(next, child)
				}
			}
		}
		found = next
	}
	for _, n := range found {
		n.used = true
	}
	return found
}

// get returns the text of the first element at a path, or nothing.
func (n *node) get(path ...string) string {
	if found := n.all(path...); len(found) > 0 {
		return found[0].text
	}
	return ""
}

// below returns the elements with a name at any depth below an element.
func (n *node) below(name string) []*node {
	var out []*node
	for _, child := range n.nodes {
		if child.name == name {
			child.used = true
			out = append(out, child)
		}
		out = append(out, child.below(name)...)
	}
	return out
}

// joined returns the texts of elements, separated by spaces.
func (n *node) joined(names ...string) string {
	var out []string
	for _, name := range names {
		if text := n.get(name); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, " ")
}

// readNodes reads the elements of a file that have one of the names. entry returns the entry that an
// element is, or false for an element that is no entry but something that entries refer to.
func readNodes(f *listFile, entry func(*node) (Entry, bool), names ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := xml.NewDecoder(f.text)
		in.CharsetReader = sameReader
		fail := func(err error) {
			line, _ := in.InputPos()
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) { // it says its line
				line = syntax.Line
				err = errors.New(syntax.Msg)
			}
			yield(Entry{}, fmt.Errorf("line %d: %w", line, err))
		}
		for depth := 0; ; {
			f.bound.next(maxElement)
			token, err := in.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				fail(err)
				return
			}
			switch token := token.(type) {
			case xml.Directive:
				fail(errors.New("the file has a DOCTYPE: no list has one"))
				return
			case xml.EndElement:
				depth--
			case xml.StartElement:
				if !slices.Contains(names, token.Name.Local) {
					if depth++; depth > maxDepth {
						fail(errDeep)
						return
					}
					continue
				}
				left := maxNodes
				n, err := readNode(in, token, maxDepth, &left)
				if err != nil {
					fail(err)
					return
				}
				e, ok := entry(n)
				if ok && (e.Person || e.Company) {
					f.ignoredNodes(n, "", e.ID)
				}
				if ok && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// The errors of an element that is refused.
var (
	errDeep  = fmt.Errorf("elements are nested more than %d deep", maxDepth)
	errNodes = fmt.Errorf("an entry has more than %d elements and attributes", maxNodes)
)

// readNode reads an element to its end.
func readNode(in *xml.Decoder, start xml.StartElement, depth int, left *int) (*node, error) {
	if depth == 0 {
		return nil, errDeep
	}
	if *left -= 1 + len(start.Attr); *left < 0 {
		return nil, errNodes
	}
	n := &node{name: start.Name.Local, attrs: start.Attr}
	var text strings.Builder
	for {
		token, err := in.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			child, err := readNode(in, token, depth-1, left)
			if err != nil {
				return nil, err
			}
			n.nodes = append(n.nodes, child)
		case xml.CharData:
			text.Write(token)
		case xml.EndElement:
			n.text = strings.TrimSpace(text.String())
			return n, nil
		}
	}
}

// sameReader returns the reader of a text that has been decoded.
func sameReader(_ string, r io.Reader) (io.Reader, error) { return r, nil }
