// The folder of a journal on disk.

package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// disk is the folder of a journal. Tests make its operations fail.
type disk interface { //nolint:interfacebloat // one method for each operation that can fail
	// List returns the names of the files, in order.
	List() ([]string, error)
	Open(name string) (io.ReadCloser, error)
	// Create creates a file that does not exist. SyncFolder makes it permanent.
	Create(name string) (file, error)
	// Prepare creates a file, or takes an empty one that is there, and gives it room for a size. If
	// the disk has no room, it returns the file and an error.
	Prepare(name string, size int64) (file, error)
	// Overwrite opens a file, or makes it.
	Overwrite(name string) (blocks, error)
	// Cut shortens a file and syncs it.
	Cut(name string, size int64) error
	// Rename renames a file, and Remove removes one. SyncFolder makes that permanent.
	Rename(from, to string) error
	Remove(name string) error
	SyncFolder() error
}

// file is a file that is written.
type file interface {
	io.WriteCloser
	Sync() error
}

// blocks is a file whose blocks are overwritten.
type blocks interface {
	io.WriterAt
	io.Closer
	Sync() error
}

// Only the user that runs the process may read a journal: it has personal data and secrets.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

// The files of a journal: segments, snapshots, and a snapshot that is not complete.
const (
	segmentSuffix  = ".journal"
	snapshotSuffix = ".snapshot"
	partSuffix     = ".part"
)

// segmentName returns the name of the file of a segment.
func segmentName(segment int) string { return fmt.Sprintf("%010d%s", segment, segmentSuffix) }

// snapshotName returns the name of the snapshot that replaces the segments up to a number.
func snapshotName(segment int) string { return fmt.Sprintf("%010d%s", segment, snapshotSuffix) }

// numbered returns the numbers of the names that end with a suffix.
func numbered(names []string, suffix string) (all []int) {
	for _, name := range names {
		number, found := strings.CutSuffix(name, suffix)
		if n, err := strconv.Atoi(number); found && err == nil && name == fmt.Sprintf("%010d%s", n, suffix) {
			all = append(all, n)
		}
	}
	return all
}

// current returns the number of the newest snapshot, 0 for none, and those of the segments that
// it does not replace.
func current(names []string) (replaced int, segments []int) {
	if all := numbered(names, snapshotSuffix); len(all) > 0 {
		replaced = all[len(all)-1]
	}
	return replaced, slices.DeleteFunc(numbered(names, segmentSuffix), func(n int) bool { return n <= replaced })
}

// folder is a disk in a folder of the operating system.
type folder struct{ root *os.Root }

func (d folder) List() ([]string, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (d folder) Open(name string) (io.ReadCloser, error) { return d.root.Open(name) }

func (d folder) Create(name string) (file, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

func (d folder) Overwrite(name string) (blocks, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE, fileMode)
}

func (d folder) Cut(name string, size int64) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = f.Truncate(size); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (d folder) Rename(from, to string) error { return d.root.Rename(from, to) }

func (d folder) Remove(name string) error { return d.root.Remove(name) }

func (d folder) SyncFolder() error {
	dir, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// heldFolder is a folder that stays open, so that it can be synced without another descriptor.
type heldFolder struct {
	folder

	dir *os.File
}

func (d heldFolder) SyncFolder() error { return d.dir.Sync() }
