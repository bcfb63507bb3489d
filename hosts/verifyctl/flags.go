// The flags that many commands share, and the environment variables behind them.

package main

import (
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/verification"
)

// databaseFlag says where the database is.
type databaseFlag struct {
	DatabaseURL string `name:"database-url" placeholder:"URL" variable:"VERIFYD_DATABASE_URL" help:"PostgreSQL, as postgres://user:password@host:5432/name. A flag shows in lists of processes: better set the variable."`
}

// tenantFlag says whose things are meant.
type tenantFlag struct {
	Tenant string `placeholder:"TENANT" variable:"VERIFYD_TENANT" help:"The tenant: its name or its id. It may be left out where there is only one."`
}

// jsonFlag asks for JSON instead of a table.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// pageFlags ask for one page of a list.
type pageFlags struct {
	Limit  int `default:"50" help:"How many at most, 1 to 200 (default 50)."`
	Offset int `default:"0" help:"How many to skip."`
}

// page is the page that is asked for.
func (p pageFlags) page() (verification.PageQuery, error) {
	q := verification.PageQuery{Limit: p.Limit, Offset: p.Offset}
	switch {
	case p.Limit < 1 || p.Limit > verification.MaxLimit:
		return q, fmt.Errorf("--limit: must be 1 to %d", verification.MaxLimit)
	case p.Offset < 0:
		return q, errors.New("--offset: must be at least 0")
	}
	return q, nil
}

// runID is an id on the command line: anything but a UUID is refused by the name
// of its argument.
type runID struct{ verification.RunID }

// UnmarshalText reads a UUID.
func (i *runID) UnmarshalText(text []byte) (err error) {
	i.RunID, err = verification.ParseRunID(string(text))
	return err
}

// environment resolves the flags that name a variable.
func environment(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if name := flag.Tag.Get("variable"); name != "" {
			if v := getenv(name); v != "" {
				return v, nil
			}
		}
		return nil, nil //nolint:nilnil // kong's way to say that there is none
	})
}

// withVariable adds the variable to the help of its flag.
func withVariable(v *kong.Value) string {
	if name := v.Tag.Get("variable"); name != "" {
		return v.Help + " ($" + name + ")"
	}
	return v.Help
}
