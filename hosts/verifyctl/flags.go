// Flags that many commands share.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// postgresFlag selects a database of PostgreSQL.
type postgresFlag struct {
	DatabaseURL string `name:"database-url" placeholder:"URL" variable:"VERIFYD_DATABASE_URL" help:"PostgreSQL, as postgres://user:password@host:5432/name. Prefer the variable: flags are visible in process lists."`
}

func (f postgresFlag) url() (string, error) {
	if f.DatabaseURL == "" {
		return "", errors.New(cli.Setting("database-url") + ": required, as postgres://user:password@host:5432/name")
	}
	return f.DatabaseURL, nil
}

// databaseFlag selects the data folder of a host, or a database of PostgreSQL.
type databaseFlag struct {
	DataDir datadir.Folder `name:"data-dir" placeholder:"DIR" variable:"VERIFYD_DATA_DIR" help:"Data folder of a host without a database."`
	postgresFlag
}

// given reports whether a folder or a database is selected.
func (f databaseFlag) given() bool { return f.DataDir != "" || f.DatabaseURL != "" }

// check returns an error unless either a folder or a database is selected.
func (f databaseFlag) check() error {
	folder, url := cli.Setting("data-dir"), cli.Setting("database-url")
	switch {
	case f.DataDir != "" && f.DatabaseURL != "":
		return fmt.Errorf("%s and %s: give only one of them", folder, url)
	case f.given():
		return nil
	case operator.Examine(datadir.Default) == nil:
		return fmt.Errorf("%s or %s: one of them is required; --data-dir %s is a data folder", folder, url, datadir.Default)
	}
	return fmt.Errorf("%s or %s: one of them is required: the data folder of a host, or postgres://user:password@host:5432/name", folder, url)
}

// open opens the folder or the database.
func (f databaseFlag) open(ctx context.Context, s *session) (*database, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.DataDir != "" {
		db, err := s.openFolder(ctx, f.DataDir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cli.Setting("data-dir"), operatorError(err))
		}
		return db, nil
	}
	db, err := s.server.open(ctx, f.DatabaseURL)
	return db, cli.DatabaseError(err)
}

func (f databaseFlag) with(ctx context.Context, s *session, do func(*database) error) error {
	db, err := f.open(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.close())
}

type tenantFlag struct {
	Tenant string `placeholder:"TENANT" variable:"VERIFYD_TENANT" help:"Name or id of the tenant. Optional if there is only one."`
}

// tenantFlags select a tenant of a database.
type tenantFlags struct {
	databaseFlag
	tenantFlag
}

// with opens the database for do and finds the tenant.
func (f tenantFlags) with(ctx context.Context, s *session, do func(*database, verification.Tenant) error) error {
	return f.databaseFlag.with(ctx, s, func(db *database) error {
		t, err := db.tenant(ctx, f.tenantFlag)
		if err != nil {
			return err
		}
		return do(db, t)
	})
}

// jsonFlag selects JSON instead of a table.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// pageFlags select one page of a list.
type pageFlags struct {
	Limit  int `default:"50" help:"Maximum number of items, 1 to 200 (default 50)."`
	Offset int `default:"0" help:"Number of items to skip."`
}

func (p pageFlags) page() (store.PageQuery, error) {
	q := store.PageQuery{Limit: p.Limit, Offset: p.Offset}
	switch {
	case p.Limit < 1 || p.Limit > store.MaxLimit:
		return q, fmt.Errorf("--limit: must be 1 to %d", store.MaxLimit)
	case p.Offset < 0:
		return q, errors.New("--offset: must be at least 0")
	}
	return q, nil
}

type runID struct{ verification.RunID }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *runID) UnmarshalText(text []byte) (err error) {
	i.RunID, err = verification.ParseRunID(string(text))
	return err
}

// noticeRef is a notice on the command line.
type noticeRef struct{ rules.NoticeRef }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *noticeRef) UnmarshalText(text []byte) (err error) {
	r.NoticeRef, err = rules.ParseNoticeRef(string(text))
	return err
}

// instant is a time on the command line.
type instant struct{ time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *instant) UnmarshalText(text []byte) (err error) {
	if i.Time, err = apitypes.ParseTime(string(text)); err != nil {
		return fmt.Errorf("must be a time such as 2026-01-31T18:30:00Z, not %q", text)
	}
	return nil
}

// withVariable adds the environment variable to the help of a flag.
func withVariable(v *kong.Value) string {
	if name := v.Tag.Get("variable"); name != "" {
		return v.Help + " ($" + name + ")"
	}
	return v.Help
}
