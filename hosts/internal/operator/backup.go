// A backup of a data folder.

package operator

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/memory/journal"
)

// Backup implements Data. It writes a tar archive, compressed with gzip: the journal as it is at
// one moment, and then the documents, keys and other files of the folder. So each document that
// the journal names is in the archive. A host starts on a folder in which it is unpacked.
func (h *Held) Backup(ctx context.Context, to io.Writer) error {
	files, err := h.Files(ctx)
	if err != nil {
		return err
	}
	return errors.Join(backUp(ctx, h.folder, files, to), journal.CloseFiles(files))
}

// Backup writes a backup of a folder as Data.Backup does: through the host that has it, or else
// of its files as they are, and then it changes nothing in the folder.
func Backup(ctx context.Context, folder datadir.Folder, o Options, to io.Writer) error {
	var files []journal.Part
	var release func() error
	host, err := reach(ctx, folder, o, func() (err error) {
		if err = folder.CheckOwner(); err == nil {
			files, release, err = journal.Stored(ctx, folder.Journal(), folder.Used())
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case host != nil:
		return errors.Join(host.Backup(ctx, to), host.Close())
	}
	return errors.Join(backUp(ctx, folder, files, to), release())
}

func backUp(ctx context.Context, folder datadir.Folder, files []journal.Part, to io.Writer) error {
	compressed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	a := archive{tar.NewWriter(compressed)}
	root, err := os.OpenRoot(string(folder))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	inJournal := filepath.Base(folder.Journal())
	if err := a.folder(inJournal); err != nil {
		return err
	}
	for _, f := range files {
		if err := a.file(ctx, path.Join(inJournal, f.Name), f.Size, f.File, f.Content()); err != nil {
			return err
		}
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case err != nil:
			return err
		case name == ".":
			return nil
		case name == inJournal, d.IsDir() && strings.HasPrefix(d.Name(), "."): // unfinished files
			return fs.SkipDir
		case strings.HasPrefix(name, filepath.Base(folder.Erasures())): // see datadir.Folder.Erasures
			return nil
		case d.IsDir():
			return a.folder(name)
		case !d.Type().IsRegular(), strings.HasPrefix(d.Name(), "."):
			return nil
		}
		f, err := root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return a.file(ctx, name, info.Size(), f, f)
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	return errors.Join(a.tar.Close(), compressed.Close())
}

// archive is an archive that is written.
type archive struct {
	tar *tar.Writer
}

func (a archive) folder(name string) error {
	return a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700})
}

// file adds a file of a size.
func (a archive) file(ctx context.Context, name string, size int64, f *os.File, content io.Reader) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = a.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: info.ModTime()})
	if err == nil {
		_, err = io.CopyN(a.tar, content, size)
	}
	if err != nil {
		return fmt.Errorf("add %s to the backup: %w", name, err)
	}
	return nil
}
