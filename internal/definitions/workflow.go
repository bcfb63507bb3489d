// Package definitions reads workflow files, bootstrap files, and files with cases of a
// workflow, in YAML 1.2 or JSON.
//
// Reading is strict and reports all problems at once, each on a line of its own
// with file, line, column and path:
//
//	workflows/individual.yaml:12:5: nodes.pan.on_faild: unknown field; did you mean on_failed?
//
// The JSON Schemas workflow.schema.json, bootstrap.schema.json, provider.schema.json and
// cases.schema.json say which fields there are and which types they have. workflow.Compile has the
// rules of a definition, and the adapter of a provider those of its declaration;
// Document.Explain and Provider.Explain add positions to the problems that they find.
//
// A file has at most 1 MiB, 64 levels, and 10,000 values with 1 MiB of text that come
// from YAML aliases.
package definitions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Document is a workflow with the positions of its parts in a file.
type Document struct {
	// File is the name that the workflow was read from.
	File       string
	Definition workflow.Definition

	location
}

// ReadWorkflow reads a workflow file. The error is a *Diagnostics that unwraps to
// an ErrInvalid. Only the form of the file is checked. The definition has no ID if
// the file has none.
func ReadWorkflow(file string, raw []byte) (Document, error) {
	d := &diagnostics{}
	doc := readWorkflow(file, raw, d)
	if err := d.err("workflow", file); err != nil {
		return Document{}, err
	}
	return doc, nil
}

// readWorkflow reads a document as far as its problems allow. The document has no
// root if the file cannot be parsed.
func readWorkflow(file string, raw []byte, d *diagnostics) Document {
	doc := Document{File: file, location: location{file: file, root: parse(file, raw, d)}}
	if doc.root != nil && !tooManyNodes(file, doc.root, d) {
		before := len(d.list)
		if workflowForm().check(file, doc.root, d); len(d.list) == before {
			doc.Definition = decode(file, doc.root, nil, d)
		}
	}
	return doc
}

// tooManyNodes reports a definition above the limit of nodes, of which nothing else is
// examined.
func tooManyNodes(file string, root *tree, d *diagnostics) bool {
	nodes, _ := root.entry("nodes")
	if nodes.value == nil || len(nodes.value.entries) <= workflow.MaxNodes {
		return false
	}
	d.add(file, nodes.at, path{"nodes"}, fmt.Sprintf("must have 1 to %d nodes", workflow.MaxNodes))
	return true
}

// decode decodes a workflow whose form is right. base is its path in the file.
func decode(file string, t *tree, base path, d *diagnostics) workflow.Definition {
	var def workflow.Definition
	report := func(err error, steps ...any) {
		if err != nil {
			at, _ := t.find(path(steps).String())
			d.add(file, at, append(slices.Clip(base), steps...), sentence(err))
		}
	}
	raw, err := json.Marshal(t.value())
	if err = cmp.Or(err, json.Unmarshal(raw, &def)); err != nil {
		report(err)
		return def
	}
	if def.ID != "" {
		def.ID, err = verification.ParseWorkflowID(string(def.ID))
		report(err, "id")
	}
	report(canonicalData(&def.InputSchema), "input_schema")
	for id, n := range def.Nodes {
		report(canonicalData(&n.With), "nodes", string(id), "with")
		n.Fields = fieldsInOrder(n.Fields, t, report, "nodes", string(id), "fields")
		report(canonicalData(&n.Data), "nodes", string(id), "data")
		n.Members = inOrder(n.Members, t, func(m workflow.Member) string { return m.Name }, "nodes", string(id), "members")
		for i, m := range n.Members {
			report(canonicalData(&n.Members[i].With), "nodes", string(id), "members", m.Name, "with")
		}
		def.Nodes[id] = n
	}
	return def
}

// fieldsInOrder puts the fields at a path of the file, and those of their rows, in the order of the file, and reports limits
// that are not exact.
func fieldsInOrder(fields workflow.InputFields, t *tree, report func(err error, steps ...any), at ...string) workflow.InputFields {
	fields = inOrder(fields, t, func(f workflow.InputField) string { return f.Name }, at...)
	for i, f := range fields {
		for _, limit := range []string{"min", "max"} {
			var steps []any
			for _, step := range slices.Concat(at, []string{f.Name, limit}) {
				steps = append(steps, step)
			}
			report(exactLimit(t, slices.Concat(at, []string{f.Name, limit})...), steps...)
		}
		fields[i].Fields = fieldsInOrder(f.Fields, t, report, slices.Concat(at, []string{f.Name, "fields"})...)
	}
	return fields
}

// exactLimit returns an error if the value at a path is a whole number that a limit of a
// field, a float64, cannot hold.
func exactLimit(t *tree, steps ...string) error {
	_, value, _ := t.locate(steps)
	written, ok := value.scalar.(json.Number)
	if !ok {
		return nil
	}
	exact := new(big.Float)
	switch n, _ := verification.ParseNumber(written); n := n.(type) {
	case int64:
		exact.SetInt64(n)
	case uint64:
		exact.SetUint64(n)
	}
	if _, accuracy := exact.Float64(); accuracy != big.Exact {
		return errors.New("cannot be kept exactly: give a number of at most 15 digits")
	}
	return nil
}

// inOrder puts values in the order in which the object at a path of the file has their names.
func inOrder[S ~[]T, T any](values S, t *tree, name func(T) string, steps ...string) S {
	_, written, _ := t.locate(steps)
	order := map[string]int{}
	for i, e := range written.entries {
		order[e.name] = i
	}
	slices.SortFunc(values, func(a, b T) int { return cmp.Compare(order[name(a)], order[name(b)]) })
	return values
}

// canonicalData gives equal objects equal texts.
func canonicalData(d *verification.Data) error {
	if len(*d) == 0 {
		return nil
	}
	var m map[string]any
	numbers := json.NewDecoder(bytes.NewReader(*d))
	numbers.UseNumber()
	err := numbers.Decode(&m)
	if err == nil {
		*d, err = verification.NewData(m)
	}
	return err
}

// sentence returns what a domain error says, without its subject.
func sentence(err error) string {
	var expected *verification.Error
	if !errors.As(err, &expected) {
		return err.Error()
	}
	var messages []string
	for _, field := range expected.Fields {
		messages = append(messages, field.Message)
	}
	return cmp.Or(strings.Join(messages, "; "), expected.Message)
}
