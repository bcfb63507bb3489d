// The commands that draw workflow files, and compare them.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

type workflowGraph struct {
	File   string  `arg:"" help:"Workflow file, in YAML or JSON."`
	Format *string `enum:"mermaid,dot,svg" placeholder:"FORMAT" help:"Output format: mermaid, dot or svg (default mermaid)."`
	SVG    bool    `name:"svg" help:"The same as --format svg."`
}

// Validate refuses two different formats.
func (w workflowGraph) Validate() error {
	if w.SVG && w.format() != "svg" {
		return fmt.Errorf("--svg and --format %s: give only one of them", w.format())
	}
	return nil
}

func (w workflowGraph) format() string {
	switch {
	case w.Format != nil:
		return *w.Format
	case w.SVG:
		return "svg"
	}
	return "mermaid"
}

func (w workflowGraph) Run(ctx context.Context, s *session) error {
	def, problems, err := readWorkflow(ctx, w.File)
	if err != nil {
		return err
	}
	if len(def.Nodes) > 0 {
		drawn := ""
		switch w.format() {
		case "svg":
			if drawn, err = drawing.SVG(def, drawing.Options{}); err != nil {
				return fmt.Errorf("%s: %w: use --format dot", w.File, err)
			}
		case "dot":
			drawn = drawing.DOT(def)
		default:
			drawn = drawing.Mermaid(def)
		}
		if _, err := io.WriteString(s.stdout, drawn); err != nil {
			return err
		}
	}
	if problems != nil {
		fmt.Fprintln(s.stderr, problems)
		return errProblems
	}
	return nil
}

// readWorkflow returns the definition of a file and its problems, nil for none. The
// definition has no nodes if the file cannot be parsed.
func readWorkflow(ctx context.Context, file string) (workflow.Definition, *definitions.Diagnostics, error) {
	checked, err := compile(ctx, file, knownHosts{described: workflow.Descriptions(builtIn())})
	def := checked.definition
	var problems *definitions.Diagnostics
	if err != nil && !errors.As(err, &problems) {
		return def, nil, err
	}
	return def, problems, nil
}

type workflowDiff struct {
	Before string `arg:"" help:"The earlier workflow file."`
	After  string `arg:"" help:"The later workflow file."`
	SVG    bool   `name:"svg" help:"Draw both files in one graph that marks what differs, as SVG."`
	jsonFlag
}

// differenceJSON is one line of diff: a field that differs, or a node that was added or
// removed.
type differenceJSON struct {
	Node   string `json:"node"` // empty for the workflow itself
	Change string `json:"change"`
	Field  string `json:"field"` // empty for a node that was added or removed
	Before string `json:"before"`
	After  string `json:"after"`
}

// Run prints what differs on stdout.
func (w workflowDiff) Run(ctx context.Context, s *session) error {
	var defs []workflow.Definition
	for _, file := range []string{w.Before, w.After} {
		def, problems, err := readWorkflow(ctx, file)
		switch {
		case err != nil:
			return err
		case problems != nil:
			fmt.Fprintln(s.stderr, problems)
			return errProblems
		}
		defs = append(defs, def)
	}
	if w.SVG {
		drawn, err := drawing.SVG(defs[1], drawing.Options{Before: &defs[0]})
		if err == nil {
			_, err = io.WriteString(s.stdout, drawn)
		}
		return err
	}
	found := differences(drawing.Compare(defs[0], defs[1]))
	if !w.JSON && len(found) == 0 {
		_, err := fmt.Fprintln(s.stdout, "nothing differs")
		return err
	}
	return printList(s, w.JSON, found, "NODE CHANGE FIELD BEFORE AFTER")
}

// differences returns one line for each field of the workflow and of changed nodes, and
// one for each node that was added or removed.
func differences(c drawing.Comparison) []differenceJSON {
	all := []differenceJSON{}
	add := func(node verification.NodeID, fields []drawing.FieldChange) {
		for _, f := range fields {
			all = append(all, differenceJSON{string(node), string(f.Change()), f.Path, f.Before, f.After})
		}
	}
	add("", c.Fields)
	for _, n := range c.Nodes {
		if n.Change == drawing.ChangeChanged {
			add(n.Node, n.Fields)
		} else {
			all = append(all, differenceJSON{Node: string(n.Node), Change: string(n.Change)})
		}
	}
	return all
}
