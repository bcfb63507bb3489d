// The records and documents in a backup of a database.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/hosts/internal/backup"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// recordsBytes is how many bytes of records a file of a backup has, unless it is one record.
const recordsBytes = 4 << 20

// writeRecords writes all records, and the names of the documents of runs to names.
func writeRecords(
	ctx context.Context, s *session, w *backup.Writer, m *backup.Manifest, names *json.Encoder,
	records func(context.Context, store.RecordKind) iter.Seq2[store.Record, error],
) (err error) {
	if m.Ledger, err = backup.PositionOf(records(ctx, store.RecordLedger)); err != nil {
		return err
	}
	progress := newCopyProgress(s)
	progress.verb = "backed up"
	kinds := slices.DeleteFunc(store.RecordKinds(), func(k store.RecordKind) bool { return k == store.RecordRun })
	for _, kind := range append(kinds, store.RecordRun) { // so that the other kinds are found soon
		var lines bytes.Buffer
		files, n := 0, 0
		flush := func() error {
			files++
			err := w.File(ctx, fmt.Sprintf("%s%06d.jsonl", recordsPrefix(kind), files), int64(lines.Len()), m.At, &lines)
			lines.Reset()
			return err
		}
		for r, err := range records(ctx, kind) {
			var line []byte
			if err == nil {
				line, err = operator.EncodeRecord(r)
			}
			if run, ok := r.(store.RunRecord); ok && err == nil {
				m.Runs++
				for _, d := range documentsOf(run) {
					err = errors.Join(err, names.Encode(namedDocument{run.Run, d}))
				}
			}
			if err == nil && lines.Len() > 0 && lines.Len()+len(line) > recordsBytes {
				err = flush()
			}
			if err != nil {
				return err
			}
			lines.Write(append(line, '\n'))
			if n++; n%1000 == 0 {
				progress.report(storecopy.Progress{Kind: kind, Records: n})
			}
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// recordsPrefix begins the names of the files of a backup with records of a kind.
func recordsPrefix(kind store.RecordKind) string {
	return backup.Records + "/" + strings.ReplaceAll(string(kind), " ", "-") + "."
}

// namedDocument is a document that a history names.
type namedDocument struct {
	Run verification.RunRef
	ID  string
}

// documentsOf returns the ids of the documents that a run has.
func documentsOf(r store.RunRecord) (ids []string) {
	uploads := false
	for _, e := range r.Events {
		_, is := e.Fact.(rules.DocumentUploaded)
		uploads = uploads || is
	}
	if !uploads {
		return nil
	}
	run := rules.Fold(r.Run.Run, r.Events)
	if !run.DocumentsRemovedAt.IsZero() {
		return nil
	}
	unused := map[string]bool{}
	for _, id := range run.UnusedDocuments(r.Events) {
		unused[id] = true
	}
	for _, e := range r.Events {
		if f, ok := e.Fact.(rules.DocumentUploaded); ok && f.Document != "" && !unused[f.Document] {
			ids = append(ids, f.Document)
		}
	}
	return ids
}

// documents writes the documents with the names. One that is gone was removed meanwhile, unless its history still names it.
func (c storeBackup) documents(
	ctx context.Context, w *backup.Writer, m *backup.Manifest, from *copySide, documents verification.DocumentStore, names *json.Decoder,
) (missing []string, err error) {
	for {
		var d namedDocument
		if err := names.Decode(&d); errors.Is(err, io.EOF) {
			return missing, nil
		} else if err != nil {
			return nil, err
		}
		err := writeDocument(ctx, w, d, documents)
		if !errors.Is(err, verification.ErrNotFound) {
			if err != nil {
				return nil, err
			}
			continue
		}
		events, err := from.database.Load(ctx, d.Run.Tenant, d.Run.Run, 0)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			return nil, err
		}
		m.Removed = append(m.Removed, d.ID)
		for _, id := range documentsOf(store.RunRecord{Run: d.Run, Events: events}) {
			if id == d.ID {
				m.Removed = m.Removed[:len(m.Removed)-1]
				missing = append(missing, fmt.Sprintf("run %s names the document %s, which is not where the uploads are", d.Run.Run, d.ID))
			}
		}
	}
}

func writeDocument(ctx context.Context, w *backup.Writer, d namedDocument, documents verification.DocumentStore) error {
	content, err := documents.OpenDocument(ctx, d.Run, d.ID)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it was only read
	record, err := documents.Document(ctx, d.Run, d.ID)
	var name string
	if err == nil {
		name, err = verification.DocumentPath(d.Run, d.ID)
	}
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(record)
	}
	if err == nil {
		err = w.File(ctx, path.Join(backup.Documents, name, "document.json"), int64(len(raw)), record.CreatedAt, bytes.NewReader(raw))
	}
	if err == nil {
		err = w.File(ctx, path.Join(backup.Documents, name, "content"), record.Size, record.CreatedAt, content)
	}
	return err
}
