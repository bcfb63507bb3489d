// Package datadir is the layout of the data folder of a host without a database.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is the path of a data folder.
type Folder string

// Default is the data folder of a host whose settings name none.
const Default Folder = "data"

// mode lets only the user of the host read the folder: it has personal data and secrets.
const mode = 0o700

// Create creates the folder if it is missing, so that it survives a loss of power. It returns
// a warning if other users can open a folder that existed, and the error of CheckOwner.
func (f Folder) Create() (warning string, err error) {
	if info, err := os.Stat(string(f)); err == nil {
		if !info.IsDir() {
			return "", fmt.Errorf("%s is a file, and must be a folder or not exist", f)
		}
		if info.Mode().Perm()&^mode != 0 {
			warning = fmt.Sprintf("other users of this machine can open the data folder %s (mode %04o): chmod 700 %[1]s", f, info.Mode().Perm())
		}
		return warning, f.CheckOwner()
	}
	if err = os.MkdirAll(string(f), mode); err == nil {
		err = syncFolder(filepath.Dir(filepath.Clean(string(f))))
	}
	if err != nil {
		return "", fmt.Errorf("create the data folder: %w", err)
	}
	return "", nil
}

// CheckOwner returns an error if the folder has a journal of another user, who could not read
// what this process writes.
func (f Folder) CheckOwner() error {
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

// Journal returns the folder of the journal, whose lock guards the whole data folder.
func (f Folder) Journal() string { return f.path("journal") }

// Documents returns the folder of uploaded documents.
func (f Folder) Documents() string { return f.path("documents") }

// SigningKeys returns the file with the JWK set of private keys.
func (f Folder) SigningKeys() string { return f.path("signing-keys.json") }

// SearchKey returns the file with the key of the search for people.
func (f Folder) SearchKey() string { return f.path("search-key") }

// AppliedFiles returns the file that lists the bootstrap files that were applied.
func (f Folder) AppliedFiles() string { return f.path("applied-files.json") }

// Socket returns the address at which the host that has the folder serves operators: a Unix
// socket, which only the user of the host can open.
func (f Folder) Socket() string { return f.path("operator.sock") }

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }
