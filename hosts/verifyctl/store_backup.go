// The command that writes backups.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/hosts/internal/backup"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

type storeBackup struct {
	Source        string `arg:"" name:"source" help:"Data folder of a host, or PostgreSQL as postgres://user@host:5432/name. Set PGPASSWORD instead of a password in the URL. VERIFYD_DATA_DIR and VERIFYD_DATABASE_URL do not replace this argument."`
	Target        string `arg:"" name:"target" help:"Folder for a new file, s3://BUCKET/PATH, file that is replaced if it exists, or - for stdout."`
	SearchKey     string `placeholder:"SECRET" variable:"VERIFYD_SEARCH_KEY" help:"Of PostgreSQL: key of the search for people of the hosts, which the backup then has. Use the variable."`
	SearchKeyFile string `placeholder:"FILE" variable:"VERIFYD_SEARCH_KEY_FILE" help:"File with the search key."`
	documentFlags
}

// Run writes the backup, and saves its moment where hosts and the doctor see it.
func (c storeBackup) Run(ctx context.Context, s *session) error {
	at := s.clock.Now()
	var missing []string
	write := func(to io.Writer) (err error) {
		if isURL(c.Source) {
			missing, err = c.database(ctx, s, to)
			return err
		}
		return operator.Backup(ctx, datadir.Folder(c.Source), s.folderOptions(), to)
	}
	written, err := c.write(ctx, s, "verifyd-"+at.UTC().Format("20060102T150405Z")+archiveSuffix, write)
	if err != nil {
		return err
	}
	if err := c.save(ctx, s, at); err != nil {
		s.note("the backup is complete, but hosts and the doctor do not see it: " + err.Error())
	}
	if written != "" {
		if err := s.say(false, nil, "%s", written); err != nil {
			return err
		}
	}
	return s.problems(missing)
}

// archiveSuffix ends the names of backups.
const archiveSuffix = ".tar.gz"

// write calls f with the target, and returns what was written; empty for stdout.
func (c storeBackup) write(ctx context.Context, s *session, name string, f func(io.Writer) error) (written string, err error) {
	if c.Target == "-" {
		return "", f(s.binary)
	}
	if isBucket(c.Target) {
		target := c.Target
		if !strings.HasSuffix(target, archiveSuffix) {
			target = strings.TrimSuffix(target, "/") + "/" + name
		}
		bucket, file, err := c.bucketFile(target)
		if err != nil {
			return "", err
		}
		from, to := io.Pipe()
		go func() { _ = to.CloseWithError(f(to)) }()
		err = bucket.PutFile(ctx, file, from)
		_ = from.CloseWithError(err) // nothing is written any more
		return target, err
	}
	target := c.Target
	if isFolder(target) {
		target = filepath.Join(target, name)
	}
	_, there := os.Stat(target)
	size, err := replaceFile(target, f)
	written = fmt.Sprintf("%s: %d bytes", oneLine(target), size)
	if there == nil {
		written += ", in place of the file that was there"
	}
	return written, err
}

const bucketScheme = "s3://"

func isBucket(name string) bool { return strings.HasPrefix(name, bucketScheme) }

// bucket opens s3://BUCKET/PATH in the object store of the flags.
func (f documentFlags) bucket(name string) (s3.Store, error) {
	if f.S3Endpoint == "" {
		return nil, fmt.Errorf("%s: required for %s", cli.Setting("s3-endpoint"), name)
	}
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(name, bucketScheme), "/")
	return s3.New(s3.Options{
		Endpoint: f.S3Endpoint, Bucket: bucket, Prefix: prefix, Region: f.S3Region, AccessKey: f.S3AccessKey, SecretKey: f.S3SecretKey, Secure: true,
	})
}

// bucketFile opens the folder of a file in a bucket, and returns the rest of its name.
func (f documentFlags) bucketFile(name string) (s3.Store, string, error) {
	end := strings.LastIndex(name, "/")
	bucket, err := f.bucket(name[:end])
	return bucket, name[end+1:], err
}

func errNoUploads() error {
	return fmt.Errorf("say where the uploads are: give %s, or %s and the bucket, as the hosts have them, or --without-documents", cli.Setting("blob-dir"), cli.Setting("s3-endpoint"))
}

