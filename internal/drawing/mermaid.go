// Mermaid: flowcharts for pages and documents.

package drawing

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/verifyd/verifyd/verification/workflow"
)

// Mermaid returns a definition as a Mermaid flowchart. Every text of the
// definition is escaped, so that it is not read as Mermaid, Markdown or HTML.
func Mermaid(d workflow.Definition) string {
	all, edges := vertices(d)
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, v := range all {
		lines := v.lines()
		for j := range lines {
			lines[j] = cmp.Or(mermaidText(lines[j]), " ") // a label must not be empty
		}
		shape := v.shape()
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i, shape.left, strings.Join(lines, "<br/>"), shape.right)
	}
	for _, e := range edges {
		arrow := "-->"
		if e.again {
			arrow = "-.->"
		}
		if label := mermaidText(e.label()); label != "" {
			fmt.Fprintf(&b, "  n%d %s|\"%s\"| n%d\n", e.from, arrow, label, e.to)
		} else {
			fmt.Fprintf(&b, "  n%d %s n%d\n", e.from, arrow, e.to)
		}
	}
	return b.String()
}

// mermaidText replaces every character that is special in Mermaid, Markdown or
// HTML with an entity: #34; is a quotation mark.
func mermaidText(text string) string {
	var b strings.Builder
	digits := true // only digits so far: "1." would begin a list
	for i, r := range oneLine(text) {
		safe := r >= 0x80 || r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
			strings.ContainsRune("_,:/()=!?'", r) || r == '-' && i > 0 || r == '.' && !digits
		if safe {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
		digits = digits && r >= '0' && r <= '9'
	}
	return b.String()
}
