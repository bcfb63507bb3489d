// A backup that is read.

package main

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

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
	problems  []string        // what is damaged or missing
	scratch   datadir.Folder  // has the small files of the backup
	documents map[string]bool // by id
}

// openArchive reads a whole backup. done removes its temporary files.
func openArchive(ctx context.Context, name string, flags documentFlags) (a *archive, done func(), err error) {
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
	var content [sha256.Size]byte               // digest of the last content of a document
	var damaged []string
	a.Manifest, a.problems, err = backup.Check(ctx, bufio.NewReaderSize(from, 1<<20), func(file string, r io.Reader) error {
		dir, base := path.Split(file)
		switch {
		case dir == "":
			return writeNew(filepath.Join(scratch, base), r)
		case !strings.HasPrefix(dir, backup.Documents+"/"):
			return nil
		case base == "content":
			sum := sha256.New()
			_, err := io.Copy(sum, r)
			content = [sha256.Size]byte(sum.Sum(nil))
			return err
		}
		var d verification.Document
		if err := json.NewDecoder(r).Decode(&d); err != nil || d.SHA256 != hex.EncodeToString(content[:]) {
			damaged = append(damaged, strings.TrimSuffix(dir, "/")+" is not what was uploaded")
		}
		a.documents[path.Base(dir)] = true
		return nil
	})
	if err != nil {
		done()
		return nil, nil, err
	}
	for _, id := range a.Removed {
		a.documents[id] = true // no history needs it
	}
	a.problems = append(a.problems, damaged...)
	return a, done, nil
}

// ledger describes the position of the ledger.
func (a *archive) ledger() string {
	if a.Ledger.ID == "" {
		return "none"
	}
	return fmt.Sprintf("%d entries", a.Ledger.Last)
}

// uploads says how many documents the backup has.
func (a *archive) uploads() string {
	if a.WithoutDocuments {
		return "not in the backup: back them up where they are"
	}
	return fmt.Sprint(a.Documents)
}

func writeNew(name string, r io.Reader) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// walk calls f with the files of the backup.
func (a *archive) walk(ctx context.Context, f func(h *tar.Header, content io.Reader) error) error {
	from, err := a.open()
	if err != nil {
		return err
	}
	return errors.Join(backup.Walk(ctx, bufio.NewReaderSize(from, 1<<20), f), from.Close())
}

// extract writes the files of a part, or of all parts, into a folder.
func (a *archive) extract(ctx context.Context, dir, part string) error {
	return a.walk(ctx, func(h *tar.Header, content io.Reader) error {
		first, _, _ := strings.Cut(h.Name, "/")
		if part != "" && first != part || a.Parts[first].Files == 0 && h.Typeflag == tar.TypeReg { // such as the manifest
			return nil
		}
		name := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			return os.MkdirAll(name, 0o700)
		}
		return cmp.Or(os.MkdirAll(filepath.Dir(name), 0o700), writeNew(name, content))
	})
}

// saveDocuments saves the documents of the backup, unless they are there.
func (a *archive) saveDocuments(ctx context.Context, to verification.DocumentStore) error {
	held, err := os.CreateTemp(string(a.scratch), ".document-*")
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }() // it is temporary
	return a.walk(ctx, func(h *tar.Header, content io.Reader) error {
		parts := strings.Split(h.Name, "/")
		switch {
		case h.Typeflag == tar.TypeDir || len(parts) != 5 || parts[0] != backup.Documents:
			return nil
		case parts[4] == "content": // its record comes next
			err := cmp.Or(held.Truncate(0), second(held.Seek(0, io.SeekStart)))
			if err == nil {
				_, err = io.Copy(held, content)
			}
			return err
		}
		var d verification.Document
		if err := json.NewDecoder(content).Decode(&d); err != nil {
			return err
		}
		if _, err := held.Seek(0, io.SeekStart); err != nil {
			return err
		}
		ref := verification.RunRef{Tenant: verification.TenantID(parts[1]), Run: verification.RunID(parts[2])}
		there, err := to.Document(ctx, ref, d.ID)
		switch {
		case err == nil && there.SHA256 == d.SHA256:
			return nil
		case err == nil:
			return verification.Conflict("document", fmt.Sprintf("%s has another content where the uploads go: use an empty folder or bucket", path.Join(parts[1:4]...)))
		case errors.Is(err, verification.ErrNotFound):
			_, err = to.SaveDocument(ctx, ref, d, held)
		}
		return err
	})
}

