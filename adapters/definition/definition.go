// Package definition reads workflow files.
package definition

import "github.com/verifyd/verifyd/internal/definitions"

// Document is a workflow in its file. Explain adds a line and a column to each problem of an error of its Definition.
type Document = definitions.Document

// Diagnostics is the error of a file that is not valid: its problems in order, each a Diagnostic with its position.
type (
	Diagnostics = definitions.Diagnostics
	Diagnostic  = definitions.Diagnostic
)

// ReadWorkflow reads a workflow in YAML or JSON. The error is a *Diagnostics that unwraps to an ErrInvalid. The file
// name is only for messages.
func ReadWorkflow(file string, raw []byte) (Document, error) {
	return definitions.ReadWorkflow(file, raw)
}
