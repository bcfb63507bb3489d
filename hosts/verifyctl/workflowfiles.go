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
	Validate workflowValidate `cmd:"" help:"Report every problem of workflow files."`
	Graph    workflowGraph    `cmd:"" help:"Draw the graph of a workflow file."`
	List     workflowList     `cmd:"" help:"List the workflows of a tenant."`
	Versions workflowVersions `cmd:"" help:"List the versions of a workflow, or print one."`
	Publish  workflowPublish  `cmd:"" help:"Publish a version, so that runs execute it."`
}

type workflowValidate struct {
	Files     []string `arg:"" name:"file" help:"Workflow files, in YAML or JSON."`
	Providers []string `placeholder:"NAME" help:"Providers of the hosts. A check with another provider is a problem. By default any provider is allowed."`
	JSON      bool     `name:"json" help:"Print the problems as a JSON array."`
}

// problemJSON is one line of validate --json.
type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // 0 when unknown
	Column  int    `json:"column"` // 0 when unknown
	Field   string `json:"field"`  // empty for the whole file
	Message string `json:"message"`
}

// Run prints the problems on stdout. It checks all files, even if one cannot be read.
func (w workflowValidate) Run(ctx context.Context, s *session) error {
	var unread error
	found := []problemJSON{}
	for _, file := range w.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := compile(file, w.Providers)
		var problems *definition.Diagnostics
		switch {
		case err == nil:
			if !w.JSON {
				fmt.Fprintln(s.stdout, file+": ok")
			}
		case errors.As(err, &problems):
			if !w.JSON {
				fmt.Fprintln(s.stdout, problems)
			}
			found = append(found, problemsOf(problems)...)
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
		return errProblems
	}
	return unread
}

type workflowGraph struct {
	File   string `arg:"" help:"Workflow file, in YAML or JSON."`
	Format string `enum:"mermaid,dot" default:"mermaid" placeholder:"FORMAT" help:"Output format: mermaid or dot (default mermaid)."`
}

// Run draws the graph on stdout.
func (w workflowGraph) Run(s *session) error {
	def, err := compile(w.File, nil)
	var problems *definition.Diagnostics
	if err != nil && !errors.As(err, &problems) {
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
	if problems != nil {
		fmt.Fprintln(s.stderr, problems)
		return errProblems
	}
	return nil
}

// compile reads and compiles a workflow file. If the file has problems, the error is a
// *definition.Diagnostics; the definition is empty if the file cannot be parsed. Without
// providers every provider is allowed.
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

func problemsOf(problems *definition.Diagnostics) []problemJSON {
	var out []problemJSON
	for _, f := range problems.List {
		out = append(out, problemJSON{File: f.File, Line: f.Line, Column: f.Column, Field: f.Path, Message: f.Message})
	}
	if problems.More > 0 {
		more := fmt.Sprintf("and %d more problems", problems.More)
		out = append(out, problemJSON{File: out[len(out)-1].File, Message: more})
	}
	return out
}
