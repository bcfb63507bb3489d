// The files of a journal for a backup.

package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/verifyd/verifyd/adapters/memory"
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
	replaced, _ := current(names)
	names = nil
	if replaced > 0 {
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
	if end.segment > replaced {
		files[len(files)-1].Size = end.size // more may be being written
	}
	return files, nil
}

// Stored opens the files of a journal that no process has, without a record at the end that was not
// written completely. It writes nothing, so that it works on a full disk and on a read-only one.
// Until release, which also closes the files, the folder is locked. Stored returns ErrConflict if
// another process has the folder, and an error if the journal has damage or a part of a copy.
func Stored(ctx context.Context, dir string) (files []Part, release func() error, err error) {
	unlock, err := examine(ctx, dir, func(root *os.Root, c *check) (err error) {
		files, err = storedFiles(root, c.TornBytes)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return files, func() error { return errors.Join(CloseFiles(files), unlock()) }, nil
}

// Read reads a journal as Stored does, into memory.
func Read(ctx context.Context, dir string) (m *memory.Store, release func() error, err error) {
	release, err = examine(ctx, dir, func(_ *os.Root, c *check) error {
		m = c.memory
		return nil
	})
	return m, release, err
}

// examine locks the folder of a journal, reads all of it, and calls use.
func examine(ctx context.Context, dir string, use func(*os.Root, *check) error) (unlock func() error, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	unlock = root.Close
	held, err := lockToRead(root)
	if err == nil {
		unlock = func() error { return errors.Join(held.Close(), root.Close()) }
		c := newCheck(nil)
		if err = c.intact(ctx, folder{root}); err == nil {
			err = use(root, c)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the journal in %s: %w", dir, err), unlock())
	}
	return unlock, nil
}

// intact is all, but returns an error if there is damage or a part of a copy.
func (c *check) intact(ctx context.Context, d disk) error {
	if err := c.all(ctx, d); err != nil {
		return err
	}
	if len(c.Damage) > 0 {
		first := c.Damage[0]
		return fmt.Errorf("%s cannot be read at offset %d: %s; %s", first.File, first.Offset, first.Reason, advice)
	}
	source, err := c.memory.UnfinishedCopy(ctx)
	if err == nil && source != "" {
		err = errUnfinished(source)
	}
	return err
}

// storedFiles opens all files, without the bytes at the end that were not written completely.
func storedFiles(root *os.Root, torn int64) ([]Part, error) {
	names, err := folder{root}.List()
	if err != nil {
		return nil, err
	}
	var end position
	if _, numbers := current(names); len(numbers) > 0 {
		end.segment = numbers[len(numbers)-1]
		info, err := root.Stat(segmentName(end.segment))
		if err != nil {
			return nil, err
		}
		end.size = info.Size() - torn
	}
	return openFiles(root, end)
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
