// The folder of one server, and what killed test binaries have left of theirs.

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const prefix = "verifyd-pgtest-"

// folder belongs to whom the server runs as. A lock on a file in it says that it
// is in use.
type folder struct {
	path string
	lock *os.File
}

func newFolder() (*folder, error) {
	parent, err := temporary()
	if err != nil {
		return nil, err
	}
	sweep(parent)
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("make the folder of a server: %w", err)
	}
	f := &folder{path: path}
	if err := f.claim(); err != nil {
		return nil, errors.Join(fmt.Errorf("make the folder of a server: %w", err), f.remove())
	}
	return f, nil
}

// claim gives the lock its name when it is held, so that no other test binary
// takes the folder for one that was left.
func (f *folder) claim() (err error) {
	file := filepath.Join(f.path, "lock")
	if f.lock, err = os.Create(file + ".new"); err != nil {
		return err
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	return handOver(f.path)
}

// write writes a file for the server.
func (f *folder) write(file, text string) error {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	return handOver(file)
}

func handOver(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}

func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	if f.lock != nil {
		_ = f.lock.Close()
	}
	return err
}

// sweep removes the folders that nobody holds any more. What it cannot remove is
// somebody else's.
func sweep(parent string) {
	locks, _ := filepath.Glob(filepath.Join(parent, prefix+"*", "lock"))
	for _, name := range locks {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(name))
		}
		_ = f.Close()
	}
}

// temporary is a folder for temporary files that whoever runs the server can
// enter.
func temporary() (string, error) {
	if os.Geteuid() != 0 {
		return os.TempDir(), nil
	}
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if open(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("run PostgreSQL for root: no folder for temporary files that user %d can enter; set TMPDIR to one", nobody)
}

// open reports whether everybody can enter a folder and those above it.
func open(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode()&0o001 == 0 {
		return false
	}
	above := filepath.Dir(dir)
	return above == dir || open(above)
}
