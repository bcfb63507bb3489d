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
	"path/filepath"
	"strings"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/backup"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/verification/store"
)

type storeBackup struct {
	Source string `arg:"" name:"source" help:"Data folder of a host, or PostgreSQL as postgres://user@host:5432/name. Set PGPASSWORD for a password."`
	Target string `arg:"" name:"target" help:"Folder for a new file, s3://BUCKET/PATH, file that is replaced if it exists, or - for stdout."`
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

// save saves the moment of the backup.
func (c storeBackup) save(ctx context.Context, s *session, at time.Time) error {
	if !isURL(c.Source) {
		return operator.Hold(datadir.Folder(c.Source), nil, operator.Host{}).SaveBackup(ctx, at)
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

// beside writes the signing keys and the small files of a database into a folder, as a data folder has them. The search
// key is not there: no backup of a database may have it.
func (c storeBackup) beside(ctx context.Context, s *session, from *copySide, folder datadir.Folder, m *backup.Manifest) (err error) {
	to := &copySide{keys: folderKeys{folder}, files: operator.Hold(folder, nil, operator.Host{}), folder: folder}
	if _, m.SearchCheck, err = from.keys.search(ctx); err != nil {
		return err
	}
	if _, err = (storeCopy{}).copyBeside(ctx, from, to); err != nil {
		return err
	}
	steps, err := s.server.migrations(ctx, c.Source)
	if len(steps) > 0 {
		m.Migration = nameOf(steps[len(steps)-1])
	}
	return err
}
