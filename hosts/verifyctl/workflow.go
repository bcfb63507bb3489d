// The commands about workflow files.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/graph"
	"github.com/verifyd/verifyd/verification"
)

type workflowCommands struct {
	Validate workflowValidate `cmd:"" help:"Tell every fault of workflow files."`
	Graph    workflowGraph    `cmd:"" help:"Draw the graph of a workflow file."`
	List     workflowList     `cmd:"" help:"List the workflows of a tenant."`
	Versions workflowVersions `cmd:"" help:"List the versions of a workflow, or print one."`
	Publish  workflowPublish  `cmd:"" help:"Make a version the one that runs execute."`
}

type workflowValidate struct {
	Files     []string `arg:"" name:"file" help:"Workflow files, in YAML or JSON."`
	Providers []string `placeholder:"NAME" help:"The providers that the host has; a check that names another one is then a fault."`
	JSON      bool     `name:"json" help:"Print the faults as a JSON array."`
}

// Help is shown below the usage.
func (workflowValidate) Help() string {
	return `Each fault is one line: file, line, column, field and what is wrong. Nothing is sent anywhere.

Examples:

    verifyctl workflow validate workflows/*.yaml
    verifyctl workflow validate --providers sandbox,bureau onboarding.yaml
    verifyctl workflow validate --json onboarding.yaml`
}

// fault is one line of validate --json.
type fault struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // 0 when unknown
	Column  int    `json:"column"` // 0 when unknown
	Field   string `json:"field"`  // empty for the whole file
	Message string `json:"message"`
}

// Run tells the faults on stdout. A file that cannot be read keeps no other
// from being looked at.
func (w workflowValidate) Run(ctx context.Context, s *session) error {
	var unread error
	found := []fault{}
	for _, file := range w.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := compile(file, w.Providers)
		var faults *definition.Diagnostics
		switch {
		case err == nil:
			if !w.JSON {
				fmt.Fprintln(s.stdout, file+": ok")
			}
		case errors.As(err, &faults):
			if !w.JSON {
				fmt.Fprintln(s.stdout, faults)
			}
			found = append(found, listed(faults)...)
		default:
			unread = errors.Join(unread, err)
		}
	}
	if w.JSON {
		if err := s.json(found); err != nil {
			return err
		}
	}
	if unread == nil && len(found) > 0 {
		return errFaults
	}
	return unread
}

type workflowGraph struct {
	File   string `arg:"" help:"Workflow file, in YAML or JSON."`
	Format string `enum:"mermaid,dot" default:"mermaid" placeholder:"FORMAT" help:"What to write: mermaid or dot (default mermaid)."`
}

// Help is shown below the usage.
func (workflowGraph) Help() string {
	return `The graph goes to stdout. Faults of the file are told on stderr; what can be read of it
is drawn all the same.

Examples:

    verifyctl workflow graph onboarding.yaml
    verifyctl workflow graph onboarding.yaml --format dot | dot -Tsvg > onboarding.svg`
}

// Run draws the graph on stdout, of a workflow with faults as far as it goes.
func (w workflowGraph) Run(s *session) error {
	def, err := compile(w.File, nil)
	var faults *definition.Diagnostics
	if err != nil && !errors.As(err, &faults) {
		return err
	}
	if len(def.Nodes) > 0 {
		draw := graph.Mermaid
		if w.Format == "dot" {
			draw = graph.DOT
		}
		if _, err := io.WriteString(s.stdout, draw(def)); err != nil {
			return err
		}
	}
	if faults != nil {
		fmt.Fprintln(s.stderr, faults)
		return errFaults
	}
	return nil
}

// compile reads a workflow file and compiles what it says. A file with faults
// is a *definition.Diagnostics; the definition is empty when the file could not be
// understood at all. Without providers, all are known.
func compile(file string, providers []string) (verification.Definition, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return verification.Definition{}, err
	}
	doc, err := definition.ReadWorkflow(file, raw)
	if err != nil {
		return verification.Definition{}, err
	}
	def := doc.Definition
	version := verification.Version{Number: 1, Hash: def.VersionHash(), Definition: def}
	_, err = verification.Compile(def.ID, version, expression.New(), providers)
	return def, doc.Explain(err)
}

func listed(faults *definition.Diagnostics) []fault {
	var out []fault
	for _, f := range faults.List {
		out = append(out, fault{File: f.File, Line: f.Line, Column: f.Column, Field: f.Path, Message: f.Message})
	}
	if faults.More > 0 {
		more := fmt.Sprintf("and %d more faults", faults.More)
		out = append(out, fault{File: out[len(out)-1].File, Message: more})
	}
	return out
}
