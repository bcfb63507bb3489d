// The folder of one server or template, and removing those that killed test binaries left.

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const prefix = "verifyd-pgtest-"

// The modes of access(2).
const write, enter = 2, 1

// folder is owned by the user that runs PostgreSQL. A locked file in it means that it is
// in use.
type folder struct {
	path string
	lock *os.File
}

func newFolder(parent string) (*folder, error) {
	sweep(parent)
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	f := &folder{path: path}
	if err := f.claim(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for PostgreSQL: %w", err), f.remove())
	}
	return f, nil
}

// claim names the lock file only once it is locked, so that no other test binary
// removes the folder as abandoned.
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

// write writes a file that the server can read.
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

// sweep removes abandoned folders. It ignores those that it may not remove.
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

// temporary returns a folder for temporary files that the user of the server can enter. The
// files of a server that need not be durable are kept in memory if there is enough, unless the
// environment names a folder: a file system spends much time on thousands of short-lived files.
func temporary(durable bool) (string, error) {
	if memory != "" {
		sweep(memory) // what killed test binaries left there takes memory
	}
	if !durable && os.Getenv("TMPDIR") == "" && hasMemory() {
		return memory, nil
	}
	if os.Geteuid() != 0 {
		return os.TempDir(), nil
	}
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if open(dir) && syscall.Access(dir, write|enter) == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("run PostgreSQL for root: no folder for temporary files that user %d can enter; set TMPDIR to one", nobody)
}

// open reports whether every user can enter a folder and its parents.
func open(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode()&0o001 == 0 {
		return false
	}
	above := filepath.Dir(dir)
	return above == dir || open(above)
}
