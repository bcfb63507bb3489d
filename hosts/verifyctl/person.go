// The commands about persons.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

type personCommands struct {
	Export personExport `cmd:"" help:"Write all that is kept about a person into a ZIP file." see:"verifyctl.md#a-persons-file"`
}

type personExport struct {
	tenantFlags
	Reference         string   `placeholder:"ID" help:"All runs of the tenant with this reference id."`
	RunID             runID    `name:"run" placeholder:"ID" help:"One run, in place of --reference. Its tenant is found."`
	Element           string   `placeholder:"NODE[N]" help:"One element of a list of the run alone, such as owners[2], whom the workflow names; with --run."`
	Out               string   `placeholder:"FILE" help:"File to write, which must not exist (default: person-TIME.zip)."`
	IncludeScreening  bool     `help:"Also write what must not be told to the person without need: screening, and what reviewers wrote."`
	IncludeRestricted bool     `help:"Also write what is hidden of a restricted run."`
	Reason            string   `placeholder:"TEXT" help:"Why screening or a restricted run is included; required then. It is in the index of the file."`
	ScreeningChecks   []string `name:"screening-check" placeholder:"KEY" help:"Key of a check of a vendor that screens; may be repeated."`
	documentFlags
}

// documentFlags select where the uploads of customers are, as the settings of hosts do.
type documentFlags struct {
	BlobDir          string `placeholder:"DIR" variable:"VERIFYD_BLOB_DIR" help:"Folder of uploaded documents."`
	S3Endpoint       string `name:"s3-endpoint" placeholder:"HOST" variable:"VERIFYD_S3_ENDPOINT" help:"S3 object store of uploaded documents."`
	S3Bucket         string `name:"s3-bucket" placeholder:"NAME" variable:"VERIFYD_S3_BUCKET" help:"Bucket of the object store."`
	S3Region         string `name:"s3-region" placeholder:"NAME" variable:"VERIFYD_S3_REGION" help:"Region of the bucket."`
	S3AccessKey      string `name:"s3-access-key" placeholder:"KEY" variable:"VERIFYD_S3_ACCESS_KEY" help:"Access key of the object store; use the variable."`
	S3SecretKey      string `name:"s3-secret-key" placeholder:"KEY" variable:"VERIFYD_S3_SECRET_KEY" help:"Secret key of the object store; use the variable."`
	WithoutDocuments bool   `help:"Leave uploaded documents out."`
}

