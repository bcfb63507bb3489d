// Package definition reads workflow files.
package definition

import "github.com/verifyd/verifyd/internal/definition"

// Document is a workflow in its file. Explain adds a line and a column to each problem of an error of its Definition.
type Document = definition.Document

// Diagnostics is the error of a file that is not valid: its problems in order, each a Diagnostic with its position.
type (
	Diagnostics = definition.Diagnostics
	Diagnostic  = definition.Diagnostic
)

// ReadWorkflow reads a workflow in YAML or JSON. The error is a *Diagnostics that unwraps to an ErrInvalid. The file
// name is only for messages.
func ReadWorkflow(file string, raw []byte) (Document, error) {
	return definition.ReadWorkflow(file, raw)
}
