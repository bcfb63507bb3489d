// A backup that is read.

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/backup"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// archive is a backup that was read once.
type archive struct {
	backup.Manifest

	open      func() (io.ReadCloser, error)
	scratch   datadir.Folder  // has the small files of the backup
	documents map[string]bool // by id, and those that were removed meanwhile
}

// openArchive reads a whole backup, and prints a line for each problem, if there are any. done removes its temporary files.
func openArchive(ctx context.Context, s *session, name string, flags documentFlags) (a *archive, done func(), err error) {
	a = &archive{documents: map[string]bool{}, open: func() (io.ReadCloser, error) { return os.Open(name) }}
	if isBucket(name) {
		bucket, file, err := flags.bucketFile(name)
		if err != nil {
			return nil, nil, err
		}
		a.open = func() (io.ReadCloser, error) { return bucket.OpenFile(ctx, file) }
	}
	from, err := a.open()
	if errors.Is(err, verification.ErrNotFound) {
		err = fmt.Errorf("there is no backup %s", name)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = from.Close() }() // it was only read
	scratch, err := os.MkdirTemp("", "verifyd-backup-*")
	if err != nil {
		return nil, nil, err
	}
	a.scratch = datadir.Folder(scratch)
	done = func() { _ = os.RemoveAll(scratch) } // temporary files
	var problems []string
	a.Manifest, problems = backup.Check(ctx, from, func(file string, content io.Reader) error {
		dir, base := path.Split(file)
		if dir == "" {
			return writeNew(filepath.Join(scratch, base), content)
		}
		a.documents[path.Base(dir)] = true
		return nil
	})
	for _, id := range a.Removed {
		a.documents[id] = true
	}
	if err = s.problems(problems); cmp.Or(ctx.Err(), err) != nil {
		done()
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	return a, done, nil
}

// problems prints a line for each problem, and returns errProblems if there are any.
func (s *session) problems(lines []string) error {
	for _, line := range lines {
		s.note(line)
	}
	if len(lines) > 0 {
		return errProblems
	}
	return nil
}

// describe prints what the backup has, and what was done with it since a time.
func (a *archive) describe(s *session, runs int, done string, began time.Time) error {
	documents, ledger := fmt.Sprint(a.Documents), "none"
	if a.WithoutDocuments {
		documents = "not in the backup: back them up where they are"
	}
	if a.Ledger.ID != "" {
		ledger = fmt.Sprintf("%d entries", a.Ledger.Last)
	}
	number := ""
	if runs > 0 {
		number = fmt.Sprint(runs)
	}
	return s.attributes([][2]string{
		{"moment", a.At.Format(time.RFC3339)},
		{"made by", "verifyd " + a.Verifyd},
		{"runs", number},
		{"documents", documents},
		{"ledger", ledger},
		{"result", done + " in " + s.clock.Now().Sub(began).Round(time.Second).String()},
	}...)
}

func writeNew(name string, content io.Reader) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// walk calls f with the files of the backup.
func (a *archive) walk(ctx context.Context, f func(h *tar.Header, content io.Reader) error) error {
	from, err := a.open()
	if err != nil {
		return err
	}
	return errors.Join(backup.Walk(ctx, from, f), from.Close())
}

// ofDatabase reports whether the backup is of a database, and not of a data folder.
func (a *archive) ofDatabase() bool { return a.Parts[backup.Records].Files > 0 }

// extract writes the files of a part, or of all parts, into a folder.
func (a *archive) extract(ctx context.Context, dir, part string) error {
	return a.walk(ctx, func(h *tar.Header, content io.Reader) error {
		first, _, _ := strings.Cut(h.Name, "/")
		if part != "" && first != part || a.Parts[first].Files == 0 && h.Typeflag == tar.TypeReg { // such as the manifest
			return nil
		}
		name := filepath.Join(dir, h.Name) //nolint:gosec // backup.Walk refuses a name that leads out of the folder
		if h.Typeflag == tar.TypeDir {
			return os.MkdirAll(name, 0o700)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		return writeNew(name, content)
	})
}

// saveDocuments saves the documents of a backup of a database, unless they are there.
func (a *archive) saveDocuments(ctx context.Context, to verification.DocumentStore) error {
	var d verification.Document
	return a.walk(ctx, func(h *tar.Header, content io.Reader) error {
		parts := strings.Split(h.Name, "/")
		switch {
		case len(parts) != 5 || parts[0] != backup.Documents:
			return nil
		case parts[4] == "document.json": // its content comes next
			return json.NewDecoder(content).Decode(&d)
		}
		ref := verification.RunRef{Tenant: verification.TenantID(parts[1]), Run: verification.RunID(parts[2])}
		there, err := to.Document(ctx, ref, d.ID)
		switch {
		case errors.Is(err, verification.ErrNotFound):
			_, err = to.SaveDocument(ctx, ref, d, content)
		case err == nil && there.SHA256 != d.SHA256:
			err = verification.Conflict("document", strings.Join(parts[1:4], "/")+" has another content where the uploads go: use an empty folder or bucket")
		}
		return err
	})
}

// side returns the backup as the source of a copy.
func (a *archive) side(ctx context.Context) (*copySide, error) {
	if !a.ofDatabase() {
		if err := a.extract(ctx, string(a.scratch), backup.Journal); err != nil {
			return nil, err
		}
		return openSource(ctx, string(a.scratch))
	}
	return &copySide{
		Target: backupRecords{archive: a}, keys: backupKeys{folderKeys{a.scratch}, a.SearchCheck}, files: operator.Hold(a.scratch, nil, operator.Host{}),
		name: "the backup of " + a.At.Format(time.RFC3339Nano), known: a.Runs, level: a.Level, close: func() error { return nil },
	}, nil
}

// backupKeys are the keys in a backup of a database.
type backupKeys struct {
	folderKeys
	check string
}

func (k backupKeys) search(context.Context) (key []byte, check string, err error) {
	return nil, k.check, nil
}

// backupRecords are the records of a backup of a database. Only Records may be called.
type backupRecords struct {
	storecopy.Target

	archive *archive
}

// errEnough ends a walk.
var errEnough = errors.New("enough was read")

// Records implements store.CopyStore. It reads the backup up to the last record of the kind: the runs are the last kind there.
func (b backupRecords) Records(ctx context.Context, kind store.RecordKind) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		found := false
		err := b.archive.walk(ctx, func(h *tar.Header, content io.Reader) error {
			if !strings.HasPrefix(h.Name, recordsPrefix(kind)) {
				if found {
					return errEnough
				}
				return nil
			}
			found = true
			for lines := bufio.NewReader(content); ; {
				line, err := lines.ReadBytes('\n')
				if errors.Is(err, io.EOF) {
					return nil
				}
				var r store.Record
				if err == nil {
					r, err = operator.DecodeRecord(kind, bytes.TrimSuffix(line, []byte("\n")))
				}
				if err != nil {
					return err
				}
				if !yield(r, nil) {
					return errEnough
				}
			}
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, fmt.Errorf("read the %s of the backup: %w", kind, err))
		}
	}
}
