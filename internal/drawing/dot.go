// DOT: the language of Graphviz.

package drawing

import (
	"fmt"
	"strings"

	"github.com/verifyd/verifyd/verification/workflow"
)

// DOT returns a definition in the language of Graphviz. Every text of the
// definition is escaped.
func DOT(d workflow.Definition) string {
	all, edges := vertices(d)
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotText(d.Workflow))
	b.WriteString("  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n")
	for i, v := range all {
		fmt.Fprintf(&b, "  n%d [shape=%s, label=%s];\n", i, v.shape().dot, dotText(v.lines()...))
	}
	for _, e := range edges {
		fmt.Fprintf(&b, "  n%d -> n%d", e.from, e.to)
		switch {
		case e.again:
			fmt.Fprintf(&b, " [label=%s, style=dashed]", dotText(e.label()))
		case e.label() != "":
			fmt.Fprintf(&b, " [label=%s]", dotText(e.label()))
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// dotText returns lines as a quoted string. In a label, a backslash begins an
// escape and an ampersand an entity.
func dotText(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`)
	for i := range lines {
		lines[i] = escape.Replace(oneLine(lines[i]))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
