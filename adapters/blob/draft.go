// A document on its way into a folder.

package blob

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// abandoned is how long nothing was written to a draft when its process must
// have died. Another process may be at work in the same folder, so one that is
// younger stays.
const abandoned = time.Hour

// draft is a folder in .incoming that is to be moved to its place.
type draft struct {
	root *os.Root
	at   place
	path string // where it is now; empty once it has settled
}

func (s *FolderStore) draft(at place) *draft {
	return &draft{root: s.root, at: at, path: path.Join(incoming, rand.Text())}
}

// fill writes both files of a document, safe from a loss of power.
func (d *draft) fill(intake func(io.Writer) (verification.Document, error)) (doc verification.Document, err error) {
	err = d.root.Mkdir(d.path, folderMode)
	if err == nil {
		err = d.write(contentFile, func(f *os.File) (err error) {
			doc, err = intake(f)
			return err
		})
	}
	if err == nil {
		err = d.write(recordFile, func(f *os.File) error { return json.NewEncoder(f).Encode(recordOf(doc)) })
	}
	return doc, d.fault(err)
}

func (d *draft) write(name string, fill func(*os.File) error) error {
	f, err := d.root.OpenFile(path.Join(d.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// settle moves the draft to its place in one step, unless a document is there.
func (d *draft) settle() error {
	err := d.root.MkdirAll(d.at.folder(), folderMode)
	if err == nil {
		err = d.flush(d.path)
	}
	if err == nil {
		err = d.root.Rename(d.path, d.at.String()) // a folder with files in it is not replaced
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return taken()
	case err != nil:
		return d.fault(err)
	}
	d.path = d.at.String()
	for _, folder := range []string{d.at.folder(), d.at.tenant, "."} {
		if err := d.flush(folder); err != nil {
			return d.fault(err)
		}
	}
	d.path = ""
	return nil
}

// withdraw moves the document from its place in one step and then removes it.
// What a crash leaves is removed when the folder is opened again.
func (d *draft) withdraw() error {
	if err := d.root.Rename(d.at.String(), d.path); err != nil {
		return err
	}
	if err := d.flush(d.at.folder()); err != nil {
		return err
	}
	return d.root.RemoveAll(d.path)
}

// flush makes the entries of a folder safe from a loss of power.
func (d *draft) flush(folder string) error {
	f, err := d.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// discard removes the draft, unless it has settled. What it cannot remove is
// harmless, and is removed when the folder is opened again.
func (d *draft) discard() {
	if d.path != "" {
		_ = d.root.RemoveAll(d.path)
	}
}

// fault adds which document could not be saved. An expected failure stays as it
// is, and a full disk is one.
func (d *draft) fault(err error) error {
	err = DiskFull(err)
	var expected *verification.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &expected):
		return expected
	default:
		return fmt.Errorf("save document %s: %w", d.at, err)
	}
}

// sweep removes drafts that were abandoned.
func (s *FolderStore) sweep() error {
	err := s.root.MkdirAll(incoming, folderMode)
	if err != nil {
		return fmt.Errorf("make the folder of documents on their way: %w", err)
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	drafts, err := fs.ReadDir(s.root.FS(), incoming)
	if err != nil {
		return fmt.Errorf("look for documents left behind: %w", err)
	}
	for _, entry := range drafts {
		left := path.Join(incoming, entry.Name())
		if now.Sub(s.touched(left)) > abandoned {
			if err := s.root.RemoveAll(left); err != nil {
				return fmt.Errorf("remove a document left behind: %w", err)
			}
		}
	}
	return nil
}

// touched is when something was last written to a draft.
func (s *FolderStore) touched(draft string) time.Time {
	var last time.Time
	for _, name := range []string{draft, path.Join(draft, contentFile)} {
		if info, err := s.root.Lstat(name); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// now is the present moment by the clock that dates the files, which on a
// network drive is another than ours. It also tells at once when nothing can be
// written.
func (s *FolderStore) now() (time.Time, error) {
	name := path.Join(incoming, rand.Text())
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return time.Time{}, fmt.Errorf("write to the folder of documents: %w", err)
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close(), s.root.Remove(name)); err != nil {
		return time.Time{}, fmt.Errorf("write to the folder of documents: %w", err)
	}
	return info.ModTime(), nil
}
