// SVG: a picture of a definition.

package graph

import (
	"embed"
	"encoding/xml"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// Options say what a picture shows beside the definition. The zero value draws a file
// in English.
type Options struct {
	// Inline leaves out the style sheet: the page that embeds the picture has that of Assets.
	Inline bool
	// Title names the picture for screen readers; empty means the name of the workflow.
	Title string
	// Word returns the text of one of Words in another language; nil means English.
	Word func(english string) string
	// Counts are the numbers of runs that went along the edges; nil draws none.
	Counts map[verification.Transition]int
	// Number writes a number; nil means with commas.
	Number func(int) string
	// Path is the path of one run, which is highlighted; nil draws none.
	Path []verification.Transition
	// Before is an earlier version: nodes and edges that were added, removed or changed
	// since are marked. nil marks none.
	Before *verification.Definition
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
	words := []string{"passed", "failed", "unavailable", "agreed", "declined", "approve", "reject", "else", "or",
		"added", "removed", "changed", "there is no such node", "%s more", "start"}
	return append(slices.Sorted(maps.Values(typeNames())), words...)
}

func typeNames() map[verification.NodeType]string {
	return map[verification.NodeType]string{
		verification.NodeConsent: "Consent", verification.NodeCustomerInput: "Form", verification.NodeCheck: "Check",
		verification.NodeBranch: "Branch", verification.NodeReview: "Review", verification.NodeEnd: "End",
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

// line is one line of the label of an arrow.
type line struct {
	text string
	kind string // the class of the line: code, text or count
}

// SVG returns a picture of a definition, from top to bottom. The same definition and
// options always give the same bytes, and every text is escaped. It returns ErrTooLarge
// for a graph that no reader could follow.
func SVG(d verification.Definition, o Options) (string, error) {
	w := newWriter(d, o)
	s, err := newSketch(len(w.vertices), w.boxSize, w.arrows)
	if err != nil {
		return "", err
	}
	return w.write(s.place()), nil
}

// writer writes a picture.
type writer struct {
	Options
	definition verification.Definition
	vertices   []vertex
	boxes      []box
	arrows     []arrow
	visited    map[verification.NodeID]int // the number of the first visit on the path, from 1
	last       verification.NodeID         // of the path
	b          strings.Builder
}

// box is the text of a node and its size.
type box struct {
	kind   string
	name   []string
	change verification.Change
	w, h   float64
}

func newWriter(d verification.Definition, o Options) *writer {
	w := &writer{Options: o, definition: d, visited: map[verification.NodeID]int{}}
	for _, t := range o.Path {
		if _, ok := w.visited[t.To]; !ok {
			w.visited[t.To] = len(w.visited) + 1
		}
		w.last = t.To
	}
	all, edges := union(o.Before, d)
	w.vertices = all
	var comparison verification.Comparison
	if o.Before != nil {
		comparison = verification.Compare(*o.Before, d)
	}
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

// union returns the parts of a definition, and those that it has no more since before.
func union(before *verification.Definition, after verification.Definition) ([]vertex, []edge) {
	all, edges := vertices(after)
	if before == nil {
		return all, edges
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
		edges[i].change = verification.ChangeAdded
	}
	for _, e := range oldEdges {
		e.from, e.to, e.change = number(old[e.from]), number(old[e.to]), verification.ChangeRemoved
		i := slices.IndexFunc(edges, func(f edge) bool { return f.from == e.from && f.to == e.to && f.label() == e.label() })
		if i < 0 {
			edges = append(edges, e)
		} else {
			edges[i].change = verification.ChangeNone
		}
	}
	return all, edges
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

func (w *writer) newBox(v vertex, change verification.Change) box {
	name := string(v.id)
	kind := w.kind(v)
	if v.node.Label != "" && v.node.Label != name && !v.missing {
		kind, name = kind+" · "+name, v.node.Label
	}
	b := box{
		kind: shorten(oneLine(kind), nameWidth, kindWidthOf), change: change,
		name: wrap(name, nameLines, nameWidth, nameWidthOf),
	}
	b.w = max(kindWidthOf(b.kind), 76)
	for _, text := range b.name {
		b.w = max(b.w, nameWidthOf(text))
	}
	b.w = roundUp(b.w + 44)
	b.h = roundUp(kindLeading + nameLeading*float64(len(b.name)) + 20)
	return b
}

func roundUp(x float64) float64 { return float64(int(x/2+1)) * 2 }

func (w *writer) boxSize(v int) (width, height float64) { return w.boxes[v].w, w.boxes[v].h }

// label sets the lines of an arrow.
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
		if len(a.edges) > 1 && len(lines) > 0 && e.change == verification.ChangeNone {
			lines[0].text = "• " + lines[0].text
		}
		a.lines = append(a.lines, lines...)
	}
	if a.count >= 0 {
		a.lines = append(a.lines, line{w.number(a.count), "count"})
	}
}

// conditions returns the lines of one edge.
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
	if e.change != verification.ChangeNone && len(lines) > 0 {
		mark := map[verification.Change]string{verification.ChangeAdded: "+ ", verification.ChangeRemoved: "− "}[e.change]
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

func (w *writer) write(p picture) string {
	title := w.Title
	if title == "" {
		title = w.definition.Name
	}
	class := "graph"
	if len(w.Path) > 0 {
		class += " g-with-path"
	}
	fmt.Fprintf(&w.b, `<svg xmlns="http://www.w3.org/2000/svg" class="%s" role="img" aria-label="%s" width="%[3]g" height="%[4]g" viewBox="0 0 %[3]g %[4]g">`+"\n",
		class, escape(title), p.width, p.height)
	if !w.Inline {
		fmt.Fprintf(&w.b, "<title>%s</title>\n<desc>%s</desc>\n<style>\n%s</style>\n", escape(title), escape(w.describe()), strings.TrimSpace(style)+"\n")
		fmt.Fprintf(&w.b, `<rect class="g-ground" width="%g" height="%g"/>`+"\n", p.width, p.height)
	}
	paths := w.routes(p)
	for i, a := range w.arrows {
		if !w.taken(a) {
			w.writeArrow(a, paths[i])
		}
	}
	for i, a := range w.arrows { // above the others, with which they share bends
		if w.taken(a) {
			w.writeArrow(a, paths[i])
		}
	}
	for _, one := range p.slots {
		if one.kind == slotLabel {
			w.writeLabel(p.arrows[one.ref], one, p)
		}
	}
	if p.start >= 0 {
		one := p.slots[p.start]
		fmt.Fprintf(&w.b, `<circle class="g-start" cx="%g" cy="%g" r="%g"><title>%s</title></circle>`+"\n", one.x, p.top[one.layer]+startSize/2, startSize/2, escape(w.word("start")))
	}
	for v := range w.vertices {
		w.writeNode(v, p)
	}
	w.b.WriteString("</svg>\n")
	return w.b.String()
}

// describe returns the nodes and edges as text.
func (w *writer) describe() string {
	var b strings.Builder
	for _, n := range List(w.definition, w.Options) {
		fmt.Fprintf(&b, "%s (%s)", n.Label, n.Type)
		for i, r := range n.Routes {
			sep := ", "
			if i == 0 {
				sep = ": "
			}
			b.WriteString(sep)
			if r.Condition != "" {
				b.WriteString(r.Condition + " ")
			}
			b.WriteString("→ " + string(r.To))
		}
		b.WriteString(". ")
	}
	return strings.TrimSpace(b.String())
}

func (w *writer) taken(a arrow) bool {
	from := verification.NodeID("")
	if a.from >= 0 {
		from = w.vertices[a.from].id
	}
	return slices.ContainsFunc(w.Path, func(t verification.Transition) bool { return t.From == from && t.To == w.vertices[a.to].id })
}

// change returns the change that all edges of an arrow share.
func (a arrow) change() verification.Change {
	if len(a.edges) == 0 {
		return verification.ChangeNone
	}
	change := a.edges[0].change
	for _, e := range a.edges {
		if e.change != change {
			return verification.ChangeNone
		}
	}
	return change
}

func (w *writer) writeArrow(a arrow, path string) {
	class := "g-edge"
	if a.back {
		class += " g-back"
	}
	if w.taken(a) {
		class += " g-taken"
	}
	if c := a.change(); c != verification.ChangeNone {
		class += " g-" + string(c)
	}
	fmt.Fprintf(&w.b, `<g class="%s">%s</g>`+"\n", class, path)
}

func (w *writer) writeLabel(a arrow, one slot, p picture) {
	class := "g-label"
	if w.taken(a) {
		class += " g-taken"
	}
	if c := a.change(); c != verification.ChangeNone {
		class += " g-" + string(c)
	}
	middle := (p.top[one.layer] + p.bottom[one.layer]) / 2
	y := middle - one.h/2
	fmt.Fprintf(&w.b, `<g class="%s"><title>%s</title><rect x="%g" y="%g" width="%g" height="%g" rx="4"/>`, class, escape(w.full(a)), one.x-one.w/2, y, one.w, one.h)
	for i, l := range a.lines {
		fmt.Fprintf(&w.b, `<text class="g-%s" x="%g" y="%g">%s</text>`, l.kind, one.x, y+lineLeading*float64(i)+13, escape(l.text))
	}
	w.b.WriteString("</g>\n")
}

// full returns the whole text of the label of an arrow.
func (w *writer) full(a arrow) string {
	var all []string
	for _, e := range a.edges {
		if e.code {
			all = append(all, e.label())
		} else if len(e.labels) > 0 {
			all = append(all, w.sentence(e))
		}
	}
	text := strings.Join(all, "\n")
	if a.count >= 0 {
		text = strings.TrimSpace(text + "\n" + w.number(a.count))
	}
	return text
}

func (w *writer) writeNode(v int, p picture) {
	b, one := w.boxes[v], p.slots[p.nodes[v]]
	id, node := w.vertices[v].id, w.vertices[v].node
	x, y := one.x-b.w/2, (p.top[one.layer]+p.bottom[one.layer]-b.h)/2
	kind := string(node.Type)
	if typeNames()[node.Type] == "" {
		kind = "unknown"
	}
	class := "g-node g-" + kind
	if w.visited[id] > 0 {
		class += " g-taken"
	}
	if len(w.Path) > 0 && id == w.last {
		class += " g-last"
	}
	if b.change != verification.ChangeNone {
		class += " g-" + string(b.change)
	}
	full := string(id)
	if node.Label != "" && node.Label != full {
		full = node.Label + "\n" + full
	}
	fmt.Fprintf(&w.b, `<g class="%s"><title>%s</title>%s`, class, escape(full), outline(node.Type, x, y, b.w, b.h))
	fmt.Fprintf(&w.b, `<text class="g-kind" x="%g" y="%g">%s</text>`, one.x, y+10+11, escape(b.kind))
	for i, text := range b.name {
		fmt.Fprintf(&w.b, `<text class="g-name" x="%g" y="%g">%s</text>`, one.x, y+10+kindLeading+nameLeading*float64(i)+14, escape(text))
	}
	if n := w.visited[id]; n > 0 {
		fmt.Fprintf(&w.b, `<circle class="g-visit" cx="%[1]g" cy="%[2]g" r="10"/><text class="g-visit" x="%[1]g" y="%[3]g">%[4]d</text>`, x+2, y+2, y+6, n)
	}
	if b.change != verification.ChangeNone {
		text := w.word(string(b.change))
		size := roundUp(kindWidthOf(text)*1.06 + 16)
		fmt.Fprintf(&w.b, `<rect class="g-mark" x="%g" y="%g" width="%g" height="18" rx="9"/><text class="g-mark" x="%g" y="%g">%s</text>`, x+b.w-size+6, y-9, size, x+b.w-size/2+6, y+4, escape(text))
	}
	w.b.WriteString("</g>\n")
}

// outline returns the shape of a node.
func outline(t verification.NodeType, x, y, w, h float64) string {
	r, b := x+w, y+h
	path := func(format string, args ...any) string {
		return `<path class="g-box" d="` + fmt.Sprintf(format, args...) + `"/>`
	}
	switch t {
	case verification.NodeConsent: // a sheet of paper
		return path("M%g %gH%gL%g %gV%gH%gZ", x, y, r-12, r, y+12, b, x) + fmt.Sprintf(`<path class="g-inner" d="M%g %gV%gH%g"/>`, r-12, y, y+12, r)
	case verification.NodeCustomerInput:
		return path("M%g %gH%gL%g %gH%gZ", x+12, y, r, r-12, b, x)
	case verification.NodeCheck:
		return path("M%g %gH%gV%gH%gZ", x, y, r, b, x) + fmt.Sprintf(`<path class="g-inner" d="M%g %gV%gM%g %gV%g"/>`, x+7, y, b, r-7, y, b)
	case verification.NodeBranch:
		return path("M%g %gH%gL%g %gL%g %gH%gL%g %gZ", x+14, y, r-14, r, (y+b)/2, r-14, b, x+14, x, (y+b)/2)
	case verification.NodeReview: // work by hand
		return path("M%g %gH%gL%g %gH%gZ", x, y, r, r-12, b, x+12)
	case verification.NodeEnd:
		return fmt.Sprintf(`<rect class="g-box" x="%g" y="%g" width="%g" height="%g" rx="%g"/><rect class="g-inner" x="%g" y="%g" width="%g" height="%g" rx="%g"/>`,
			x, y, w, h, h/2, x+4, y+4, w-8, h-8, h/2-4)
	}
	return fmt.Sprintf(`<rect class="g-box" x="%g" y="%g" width="%g" height="%g" rx="3"/>`, x, y, w, h)
}

// escape returns text as it is written in XML.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder never fails
	return b.String()
}
