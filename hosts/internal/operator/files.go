// The small files of a data folder: signing keys, and the bootstrap files that were applied.

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

// ledger is a file with the bootstrap files that were applied, the newest first.
type ledger struct {
	mu   sync.Mutex
	file string
}

// maxAppliedFiles is the maximum number of files that are listed.
const maxAppliedFiles = 100

func (l *ledger) read(ctx context.Context) ([]pgadmin.AppliedFile, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readLocked(ctx)
}

func (l *ledger) readLocked(ctx context.Context) (all []pgadmin.AppliedFile, err error) {
	raw, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("read the applied bootstrap files: %w", err)
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read the applied bootstrap files: %s: %w; restore the file from a backup, or remove it: the next start with a bootstrap file makes it again, without the files of before",
			l.file, err)
	}
	return all, ctx.Err()
}

func (l *ledger) save(ctx context.Context, f pgadmin.AppliedFile) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := l.readLocked(ctx)
	if err != nil {
		return err
	}
	f.AppliedAt = time.Now().UTC()
	all = slices.DeleteFunc(all, func(old pgadmin.AppliedFile) bool { return old.Hash == f.Hash })
	all = slices.Insert(all, 0, f)
	raw, err := json.MarshalIndent(all[:min(len(all), maxAppliedFiles)], "", "  ")
	if err != nil {
		return fmt.Errorf("encode the applied bootstrap files: %w", err)
	}
	return replace(l.file, append(raw, '\n'))
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
