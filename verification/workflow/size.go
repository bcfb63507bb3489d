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
	return programOverhead + (d.expressions()+len(facts))*expressionSize + len(d.InputSchema)*schemaFactor
}

// expressions returns the number of conditions and ${...} in a definition.
func (d Definition) expressions() int {
	count := 0
	for _, n := range d.Nodes {
		count += len(n.Rules) + strings.Count(string(n.With), "${")
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
