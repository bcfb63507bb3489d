// The commands about the data folder of a host without a database.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
)

type storeCommands struct {
	Backup storeBackup `cmd:"" help:"Write a backup of a data folder, also while its host runs." see:"data-folder.md"`
	Copy   storeCopy   `cmd:"" help:"Copy the data of hosts from a folder to PostgreSQL, or back." see:"data-folder.md#from-a-folder-to-postgresql-and-back"`
	Check  storeCheck  `cmd:"" help:"Look for damage in the journal of a data folder." see:"data-folder.md"`
	Repair storeRepair `cmd:"" help:"Remove damage from the journal of a data folder, and what depends on it." see:"data-folder.md"`
}

type storeBackup struct {
	Dir  datadir.Folder `arg:"" help:"Data folder of a host. VERIFYD_DATA_DIR does not replace this argument."`
	File string         `arg:"" help:"File of the backup, which is replaced if it exists; - is stdout."`
}

// Run writes the backup.
func (c storeBackup) Run(ctx context.Context, s *session) error {
	write := func(to io.Writer) error { return operator.Backup(ctx, c.Dir, s.folderOptions(), to) }
	if c.File == "-" {
		return write(s.binary)
	}
	_, missing := os.Stat(c.File)
	size, err := replaceFile(c.File, write)
	if err != nil {
		return err
	}
	replaced := ""
	if missing == nil {
		replaced = ", in place of the file that was there"
	}
	return s.say(false, nil, "%s: %d bytes%s", oneLine(c.File), size, replaced)
}

// replaceFile writes a file that only its owner can read, completely before it gets its name.
func replaceFile(name string, write func(io.Writer) error) (size int64, err error) {
	draft, err := os.CreateTemp(filepath.Dir(name), ".backup-*")
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // the name of the draft says nothing
	}
	if err != nil {
		return 0, fmt.Errorf("create %s: %w", name, err)
	}
	defer func() { _ = os.Remove(draft.Name()) }() // it is gone if it was renamed
	if err = errors.Join(write(draft), draft.Sync()); err != nil {
		return 0, errors.Join(err, draft.Close())
	}
	info, err := draft.Stat()
	if err = errors.Join(err, draft.Close()); err != nil {
		return 0, err
	}
	if err := os.Rename(draft.Name(), name); err != nil {
		return 0, err
	}
	return info.Size(), syncFolder(filepath.Dir(name))
}

// syncFolder makes the names of the files in a folder survive a loss of power.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
