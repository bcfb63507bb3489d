// Package definition reads workflow files and bootstrap files, in YAML 1.2 or
// JSON.
//
// Reading is strict and reports all problems at once, each on a line of its own
// with file, line, column and path:
//
//	workflows/individual.yaml:12:5: nodes.pan.on_faild: unknown field; did you mean on_failed?
//
// The form of a file is that of workflow.schema.json or bootstrap.schema.json, and
// that of a provider is that of provider.schema.json: which fields there are, and
// which types they have. The rules of a definition are those of verification.Compile;
// Document.Explain adds positions to its problems. The rules of a provider are those
// of its adapter, and Provider.Explain adds the positions.
//
// The bounds of one file: 1 MiB, 64 levels, and 10,000 values that come from YAML
// aliases.
package definition
