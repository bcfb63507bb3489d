// The command that ends an upgrade.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification/store"
)

type storeUpgrade struct {
	Dir datadir.Folder `arg:"" optional:"" help:"Data folder that no host has. VERIFYD_DATA_DIR does not replace this argument."`
	postgresFlag
	jsonFlag
	Yes bool `help:"Confirm. Afterwards no earlier release can use the data, and there is no way back but a backup."`
}

// levels are the JSON of the command.
type levels struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Run raises the level of the store to the newest one that this build reads.
func (c storeUpgrade) Run(ctx context.Context, s *session) (err error) {
	l := levels{To: store.Level}
	if c.Dir != "" {
		l.From, err = c.folder(ctx, s)
	} else {
		l.From, err = c.database(ctx)
	}
	switch {
	case err != nil:
		return err
	case l.From == l.To:
		return s.say(c.JSON, l, "the store has level %d, the newest that this release reads: nothing was changed", l.To)
	case !c.Yes:
		return fmt.Errorf("--yes: required to raise the store from level %d to level %d: afterwards no release that reads less can use it, "+
			"and there is no way back but a backup", l.From, l.To)
	}
	return s.say(c.JSON, l, "raised from level %d to level %d: from now on, hosts write what only this release and newer ones read", l.From, l.To)
}

// folder returns the level of the folder before.
func (c storeUpgrade) folder(ctx context.Context, s *session) (int, error) {
	if err := operator.Examine(c.Dir); err != nil {
		return 0, err
	}
	o := journal.Options{OpenedAt: s.clock.Now(), Log: s.warnings()}
	if c.Yes {
		o.Level = store.Level
	}
	held, err := operator.Take(ctx, c.Dir, o)
	if err != nil {
		return 0, endHost(err)
	}
	return held.Recovery().Level, held.Close()
}

// database returns the level of the database before.
func (c storeUpgrade) database(ctx context.Context) (int, error) {
	if c.DatabaseURL == "" {
		return 0, errors.New("name the data folder, or set " + cli.Setting("database-url"))
	}
	db, err := postgres.Open(ctx, c.DatabaseURL, postgres.Options{MaxConns: 4, SingleHost: true})
	if err != nil {
		return 0, cli.DatabaseError(err)
	}
	defer db.Close()
	if !c.Yes {
		return db.Level(), nil
	}
	return pgadmin.Of(db).RaiseLevel(ctx, store.Level)
}