// ofHosts returns the flags without an object store that is only for backups.
func (f documentFlags) ofHosts() documentFlags {
	if f.BlobDir != "" || f.S3Bucket == "" {
		f.S3Endpoint = ""
	}
	return f
}

// save saves the moment of the backup.
func (c storeBackup) save(ctx context.Context, s *session, at time.Time) error {
	if !isURL(c.Source) {
		return operator.SaveBackup(ctx, datadir.Folder(c.Source), s.folderOptions(), at)
	}
	from, err := openDatabaseSide(ctx, c.Source, false)
	if err != nil {
		return err
	}
	return errors.Join(from.files.SaveBackup(ctx, at), from.close())
}

// database writes a backup of PostgreSQL: its records as they are at one moment, then the documents that they name, and
// what is beside them. It returns a line for each document that is not in the document store.
func (c storeBackup) database(ctx context.Context, s *session, to io.Writer) (missing []string, err error) {
	documents, closed, err := c.ofHosts().open("")
	if err != nil {
		return nil, err
	}
	defer func() { _ = closed() }() // they were only read
	if documents == nil && !c.WithoutDocuments {
		return nil, errNoUploads()
	}
	from, err := openDatabaseSide(ctx, c.Source, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.close() }() // it was only read
	scratch, err := os.MkdirTemp("", "verifyd-backup-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // the backup has its files
	m := backup.Manifest{WithoutDocuments: documents == nil, Level: from.level}
	if err := c.beside(ctx, s, from, datadir.Folder(scratch), &m); err != nil {
		return nil, err
	}
	named, err := os.CreateTemp(scratch, ".named-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = named.Close() }() // it was only read
	w := backup.NewWriter(to)
	m.At = s.clock.Now()
	names := bufio.NewWriter(named)
	err = from.database.Snapshot(ctx, func(records func(context.Context, store.RecordKind) iter.Seq2[store.Record, error]) error {
		return writeRecords(ctx, s, w, &m, json.NewEncoder(names), records)
	})
	if err = errors.Join(err, names.Flush()); err != nil {
		return nil, err
	}
	if _, err := named.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if documents != nil {
		if missing, err = c.documents(ctx, w, &m, from, documents, json.NewDecoder(named)); err != nil {
			return nil, err
		}
	}
	files, err := os.ReadDir(scratch)
	for _, f := range files {
		var raw []byte
		if raw, err = os.ReadFile(filepath.Join(scratch, f.Name())); err == nil && !strings.HasPrefix(f.Name(), ".") {
			err = w.File(ctx, f.Name(), int64(len(raw)), m.At, bytes.NewReader(raw))
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return missing, w.Close(m)
}

// beside writes the keys and the small files of a database into a folder, as a data folder has them.
func (c storeBackup) beside(ctx context.Context, s *session, from *copySide, folder datadir.Folder, m *backup.Manifest) (err error) {
	key := c.SearchKey
	if key == "" && c.SearchKeyFile != "" {
		if key, err = cli.ReadValue(c.SearchKeyFile); err != nil {
			return fmt.Errorf("%s: %w", cli.Setting("search-key-file"), err)
		}
	}
	to := &copySide{keys: folderKeys{folder}, files: operator.Hold(folder, nil, operator.Host{}), folder: folder}
	if _, m.SearchCheck, err = from.keys.search(ctx); err != nil {
		return err
	}
	if m.SearchCheck != "" && key == "" {
		s.note("the backup does not have the search key: keep it elsewhere, or set VERIFYD_SEARCH_KEY as the hosts have it")
	}
	if _, err = (storeCopy{SearchKey: key}).copyBeside(ctx, from, to); err != nil {
		return err
	}
	steps, err := s.server.migrations(ctx, c.Source)
	if len(steps) > 0 {
		m.Migration = nameOf(steps[len(steps)-1])
	}
	return err
}

// recordsBytes is how many bytes of records a file of a backup has, unless it is one record.
const recordsBytes = 4 << 20

// writeRecords writes all records, and the names of the documents of runs to names.
func writeRecords(
	ctx context.Context, s *session, w *backup.Writer, m *backup.Manifest, names *json.Encoder, records func(context.Context, store.RecordKind) iter.Seq2[store.Record, error],
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
