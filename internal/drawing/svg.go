// Package drawing draws a workflow definition: as a picture in SVG, and as text that other
// tools lay out, Mermaid for pages and documents, DOT for Graphviz. List says the same in
// words.
//
// Nodes come breadth first from the start, then those that no path leads to, by
// name. A route to fail is not drawn: if a check has no edge for a failure, the
// failure ends the run. The same definition always gives the same drawing. An
// invalid definition is drawn as far as possible.
//
// A picture has layers from top to bottom (after Sugiyama, Tagawa and Toda, 1981).
// layer.go puts every node into a layer, order.go orders the layers, place.go computes
// the coordinates, arrow.go the paths between the nodes, and write.go writes all of it.
// Long arrows to the same node share one line, and an arrow back to an earlier node is
// dashed.
package drawing

import (
	"embed"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Options say what a picture shows beside the definition. The zero value draws a file
// in English.
type Options struct {
	// Inline leaves out the style sheet: the page that embeds the picture has the one in Assets.
	Inline bool
	// Title names the picture for screen readers; empty means the name of the workflow.
	Title string
	// Word returns the text of one of Words in another language; nil means English.
	Word func(english string) string
	// Counts say how often runs went along the edges; nil draws none.
	Counts map[rules.Transition]int
	// Number formats a number; nil means with commas.
	Number func(int) string
	// Path is the path of one run, which is highlighted; nil draws none.
	Path []rules.Transition
	// Before is an earlier version: nodes and edges that were added, removed or changed
	// since are marked. nil marks none.
	Before *workflow.Definition
}

//go:embed assets/graph.css
var files embed.FS

// Assets returns the style sheet of inline pictures as assets/graph.css. It uses the
// colours of the page where the page defines them as custom properties, and otherwise
// colours of its own, light or dark.
func Assets() fs.FS { return files }

//go:embed assets/graph.css
var style string

// Words returns the English texts of pictures that Options.Word translates.
func Words() []string {
	words := []string{
		"passed", "failed", "unavailable", "met", "not met", "agreed", "declined", "approve", "reject", "else", "or",
		"when", "for each of", "all must confirm, together", "%s must confirm, together", "all must confirm, one by one",
		"%s must confirm, one by one", "ask again",
		"added", "removed", "changed", "there is no such node", "%s more", "start",
	}
	return append(slices.Sorted(maps.Values(typeNames())), words...)
}

func typeNames() map[workflow.NodeType]string {
	return map[workflow.NodeType]string{
		workflow.NodeConsent: "Consent", workflow.NodeCustomerInput: "Form", workflow.NodeCheck: "Check", workflow.NodeChecks: "Group of checks",
		workflow.NodeBranch: "Branch", workflow.NodeReview: "Review", workflow.NodeEnd: "End",
	}
}

// The limits of texts, in pixels and in lines.
const (
	nameWidth   = 176.0
	nameLines   = 3
	labelWidth  = 190.0
	ruleLines   = 2 // of one condition
	labelRules  = 4 // conditions on one arrow
	nameLeading = 18.0
	kindLeading = 15.0
	lineLeading = 15.0
)

type line struct {
	text string
	kind string // the class of the line: code, text or count
}

// SVG returns a picture of a definition, from top to bottom. The same definition and
// options always give the same bytes, and every text is escaped. It returns ErrTooLarge
// for a graph that no reader could follow.
func SVG(d workflow.Definition, o Options) (string, error) {
	w := newWriter(d, o)
	s, err := newSketch(len(w.vertices), w.boxSize, w.arrows)
	if err != nil {
		return "", err
	}
	return w.write(s.place()), nil
}

type writer struct {
	Options
	definition workflow.Definition
	vertices   []vertex
	boxes      []box
	arrows     []arrow
	visited    map[verification.NodeID]int // the number of the first visit on the path, from 1
	last       verification.NodeID         // of the path
	b          strings.Builder
}

func newWriter(d workflow.Definition, o Options) *writer {
	w := &writer{Options: o, definition: d, visited: map[verification.NodeID]int{}}
	for _, t := range o.Path {
		if _, ok := w.visited[t.To]; !ok {
			w.visited[t.To] = len(w.visited) + 1
		}
		w.last = t.To
	}
	all, edges, comparison := union(o.Before, d)
	w.vertices = all
	for _, v := range all {
		w.boxes = append(w.boxes, w.newBox(v, comparison.Of(v.id)))
	}
	if d.Start != "" {
		w.arrows = append(w.arrows, arrow{from: -1, to: 0, count: -1})
	}
	for _, e := range edges {
		i := slices.IndexFunc(w.arrows, func(a arrow) bool { return a.from == e.from && a.to == e.to })
		if i < 0 {
			i = len(w.arrows)
			w.arrows = append(w.arrows, arrow{from: e.from, to: e.to, count: -1})
		}
		w.arrows[i].edges = append(w.arrows[i].edges, e)
	}
	for i := range w.arrows {
		w.label(&w.arrows[i])
	}
	return w
}

// union returns the parts of a definition, those that it has no more since before, and
// what differs.
func union(before *workflow.Definition, after workflow.Definition) ([]vertex, []edge, Comparison) {
	all, edges := vertices(after)
	if before == nil {
		return all, edges, Comparison{}
	}
	old, oldEdges := vertices(*before)
	number := func(v vertex) int {
		i := slices.IndexFunc(all, func(w vertex) bool { return w.id == v.id })
		if i < 0 {
			i = len(all)
			all = append(all, v)
		}
		return i
	}
	for _, v := range old {
		number(v)
	}
	for i := range edges {
		edges[i].change = ChangeAdded
	}
	for _, e := range oldEdges {
		e.from, e.to, e.change = number(old[e.from]), number(old[e.to]), ChangeRemoved
		i := slices.IndexFunc(edges, func(f edge) bool { return f.from == e.from && f.to == e.to && f.label() == e.label() })
		if i < 0 {
			edges = append(edges, e)
		} else {
			edges[i].change = ChangeNone
		}
	}
	return all, edges, Compare(*before, after)
}

// word returns a text in the language of the picture.
func (w *writer) word(english string) string {
	if w.Word == nil {
		return english
	}
	return w.Word(english)
}

func (w *writer) number(n int) string {
	if w.Number != nil {
		return w.Number(n)
	}
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func nameWidthOf(text string) float64 { return width(text, nameSize) * 1.04 } // semi-bold
func textWidthOf(text string) float64 { return width(text, textSize) }
func kindWidthOf(text string) float64 { return width(text, kindSize) }

func (w *writer) boxSize(v int) (width, height float64) { return w.boxes[v].w, w.boxes[v].h }

func (w *writer) label(a *arrow) {
	if w.Counts != nil && a.from >= 0 {
		a.count = 0
		for t, n := range w.Counts {
			if t.From == w.vertices[a.from].id && t.To == w.vertices[a.to].id {
				a.count += n
			}
		}
	}
	for i, e := range a.edges {
		if i == labelRules {
			more := strings.ReplaceAll(w.word("%s more"), "%s", strconv.Itoa(len(a.edges)-i))
			a.lines = append(a.lines, line{more, "text"})
			break
		}
		lines := w.conditions(e)
		if len(a.edges) > 1 && len(lines) > 0 && e.change == ChangeNone {
			lines[0].text = "• " + lines[0].text
		}
		a.lines = append(a.lines, lines...)
	}
	if a.count >= 0 {
		a.lines = append(a.lines, line{w.number(a.count), "count"})
	}
}

func (w *writer) conditions(e edge) (lines []line) {
	kind, texts := "text", []string{}
	if e.code {
		kind = "code"
		texts = wrap(e.labels[0], ruleLines, labelWidth, codeWidth)
	} else if len(e.labels) > 0 {
		texts = wrap(w.sentence(e), ruleLines, labelWidth, textWidthOf)
	}
	for _, text := range texts {
		lines = append(lines, line{text, kind})
	}
	if e.again {
		lines = append(lines, line{w.word("ask again"), "text"})
	}
	if e.change != ChangeNone && len(lines) > 0 {
		mark := map[Change]string{ChangeAdded: "+ ", ChangeRemoved: "− "}[e.change]
		lines[0].text = mark + lines[0].text
	}
	return lines
}

func sizeOf(lines []line) (w, h float64) {
	for _, l := range lines {
		if l.kind == "code" {
			w = max(w, codeWidth(l.text))
		} else {
			w = max(w, textWidthOf(l.text)*1.06)
		}
	}
	return roundUp(w + 12), roundUp(lineLeading*float64(len(lines)) + 4)
}
