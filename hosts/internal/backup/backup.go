// Package backup is the form of a backup: one compressed tar archive that ends with a manifest.
package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// format is the version of the form. A build reads its own and all before it.
const format = 1

// manifestFile is the last file of an archive: a backup that was interrupted has none.
const manifestFile = "manifest.json"

// The parts of a backup that have many files. Any other file is a part of its own.
const (
	Journal   = "journal"   // of a data folder, as it is there
	Records   = "records"   // of a database: KIND-NUMBER.jsonl with a record on each line
	Documents = "documents" // TENANT/RUN/DOCUMENT/ with content and document.json
)

// Manifest says what a backup has.
type Manifest struct {
	Format    int    `json:"format"`
	Verifyd   string `json:"verifyd"`             // the version that made the backup
	Migration string `json:"migration,omitempty"` // the newest one of the database
	Level     int    `json:"level,omitempty"`     // of the database, see store.Level; the journal of a folder has its own
	// At is the moment of the backup: everything that was acknowledged before is in it.
	At time.Time `json:"at"`
	// Runs is the number of runs; 0 of a data folder whose host went on, where it is known once the journal is read.
	Runs      int `json:"runs,omitempty"`
	Documents int `json:"documents"`
	// WithoutDocuments says that the uploads are elsewhere.
	WithoutDocuments bool `json:"without_documents,omitempty"`
	// Removed are the ids of documents that were removed while the backup was made.
	Removed []string `json:"removed,omitempty"`
	// Ledger is the position of the ledger of erasures.
	Ledger Position `json:"ledger"`
	// SearchCheck is the check of the key of the search for people; empty for none.
	SearchCheck string          `json:"search_check,omitempty"`
	Parts       map[string]Part `json:"parts"`
}

// Part is what the files of a part add up to.
type Part struct {
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the names, sizes and contents of its files
}

// Position is what a store knows of the ledger of erasures. Its ID is empty for a store without a ledger.
type Position struct {
	ID   string                 `json:"id"`
	Last int64                  `json:"last"` // number of the last entry
	Owed []verification.Erasure `json:"owed,omitempty"`
}

// PositionOf returns the position in the ledger records of a store.
func PositionOf(records iter.Seq2[store.Record, error]) (p Position, err error) {
	for r, err := range records {
		if err != nil {
			return p, err
		}
		if r, ok := r.(store.LedgerRecord); ok {
			p = Position{r.Mark.ID, r.Mark.Last, r.Owed}
		}
	}
	return p, nil
}

// Record returns the position as a store has it that applied nothing yet.
func (p Position) Record() store.LedgerRecord {
	return store.LedgerRecord{Mark: store.LedgerMark{ID: p.ID, Last: p.Last}, Owed: p.Owed}
}

// sums adds up the parts of an archive.
type sums struct {
	parts  map[string]Part
	hashes map[string]hash.Hash
}

func newSums() sums { return sums{map[string]Part{}, map[string]hash.Hash{}} }

// add begins a file, and returns what its content is written to.
func (s sums) add(name string, size int64) io.Writer {
	part, _, _ := strings.Cut(name, "/")
	if s.hashes[part] == nil {
		s.hashes[part] = sha256.New()
	}
	p := s.parts[part]
	s.parts[part] = Part{Files: p.Files + 1, Bytes: p.Bytes + size}
	fmt.Fprintf(s.hashes[part], "%s\n%d\n", name, size)
	return s.hashes[part]
}

func (s sums) end() map[string]Part {
	for name, p := range s.parts {
		p.SHA256 = hex.EncodeToString(s.hashes[name].Sum(nil))
		s.parts[name] = p
	}
	return s.parts
}

// Writer writes a backup.
type Writer struct {
	tar        *tar.Writer
	compressed *gzip.Writer
	sums       sums
}

