// The commands about the data folder of a host without a database.

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

type storeCommands struct {
	Backup  storeBackup  `cmd:"" help:"Write a backup of a data folder or a database, also while hosts run." see:"operations.md#backup"`
	Verify  storeVerify  `cmd:"" help:"Prove that a backup can be restored." see:"operations.md#backup"`
	Restore storeRestore `cmd:"" help:"Restore a backup into an empty folder or database." see:"operations.md#restore"`
	Copy    storeCopy    `cmd:"" help:"Copy the data of hosts from a folder to PostgreSQL, or back." see:"data-folder.md#from-a-folder-to-postgresql-and-back"`
	Check   storeCheck   `cmd:"" help:"Look for damage in the journal of a data folder." see:"data-folder.md"`
	Repair  storeRepair  `cmd:"" help:"Remove damage from the journal of a data folder, and what depends on it." see:"data-folder.md"`
	Upgrade storeUpgrade `cmd:"" help:"Let hosts write what only this release and newer ones read. There is no way back." see:"upgrading.md"`
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
