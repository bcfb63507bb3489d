// The commands about the schema of the database.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
)

type migrateCommands struct {
	Up     migrateUp     `cmd:"" help:"Apply the missing migrations." see:"upgrading.md"`
	Down   migrateDown   `cmd:"" help:"Revert the newest migration and delete the data of its tables." see:"upgrading.md"`
	Status migrateStatus `cmd:"" help:"List the migrations." see:"upgrading.md"`
}

type migrateUp struct {
	postgresFlag
	jsonFlag
}

// Run prints the migrations that it applied.
func (c migrateUp) Run(ctx context.Context, s *session) error {
	url, err := c.url()
	if err != nil {
		return err
	}
	applied, err := s.server.migrate(ctx, url)
	return errors.Join(s.printMigrations(applied, c.JSON), cli.DatabaseError(err))
}

type migrateDown struct {
	postgresFlag
	jsonFlag
	Yes   bool `help:"Confirm. The data in the tables of the migration is lost."`
	Force bool `help:"Revert although hosts are alive. They answer 503 until they are stopped."`
}

// Run prints the migration that it reverted.
func (c migrateDown) Run(ctx context.Context, s *session) error {
	url, all, err := c.migrations(ctx, s)
	if err != nil {
		return err
	}
	applied := slices.DeleteFunc(all, func(m pgschema.Migration) bool { return m.AppliedAt.IsZero() })
	switch {
	case len(applied) == 0:
		return verification.Conflict("migrations", "no migration is applied")
	case !c.Yes:
		return errors.New("--yes: required to revert " + nameOf(applied[len(applied)-1]) + " and to delete the data of its tables")
	}
	reverted, err := s.server.migrateDown(ctx, url, c.Force)
	if err != nil {
		return cli.DatabaseError(err)
	}
	return s.say(c.JSON, newMigrationJSON(reverted), "reverted: %s", nameOf(reverted))
}

type migrateStatus struct {
	postgresFlag
	jsonFlag
}

func (c migrateStatus) Run(ctx context.Context, s *session) error {
	_, all, err := c.migrations(ctx, s)
	if err != nil {
		return err
	}
	if err := s.printMigrations(all, c.JSON); err != nil {
		return err
	}
	if f := migrated(all); f.Status != healthOK {
		s.note(f.row()[2])
		return errProblems
	}
	return nil
}

func (f postgresFlag) migrations(ctx context.Context, s *session) (url string, all []pgschema.Migration, err error) {
	if url, err = f.url(); err == nil {
		all, err = s.server.migrations(ctx, url)
		err = cli.DatabaseError(err)
	}
	return url, all, err
}

type migrationJSON struct {
	Version   int64              `json:"version"`
	Name      string             `json:"name"`
	AppliedAt apitypes.Timestamp `json:"applied_at"`
}

func newMigrationJSON(m pgschema.Migration) migrationJSON {
	return migrationJSON{Version: m.Version, Name: m.Name, AppliedAt: apitypes.Timestamp{Time: m.AppliedAt}}
}

func (s *session) printMigrations(list []pgschema.Migration, asJSON bool) error {
	return printList(s, asJSON, mapSlice(list, newMigrationJSON), "VERSION NAME APPLIED_AT")
}

// missing returns the migrations that are not applied.
func missing(all []pgschema.Migration) []pgschema.Migration {
	return slices.DeleteFunc(slices.Clone(all), func(m pgschema.Migration) bool { return !m.AppliedAt.IsZero() })
}

func nameOf(m pgschema.Migration) string { return fmt.Sprintf("%d (%s)", m.Version, m.Name) }
