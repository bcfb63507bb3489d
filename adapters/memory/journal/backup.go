// The files of a journal for a backup.

package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Part is a file of a journal as it is at one moment.
type Part struct {
	Name string
	Size int64 // up to which the file is read
	*os.File
}

// Files opens the files of the journal as they are at one moment: they have every change that
// was acknowledged before, and no part of a record that is being written. They stay readable
// while the journal goes on. The caller closes them.
func (s *Store) Files(ctx context.Context) ([]Part, error) {
	select {
	case s.snapshots <- struct{}{}: // until the files are open, no snapshot replaces one
		defer func() { <-s.snapshots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := s.change(func() (kind, []byte, error) { return 0, nil, ctx.Err() }); err != nil {
		return nil, err
	}
	s.writer.mu.Lock()
	end := s.writer.end
	s.writer.mu.Unlock()
	return openFiles(s.root, end)
}

// position is a position in a journal.
type position struct {
	segment int
	size    int64 // of the segment up to there
}

func (s *segments) end() position { return position{s.number, s.size} }

// openFiles opens the files up to a position.
func openFiles(root *os.Root, end position) (files []Part, err error) {
	names, err := folder{root}.List()
	if err != nil {
		return nil, fmt.Errorf("list the files: %w", err)
	}
	snapshots := numbered(names, snapshotSuffix)
	names = nil
	replaced := 0
	if n := len(snapshots); n > 0 {
		replaced = snapshots[n-1]
		names = append(names, snapshotName(replaced))
	}
	for n := replaced + 1; n <= end.segment; n++ {
		names = append(names, segmentName(n))
	}
	for _, name := range names {
		f, err := root.Open(name)
		if err != nil {
			return nil, errors.Join(err, CloseFiles(files))
		}
		files = append(files, Part{Name: name, File: f})
		info, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, CloseFiles(files))
		}
		files[len(files)-1].Size = info.Size()
	}
	files[len(files)-1].Size = end.size // more may be being written
	return files, nil
}

// CloseFiles closes files.
func CloseFiles(files []Part) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Content returns a reader of the file up to its size. It fails if the file is shorter.
func (f Part) Content() io.Reader { return io.NewSectionReader(f.File, 0, f.Size) }
