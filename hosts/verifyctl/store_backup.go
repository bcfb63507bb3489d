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
	Source         string `arg:"" name:"source" help:"Data folder of a host, or PostgreSQL as postgres://user@host:5432/name. Set PGPASSWORD instead of a password in the URL. VERIFYD_DATA_DIR and VERIFYD_DATABASE_URL do not replace this argument."`
	Target         string `arg:"" name:"target" help:"Folder for a new file, s3://BUCKET/PATH, file that is replaced if it exists, or - for stdout."`
	SearchKey      string `placeholder:"SECRET" variable:"VERIFYD_SEARCH_KEY" help:"Of PostgreSQL: key of the search for people of the hosts, which the backup then has. Use the variable."`
	SearchKeyFile  string `placeholder:"FILE" variable:"VERIFYD_SEARCH_KEY_FILE" help:"File with the search key."`
	SigningKeyFile string `placeholder:"FILE" variable:"VERIFYD_SIGNING_KEY_FILE" help:"Of PostgreSQL: file with the signing keys of the hosts, if the database does not have them."`
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
	for _, line := range missing {
		s.note(line)
	}
	if len(missing) > 0 {
		return errProblems
	}
	return nil
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
		counted := &counter{Writer: to}
		go func() { _ = to.CloseWithError(f(counted)) }()
		err = bucket.PutFile(ctx, file, from)
		_ = from.CloseWithError(err) // nothing is written any more
		return fmt.Sprintf("%s: %d bytes", target, counted.n), err
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

// counter counts bytes.
type counter struct {
	io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
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
		return nil, fmt.Errorf("where are the uploads? give %s, or %s and the bucket, as the hosts have them, or --without-documents",
			cli.Setting("blob-dir"), cli.Setting("s3-endpoint"))
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
	if c.SigningKeyFile != "" {
		raw, err := os.ReadFile(c.SigningKeyFile)
		if err != nil {
			return fmt.Errorf("%s: %w", cli.Setting("signing-key-file"), err)
		}
		if err := os.WriteFile(folder.SigningKeys(), raw, 0o600); err != nil {
			return err
		}
		from.keys = withoutSigning{from.keys}
	}
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

// withoutSigning are keys of hosts whose signing keys are in a file.
type withoutSigning struct{ copyKeys }

func (withoutSigning) signing(context.Context) ([]byte, error) { return nil, nil }

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
	for _, kind := range store.RecordKinds() {
		var lines bytes.Buffer
		files, n := 0, 0
		flush := func() error {
			files++
			err := w.File(ctx, recordsFile(kind, files), int64(lines.Len()), m.At, &lines)
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

// recordsFile returns the name of a file of a backup with records.
func recordsFile(kind store.RecordKind, n int) string {
	return fmt.Sprintf("%s/%s-%06d.jsonl", backup.Records, strings.ReplaceAll(string(kind), " ", "-"), n)
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
	record, err := documents.Document(ctx, d.Run, d.ID)
	if err != nil {
		return err
	}
	name, err := verification.DocumentPath(d.Run, d.ID)
	if err != nil {
		return err
	}
	content, err := documents.OpenDocument(ctx, d.Run, d.ID)
	if err != nil {
		return err
	}
	err = w.File(ctx, path.Join(backup.Documents, name, "content"), record.Size, record.CreatedAt, content)
	if err = errors.Join(err, content.Close()); err != nil {
		return err
	}
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return w.File(ctx, path.Join(backup.Documents, name, "document.json"), int64(len(raw)), record.CreatedAt, bytes.NewReader(raw))
}
