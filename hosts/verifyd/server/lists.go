// The lists that are screened against.

package server

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	demofiles "github.com/verifyd/verifyd/hosts/verifyd/demo"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// refreshInterval is how often the files of the lists are checked. A changed file is loaded
// at the next check that finds no further change.
const refreshInterval = 20 * time.Second

// acceptances are what was accepted of lists, in the store.
type acceptances struct {
	of bootstrap.Ledger

	mu      sync.Mutex
	saving  bool           // the bootstrap file, which names the lists, was not refused
	waiting map[string]int // entries of lists, until saving
}

// AcceptedList implements watchlist.Acceptances.
func (a *acceptances) AcceptedList(ctx context.Context, list string) (watchlist.Accepted, error) {
	all, err := a.of.AcceptedLists(ctx)
	for _, l := range all {
		if l.List == list {
			return watchlist.Accepted{Entries: l.Entries, Versions: l.Versions}, err
		}
	}
	return watchlist.Accepted{}, err
}

// AcceptEntries implements watchlist.Acceptances.
func (a *acceptances) AcceptEntries(ctx context.Context, list string, entries int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.saving {
		a.waiting[list] = entries
		return nil
	}
	return a.of.SaveAcceptedList(ctx, pgadmin.AcceptedList{List: list, Entries: entries})
}

// acceptances returns what was accepted of lists; nil for a host that keeps nothing.
func (h *host) acceptances() *acceptances {
	a := &acceptances{waiting: map[string]int{}}
	switch {
	case h.storage.database != nil:
		a.of = pgadmin.Of(h.storage.database)
	case h.operators != nil:
		a.of = h.operators
	default:
		return nil
	}
	return a
}

// save saves what waits, and from now on each number at once.
func (a *acceptances) save(ctx context.Context, log *slog.Logger) {
	a.mu.Lock()
	a.saving = true
	a.mu.Unlock()
	for _, list := range slices.Sorted(maps.Keys(a.waiting)) {
		if err := a.AcceptEntries(ctx, list, a.waiting[list]); err != nil {
			log.Error("the number of entries of a list is not stored", "list", list, "error", err)
		}
	}
}

// openLists loads the lists of the bootstrap file. A host that executes no runs needs
// only their names.
func (h *host) openLists(ctx context.Context, b *definitions.Bootstrap, m *metrics) (*screening.Lists, error) {
	s := h.settings
	var sources []screening.Source
	at := map[string]definitions.List{}
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
	o := screening.Options{
		Log: h.log, Now: time.Now, MaxBytes: s.ListBytes, Setting: cli.Setting("list-bytes"),
		Loaded: func(name string, l *watchlist.List, err error) {
			m.listLoaded(name, l, err)
			if err != nil && starting {
				problems = errors.Join(problems, errors.New(at[name].Problem(err.Error()).String()))
			}
		},
	}
	if h.accepted != nil {
		o.Accepted = h.accepted
	}
	lists, err := screening.Open(ctx, sources, o)
	starting = false
	if err != nil {
		return nil, problems
	}
	return lists, nil
}
