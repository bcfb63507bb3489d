// How large definitions and their programs are.

package workflow

import (
	"encoding/json"
	"strings"
)

// The sizes of the parts of a program in bytes, measured with
// adapters/expression.
const (
	programOverhead = 4 << 10
	expressionSize  = 20 << 10
	schemaFactor    = 20 // per byte of the text of an input schema
)

// Size estimates the memory of the program, in bytes.
func (p Program) Size() int {
	d := p.Version.Definition
	facts, _ := d.factTexts()
	texts := len(facts)
	for _, n := range d.Nodes {
		elements, _ := n.Element.texts("")
		texts += len(elements)
	}
	return programOverhead + (d.expressions()+texts)*expressionSize + len(d.InputSchema)*schemaFactor
}

// expressions returns the number of conditions, lists and ${...} in a definition. The condition of a group counts for each member.
func (d Definition) expressions() int {
	count := 0
	one := func(text string) int { return min(len(text), 1) }
	for id, n := range d.Nodes {
		count += len(n.Rules) + one(n.When) + one(n.ForEach) + one(n.Until)*len(n.Members)
		count += strings.Count(string(n.Data), "${")
		for _, s := range d.checksAt(id) {
			count += strings.Count(string(s.check.With), "${")
		}
		for _, m := range n.Members {
			count += one(m.When)
		}
	}
	return count
}

// jsonBytes returns the size of a definition as JSON, 0 if it is none.
func (d Definition) jsonBytes() int {
	raw, err := json.Marshal(d)
	if err != nil {
		return 0 // VersionHash says so
	}
	return len(raw)
}
