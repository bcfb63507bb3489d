// The command that applies a bootstrap file.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
)

type applyFile struct {
	File string `arg:"" help:"Bootstrap file, in YAML or JSON."`
	databaseFlag
	Providers []string `placeholder:"NAME" default:"sandbox,sandbox_2" variable:"VERIFYD_PROVIDERS" help:"The providers that the hosts have (default sandbox and sandbox_2); a check that names another one is a fault."`
	jsonFlag
}

// Help is shown below the usage.
func (applyFile) Help() string {
	return `What is as the file says already is not written again, so a file can be applied over and
over. A webhook secret that had to be made is not printed: see webhook secret. The
problems of the file are printed on stderr, a line each, with exit code 1.

Examples:

    verifyctl apply bootstrap.yaml
    verifyctl apply bootstrap.yaml --providers sandbox,bureau
    verifyctl apply bootstrap.yaml --json`
}

// Run tells what became of each thing that the file names.
func (c applyFile) Run(ctx context.Context, s *session) error {
	raw, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	file, err := definition.ReadBootstrap(c.File, raw, os.ReadFile, s.getenv)
	if err != nil {
		return s.faults(err)
	}
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		e, err := s.engine(db, c.Providers...)
		if err != nil {
			return err
		}
		done, err := bootstrap.Apply(ctx, file, e, db, s.tellSecret)
		if printed := s.changes(done, c.JSON); printed != nil {
			return errors.Join(err, printed)
		}
		return s.faults(err)
	})
}

// faults tells those of a file on stderr, as they are. Any other error is left
// to the caller.
func (s *session) faults(err error) error {
	var found *definition.Diagnostics
	if !errors.As(err, &found) {
		return err
	}
	fmt.Fprintln(s.stderr, err)
	return errFaults
}

// changeJSON is what became of one thing.
type changeJSON struct {
	TenantID    verification.TenantID   `json:"tenant_id"`
	Kind        bootstrap.Kind          `json:"kind"`
	Name        string                  `json:"name"`
	Outcome     bootstrap.Outcome       `json:"outcome"`
	WorkflowID  verification.WorkflowID `json:"workflow_id,omitempty"`
	VersionHash string                  `json:"version_hash,omitempty"`
}

func (s *session) changes(done []bootstrap.Change, asJSON bool) error {
	if asJSON {
		return s.json(shapes(done, func(c bootstrap.Change) changeJSON {
			return changeJSON{
				TenantID: c.Tenant, Kind: c.Kind, Name: c.Name, Outcome: c.Outcome,
				WorkflowID: c.Workflow, VersionHash: c.VersionHash,
			}
		}))
	}
	return s.table([]string{"KIND", "NAME", "OUTCOME", "WORKFLOW_ID", "VERSION_HASH"}, shapes(done, func(c bootstrap.Change) []string {
		return []string{string(c.Kind), c.Name, string(c.Outcome), string(c.Workflow), short(c.VersionHash)}
	}))
}
