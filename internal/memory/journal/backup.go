// The files of a journal for a backup.

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/verifyd/verifyd/internal/memory/memstore"
)

// Part is a file of a journal as it is at one moment.
type Part struct {
	Name string
	Size int64 // up to which the file is read
	*os.File

	instead []byte // of what the file has
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
	if err := s.change(0, func() ([]byte, error) { return nil, ctx.Err() }); err != nil {
		return nil, err
	}
	s.writer.mu.Lock()
	end := s.writer.end
	s.writer.mu.Unlock()
	files, err := openFiles(s.root, end)
	if err != nil {
		return nil, err
	}
	mark, err := encodeMark(marked{End: end, Runs: s.memory.Runs(), Closed: true})
	if err == nil {
		err = addMark(s.root, &files, mark)
	}
	if err != nil {
		return nil, errors.Join(err, CloseFiles(files))
	}
	return files, nil
}

// addMark adds the file of the marks, with another mark instead of its own unless that is nil.
func addMark(root *os.Root, files *[]Part, instead []byte) error {
	f, err := root.Open(endFile)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	p := Part{Name: endFile, Size: info.Size(), File: f, instead: instead}
	if instead != nil {
		p.Size = int64(len(instead))
	}
	*files = append(*files, p)
	return nil
}

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
	for n := replaced + 1; n <= end.Segment; n++ {
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
	if end.Segment > replaced {
		files[len(files)-1].Size = end.Bytes // more may be being written
	}
	return files, nil
}

// Stored opens the files of a journal that no process has, without a record at the end that was not
// written completely. It writes nothing, so that it works on a full disk and on a read-only one.
// Until release, which also closes the files, the folder is locked. Stored also returns what the files have. It
// returns ErrConflict if another process has the folder, and an error if the journal has damage or a part of a copy.
// used is Options.Used.
func Stored(ctx context.Context, dir string, used bool) (files []Part, m *memstore.Store, release func() error, err error) {
	unlock, err := examine(ctx, dir, used, func(root *os.Root, c *check) (err error) {
		if files, err = storedFiles(root, c.TornBytes); err == nil && c.trail.mark != nil {
			err = addMark(root, &files, nil)
		}
		m = c.memory
		return err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return files, m, func() error { return errors.Join(CloseFiles(files), unlock()) }, nil
}

// Read reads a journal as Stored does, into memory, and returns its level, too.
func Read(ctx context.Context, dir string, used bool) (m *memstore.Store, level int, release func() error, err error) {
	release, err = examine(ctx, dir, used, func(_ *os.Root, c *check) error {
		m, level = c.memory, c.trail.level
		return nil
	})
	return m, level, release, err
}

// examine locks the folder of a journal, reads all of it, and calls use.
func examine(ctx context.Context, dir string, used bool, use func(*os.Root, *check) error) (unlock func() error, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	unlock = root.Close
	held, err := lockToRead(root)
	if err == nil {
		unlock = func() error { return errors.Join(held.Close(), root.Close()) }
		c := newCheck(used, nil)
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
		return fmt.Errorf("%s cannot be read at offset %d: %s%s; %s", first.File, first.Offset, first.Reason, c.cost(), advice)
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
		end.Segment = numbers[len(numbers)-1]
		info, err := root.Stat(segmentName(end.Segment))
		if err != nil {
			return nil, err
		}
		end.Bytes = info.Size() - torn
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
func (f Part) Content() io.Reader {
	if f.instead != nil {
		return bytes.NewReader(f.instead)
	}
	return io.NewSectionReader(f.File, 0, f.Size)
}
