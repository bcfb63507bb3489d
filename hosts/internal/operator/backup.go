// A backup of a data folder.

package operator

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/backup"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification/store"
)

// Backup implements Data. It writes an archive of package backup: the journal as it is at
// one moment, and then the documents, keys and other files of the folder. So each document that
// the journal names is in the archive, unless it was removed meanwhile. A host starts on a folder in which it is unpacked.
func (h *Held) Backup(ctx context.Context, to io.Writer) error {
	m := backup.Manifest{At: time.Now()}
	files, err := h.Files(ctx)
	if err != nil {
		return err
	}
	m.Ledger, err = backup.PositionOf(h.Records(ctx, store.RecordLedger))
	if err == nil {
		err = backUp(ctx, h.folder, files, m, to)
	}
	return errors.Join(err, journal.CloseFiles(files))
}

// Backup writes a backup of a folder as Data.Backup does: through the host that has it, or else
// of its files as they are, and then it changes nothing in the folder.
func Backup(ctx context.Context, folder datadir.Folder, o Options, to io.Writer) error {
	var files []journal.Part
	var has *memstore.Store
	var release func() error
	host, err := reach(ctx, folder, o, func() (err error) {
		if err = folder.Check(); err == nil {
			files, has, release, err = journal.Stored(ctx, folder.Journal(), folder.Used())
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case host != nil:
		return errors.Join(host.Backup(ctx, to), host.Close())
	}
	m := backup.Manifest{At: time.Now(), Runs: has.Runs()}
	m.Ledger, err = backup.PositionOf(has.Records(ctx, store.RecordLedger))
	if err == nil {
		err = backUp(ctx, folder, files, m, to)
	}
	return errors.Join(err, release())
}

func backUp(ctx context.Context, folder datadir.Folder, files []journal.Part, m backup.Manifest, to io.Writer) error {
	a := backup.NewWriter(to)
	root, err := os.OpenRoot(string(folder))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	inJournal := filepath.Base(folder.Journal())
	if err := a.Folder(inJournal); err != nil {
		return err
	}
	for _, f := range files {
		info, err := f.Stat()
		if err == nil {
			err = a.File(ctx, path.Join(inJournal, f.Name), f.Size, info.ModTime(), f.Content())
		}
		if err != nil {
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
		case strings.HasPrefix(name, filepath.Base(folder.Erasures())), name == filepath.Base(folder.LastBackup()): // see datadir.Folder.Erasures
			return nil
		case d.IsDir():
			return a.Folder(name)
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
		return a.File(ctx, name, info.Size(), info.ModTime(), f)
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if _, missing := root.Stat(filepath.Base(folder.Documents())); missing != nil {
		m.WithoutDocuments = true // the host has them elsewhere
	}
	return a.Close(m)
}
