// The lists that are screened against.

package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	demofiles "github.com/verifyd/verifyd/hosts/verifyd/demo"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// refreshInterval is how often the files of the lists are checked. A changed file is loaded
// at the next check that finds no further change.
const refreshInterval = 20 * time.Second

// openLists loads the lists of the bootstrap file. A host that executes no runs needs
// only their names.
func openLists(ctx context.Context, s settings, b *definition.Bootstrap, log *slog.Logger, m *metrics) (*screening.Lists, error) {
	var sources []screening.Source
	at := map[string]definition.List{}
	if b != nil {
		for _, l := range b.Lists {
			source := bootstrap.ListSource(l)
			if s.isDemo() {
				source.Files, source.Date = demofiles.Files, time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
			}
			sources = append(sources, source)
			at[l.Name] = l
		}
	}
	if !s.has(roleWorker) {
		return watchlist.Named(sources), nil
	}
	starting, problems := true, error(nil)
	lists, err := screening.Open(ctx, sources, screening.Options{Log: log, Now: time.Now, MaxBytes: s.ListBytes, Setting: cli.Setting("list-bytes"), Loaded: func(name string, l *watchlist.List, err error) {
		m.listLoaded(name, l, err)
		if err != nil && starting {
			problems = errors.Join(problems, errors.New(at[name].Problem(err.Error()).String()))
		}
	}})
	starting = false
	if err != nil {
		return nil, problems
	}
	return lists, nil
}
