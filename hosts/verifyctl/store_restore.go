// The commands that verify and restore backups.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/hosts/internal/backup"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

type storeVerify struct {
	Backup string `arg:"" help:"File of a backup, or s3://BUCKET/PATH."`
	Into   string `placeholder:"URL" help:"Empty database with the schema, into which the backup of a database is restored. Without it, it is restored into a temporary data folder, which needs memory for all runs."`
	documentFlags
}

// Run restores the backup into a place of its own, and prints a line for each problem.
func (c storeVerify) Run(ctx context.Context, s *session) error {
	began := s.clock.Now()
	a, done, err := openArchive(ctx, c.Backup, c.documentFlags)
	if err != nil {
		return err
	}
	defer done()
	problems := a.problems
	runs := 0
	if len(problems) == 0 {
		runs, problems, err = c.restored(ctx, s, a)
		if err != nil {
			return err
		}
	}
	for _, p := range problems {
		s.note(p)
	}
	if len(problems) > 0 {
		return errProblems
	}
	return s.attributes([][2]string{
		{"moment", a.At.Format(time.RFC3339)},
		{"made by", "verifyd " + a.Verifyd},
		{"runs", fmt.Sprint(runs)},
		{"documents", a.uploads()},
		{"ledger", a.ledger()},
		{"result", fmt.Sprintf("restored and read in %s: no problem", s.clock.Now().Sub(began).Round(time.Second))},
	}...)
}

// restored restores the backup, and compares what it then reads with the manifest.
func (c storeVerify) restored(ctx context.Context, s *session, a *archive) (runs int, problems []string, err error) {
	from, err := a.side(ctx)
	if err != nil {
		return 0, []string{err.Error()}, nil
	}
	defer func() { _ = from.close() }() // it was only read
	read := from
	if from.lists == nil || c.Into != "" { // a data folder was read whole, as a start does
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
	if a.Runs != runs && (a.Runs > 0 || from.lists == nil) {
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
	Ledger       string `placeholder:"FILE|DIR|s3://BUCKET/PATH" help:"The ledger of erasures as it is now, or the data folder, folder or bucket of uploads that has it."`
	AcceptLedger string `placeholder:"NAME" help:"Restore without a whole ledger: the name that the error says."`
	SearchKey    string `placeholder:"SECRET" variable:"VERIFYD_SEARCH_KEY" help:"Key of the search for people of the hosts, if the backup does not have it. Use the variable."`
	documentFlags
}

// Run checks the backup and the ledger before it writes anything.
func (c storeRestore) Run(ctx context.Context, s *session) error {
	began := s.clock.Now()
	a, done, err := openArchive(ctx, c.Backup, c.documentFlags)
	if err != nil {
		return err
	}
	defer done()
	if len(a.problems) > 0 {
		for _, p := range a.problems {
			s.note(p)
		}
		s.note("nothing was restored: take another backup")
		return errProblems
	}
	ledger, err := c.ledger(ctx, s, a)
	if err != nil {
		return err
	}
	if !isURL(c.To) && a.Parts[backup.Journal].Files > 0 {
		err = c.unpack(ctx, s, a, ledger)
	} else {
		err = c.copy(ctx, s, a, ledger)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted: no host opens what was restored so far; give the same command again for a database, or remove the folder first")
	}
	if err != nil {
		return err
	}
	err = s.attributes([][2]string{
		{"moment", a.At.Format(time.RFC3339)},
		{"documents", a.uploads()},
		{"ledger", a.ledger()},
		{"result", fmt.Sprintf("restored in %s", s.clock.Now().Sub(began).Round(time.Second))},
	}...)
	if c.AcceptLedger != "" {
		s.note("start one host once with --accept-ledger and the name that its error says")
	}
	if a.Ledger.ID == "" {
		s.note("the store had no ledger of erasures: redact by hand what was redacted after the backup")
	}
	s.note("start the hosts as before: they do again what the ledger says before they are ready")
	return err
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
			err = fmt.Errorf("--ledger: required: without the ledger of erasures as it is now, what was redacted or deleted after the backup comes back; if the ledger is lost, give --accept-ledger %s", damaged.Name)
		default:
			err = fmt.Errorf("--ledger: %w: give the ledger as it is now, which has at least %d entries; if it is lost, give --accept-ledger %s", err, a.Ledger.Last, damaged.Name)
		}
	}
	return now, err
}

