// DOT, the language of Graphviz.

package graph

import (
	"fmt"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// DOT draws a definition in the language of Graphviz. Whatever stands in its
// labels, no text of the definition is read as DOT or as an entity.
func DOT(d verification.Definition) string {
	vertices, arrows := layout(d)
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotText(d.Workflow))
	b.WriteString("  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n")
	for i, v := range vertices {
		fmt.Fprintf(&b, "  n%d [shape=%s, label=%s];\n", i, dotShape(v), dotText(v.lines()...))
	}
	for _, a := range arrows {
		if a.label != "" {
			fmt.Fprintf(&b, "  n%d -> n%d [label=%s];\n", a.from, a.to, dotText(a.label))
		} else {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", a.from, a.to)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func dotShape(v vertex) string {
	if v.missing {
		return "plaintext"
	}
	switch v.node.Type {
	case verification.NodeConsent:
		return "note"
	case verification.NodeCustomerInput:
		return "parallelogram"
	case verification.NodeCheck:
		return "component"
	case verification.NodeBranch:
		return "diamond"
	case verification.NodeReview:
		return "hexagon"
	case verification.NodeEnd:
		return "doublecircle"
	}
	return "box"
}

// dotText is a quoted string of one or more lines. Backslashes begin escapes in
// labels, and ampersands begin entities.
func dotText(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`)
	for i := range lines {
		lines[i] = escape.Replace(oneLine(lines[i]))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
