// The command that checks workflow files and a bootstrap file.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
)

type workflowValidate struct {
	Files []string `arg:"" optional:"" name:"file" help:"Workflow files, in YAML or JSON. None is needed with --bootstrap."`
	hostsFlags
	Strict bool `help:"Warnings are problems."`
	JSON   bool `name:"json" help:"Print the problems and warnings as a JSON array."`
}

// problemJSON is one problem in the output of validate --json.
type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // 0 when unknown
	Column  int    `json:"column"` // 0 when unknown
	Field   string `json:"field"`  // empty for the whole file
	Message string `json:"message"`
	Warning bool   `json:"warning,omitempty"`
}

// Run prints the problems and warnings on stdout. It checks all files, even if one cannot
// be read.
func (w workflowValidate) Run(ctx context.Context, s *session) error {
	if len(w.Files) == 0 && w.Bootstrap == "" {
		return errNoFiles
	}
	hosts, err := w.hosts(ctx, s)
	if err != nil {
		return s.printProblems(err)
	}
	var unread error
	found, failed := []problemJSON{}, false
	if w.Bootstrap != "" {
		if found, failed, err = w.bootstrap(ctx, s, hosts); err != nil {
			return err
		}
	}
	for _, file := range w.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		checked, err := compile(ctx, file, hosts)
		var problems *definitions.Diagnostics
		if err != nil && !errors.As(err, &problems) {
			unread = errors.Join(unread, err)
			continue
		}
		failed = failed || problems != nil || w.Strict && len(checked.warnings) > 0
		found = append(found, w.found(checked.warnings, problems)...)
		if !w.JSON {
			w.print(s, file, checked, problems)
		}
		if problems != nil && checked.form {
			s.note(fmt.Sprintf("%s: %s of form; the meaning was not checked", file, counted(len(problems.List)+problems.More, "problem")))
		}
	}
	if w.JSON {
		if err := s.json(found); err != nil {
			return err
		}
	}
	if unread == nil && failed {
		return errProblems
	}
	return unread
}

// found returns problems and warnings as JSON has them.
func (w workflowValidate) found(warnings []definitions.Diagnostic, problems ...*definitions.Diagnostics) (all []problemJSON) {
	for _, p := range problems {
		if p != nil {
			all = append(all, problemsOf(p)...)
		}
	}
	for _, d := range warnings {
		all = append(all, problemJSON{File: d.File, Line: d.Line, Column: d.Column, Field: d.Path, Message: d.Message, Warning: !w.Strict})
	}
	return all
}

// bootstrap applies the bootstrap file to an empty store, and prints its problems and warnings.
func (w workflowValidate) bootstrap(ctx context.Context, s *session, hosts knownHosts) (found []problemJSON, failed bool, _ error) {
	others := w.Providers
	if others == nil {
		others = sandboxes()
	}
	providers, refused := s.providersBeside(hosts.file, others, rest.Options{})
	checked := checkedWorkflow{}
	providers.All[screening.ProviderName] = redescribed{providers.All[screening.ProviderName], hosts.described[screening.ProviderName]}
	if refused == nil {
		empty := memory.New()
		e, err := s.engine(&database{Store: empty}, providers)
		if err != nil {
			return nil, false, err
		}
		var done []bootstrap.Change
		done, refused = bootstrap.Apply(ctx, hosts.file, e, empty, bootstrap.Options{DryRun: true})
		for _, c := range done {
			checked.warnings = append(checked.warnings, c.Warnings...)
		}
	}
	problems := &definitions.Diagnostics{}
	for _, err := range allErrors(refused) {
		var d *definitions.Diagnostics
		switch {
		case errors.As(err, &d):
			problems.List, problems.More = append(problems.List, d.List...), problems.More+d.More
		case errors.Is(err, verification.ErrConflict), errors.Is(err, verification.ErrInvalid):
			problems.List = append(problems.List, definitions.Diagnostic{File: w.Bootstrap, Message: err.Error()})
		default:
			return nil, false, err
		}
	}
	failed = refused != nil || w.Strict && len(checked.warnings) > 0
	if refused == nil {
		problems = nil
	}
	if !w.JSON {
		w.print(s, w.Bootstrap, checked, problems)
	}
	s.note(w.Bootstrap + ": what depends on the data of the hosts was not checked: verifyctl apply --dry-run does that")
	return w.found(checked.warnings, problems), failed, nil
}

// redescribed is a provider with another description.
type redescribed struct {
	verification.Provider
	description verification.ProviderDescription
}

// Describe implements verification.Describer.
func (r redescribed) Describe() verification.ProviderDescription { return r.description }

// allErrors returns the errors that an error joins.
func allErrors(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // errors.As would not take it apart
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, allErrors(one)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func (w workflowValidate) print(s *session, file string, checked checkedWorkflow, problems *definitions.Diagnostics) {
	if problems != nil {
		fmt.Fprintln(s.stdout, problems)
	}
	for _, d := range checked.warnings {
		if !w.Strict {
			d.Message = "warning: " + d.Message
		}
		fmt.Fprintln(s.stdout, d)
	}
	switch n := len(checked.warnings); {
	case problems != nil || w.Strict && n > 0:
	case n > 0:
		fmt.Fprintf(s.stdout, "%s: ok, with %s\n", file, counted(n, "warning"))
	default:
		fmt.Fprintln(s.stdout, file+": ok")
	}
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func problemsOf(problems *definitions.Diagnostics) []problemJSON {
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
