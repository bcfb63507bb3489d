// The command that applies a bootstrap file.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/definitions"
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
	providers, err := s.providersBeside(file, c.Providers, rest.Options{})
	if err != nil {
		return s.printProblems(err)
	}
	o := bootstrap.Options{DryRun: c.DryRun, By: operatorActor(s.operator), Now: s.clock.Now, Made: s.noteSecret}
	hash, err := bootstrap.Hash(file)
	if err == nil {
		o.File, err = bootstrap.FileOf(hash, bootstrap.NamesOf(file, providers))
	}
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(db *database) error {
		e, err := s.engineOfHosts(ctx, db, providers)
		if err != nil {
			return err
		}
		policies, err := bootstrap.RetentionChanges(ctx, file, e)
		if err != nil {
			return err
		}
		done, err := bootstrap.Apply(ctx, file, e, db.Store, o)
		switch {
		case errors.Is(err, verification.ErrInvalid), errors.Is(err, verification.ErrConflict):
			fmt.Fprintln(s.stderr, err)
			s.note("the file is refused, and nothing was changed")
			return errProblems
		case err != nil:
			return err
		}
		if c.DryRun {
			s.note("nothing was changed: this is what applying the file would do")
		} else if err := bootstrap.NoteRetention(ctx, e, policies); err != nil {
			s.note("the file was applied; the hosts record within 10 minutes that policies of retention changed: " + err.Error())
		}
		for _, p := range policies {
			s.note(p.Text())
		}
		for _, change := range done {
			if change.WebhookReplaced {
				s.note("workflow " + change.Name + ": the lifecycle webhook of an earlier file is replaced")
			}
			for _, warning := range change.Warnings {
				s.note("warning: " + warning.String())
			}
		}
		return printList(s, c.JSON, done, "KIND NAME OUTCOME WORKFLOW_ID VERSION_HASH")
	})
}

// providersBeside returns the providers of a host with a bootstrap file, and others that the host has beside it.
func (s *session) providersBeside(file definitions.Bootstrap, others []string, o rest.Options) (bootstrap.Providers, error) {
	own := builtIn()
	for _, name := range sandboxes() {
		if slices.Contains(others, name) {
			own[name] = unsupported{} // of every host, so that no file declares it
		}
	}
	o.Expressions, o.Now = expression.New(), s.clock.Now
	made, err := bootstrap.MakeProviders(file, own, o)
	for _, name := range others {
		if made.All[name] == nil {
			made.All[name] = unsupported{}
		}
	}
	return made, err
}

// sandboxes returns the providers that every host has beside those of builtIn.
func sandboxes() []string { return []string{"sandbox", "sandbox_2"} }

// printProblems prints the problems of a file on stderr and returns errProblems. It
// returns any other error as it is.
func (s *session) printProblems(err error) error {
	var found *definitions.Diagnostics
	if !errors.As(err, &found) {
		return err
	}
	fmt.Fprintln(s.stderr, err)
	return errProblems
}
