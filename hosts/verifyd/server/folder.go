// The data folder of a host without a database.

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/demovendor"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// dataFolder is a data folder that the host has opened, so that no other host can.
type dataFolder struct {
	datadir.Folder
	journal *journal.Store
	space   *space
	failed  chan struct{} // closed when the journal could not be written
	cause   error         // why; set before failed is closed

	mu      sync.Mutex
	tried   time.Time // when a file was last made in the folder
	problem error     // why that failed
}

// openFolder opens the journal in a folder that exists.
func openFolder(ctx context.Context, folder datadir.Folder, reserve int64, eraseWithin time.Duration, log *slog.Logger) (_ *dataFolder, err error) {
	f := &dataFolder{Folder: folder, space: newSpace(string(folder), reserve), failed: make(chan struct{})}
	f.journal, err = journal.Open(ctx, f.Journal(), journal.Options{
		Log: log, OpenedAt: time.Now().UTC().Truncate(time.Second), Room: f.space.room, Used: folder.Used(), EraseWithin: eraseWithin,
		Fail: func(err error) {
			f.cause = err
			close(f.failed)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cli.Setting("data-dir"), advise(folder, err))
	}
	return f, nil
}

// advise adds to an error of a data folder what to do about it; nil stays nil.
func advise(folder datadir.Folder, err error) error {
	_, none := os.Stat(folder.Journal())
	switch {
	case errors.Is(err, journal.ErrHeld):
		return fmt.Errorf("%w; end that host, or choose another folder", err)
	case errors.Is(err, store.ErrLevel): // it says what to do
		return err
	case errors.Is(err, verification.ErrConflict): // a record does not fit the records before it
		return fmt.Errorf("%w; run verifyctl store check %s, and restore the folder from a backup", err, folder)
	case errors.Is(err, fs.ErrPermission) && none == nil:
		return fmt.Errorf("%w; all of the folder must belong to the user of this process: chown -R %d %s", err, os.Geteuid(), folder)
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w; choose a folder that the user of this process can write, or keep nothing with --memory", err)
	case noSpace(err):
		free := "some bytes"
		if disk, failed := datadir.DiskOf(string(folder)); failed == nil {
			free = fmt.Sprintf("%d bytes", disk.Free)
		}
		return fmt.Errorf("%w; %s has %s free; free at least %d on its disk, and start the host again", err, folder, free, int64(minDiskReserve))
	}
	return err
}

// noSpace reports whether a write failed for want of space: the disk is full, or a quota or a limit
// of the process is reached.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// describe returns the folder as the ready line has it.
func (f *dataFolder) describe() string {
	dir, found := string(f.Folder), f.journal.Recovery()
	if strings.ContainsAny(dir, " \t\r\n\"") {
		dir = strconv.Quote(dir)
	}
	line := fmt.Sprintf("store=journal dir=%s runs=%d recovered=%d", dir, found.Runs, found.Records)
	if found.CutBytes > 0 {
		line += fmt.Sprintf(" unreadable_bytes=%d kept=%s", found.CutBytes, found.Kept)
	}
	return line
}

// failure returns why the journal could not be written, and what to do; nil if that has not
// happened.
func (f *dataFolder) failure() error {
	select {
	case <-f.failed:
	default:
		return nil
	}
	advice := "check the disk, and start the host again"
	switch {
	case errors.Is(f.cause, journal.ErrReplaced) || errors.Is(f.cause, journal.ErrHeld):
		return fmt.Errorf("the host has ended, and has accepted nothing since: %w; see what moves files, or unpacks a backup, into %s, run verifyctl store check %[2]s, and start the host again",
			f.cause, f.Folder)
	case noSpace(f.cause):
		advice = "free some space, and start the host again: it has everything that was accepted"
	}
	return fmt.Errorf("the journal in %s cannot be written, so the host has ended: %w; %s", f.Journal(), f.cause, advice)
}

// writableFor is how long the folder counts as it was when it was last tried.
const writableFor = 10 * time.Second

// writable reports an error if no file can be made in the folder. It tries at most once in
// writableFor.
func (f *dataFolder) writable(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.tried) < writableFor {
		return f.problem
	}
	f.tried, f.problem = now, nil
	probe, err := os.CreateTemp(string(f.Folder), ".writable-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		f.problem = &verification.Error{Kind: verification.ErrUnavailable, Subject: "store", Message: "the data folder cannot be written", Cause: err}
	}
	return f.problem
}

// close writes what waits, and lets other hosts open the folder.
func (f *dataFolder) close() { _ = f.journal.Close() } // failure has the error of a write

// signingKeys returns the keys in the folder.
func (f *dataFolder) signingKeys(ctx context.Context) (*token.Keys, error) {
	file := f.SigningKeys()
	raw, err := datadir.Keep(file, f.generator(ctx, file, "signing-key-file", func() ([]byte, error) {
		set, err := cli.NewKeySet()
		return append(set, '\n'), err
	}))
	if err != nil {
		return nil, err
	}
	keys, err := token.ReadKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore the file from a backup: without it no journey link is valid", file, err)
	}
	return keys, nil
}

// searchKey returns the search key in the folder.
func (f *dataFolder) searchKey(ctx context.Context) ([]byte, error) {
	file := f.SearchKey()
	if _, err := datadir.Keep(file, f.generator(ctx, file, "search-key", func() ([]byte, error) {
		return []byte(rand.Text() + rand.Text() + "\n"), nil
	})); err != nil {
		return nil, err
	}
	key, err := cli.ReadValue(file)
	if err != nil {
		return nil, err
	}
	if len(key) < cli.MinSearchKey {
		return nil, fmt.Errorf("%s has %d bytes and must have at least %d; restore the file from a backup: with another key, no run of before is found by a person",
			file, len(key), cli.MinSearchKey)
	}
	return []byte(key), nil
}

// generator returns a function that generates a secret unless the folder has been used, since
// its data then belongs to a secret that was lost.
func (f *dataFolder) generator(ctx context.Context, file, flag string, generate func() ([]byte, error)) func() ([]byte, error) {
	return func() ([]byte, error) {
		switch tenants, err := f.journal.Tenants(ctx); {
		case err != nil:
			return nil, err
		case len(tenants) > 0:
			return nil, fmt.Errorf("%s is missing, and the folder has data: restore the file from a backup, or set %s as it was before", file, cli.Setting(flag))
		}
		return generate()
	}
}

// checkTenants refuses to mix the demo, whose key everybody knows, with other data.
func (f *dataFolder) checkTenants(ctx context.Context, demo bool, b definitions.Bootstrap) error {
	tenants, err := f.journal.Tenants(ctx)
	if err != nil {
		return err
	}
	a, err := f.journal.Account(ctx, demovendor.ClientID)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return err
	}
	hasDemo := err == nil && !a.Disabled && a.Tenant == demovendor.Tenant
	switch lists := func(t definitions.Tenant) bool { return t.Tenant.ID == demovendor.Tenant }; {
	case demo && !hasDemo && len(tenants) > 0:
		return fmt.Errorf("%s: the data folder %s has tenants of a bootstrap file: name the file, or choose another folder for the demo",
			cli.Setting("bootstrap"), f.Folder)
	case !demo && hasDemo && !slices.ContainsFunc(b.Tenants, lists):
		return fmt.Errorf("%s: %s has the built-in demo, whose API key everybody knows: choose another folder, or remove this one",
			cli.Setting("data-dir"), f.Folder)
	}
	return nil
}
