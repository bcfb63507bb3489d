// A whole measurement: every attack on every store.

package noisy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/process"
)

// Options say what to measure. Scale is required.
type Options struct {
	Scale Scale
	// Only selects rows by their names, such as "slow vendor, postgres"; nil means all.
	// The control is measured on the same stores.
	Only *regexp.Regexp
	Runs int // of each row; 0 means one
	// Progress receives progress messages, from several goroutines; nil discards them.
	Progress func(line string)
}

// Scale is the size of a measurement.
type Scale struct {
	Alone, Beside time.Duration // how long the bystander is measured
	Rate          int           // calls of each kind in a second
	Timeout       time.Duration // until a call of the bystander counts as failed
	// OneSite runs all attacks on the same hosts, one after the other, and on both
	// stores concurrently. The bystander is measured alone once. There is no control,
	// which would slow down the tests of other packages.
	OneSite bool

	Notices      int           // runs whose notices go to a receiver that never answers
	SlowRuns     int           // runs that wait for a slow vendor
	SlowFor      time.Duration // how long the vendor takes
	Groups       int           // tenants with a run whose group has 16 members
	LargeInputs  int           // starts with 1 MB; with a store in memory, at most 600
	FilledRuns   int           // runs in PostgreSQL that a list may skip
	MemoryRuns   int           // runs in memory that a list may skip
	Cards        int           // of a run with a long report
	PrintedRuns  int           // such runs, whose reports are printed
	Posts        int           // posts of a form
	FilesOfAPost int           // files of 10 MB in each of them
}

// Full is the scale of the table in docs/performance.md.
func Full() Scale {
	return Scale{
		Alone: 15 * time.Second, Beside: 25 * time.Second, Rate: 8, Timeout: 30 * time.Second,
		Notices: 30_000, SlowRuns: 2_000, SlowFor: 25 * time.Second, Groups: 500,
		LargeInputs: 1_500, FilledRuns: 3_000_000, MemoryRuns: 50_000, Cards: 300, PrintedRuns: 80, Posts: 24, FilesOfAPost: 15,
	}
}

// Short is the scale of the tests. Its timeout is long because tests run on busy
// machines, but shorter than the waits of the slow vendor and the dead receiver.
func Short() Scale {
	return Scale{
		Alone: time.Second, Beside: time.Second, Rate: 8, Timeout: 30 * time.Second, OneSite: true,
		Notices: 1_000, SlowRuns: 300, SlowFor: 25 * time.Second, Groups: 50,
		LargeInputs: 50, FilledRuns: 10_000, MemoryRuns: 1_000, Cards: 120, PrintedRuns: 10, Posts: 4, FilesOfAPost: 5,
	}
}

// Result is the result of a measurement.
type Result struct {
	Rows        []Row        // one for each run of each attack on each store
	Definitions []Definition // the hostile ones, and whether they can be published
}