// open opens the documents; there are none if no setting says where they are.
func (f documentFlags) open(folder datadir.Folder) (_ verification.DocumentStore, closed func() error, err error) {
	closed = func() error { return nil }
	if f.WithoutDocuments {
		return nil, closed, nil
	}
	if f.S3Endpoint != "" {
		if f.BlobDir != "" {
			return nil, nil, fmt.Errorf("%s and %s: give only one of them", cli.Setting("blob-dir"), cli.Setting("s3-endpoint"))
		}
		bucket, err := s3.New(s3.Options{
			Endpoint: f.S3Endpoint, Bucket: f.S3Bucket, Region: f.S3Region, AccessKey: f.S3AccessKey, SecretKey: f.S3SecretKey, Secure: true,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", cli.Setting("s3-endpoint"), err)
		}
		return bucket, closed, nil
	}
	dir := f.BlobDir
	if dir == "" && folder != "" {
		if dir = folder.Documents(); !isFolder(dir) {
			return blob.Memory(0, 0), closed, nil // the host has made none
		}
	}
	if dir == "" {
		return nil, closed, nil
	}
	if !isFolder(dir) {
		return nil, nil, fmt.Errorf("%s: there is no folder %s", cli.Setting("blob-dir"), dir)
	}
	documents, err := blob.Folder(dir, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", cli.Setting("blob-dir"), err)
	}
	return documents, documents.Close, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// check returns what is wrong with the flags that do not depend on data.
func (c personExport) check() error {
	switch {
	case (c.Reference == "") == (c.RunID.RunID == ""):
		return errors.New("--reference, --run: exactly one of them is required")
	case c.Reference != "" && rules.ValidateReferenceID(c.Reference) != nil:
		return errors.New("--reference: must have 1 to 255 characters and no control characters")
	case c.IncludeScreening && strings.TrimSpace(c.Reason) == "":
		return errors.New("--reason: required with --include-screening: say who asked for it and why the law allows it")
	case c.IncludeRestricted && strings.TrimSpace(c.Reason) == "":
		return errors.New("--reason: required with --include-restricted: say who asked for it and why the law allows it")
	case c.Element != "" && c.RunID.RunID == "":
		return errors.New("--element: only with --run: it is an element of one run")
	case c.IncludeRestricted && c.RunID.RunID == "":
		return errors.New("--include-restricted: only with --run: no restricted run is found by a reference id")
	case !c.IncludeScreening && !c.IncludeRestricted && c.Reason != "":
		return errors.New("--reason: only with --include-screening or --include-restricted")
	}
	return nil
}

func (c personExport) Run(ctx context.Context, s *session) error {
	if err := c.check(); err != nil {
		return err
	}
	name := c.Out
	if name == "" {
		name = "person-" + s.clock.Now().UTC().Format("20060102-150405") + ".zip"
	}
	if _, err := os.Lstat(name); err == nil {
		return errExists(name)
	}
	documents, closed, err := c.documentFlags.open(c.DataDir)
	if err != nil {
		return err
	}
	var made desk.PersonFile
	err = c.databaseFlag.with(ctx, s, func(db *database) error {
		tenant, err := c.tenantOf(ctx, db)
		if err != nil {
			return err
		}
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		q := desk.PersonQuery{
			Run: c.RunID.RunID, ReferenceID: c.Reference, Element: verification.NodeID(c.Element), By: "the operator " + s.operator.Name + ", with verifyctl",
			ScreeningChecks: c.ScreeningChecks, Documents: documents, WithoutDocuments: c.WithoutDocuments,
			RunJSON:    func(r rules.RunDetail) any { return apitypes.NewRunDetail(r) },
			ReportJSON: func(r rules.Report) any { return apitypes.NewReport(r) },
		}
		if c.IncludeScreening {
			q.ScreeningReason = strings.TrimSpace(c.Reason)
		}
		if c.IncludeRestricted {
			q.RestrictedReason = strings.TrimSpace(c.Reason)
		}
		return createFile(name, func(to io.Writer) error {
			made, err = desk.New(e, db, s.clock.Now, s.warnings()).WritePersonFile(ctx, tenant, q, to)
			return c.explain(err)
		})
	})
	if err = errors.Join(err, closed()); err != nil {
		return err
	}
	if made.Missing > 0 {
		s.note(fmt.Sprintf("documents that the document store does not have: %d; see index.txt", made.Missing))
	}
	if made.Differ {
		s.note("the runs name different people: check whose data the file has before it is handed over (--run takes one run)")
	}
	return s.say(false, nil, "%s: runs %d, documents %d", oneLine(name), made.Runs, made.Documents)
}

// tenantOf returns the tenant of the run or of the reference id.
func (c personExport) tenantOf(ctx context.Context, db *database) (verification.TenantID, error) {
	if c.RunID.RunID != "" {
		return db.tenantOf(ctx, c.tenantFlag, c.RunID.RunID)
	}
	t, err := db.tenant(ctx, c.tenantFlag)
	return t.ID, err
}

// explain says what to do about an error.
func (c personExport) explain(err error) error {
	failed, ok := errors.AsType[*verification.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(failed.Kind, verification.ErrNotFound) && failed.Subject == "reference":
		return notFound("run", "no run of the tenant has this reference id (see verifyctl run list --reference-id)")
	case errors.Is(failed.Kind, verification.ErrNotFound) && failed.Subject == "run":
		return notFound("run", "the tenant has no run with this id")
	case errors.Is(failed.Kind, verification.ErrUnavailable) && failed.Subject == "document" && failed.Cause == nil:
		return fmt.Errorf("a run has uploads: give %s or %s, or --without-documents", cli.Setting("blob-dir"), cli.Setting("s3-endpoint"))
	case errors.Is(failed.Kind, verification.ErrInvalid) && failed.Subject == "check":
		return errors.New("--screening-check: " + failed.Message)
	case errors.Is(failed.Kind, verification.ErrInvalid) && failed.Subject == "reference":
		return errors.New("--reference: " + failed.Message)
	}
	return err
}

func errExists(name string) error {
	return fmt.Errorf("--out: %s exists; give another name", name)
}

// drafts are the names of files that are being written. One that nobody has written to for draftLife was left by a
// process that was killed.
const (
	drafts    = ".person-*"
	draftLife = time.Hour
)

// createFile writes a new file that only its owner can read, completely before it gets its name. It removes the
// drafts of processes that were killed.
func createFile(name string, write func(io.Writer) error) error {
	old, _ := filepath.Glob(filepath.Join(filepath.Dir(name), drafts)) // a folder whose name is a pattern keeps them
	for _, left := range old {
		if info, err := os.Lstat(left); err == nil && time.Since(info.ModTime()) > draftLife {
			_ = os.Remove(left) // the next call tries again
		}
	}
	draft, err := os.CreateTemp(filepath.Dir(name), drafts)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // the name of the draft says nothing
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	defer func() { _ = os.Remove(draft.Name()) }() // the file has its content
	if err := write(draft); err != nil {
		return errors.Join(err, draft.Close())
	}
	if err := errors.Join(draft.Sync(), draft.Close()); err != nil {
		return err
	}
	// A link replaces no file, whenever it was made. Some file systems have no links.
	if err := os.Link(draft.Name(), name); err != nil {
		if _, there := os.Lstat(name); there == nil {
			return errExists(name)
		}
		if err := os.Rename(draft.Name(), name); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return syncFolder(filepath.Dir(name))
}
