// How much memory a run and a program take.

package verification

import "strings"

// stepOverhead is about what a step takes besides its texts and data, in bytes.
const stepOverhead = 400

// receiptSize is about what the receipt of a signal takes, in bytes.
const receiptSize = 120

// Size estimates the memory that the run holds, in bytes: what it was started
// with, what its steps brought, and a fixed amount for the rest.
func (r Run) Size() int {
	n := 2*stepOverhead + len(r.Started.Input) + len(r.Started.ReferenceID) + len(r.Started.RedirectURI) + len(r.Verdict.Notes) +
		receiptSize*len(r.receipts)
	for _, s := range r.Steps {
		n += stepOverhead + len(s.Data) + len(s.Reason) + len(s.Label)
	}
	n += (len(r.Wait.Uploads) + len(r.Documents)) * stepOverhead
	return n
}

// What the parts of a program take, measured with adapters/expression, in bytes.
const (
	programOverhead = 4 << 10
	expressionSize  = 20 << 10
	schemaFactor    = 20 // for each byte of the text of an input schema
)

// Size estimates the memory that the program holds, in bytes.
func (p Program) Size() int {
	d := p.Version.Definition
	return programOverhead + d.expressions()*expressionSize + len(d.InputSchema)*schemaFactor
}

// expressions counts the conditions and the ${...} of a definition.
func (d Definition) expressions() int {
	count := 0
	for _, n := range d.Nodes {
		count += len(n.Rules) + strings.Count(string(n.With), "${")
	}
	return count
}
