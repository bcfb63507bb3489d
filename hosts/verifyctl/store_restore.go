// The commands that verify and restore backups.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

type storeVerify struct {
	Backup string `arg:"" help:"File of a backup, or s3://BUCKET/PATH."`
	Into   string `placeholder:"URL" help:"Empty database for the backup of a database. Without it, a temporary data folder is used, in memory too."`
	documentFlags
}

// Run restores the backup into a place of its own, and prints a line for each problem.
func (c storeVerify) Run(ctx context.Context, s *session) error {
	began := s.clock.Now()
	a, done, err := openArchive(ctx, s, c.Backup, c.documentFlags)
	if err != nil {
		return err
	}
	defer done()
	runs, problems, err := c.restored(ctx, s, a)
	if err = cmp.Or(err, s.problems(problems)); err != nil {
		return err
	}
	return a.describe(s, runs, "restored and read without a problem", began)
}

// restored restores the backup, and compares what it then reads with the manifest.
func (c storeVerify) restored(ctx context.Context, s *session, a *archive) (runs int, problems []string, err error) {
	from, err := a.side(ctx)
	if err != nil {
		return 0, []string{err.Error()}, nil
	}
	defer func() { _ = from.close() }() // it was only read
	read := from
	if a.ofDatabase() { // a data folder was read whole, as a start does
		name := c.Into
		if name == "" {
			name = filepath.Join(string(a.scratch), "restored")
		}
		if read, err = openTarget(ctx, name, s.clock.Now(), from.level); err != nil {
			return 0, nil, fmt.Errorf("--into: %w", err)
		}
		defer func() { err = errors.Join(err, read.close()) }()
		rows, err := storeCopy{}.copy(ctx, s, from, read, func(context.Context) error { return nil })
		if err != nil {
			return 0, []string{"it cannot be restored: " + operatorError(err).Error()}, ctx.Err()
		}
		problems = different(rows)
	}
	for r, err := range read.Records(ctx, store.RecordRun) {
		if err != nil {
			return 0, append(problems, "the runs that were restored cannot be read: "+operatorError(err).Error()), ctx.Err()
		}
		run, _ := r.(store.RunRecord)
		runs++
		for _, id := range documentsOf(run) {
			if !a.documents[id] && !a.WithoutDocuments {
				problems = append(problems, fmt.Sprintf("run %s names the document %s, which is not in the backup", run.Run.Run, id))
			}
		}
	}
	if a.Runs != runs && (a.Runs > 0 || a.ofDatabase()) {
		problems = append(problems, fmt.Sprintf("runs: %d were restored; the manifest has %d", runs, a.Runs))
	}
	return runs, problems, nil
}

// different returns a line for each row that is not the same in source and target.
func different(rows []copyRow) (problems []string) {
	for _, r := range rows {
		if r.Result != copyVerified {
			problems = append(problems, string(r.Data)+": "+r.Result)
		}
	}
	return problems
}

type storeRestore struct {
	Backup       string `arg:"" help:"File of a backup, or s3://BUCKET/PATH."`
	To           string `required:"" placeholder:"DIR|URL" help:"New or empty data folder, or PostgreSQL with the schema and no data."`
	Ledger       string `placeholder:"FILE|DIR|s3://BUCKET/PATH" help:"The ledger of erasures as it is now: a file, or the folder or bucket that has it."`
	AcceptLedger string `placeholder:"NAME" help:"Restore without a whole ledger: the name that the error says."`
	documentFlags
}

// Run checks the backup and the ledger before it writes anything.
func (c storeRestore) Run(ctx context.Context, s *session) error {
	began := s.clock.Now()
	a, done, err := openArchive(ctx, s, c.Backup, c.documentFlags)
	if err != nil {
		return err
	}
	defer done()
	if a.ofDatabase() != isURL(c.To) {
		return errors.New("--to: restore the backup of a data folder into a folder, and of PostgreSQL into a database; then use verifyctl store copy")
	}
	ledger, err := c.ledger(ctx, s, a)
	if err != nil {
		return err
	}
	if isURL(c.To) {
		err = c.database(ctx, s, a, ledger)
	} else {
		err = c.folder(ctx, a, ledger)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted: no host opens what was restored so far; give the same command again for a database, or remove the folder first")
	}
	if err != nil {
		return operatorError(err)
	}
	if c.AcceptLedger != "" {
		s.note("start one host once with --accept-ledger and the name that its error says")
	}
	if a.Ledger.ID == "" {
		s.note("the store had no ledger of erasures: redact by hand what was redacted after the backup")
	}
	s.note("start the hosts as before: they do again what the ledger says before they are ready")
	return a.describe(s, a.Runs, "restored", began)
}

