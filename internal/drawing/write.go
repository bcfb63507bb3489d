// Writing: the elements of a picture.

package drawing

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func (w *writer) write(p picture) string {
	title := cmp.Or(w.Title, w.definition.Name)
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
		fmt.Fprintf(&b, "%s (%s)", n.Label, strings.Join(slices.Concat([]string{n.Type}, n.Marks), "; "))
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
	return slices.ContainsFunc(w.Path, func(t rules.Transition) bool { return t.From == from && t.To == w.vertices[a.to].id })
}

// again reports whether every edge of an arrow asks the customer again.
func (a arrow) again() bool {
	return len(a.edges) > 0 && !slices.ContainsFunc(a.edges, func(e edge) bool { return !e.again })
}

// change returns the change that all edges of an arrow share.
func (a arrow) change() Change {
	if len(a.edges) == 0 {
		return ChangeNone
	}
	change := a.edges[0].change
	if slices.ContainsFunc(a.edges, func(e edge) bool { return e.change != change }) {
		return ChangeNone
	}
	return change
}

// class adds to a class whether the path took an arrow, and how the arrow changed.
func (w *writer) class(class string, a arrow) string {
	if w.taken(a) {
		class += " g-taken"
	}
	if c := a.change(); c != ChangeNone {
		class += " g-" + string(c)
	}
	return class
}

func (w *writer) writeArrow(a arrow, path string) {
	class := "g-edge"
	if a.back || a.again() {
		class += " g-back"
	}
	fmt.Fprintf(&w.b, `<g class="%s">%s</g>`+"\n", w.class(class, a), path)
}

func (w *writer) writeLabel(a arrow, one slot, p picture) {
	y := (p.top[one.layer]+p.bottom[one.layer])/2 - one.h/2
	fmt.Fprintf(&w.b, `<g class="%s"><title>%s</title><rect x="%g" y="%g" width="%g" height="%g" rx="4"/>`, w.class("g-label", a), escape(w.full(a)), one.x-one.w/2, y, one.w, one.h)
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
			all = append(all, w.condition(e))
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
	if b.change != ChangeNone {
		class += " g-" + string(b.change)
	}
	full := string(id)
	if node.Label != "" && node.Label != full {
		full = node.Label + "\n" + full
	}
	for _, m := range marks(node) {
		full += "\n" + m.text(w.word)
	}
	fmt.Fprintf(&w.b, `<g class="%s"><title>%s</title>%s`, class, escape(full), outline(node.Type, x, y, b.w, b.h))
	fmt.Fprintf(&w.b, `<text class="g-kind" x="%g" y="%g">%s</text>`, one.x, y+10+11, escape(b.kind))
	for i, text := range b.name {
		fmt.Fprintf(&w.b, `<text class="g-name" x="%g" y="%g">%s</text>`, one.x, y+10+kindLeading+nameLeading*float64(i)+14, escape(text))
	}
	if len(b.rows) > 0 {
		top := y + b.rowsTop()
		fmt.Fprintf(&w.b, `<path class="g-inner" d="M%g %gH%g"/>`, x+14, top, x+b.w-14)
		for i, row := range b.rows {
			fmt.Fprintf(&w.b, `<text class="g-%s" x="%g" y="%g">%s</text>`, row.kind, one.x, top+lineLeading*float64(i)+16, escape(row.text))
		}
	}
	if n := w.visited[id]; n > 0 {
		fmt.Fprintf(&w.b, `<circle class="g-visit" cx="%[1]g" cy="%[2]g" r="10"/><text class="g-visit" x="%[1]g" y="%[3]g">%[4]d</text>`, x+2, y+2, y+6, n)
	}
	if b.change != ChangeNone {
		text := w.word(string(b.change))
		size := roundUp(kindWidthOf(text)*1.06 + 16)
		fmt.Fprintf(&w.b, `<rect class="g-mark" x="%g" y="%g" width="%g" height="18" rx="9"/><text class="g-mark" x="%g" y="%g">%s</text>`, x+b.w-size+6, y-9, size, x+b.w-size/2+6, y+4, escape(text))
	}
	w.b.WriteString("</g>\n")
}

func outline(t workflow.NodeType, x, y, w, h float64) string {
	r, b := x+w, y+h
	path := func(format string, args ...any) string {
		return `<path class="g-box" d="` + fmt.Sprintf(format, args...) + `"/>`
	}
	switch t {
	case workflow.NodeConsent: // a sheet of paper
		return path("M%g %gH%gL%g %gV%gH%gZ", x, y, r-12, r, y+12, b, x) + fmt.Sprintf(`<path class="g-inner" d="M%g %gV%gH%g"/>`, r-12, y, y+12, r)
	case workflow.NodeCustomerInput:
		return path("M%g %gH%gL%g %gH%gZ", x+12, y, r, r-12, b, x)
	case workflow.NodeCheck:
		return path("M%g %gH%gV%gH%gZ", x, y, r, b, x) + fmt.Sprintf(`<path class="g-inner" d="M%g %gV%gM%g %gV%g"/>`, x+7, y, b, r-7, y, b)
	case workflow.NodeChecks: // a stack of two
		return path("M%g %gV%gH%gV%gH%gV%gZ", x+5, b, b+5, r+5, y+5, r, b) + path("M%g %gH%gV%gH%gZ", x, y, r, b, x)
	case workflow.NodeBranch:
		return path("M%g %gH%gL%g %gL%g %gH%gL%g %gZ", x+14, y, r-14, r, (y+b)/2, r-14, b, x+14, x, (y+b)/2)
	case workflow.NodeReview:
		return path("M%g %gH%gL%g %gH%gZ", x, y, r, r-12, b, x+12)
	case workflow.NodeEnd:
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