func second[T any](_ T, err error) error { return err }

// side returns the backup as the source of a copy.
func (a *archive) side(ctx context.Context) (*copySide, error) {
	name := "the backup of " + a.At.Format("2006-01-02T15:04:05.000000Z")
	if a.Parts[backup.Journal].Files > 0 {
		err := a.extract(ctx, string(a.scratch), backup.Journal)
		if err != nil {
			return nil, err
		}
		side, err := openSource(ctx, string(a.scratch))
		if err == nil {
			side.name = name
		}
		return side, err
	}
	records := &backupRecords{open: a.open}
	return &copySide{
		Target: records, keys: backupKeys{folderKeys{a.scratch}, a.SearchCheck}, files: operator.Hold(a.scratch, nil, operator.Host{}),
		name: name, known: a.Runs, level: a.Level, close: records.close,
	}, nil
}

// backupKeys are the keys in a backup of a database.
type backupKeys struct {
	folderKeys
	check string
}

func (k backupKeys) search(ctx context.Context) (key []byte, check string, err error) {
	if key, _, err = k.folderKeys.search(ctx); err != nil {
		return nil, "", err
	}
	return key, k.check, nil
}

// backupRecords are the records of a backup of a database. Only Records may be called.
type backupRecords struct {
	storecopy.Target

	open func() (io.ReadCloser, error)
	from io.ReadCloser
	tar  *tar.Reader
	next string // the file at which the archive is; empty for none
}

func (b *backupRecords) close() error {
	if b.from == nil {
		return nil
	}
	err := b.from.Close()
	b.from = nil
	return err
}

// find goes to the first file whose name begins with a prefix: on from where it is, or else from the beginning.
func (b *backupRecords) find(prefix string) error {
	for fresh := b.from == nil; ; fresh = true {
		if b.from == nil {
			var err error
			if b.from, err = b.open(); err != nil {
				return err
			}
			compressed, err := gzip.NewReader(bufio.NewReaderSize(b.from, 1<<20))
			if err != nil {
				return err
			}
			b.tar, b.next = tar.NewReader(compressed), ""
		}
		err := error(nil)
		for err == nil && !strings.HasPrefix(b.next, prefix) {
			var h *tar.Header
			if h, err = b.tar.Next(); err == nil {
				b.next = h.Name
			}
		}
		if err == nil {
			return nil
		}
		if err = errors.Join(b.close(), ignoreEnd(err)); err != nil || fresh {
			return cmp.Or(err, errors.New("it has none"))
		}
	}
}

// Records implements store.CopyStore. The kinds are in the archive in their order, so that it is read once if they are.
func (b *backupRecords) Records(ctx context.Context, kind store.RecordKind) iter.Seq2[store.Record, error] {
	prefix, _, _ := strings.Cut(recordsFile(kind, 1), "000001")
	return func(yield func(store.Record, error) bool) {
		err := b.find(prefix)
		for err == nil && strings.HasPrefix(b.next, prefix) {
			lines := bufio.NewReaderSize(b.tar, 64<<10)
			for err == nil {
				var line []byte
				line, err = lines.ReadBytes('\n')
				if errors.Is(err, io.EOF) && len(line) == 0 {
					break
				}
				var r store.Record
				if err == nil {
					r, err = operator.DecodeRecord(kind, line[:len(line)-1])
				}
				if err = cmp.Or(err, ctx.Err()); err == nil && !yield(r, nil) {
					_ = b.close() // the next call begins anew
					return
				}
			}
			if errors.Is(err, io.EOF) {
				var h *tar.Header
				b.next = ""
				if h, err = b.tar.Next(); err == nil {
					b.next = h.Name
				}
			}
		}
		if ignoreEnd(err) != nil {
			yield(nil, fmt.Errorf("read the %s of the backup: %w", kind, err))
		}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
