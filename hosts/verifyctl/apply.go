// The command that applies a bootstrap file.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
)

type applyFile struct {
	File string `arg:"" help:"Bootstrap file, in YAML or JSON."`
	databaseFlag
	DryRun    bool     `help:"Print what would change, and change nothing."`
	Providers []string `placeholder:"NAME" default:"sandbox,sandbox_2" variable:"VERIFYD_PROVIDERS" help:"Providers of the hosts beside the offline checks and those of the file (default sandbox and sandbox_2). A check with another provider is a problem."`
	jsonFlag
}

// Run prints the outcome for each item of the file.
func (c applyFile) Run(ctx context.Context, s *session) error {
	raw, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	file, err := bootstrap.Read(ctx, c.File, raw, os.ReadFile, s.getenv)
	if err != nil {
		return s.printProblems(err)
	}
	o := rest.Options{Expressions: expression.New(), Now: s.clock.Now}
	providers, err := bootstrap.MakeProviders(file, builtIn(), o)
	if err != nil {
		return s.printProblems(err)
	}
	for _, name := range c.Providers {
		if providers.All[name] == nil {
			providers.All[name] = unsupported{}
		}
	}
	hash, err := bootstrap.Hash(file)
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(db *database) error {
		to, made := db.Store, s.noteSecret
		if c.DryRun {
			to, made = bootstrap.DryRun(to), func(verification.Tenant) {}
		}
		e, err := s.engine(&database{Store: to}, providers)
		if err != nil {
			return err
		}
		done, err := bootstrap.Apply(ctx, file, e, to, made)
		if audit := to.AppendAudit(ctx, bootstrap.AuditOf(done, operatorActor(s.operator), s.clock.Now())); audit != nil {
			err = errors.Join(err, fmt.Errorf("add to the audit trail: %w", audit))
		}
		if err == nil && !c.DryRun {
			err = bootstrap.Record(ctx, db, hash, bootstrap.NamesOf(file, providers))
		}
		if c.DryRun {
			s.note("nothing was changed: this is what applying the file would do")
		}
		for _, change := range done {
			for _, warning := range change.Warnings {
				s.note("warning: " + warning)
			}
		}
		if printed := printList(s, c.JSON, done, "KIND NAME OUTCOME WORKFLOW_ID VERSION_HASH"); printed != nil {
			return errors.Join(err, printed)
		}
		return s.printProblems(err)
	})
}

// printProblems prints the problems of a file on stderr and returns errProblems. It
// returns any other error as it is.
func (s *session) printProblems(err error) error {
	var found *definition.Diagnostics
	if !errors.As(err, &found) {
		return err
	}
	fmt.Fprintln(s.stderr, err)
	return errProblems
}