// Measure measures the bystander during each attack on each store.
func Measure(ctx context.Context, o Options) (r Result, err error) {
	m := &measurement{Options: o}
	if !slices.ContainsFunc(Stores(), func(s Store) bool { return len(m.selected(s)) > 0 }) {
		return Result{}, fmt.Errorf("no row matches %q (attacks: %q, stores: %q)", o.Only, Attacks(), Stores())
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.open(ctx); err != nil {
		return Result{}, err
	}
	r.Definitions = m.definitions
	rows, errs := make([][]Row, len(Stores())), make([]error, len(Stores()))
	var all sync.WaitGroup
	for n, store := range Stores() {
		all.Go(func() {
			for range max(1, o.Runs) {
				some, err := m.store(ctx, store)
				if rows[n], errs[n] = append(rows[n], some...), err; err != nil {
					return
				}
			}
		})
		if !o.Scale.OneSite {
			all.Wait()
		}
	}
	all.Wait()
	r.Rows = slices.Concat(rows...)
	return r, errors.Join(errs...)
}

// selected returns the attacks to measure on a store, and the control first if there are
// any.
func (o Options) selected(store Store) []attack {
	all := attacks()
	if o.Scale.OneSite {
		all = all[1:]
	}
	matches := func(a attack) bool { return o.Only == nil || o.Only.MatchString(rowName(a.name, store)) }
	if !slices.ContainsFunc(all, matches) {
		return nil
	}
	return slices.DeleteFunc(all, func(a attack) bool { return !a.control && !matches(a) })
}

// measurement is the state that all rows share.
type measurement struct {
	Options
	folder      string // of the programs
	server      *pgtest.Server
	definitions []Definition
	sites       atomic.Int64 // number of sites, for the names of their databases
}

func (m *measurement) open(ctx context.Context) (err error) {
	if m.folder, err = os.MkdirTemp("", "verifyd-noisy-"); err != nil {
		return err
	}
	if err := process.Build(ctx, m.folder, "verifyd", "verifyctl"); err != nil {
		return err
	}
	if m.attacked("hostile definitions") {
		m.definitions, err = validate(ctx, m.folder, hostile())
	}
	return err
}

func (m *measurement) close() error {
	err := os.RemoveAll(m.folder)
	if m.server != nil {
		err = errors.Join(err, m.server.Close())
	}
	return err
}

// database returns the PostgreSQL of the measurement, which is durable. Its log may
// grow large, so that no checkpoint disturbs a row.
func (m *measurement) database(ctx context.Context) (*pgtest.Server, error) {
	var err error
	if m.server == nil {
		m.server, err = pgtest.Start(ctx, pgtest.Options{Durable: true, Settings: map[string]string{
			"shared_buffers": "512MB", "max_wal_size": "16GB", "checkpoint_timeout": "1h",
		}})
	}
	return m.server, err
}

func (m *measurement) attacked(name string) bool {
	return slices.ContainsFunc(Stores(), func(store Store) bool {
		return slices.ContainsFunc(m.selected(store), func(a attack) bool { return a.name == name })
	})
}

func (m *measurement) progress(format string, args ...any) {
	if m.Progress != nil {
		m.Progress(fmt.Sprintf(format, args...))
	}
}

// store measures all attacks on one store.
func (m *measurement) store(ctx context.Context, store Store) (rows []Row, err error) {
	var one *site
	var alone, busy Figures
	for _, a := range m.selected(store) {
		m.progress("%s", rowName(a.name, store))
		s := one
		if s == nil {
			if s, err = m.newSite(ctx, store, a); err != nil {
				return rows, err
			}
			if err = m.prepare(ctx, s); err != nil {
				return rows, errors.Join(err, s.close(ctx))
			}
		}
		row, err := m.row(ctx, s, a, alone)
		if !m.Scale.OneSite {
			err = errors.Join(err, s.close(ctx))
		} else if one == nil {
			one, alone = s, row.Alone
			defer func() { err = errors.Join(err, one.close(ctx)) }()
		}
		if err != nil {
			return rows, fmt.Errorf("%s: %w", rowName(a.name, store), err)
		}
		if row.Busy = busy; a.control {
			busy = row.Beside
		}
		rows = append(rows, row)
		m.progress("  %s", row)
	}
	return rows, nil
}

// prepare starts the runs whose reports the bystander reads, and warms the hosts up.
func (m *measurement) prepare(ctx context.Context, s *site) error {
	of := m.Scale.Alone + m.Scale.Beside
	if m.Scale.OneSite {
		of = m.Scale.Alone + time.Duration(len(attacks()))*m.Scale.Beside
	}
	const spare = 20
	if err := s.bystander.prepare(ctx, m.Scale.Rate*int(of/time.Second)+spare); err != nil {
		return err
	}
	s.bystander.measure(ctx, time.Second)
	return nil
}

// row measures the bystander during one attack, and first alone unless alone has the
// figures of an earlier measurement.
func (m *measurement) row(ctx context.Context, s *site, a attack, alone Figures) (Row, error) {
	s.attacker.reset()
	if a.prepare != nil {
		if err := a.prepare(ctx, s); err != nil {
			return Row{}, fmt.Errorf("prepare: %w", err)
		}
	}
	if alone == nil {
		alone = s.bystander.measure(ctx, m.Scale.Alone)
	}
	s.attacker.reset()
	if a.build != nil {
		building, cancel := context.WithTimeout(ctx, time.Minute)
		err := a.build(building, s)
		cancel()
		if err != nil && ctx.Err() != nil {
			return Row{}, fmt.Errorf("build: %w", err)
		}
	}
	pressing, release := context.WithCancel(ctx)
	pressed := make(chan struct{})
	go func() {
		defer close(pressed)
		if a.press != nil {
			a.press(pressing, s)
		}
	}()
	beside := s.bystander.measure(ctx, m.Scale.Beside)
	release()
	<-pressed
	return Row{
		Attack: a.name, Control: a.control, Store: s.store, Alone: alone, Beside: beside,
		MaxRSS: s.rss.Load(), Kept: s.attacker.kept.Load(), Crashes: s.crashes(),
		Requests: s.attacker.requests(), Answers: s.attacker.summary(), DeadEnds: s.deadEnd.attempts.Load(),
	}, ctx.Err()
}