// ledger opens the ledger as it is now, and refuses one that ends before the backup or is damaged.
func (c storeRestore) ledger(ctx context.Context, s *session, a *archive) (*ledgerPlace, error) {
	var now *ledgerPlace
	var port verification.ErasureLedger
	if c.Ledger != "" {
		var err error
		if now, err = c.documentFlags.openLedger(c.Ledger); err != nil {
			return nil, fmt.Errorf("--ledger: %w", err)
		}
		port = now
	}
	if a.Ledger.ID == "" {
		return now, nil
	}
	of := memory.New()
	if err := of.SaveRecords(ctx, []store.Record{a.Ledger.Record()}); err != nil {
		return nil, err
	}
	_, err := engine.CheckLedger(ctx, of.Tables, port)
	if damaged := (*engine.LedgerError)(nil); errors.As(err, &damaged) {
		switch {
		case damaged.Name == c.AcceptLedger:
			s.note("the ledger of erasures was accepted as it is: " + damaged.Problem)
			return now, nil
		case now == nil:
			err = fmt.Errorf("--ledger: required: give the ledger of erasures as it is now, or what was redacted after the backup comes back; "+
				"if the ledger is lost, give --accept-ledger %s", damaged.Name)
		default:
			err = fmt.Errorf("--ledger: %w: give the ledger as it is now, which has at least %d entries; if it is lost, give --accept-ledger %s",
				err, a.Ledger.Last, damaged.Name)
		}
	}
	return now, err
}

// folder restores the backup of a data folder into an empty folder, as it was.
func (c storeRestore) folder(ctx context.Context, a *archive, ledger *ledgerPlace) error {
	folder := datadir.Folder(c.To)
	_, _, err := folder.Create()
	var there []os.DirEntry
	if err == nil {
		there, err = os.ReadDir(c.To)
	}
	if err == nil && len(there) > 0 {
		err = fmt.Errorf("%s is not empty: end its host if it has one, restore into a new folder, and start the host on that", c.To)
	}
	if err == nil {
		err = errors.Join(writeNew(folder.Restoring(), strings.NewReader("")), syncFolder(c.To))
	}
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if err := a.extract(ctx, c.To, ""); err != nil {
		return err
	}
	if err := ledger.copyTo(ctx, fileLedger(folder.Erasures())); err != nil {
		return err
	}
	syscall.Sync() // the folder may have very many files
	return errors.Join(os.Remove(folder.Restoring()), syncFolder(c.To))
}

// database restores a backup as store copy does, and then its documents and the ledger. Until both are there, no host
// opens the target.
func (c storeRestore) database(ctx context.Context, s *session, a *archive, ledger *ledgerPlace) error {
	flags := c.ofHosts()
	flags.WithoutDocuments = false // the ledger is there nevertheless
	if a.Documents > 0 && flags.BlobDir == "" && flags.S3Endpoint == "" && !c.WithoutDocuments {
		return errNoUploads()
	}
	from, err := a.side(ctx)
	if err != nil {
		return err
	}
	to, err := openTarget(ctx, c.To, s.clock.Now(), from.level)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	rows, err := storeCopy{}.copy(ctx, s, from, to, func(ctx context.Context) error {
		if flags.BlobDir != "" {
			if err := os.MkdirAll(flags.BlobDir, 0o700); err != nil {
				return err
			}
		}
		documents, closed, err := flags.open("")
		if err != nil || documents == nil {
			return err
		}
		if !c.WithoutDocuments {
			err = a.saveDocuments(ctx, documents)
		}
		place := fileLedger(filepath.Join(flags.BlobDir, hiddenLedger))
		if bucket, ok := documents.(verification.ErasureLedger); ok {
			place = &ledgerPlace{bucketScheme + flags.S3Bucket, bucket}
		}
		if err == nil {
			err = ledger.copyTo(ctx, place)
		}
		return errors.Join(err, closed())
	})
	if err = errors.Join(err, to.close()); err != nil {
		return err
	}
	return s.problems(different(rows))
}
