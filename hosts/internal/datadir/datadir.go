// Package datadir is the layout of the data folder of a host without a database.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Folder is the path of a data folder.
type Folder string

// Default is the data folder of a host whose settings name none.
const Default Folder = "data"

// mode lets only the user of the host read the folder: it has personal data and secrets.
const mode = 0o700

// Create creates the folder if it is missing, so that it survives a loss of power, and reports
// whether it was. It returns a warning if other users can open a folder that existed, and the
// error of Check.
func (f Folder) Create() (made bool, warning string, err error) {
	if info, err := os.Stat(string(f)); err == nil {
		if !info.IsDir() {
			return false, "", fmt.Errorf("%s is a file, and must be a folder or not exist", f)
		}
		if info.Mode().Perm()&^mode != 0 {
			warning = fmt.Sprintf("other users of this machine can open the data folder %s (mode %04o): chmod 700 %[1]s", f, info.Mode().Perm())
		}
		return false, warning, f.Check()
	}
	if err = os.MkdirAll(string(f), mode); err == nil {
		err = syncFolder(filepath.Dir(filepath.Clean(string(f))))
	}
	if err != nil {
		return false, "", fmt.Errorf("create the data folder: %w", err)
	}
	return true, "", nil
}

// Discard removes a folder that Create has made, and the folders in it, unless there is a file.
func (f Folder) Discard() {
	var folders []string
	_ = filepath.WalkDir(string(f), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return err
	}) // what cannot be read stays
	for _, folder := range slices.Backward(folders) {
		_ = os.Remove(folder) // it fails for a folder that has something
	}
}

// Check returns an error if the folder has a part of a restore, or a journal of another user, who could not read
// what this process writes.
func (f Folder) Check() error {
	if _, err := os.Lstat(f.Restoring()); err == nil {
		return fmt.Errorf("%s has a part of a backup, whose restore was interrupted or still goes on: "+
			"if none goes on, remove the folder and restore the backup again", f)
	}
	info, err := os.Stat(f.Journal())
	if errors.Is(err, fs.ErrPermission) {
		info, err = os.Stat(string(f))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to the user with the id %d, who could not read what this process writes: run it as that user, or, while no host has the folder, give all of it to the user of this process: chown -R %d %[1]s",
			f, s.Uid, os.Geteuid())
	}
	return nil
}

// Used reports whether the folder has something that a host saves there after it has opened its
// journal: keys, applied files or documents. Then the journal must have something, too.
func (f Folder) Used() bool {
	for _, file := range []string{f.SigningKeys(), f.SearchKey(), f.AppliedFiles()} {
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	found := errors.New("found")
	err := filepath.WalkDir(f.Documents(), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = found
		}
		return err
	})
	return errors.Is(err, found)
}

// Journal returns the folder of the journal, whose lock guards the whole data folder.
func (f Folder) Journal() string { return f.path("journal") }

// Documents returns the folder of uploaded documents.
func (f Folder) Documents() string { return f.path("documents") }

// Erasures returns the ledger of the runs that were redacted or deleted. No backup has it, because it must not
// be restored with the journal.
func (f Folder) Erasures() string { return f.path("erasures.jsonl") }

// SigningKeys returns the file with the JWK set of private keys.
func (f Folder) SigningKeys() string { return f.path("signing-keys.json") }

// SearchKey returns the file with the key of the search for people.
func (f Folder) SearchKey() string { return f.path("search-key") }

// AppliedFiles returns the file that lists the bootstrap files that were applied.
func (f Folder) AppliedFiles() string { return f.path("applied-files.json") }

// AcceptedLists returns the file that says what was accepted of the lists that are screened against.
func (f Folder) AcceptedLists() string { return f.path("accepted-lists.json") }

// SignOuts returns the file that says which reviewers were signed out.
func (f Folder) SignOuts() string { return f.path("sign-outs.json") }

// LastBackup returns the file that says when the folder was backed up. No backup has it.
func (f Folder) LastBackup() string { return f.path("last-backup.json") }

// Restoring returns the file that is in the folder until a restore is complete.
func (f Folder) Restoring() string { return f.path("restoring") }

// Socket returns the address at which the host that has the folder serves operators: a Unix
// socket, which only the user of the host can open.
func (f Folder) Socket() string { return f.path("operator.sock") }

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }
