// Package definition reads workflow files and bootstrap files, in YAML 1.2 or
// JSON.
//
// Reading is strict and tells every fault at once, each on a line of its own
// with its file, line, column and path:
//
//	workflows/individual.yaml:12:5: nodes.pan.on_faild: unknown field; did you mean on_failed?
//
// It looks at the form only: whether the fields are known, are given once and
// have the right types. What a definition means is judged by
// verification.Compile; Document.Explain puts a place to each of its faults.
// The form is also written down in docs/workflow.schema.json, for editors.
//
// The bounds of one file: 1 MiB, 64 levels, and 10,000 values that come from
// YAML aliases.
package definition
