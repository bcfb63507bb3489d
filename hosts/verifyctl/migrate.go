// The commands about the schema of the database.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/adapters/postgres"
)

type migrateCommands struct {
	Up     migrateUp     `cmd:"" help:"Bring the schema up to what this build needs."`
	Down   migrateDown   `cmd:"" help:"Take back the newest step, with all that is kept in it."`
	Status migrateStatus `cmd:"" help:"List the steps, and when each was applied."`
}

type migrateUp struct {
	databaseFlag
	jsonFlag
}

// Help is shown below the usage.
func (migrateUp) Help() string {
	return `Each step is applied in a transaction. Hosts and commands that migrate at the same time wait
for each other, and a schema that is current is left alone. The role must own the
database, or be allowed to create the schema "verifyd" in it.

Examples:

    VERIFYD_DATABASE_URL=postgres://owner:...@db:5432/verifyd verifyctl migrate up
    verifyctl migrate up --json`
}

// Run prints the steps that were applied.
func (c migrateUp) Run(ctx context.Context, s *session) error {
	url, err := c.url()
	if err != nil {
		return err
	}
	applied, err := s.server.migrate(ctx, url)
	return errors.Join(s.migrations(applied, c.JSON), named(err))
}

type migrateDown struct {
	databaseFlag
	jsonFlag
	Yes bool `help:"Really do it. What is kept in the tables of the step is lost."`
}

// Help is shown below the usage.
func (migrateDown) Help() string {
	return `Without --yes it only tells what it would take back. Stop the hosts first.

Example:

    verifyctl migrate down --yes`
}

// Run prints the step that was taken back.
func (c migrateDown) Run(ctx context.Context, s *session) error {
	url, err := c.url()
	if err != nil {
		return err
	}
	all, err := s.server.migrations(ctx, url)
	if err != nil {
		return named(err)
	}
	applied := slices.DeleteFunc(all, func(m postgres.Migration) bool { return m.AppliedAt.IsZero() })
	switch {
	case len(applied) == 0:
		return conflict("migrations", "there is nothing to take back")
	case !c.Yes:
		return errors.New("--yes: must be given; it would take back " + nameOf(applied[len(applied)-1]) + " and all that is kept in it")
	}
	undone, err := s.server.migrateDown(ctx, url)
	if err != nil {
		return named(err)
	}
	if c.JSON {
		return s.json(migrationOf(undone))
	}
	_, err = fmt.Fprintln(s.stdout, "taken back:", nameOf(undone))
	return err
}

type migrateStatus struct {
	databaseFlag
	jsonFlag
}

// Help is shown below the usage.
func (migrateStatus) Help() string {
	return `It exits with 1 when steps are missing.

Examples:

    verifyctl migrate status
    verifyctl migrate status --json`
}

// Run prints all steps.
func (c migrateStatus) Run(ctx context.Context, s *session) error {
	url, err := c.url()
	if err != nil {
		return err
	}
	all, err := s.server.migrations(ctx, url)
	if err != nil {
		return named(err)
	}
	if err := s.migrations(all, c.JSON); err != nil {
		return err
	}
	if len(missing(all)) > 0 {
		return errFaults
	}
	return nil
}

type migrationJSON struct {
	Version   int64  `json:"version"`
	Name      string `json:"name"`
	AppliedAt moment `json:"applied_at"`
}

func migrationOf(m postgres.Migration) migrationJSON {
	return migrationJSON{Version: m.Version, Name: m.Name, AppliedAt: moment(m.AppliedAt)}
}

func (s *session) migrations(list []postgres.Migration, asJSON bool) error {
	if asJSON {
		return s.json(shapes(list, migrationOf))
	}
	return s.table([]string{"VERSION", "NAME", "APPLIED_AT"}, shapes(list, func(m postgres.Migration) []string {
		return []string{strconv.FormatInt(m.Version, 10), m.Name, moment(m.AppliedAt).String()}
	}))
}

// missing are the steps that were not applied.
func missing(all []postgres.Migration) []postgres.Migration {
	var list []postgres.Migration
	for _, m := range all {
		if m.AppliedAt.IsZero() {
			list = append(list, m)
		}
	}
	return list
}

func nameOf(m postgres.Migration) string { return fmt.Sprintf("%d (%s)", m.Version, m.Name) }
