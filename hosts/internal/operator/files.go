// The small files of a data folder: signing keys, the bootstrap files that were applied, and what was accepted of lists.

package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
)

// keyFile is the token.KeyStore of a folder. Only the host makes keys: it knows whether its
// settings name others.
type keyFile struct{ of datadir.Folder }

// SigningKeys implements token.KeyStore.
func (k keyFile) SigningKeys(context.Context, func() ([]byte, error)) ([]byte, error) {
	raw, err := os.ReadFile(k.of.SigningKeys())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: a host makes it at its first start, unless its settings name another file", err)
	}
	return raw, err
}

// ledger are the files with the bootstrap files that were applied, the newest first, and with what was accepted of
// lists, by their names.
type ledger struct {
	mu sync.Mutex
	of datadir.Folder
}

// maxAppliedFiles is the maximum number of files that are listed.
const maxAppliedFiles = 100

// The advice for files that are damaged.
const (
	withoutApplied  = "the next start with a bootstrap file makes it again, without the files of before"
	withoutSignOuts = "then reviewers who were signed out have their sessions again"
	withoutAccepted = "the next start makes it again, and then a list that was cut meanwhile counts as whole"
)

// AppliedFiles implements Ports.
func (l *ledger) AppliedFiles(ctx context.Context) ([]pgadmin.AppliedFile, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return readAll[pgadmin.AppliedFile](ctx, l.of.AppliedFiles(), withoutApplied)
}

// SaveAppliedFile implements Ports.
func (l *ledger) SaveAppliedFile(ctx context.Context, f pgadmin.AppliedFile) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := readAll[pgadmin.AppliedFile](ctx, l.of.AppliedFiles(), withoutApplied)
	if err != nil {
		return err
	}
	f.AppliedAt = time.Now().UTC()
	all = slices.DeleteFunc(all, func(old pgadmin.AppliedFile) bool { return old.Hash == f.Hash })
	all = slices.Insert(all, 0, f)
	return writeAll(l.of.AppliedFiles(), all[:min(len(all), maxAppliedFiles)])
}

// AcceptedLists implements Ports.
func (l *ledger) AcceptedLists(ctx context.Context) ([]pgadmin.AcceptedList, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return readAll[pgadmin.AcceptedList](ctx, l.of.AcceptedLists(), withoutAccepted)
}

// SaveAcceptedList implements Ports.
func (l *ledger) SaveAcceptedList(ctx context.Context, later pgadmin.AcceptedList) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := readAll[pgadmin.AcceptedList](ctx, l.of.AcceptedLists(), withoutAccepted)
	if err != nil {
		return err
	}
	i, found := slices.BinarySearchFunc(all, later.List, func(a pgadmin.AcceptedList, name string) int { return strings.Compare(a.List, name) })
	if !found {
		all = slices.Insert(all, i, pgadmin.AcceptedList{})
	}
	all[i] = all[i].With(later)
	return writeAll(l.of.AcceptedLists(), all)
}

// SignOuts implements Ports.
func (l *ledger) SignOuts(ctx context.Context) ([]pgadmin.SignOut, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return readAll[pgadmin.SignOut](ctx, l.of.SignOuts(), withoutSignOuts)
}

// SaveSignOut implements Ports.
func (l *ledger) SaveSignOut(ctx context.Context, s pgadmin.SignOut) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := readAll[pgadmin.SignOut](ctx, l.of.SignOuts(), withoutSignOuts)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(old pgadmin.SignOut) bool { return old.Tenant == s.Tenant && old.Identity == s.Identity })
	if len(all) >= pgadmin.MaxSignOuts {
		return pgadmin.TooManySignOuts()
	}
	return writeAll(l.of.SignOuts(), append(all, s))
}

// backupFile says when a folder was backed up. It is read and written without the host: it has no secret, and also root may
// write it.
type backupFile struct{ of datadir.Folder }

// LastBackup implements Ports.
func (b backupFile) LastBackup(context.Context) (at time.Time, err error) {
	raw, err := os.ReadFile(b.of.LastBackup())
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	return at, err
}

// SaveBackup implements Ports.
func (b backupFile) SaveBackup(_ context.Context, at time.Time) error {
	raw, err := json.Marshal(at.UTC())
	if err == nil {
		err = os.WriteFile(b.of.LastBackup(), append(raw, '\n'), 0o644) // the host reads what root has written
	}
	return err
}

// readAll reads a file with a JSON array; none if there is no file.
func readAll[T any](ctx context.Context, file, without string) (all []T, err error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w; restore the file from a backup, or remove it: %s", file, err, without)
	}
	return all, ctx.Err()
}

// writeAll replaces a file with a JSON array.
func writeAll[T any](file string, all []T) error {
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", file, err)
	}
	return replace(file, append(raw, '\n'))
}

// replace replaces a file at once, so that no reader sees a part of it. Only the user of the
// process can read it.
func replace(file string, content []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(file), ".draft-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // it is gone if it was renamed
	_, err = draft.Write(content)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), file)
}
