// Texts as lines for paper: with bullets, and with the addresses of links.

package markdown

import (
	"bufio"
	"bytes"
	"fmt"
	stdhtml "html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer/html"
)

// Line is a line of a text, which may be too long for one line of paper. A line without Spans
// is the space between two paragraphs.
type Line struct {
	Depth  int    // of the list that the line is in; 0 for none
	Marker string // before the first line of an item: • or a number
	Spans  []Span
}

// Span is a part of a line.
type Span struct {
	Text string
	Bold bool
}

// Lines returns a text as it reads on a page. A link has its address in parentheses.
func (c Converter) Lines(source string) []Line {
	raw, document, ok := c.parse(source)
	if !ok {
		return asItIs(source)
	}
	w := lineWriter{raw: raw}
	w.blocks(document, 0)
	return w.lines
}

// asItIs returns the lines of a text without any Markdown.
func asItIs(source string) (lines []Line) {
	for line := range strings.SplitSeq(source, "\n") {
		lines = append(lines, Line{Spans: []Span{{Text: line}}})
	}
	return lines
}

type lineWriter struct {
	raw    []byte
	lines  []Line
	depth  int
	marker string // of the next line
}

// blocks adds the blocks in a node. Blocks outside of lists have a space between them.
func (w *lineWriter) blocks(parent ast.Node, depth int) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if depth == 0 && len(w.lines) > 0 {
			w.lines = append(w.lines, Line{})
		}
		list, ok := n.(*ast.List)
		if !ok {
			w.depth = depth
			w.begin()
			w.inline(n, false)
			continue
		}
		number := list.Start
		for item := list.FirstChild(); item != nil; item = item.NextSibling() {
			w.marker = "•"
			if list.IsOrdered() {
				w.marker = fmt.Sprintf("%d.", number)
				number++
			}
			w.blocks(item, depth+1)
		}
	}
}

// begin begins a line.
func (w *lineWriter) begin() {
	w.lines = append(w.lines, Line{Depth: w.depth, Marker: w.marker})
	w.marker = ""
}

func (w *lineWriter) add(text string, bold bool) {
	if l := &w.lines[len(w.lines)-1]; text != "" {
		l.Spans = append(l.Spans, Span{text, bold})
	}
}

// inline adds the text in a node to the line.
func (w *lineWriter) inline(parent ast.Node, bold bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			w.add(plain(n.Segment.Value(w.raw)), bold)
			if n.SoftLineBreak() || n.HardLineBreak() {
				w.begin()
			}
		case *ast.Emphasis:
			w.inline(n, bold || n.Level > 1)
		case *ast.Link:
			w.inline(n, bold)
			address := string(n.Destination)
			_, bare, scheme := strings.Cut(address, ":")
			if !scheme || strings.HasPrefix(bare, "//") {
				bare = address
			}
			if allowed(address) && !strings.HasSuffix(w.text(), bare) {
				w.add(" ("+bare+")", bold)
			}
		default:
			w.inline(n, bold)
		}
	}
}

// plain returns what a page shows of a text, without its backslashes and entities.
func plain(raw []byte) string {
	var b bytes.Buffer
	to := bufio.NewWriter(&b)
	html.DefaultWriter.Write(to, raw)
	_ = to.Flush() // a buffer does not fail
	return stdhtml.UnescapeString(b.String())
}

// text returns the text of the last line.
func (w *lineWriter) text() string {
	var b strings.Builder
	for _, s := range w.lines[len(w.lines)-1].Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}
