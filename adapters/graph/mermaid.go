// Mermaid flowcharts.

package graph

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// Mermaid draws a definition as a Mermaid flowchart. Whatever stands in its
// labels, no text of the definition is read as Mermaid, Markdown or HTML.
func Mermaid(d verification.Definition) string {
	vertices, arrows := layout(d)
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, v := range vertices {
		lines := v.lines()
		for j := range lines {
			lines[j] = cmp.Or(mermaidText(lines[j]), " ") // a label must not be empty
		}
		left, right := mermaidShape(v)
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i, left, strings.Join(lines, "<br/>"), right)
	}
	for _, a := range arrows {
		if label := mermaidText(a.label); label != "" {
			fmt.Fprintf(&b, "  n%d -->|\"%s\"| n%d\n", a.from, label, a.to)
		} else {
			fmt.Fprintf(&b, "  n%d --> n%d\n", a.from, a.to)
		}
	}
	return b.String()
}

func mermaidShape(v vertex) (left, right string) {
	if v.missing {
		return "[", "]"
	}
	switch v.node.Type {
	case verification.NodeConsent:
		return "([", "])" // a stadium
	case verification.NodeCustomerInput:
		return "[/", "/]" // a parallelogram
	case verification.NodeCheck:
		return "[[", "]]" // a subroutine
	case verification.NodeBranch:
		return "{", "}" // a rhombus
	case verification.NodeReview:
		return "{{", "}}" // a hexagon
	case verification.NodeEnd:
		return "(((", ")))" // a double circle
	}
	return "[", "]"
}

// mermaidText writes every sign that Mermaid, Markdown or HTML could take for
// its own as an entity: #34; is a quotation mark.
func mermaidText(text string) string {
	var b strings.Builder
	plain := true // so far only digits: "1." would begin a list
	for i, r := range oneLine(text) {
		safe := r >= 0x80 || r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
			strings.ContainsRune("_,:/()=!?'", r) || r == '-' && i > 0 || r == '.' && !plain
		if safe {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
		plain = plain && r >= '0' && r <= '9'
	}
	return b.String()
}