// unpack restores the backup of a data folder into an empty folder, as it was.
func (c storeRestore) unpack(ctx context.Context, s *session, a *archive, ledger *ledgerPlace) error {
	folder := datadir.Folder(c.To)
	if err := folder.Check(); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if _, _, err := folder.Create(); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	there, err := os.ReadDir(c.To)
	if err == nil && len(there) > 0 {
		err = fmt.Errorf("%s is not empty: end its host if it has one, restore into a new folder, and start the host on that", c.To)
	}
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	mark, err := os.OpenFile(folder.Restoring(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(mark.Sync(), mark.Close(), syncFolder(c.To))
	}
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if err := a.extract(ctx, c.To, ""); err != nil {
		return err
	}
	if flags, own := c.hostFlags(); own {
		err = ledger.copyTo(ctx, fileLedger(folder.Erasures()))
	} else { // the uploads are elsewhere, and the backup has none
		err = c.beside(ctx, s, a, ledger, flags, false)
	}
	if err != nil {
		return err
	}
	syscall.Sync() // the folder may have very many files
	return errors.Join(os.Remove(folder.Restoring()), syncFolder(c.To))
}

// copy restores a backup as store copy does, and then its documents and the ledger. Until both are there, no host opens the
// target.
func (c storeRestore) copy(ctx context.Context, s *session, a *archive, ledger *ledgerPlace) error {
	from, err := a.side(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = from.close() }() // it was only read
	flags, own := c.hostFlags()
	if a.Documents > 0 && !own && flags.BlobDir == "" && flags.S3Endpoint == "" && !c.WithoutDocuments {
		return fmt.Errorf("where do the uploads go? give %s, or %s and the bucket, as the hosts have them, or --without-documents", cli.Setting("blob-dir"), cli.Setting("s3-endpoint"))
	}
	to, err := openTarget(ctx, c.To, s.clock.Now(), from.level)
	if err != nil {
		return fmt.Errorf("--to: %w", operatorError(err))
	}
	rows, err := storeCopy{SearchKey: c.SearchKey}.copy(ctx, s, from, to, func(ctx context.Context) error {
		return c.beside(ctx, s, a, ledger, flags, own)
	})
	if err = errors.Join(err, to.close()); err != nil {
		return operatorError(err)
	}
	if problems := different(rows); len(problems) > 0 {
		return fmt.Errorf("the target is not what the backup has, and no host opens it: %s", strings.Join(problems, "; "))
	}
	return nil
}

// hostFlags returns where the hosts have their uploads. own reports whether that is in the data folder itself.
func (c storeRestore) hostFlags() (flags documentFlags, own bool) {
	flags = c.ofHosts()
	flags.WithoutDocuments = false // the ledger is there nevertheless
	if own = !isURL(c.To) && flags.BlobDir == "" && flags.S3Endpoint == ""; own {
		flags.BlobDir = datadir.Folder(c.To).Documents()
	}
	return flags, own
}

// beside restores the uploads, and puts the ledger beside them.
func (c storeRestore) beside(ctx context.Context, s *session, a *archive, ledger *ledgerPlace, flags documentFlags, own bool) error {
	if flags.BlobDir != "" {
		if err := os.MkdirAll(flags.BlobDir, 0o700); err != nil {
			return err
		}
	}
	documents, closed, err := flags.open("")
	if err != nil {
		return err
	}
	if documents == nil {
		if ledger != nil {
			s.note("put the ledger of erasures where the hosts have their uploads, if it is not there")
		}
		return nil
	}
	if !c.WithoutDocuments {
		err = a.saveDocuments(ctx, documents)
	}
	if err = errors.Join(err, closed()); err != nil {
		return err
	}
	place := fileLedger(filepath.Join(flags.BlobDir, hiddenLedger))
	if own {
		place = fileLedger(datadir.Folder(c.To).Erasures())
	} else if bucket, ok := documents.(verification.ErasureLedger); ok {
		place = &ledgerPlace{bucketScheme + flags.S3Bucket, bucket}
	}
	return ledger.copyTo(ctx, place)
}

// ledgerPlace is a ledger of erasures and where it is.
type ledgerPlace struct {
	name string
	verification.ErasureLedger
}

func fileLedger(name string) *ledgerPlace { return &ledgerPlace{name, blob.LedgerFile(name)} }

// openLedger opens the ledger in a file, in a folder, or in a bucket.
func (f documentFlags) openLedger(name string) (*ledgerPlace, error) {
	if isBucket(name) {
		name = strings.TrimSuffix(name, "/")
		bucket, err := f.bucket(name)
		return &ledgerPlace{name, bucket}, err
	}
	if isFolder(name) {
		for _, file := range []string{datadir.Folder(name).Erasures(), filepath.Join(name, hiddenLedger)} {
			if _, err := os.Stat(file); err == nil {
				return fileLedger(file), nil
			}
		}
		return nil, fmt.Errorf("%s has neither erasures.jsonl nor %s: give the data folder, or the folder of uploads of the hosts", name, hiddenLedger)
	}
	_, err := os.Stat(name)
	return fileLedger(name), err
}

// hiddenLedger is the name of the ledger in a folder of uploads.
const hiddenLedger = ".erasures.jsonl"

// copyTo puts the ledger in its place, unless it is there. A place that has entries which the ledger does not have is left
// as it is.
func (l *ledgerPlace) copyTo(ctx context.Context, to *ledgerPlace) error {
	if l == nil || l.name == to.name || sameFolder(l.name, to.name) {
		return nil
	}
	type line = verification.Erasure
	var all []line
	known := map[line]bool{}
	err := l.EachErasure(ctx, func(e line) bool {
		if e.Kind != verification.ErasureUnreadable && e.Kind != verification.ErasureUnfinished && e.Kind != verification.ErasureCounted {
			all, known[e] = append(all, e), true
		}
		return true
	})
	if err != nil {
		return err
	}
	there, other := map[line]bool{}, false
	if err := to.EachErasure(ctx, func(e line) bool {
		there[e] = true
		other = other || !known[e] && e.Kind != verification.ErasureCounted
		return !other
	}); err != nil {
		return err
	}
	if other {
		return fmt.Errorf("%s has a ledger of erasures with entries that %s does not have: give it as --ledger, or move it away if it is of another installation", to.name, l.name)
	}
	const batch = 1000
	var lacking []line
	for _, e := range all {
		if !there[e] {
			lacking = append(lacking, e)
		}
	}
	for len(lacking) > 0 {
		n := min(batch, len(lacking))
		if err := to.NoteErasures(ctx, lacking[:n]...); err != nil {
			return err
		}
		lacking = lacking[n:]
	}
	return nil
}
