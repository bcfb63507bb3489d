// The file of the next segment, which is made before it is needed.

package journal

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// spareFile is the name of the file until its segment begins. It is empty, and has room on the
// disk. It stays in the folder when the journal is closed, so that a later start has room, too.
const spareFile = "next-segment"

// spare is the file of the next segment. With it, neither a full disk nor a process without
// descriptors ends the journal where a segment ends.
type spare struct {
	mu   sync.Mutex // held while the file is made, and while it becomes a segment
	file file       // nil if it is not made
	room error      // why the disk has no room for it; nil if it has
}

// ensure makes the file unless it is there and has room. It returns why it could not.
func (s *spare) ensure(d disk, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil && s.room == nil {
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	return s.openLocked(d, size)
}

func (s *spare) openLocked(d disk, size int64) error {
	f, err := d.Prepare(spareFile, size)
	s.file, s.room = f, err
	return err
}

// becomeLocked writes the head of a segment to the file. It makes the file first if there is none. If
// it fails, nothing has begun. The caller then renames the file.
func (s *spare) becomeLocked(d disk, size int64, head []byte) (file, error) {
	if s.file == nil {
		if err := s.openLocked(d, size); s.file == nil {
			return nil, err
		} // without room, the head may fit nevertheless
	}
	f := s.file
	s.file = nil
	if err := writeAll(f, head); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// close closes the file, which keeps its room.
func (s *spare) close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	if f, ok := f.(segmentFile); ok {
		return f.File.Close()
	}
	return f.Close()
}

// segmentFile is a file with more room on the disk than it has content.
type segmentFile struct{ *os.File }

// Close gives the room back.
func (f segmentFile) Close() error {
	info, err := f.Stat()
	if err == nil {
		err = f.Truncate(info.Size())
	}
	return errors.Join(err, f.File.Close())
}

// Prepare implements disk.
func (d folder) Prepare(name string, size int64) (file, error) {
	// Appended to, it does not keep a hole if another process shortens it.
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 0 { // the process died before it became a segment
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	err = allocate(f, size)
	switch {
	case errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS): // the file system cannot
		err = nil
	case err != nil: // gives back what it got
		err = errors.Join(fmt.Errorf("allocate %d bytes for the next segment: %w", size, err), f.Truncate(0))
	}
	return segmentFile{f}, err
}

// trim gives back the room of segments whose process died.
func trim(d folder) error {
	names, err := d.List()
	if err != nil {
		return err
	}
	for _, n := range numbered(names, segmentSuffix) {
		info, err := d.root.Stat(segmentName(n))
		if err != nil {
			return err
		}
		const rounding = 1 << 17 // of file systems, at most
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Blocks*512 <= info.Size()+rounding {
			continue
		}
		if err := d.Cut(segmentName(n), info.Size()); err != nil {
			return fmt.Errorf("cut %s: %w", segmentName(n), err)
		}
	}
	return nil
}
