// A document that is being written to a folder, or removed from it.

package blob

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// staleAfter is the time without a write after which the process of a pending document
// must have died. Until then the document may belong to another process.
const staleAfter = time.Hour

// pending is a folder in .incoming for a document that is not complete.
type pending struct {
	root *os.Root
	name string // the path of the document once it is complete
	path string // where it is now; empty once it is committed
}

func (s *folderStore) pending(name string) *pending {
	return &pending{root: s.root, name: name, path: path.Join(incoming, rand.Text())}
}

// write writes both files of a document and syncs them to disk.
func (p *pending) write(fill func(io.Writer) (verification.Document, error)) (d verification.Document, err error) {
	if err = p.root.Mkdir(p.path, folderMode); err != nil {
		return d, p.wrap(err)
	}
	err = p.writeFile(contentFile, func(f *os.File) (err error) {
		d, err = fill(f)
		return err
	})
	if err == nil {
		err = p.writeFile(recordFile, func(f *os.File) error { return json.NewEncoder(f).Encode(d) })
	}
	return d, p.wrap(err)
}

func (p *pending) writeFile(name string, fill func(*os.File) error) error {
	f, err := p.root.OpenFile(path.Join(p.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// commit moves the document to its final path atomically; ErrConflict when the
// path exists. Once commit returns, the document survives a loss of power.
func (p *pending) commit() error {
	run := path.Dir(p.name)
	err := p.root.MkdirAll(run, folderMode)
	if err == nil {
		err = p.sync(p.path)
	}
	if err == nil {
		err = p.root.Rename(p.path, p.name) // fails if the target is a folder with files
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return errExists
	case err != nil:
		return p.wrap(err)
	}
	p.path = p.name
	for _, folder := range []string{run, path.Dir(run), "."} {
		if err := p.sync(folder); err != nil {
			return p.wrap(err)
		}
	}
	p.path = ""
	return nil
}

// leaving begins the names of documents in .incoming that are being removed.
const leaving = "removed-"

// remove moves a stored document to .incoming atomically and then deletes it. If
// the process dies between the two, removeLeaving deletes it later.
func (p *pending) remove() error {
	p.path = path.Join(incoming, leaving+path.Base(p.path))
	if err := p.root.Rename(p.name, p.path); err != nil {
		return err
	}
	if err := p.sync(path.Dir(p.name)); err != nil {
		return err
	}
	return p.root.RemoveAll(p.path)
}

// removeLeaving deletes what removals of processes that died have left.
func (s *folderStore) removeLeaving(ctx context.Context) error {
	left, err := fs.Glob(s.root.FS(), path.Join(incoming, leaving+"*"))
	for _, name := range left {
		err = errors.Join(err, ctx.Err(), s.root.RemoveAll(name))
	}
	return err
}

// sync makes the entries of a folder survive a loss of power.
func (p *pending) sync(folder string) error {
	f, err := p.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// discard deletes the document unless it is committed. RemoveIncomplete
// deletes files that cannot be deleted now.
func (p *pending) discard() {
	if p.path != "" {
		_ = p.root.RemoveAll(p.path)
	}
}

// wrap adds the path of the document to an internal error.
func (p *pending) wrap(err error) error {
	err = diskFull(err)
	var expected *verification.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &expected):
		return expected
	default:
		return fmt.Errorf("save document %s: %w", p.name, err)
	}
}

// RemoveIncomplete deletes the incomplete documents of processes that died, and returns how
// many: those that nobody has written to for an hour, and those that were being removed. Call it now and then while the process
// runs; Folder calls it once.
func (s *folderStore) RemoveIncomplete(ctx context.Context) (removed int, err error) {
	if err := s.root.MkdirAll(incoming, folderMode); err != nil {
		return 0, fmt.Errorf("create the folder of incoming documents: %w", err)
	}
	now, err := s.diskTime()
	if err != nil {
		return 0, fmt.Errorf("write to the folder of documents: %w", err)
	}
	entries, err := fs.ReadDir(s.root.FS(), incoming)
	if err != nil {
		return 0, fmt.Errorf("list incoming documents: %w", err)
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		name := path.Join(incoming, entry.Name())
		if strings.HasPrefix(entry.Name(), leaving) || now.Sub(s.lastWrite(name)) > staleAfter {
			if err := s.root.RemoveAll(name); err != nil {
				return removed, fmt.Errorf("remove an incomplete document: %w", err)
			}
			removed++
		}
	}
	return removed, nil
}

// lastWrite returns when a pending document was last written to.
func (s *folderStore) lastWrite(name string) time.Time {
	var last time.Time
	for _, name := range []string{name, path.Join(name, contentFile)} {
		if info, err := s.root.Lstat(name); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// diskTime returns the current time by the clock that dates the files, which on a
// network drive is not the clock of this machine. It fails if the folder is not
// writable.
func (s *folderStore) diskTime() (time.Time, error) {
	name := path.Join(incoming, rand.Text())
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return time.Time{}, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close(), s.root.Remove(name)); err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