// NewWriter returns a writer to an archive.
func NewWriter(to io.Writer) *Writer {
	compressed, _ := gzip.NewWriterLevel(to, gzip.BestSpeed) // the level is one
	return &Writer{tar.NewWriter(compressed), compressed, newSums()}
}

// Folder adds a folder.
func (w *Writer) Folder(name string) error {
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700})
}

// File adds a file of a size.
func (w *Writer) File(ctx context.Context, name string, size int64, changed time.Time, content io.Reader) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := w.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: changed})
	if err == nil {
		_, err = io.CopyN(io.MultiWriter(w.tar, w.sums.add(name, size)), content, size)
	}
	if err != nil {
		return fmt.Errorf("add %s to the backup: %w", name, err)
	}
	return nil
}

// Close adds the manifest, and ends the archive.
func (w *Writer) Close(m Manifest) error {
	m.Format, m.Verifyd, m.At, m.Parts = format, cli.ReadBuild().Version, m.At.UTC(), w.sums.end()
	m.Documents = m.Parts[Documents].Files / 2
	raw, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		raw = append(raw, '\n')
		err = w.tar.WriteHeader(&tar.Header{Name: manifestFile, Size: int64(len(raw)), Mode: 0o600, ModTime: m.At})
	}
	if err == nil {
		_, err = w.tar.Write(raw)
	}
	return errors.Join(err, w.tar.Close(), w.compressed.Close())
}

// Walk calls f with the files and folders of an archive, of which the manifest is the last, until f returns an error.
func Walk(ctx context.Context, from io.Reader, f func(h *tar.Header, content io.Reader) error) error {
	compressed, err := gzip.NewReader(bufio.NewReaderSize(from, 1<<20))
	if err != nil {
		return err
	}
	for files := tar.NewReader(compressed); ; {
		h, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err = io.Copy(io.Discard, compressed) //nolint:gosec // up to the checksum; nothing is kept
			return err
		case err == nil && (!filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir):
			err = fmt.Errorf("no backup has a file %s", h.Name)
		case err == nil:
			err = ctx.Err()
		}
		if err == nil {
			err = f(h, files)
		}
		if err != nil {
			return err
		}
	}
}

// Check reads all of an archive, and compares its parts with the manifest. It calls f with each file; f need not read
// the content. The problems are what is damaged or missing, or cannot be read.
func Check(ctx context.Context, from io.Reader, f func(name string, content io.Reader) error) (m Manifest, problems []string) {
	found := newSums()
	after := "its beginning"
	err := Walk(ctx, from, func(h *tar.Header, content io.Reader) (err error) {
		switch after = h.Name; {
		case h.Typeflag == tar.TypeDir:
			return nil
		case h.Name == manifestFile:
			return json.NewDecoder(content).Decode(&m)
		}
		read := io.TeeReader(content, found.add(h.Name, h.Size))
		if err = f(h.Name, read); err == nil {
			_, err = io.Copy(io.Discard, read)
		}
		return err
	})
	switch {
	case err != nil:
		return m, []string{fmt.Sprintf("the backup cannot be read after %s: %v", after, err)}
	case after != manifestFile:
		return m, []string{"the backup does not end with " + manifestFile + ": it was interrupted, or an earlier build made it"}
	case store.CheckLevel(m.Level, store.Level) != nil:
		return m, []string{store.CheckLevel(m.Level, store.Level).Error()}
	case m.Format < 1 || m.Format > format:
		return m, []string{fmt.Sprintf("the backup has the format %d, and this build reads up to %d: use verifyctl %s", m.Format, format, m.Verifyd)}
	}
	there := found.end()
	for _, name := range slices.Sorted(maps.Keys(m.Parts)) {
		if there[name] != m.Parts[name] {
			problems = append(problems, fmt.Sprintf("%s is not what was backed up: %+v; the manifest has %+v", name, there[name], m.Parts[name]))
		}
		delete(there, name)
	}
	for name := range there {
		problems = append(problems, name+" is not in the manifest")
	}
	return m, problems
}
