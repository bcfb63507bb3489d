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

// disk is the folder with the segments of a journal. Tests make its operations fail.
type disk interface { //nolint:interfacebloat // one method for each operation that can fail
	// Segments returns the numbers of the segments in order.
	Segments() ([]int, error)
	Read(segment int) ([]byte, error)
	// Create creates a segment that does not exist. SyncFolder makes it permanent.
	Create(segment int) (file, error)
	// Cut shortens a segment and syncs it.
	Cut(segment int, size int64) error
	// Remove removes a segment. SyncFolder makes that permanent.
	Remove(segment int) error
	SyncFolder() error
}

// file is a segment that is written.
type file interface {
	io.WriteCloser
	Sync() error
}

// Only the user that runs the process may read a journal: it has personal data and secrets.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

const suffix = ".journal"

// segmentName returns the name of the file of a segment.
func segmentName(segment int) string { return fmt.Sprintf("%010d%s", segment, suffix) }

// folder is a disk in a folder of the operating system.
type folder struct{ root *os.Root }

func (d folder) Segments() (all []int, err error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		number, isSegment := strings.CutSuffix(name, suffix)
		if n, err := strconv.Atoi(number); isSegment && err == nil && name == segmentName(n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, err
}

func (d folder) Read(segment int) ([]byte, error) { return d.root.ReadFile(segmentName(segment)) }

func (d folder) Create(segment int) (file, error) {
	return d.root.OpenFile(segmentName(segment), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

func (d folder) Cut(segment int, size int64) error {
	f, err := d.root.OpenFile(segmentName(segment), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = f.Truncate(size); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (d folder) Remove(segment int) error { return d.root.Remove(segmentName(segment)) }

func (d folder) SyncFolder() error {
	dir, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
