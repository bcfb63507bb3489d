// Tests of backups that are damaged, interrupted or in a bucket.

package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// uploadedRun is the run of keepRun.
const uploadedRun verification.RunID = "00000000-0000-7000-8000-00000000c001"

// keepRun saves a document, and a run that names it, and opens the ledger.
func keepRun(t *testing.T, s store.Store, documents verification.DocumentStore, ledger verification.ErasureLedger) {
	t.Helper()
	ref := verification.RunRef{Tenant: tenant, Run: uploadedRun}
	d, err := documents.SaveDocument(t.Context(), ref, verification.Document{ID: string(uploadedRun), Field: "front", MediaType: "image/png"}, strings.NewReader("a picture"))
	if err != nil {
		t.Fatal(err)
	}
	events := []rules.Event{
		{At: enginetest.Began(), Fact: rules.Started{Workflow: "00000000-0000-7000-8000-00000000f001", ReferenceID: "customer"}},
		{At: enginetest.Began(), Fact: rules.CustomerAwaited{Node: "card"}},
		{At: enginetest.Began(), Fact: rules.DocumentUploaded{Node: "card", Field: "front", Document: d.ID, MediaType: d.MediaType, Size: d.Size, SHA256: d.SHA256}},
	}
	run := rules.Fold(uploadedRun, events)
	if err := s.Append(t.Context(), tenant, uploadedRun, 0, store.NewCommit(rules.Run{ID: uploadedRun}, run, events, time.UTC)); err != nil {
		t.Fatal(err)
	}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Store, p.Ledger = s, ledger })
	if _, err := k.Engine.ApplyErasures(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// backedUp is a database with a backup.
type backedUp struct {
	*drill

	url, blobs, ledger, file string
	store                    *postgres.Store
}

func newBackedUp(t *testing.T) *backedUp {
	t.Helper()
	b := &backedUp{drill: newDrill(t, map[string]string{}), url: pgtest.Database(t), blobs: t.TempDir()}
	var err error
	if b.store, err = postgres.Open(t.Context(), b.url, postgres.Options{SingleHost: true, MaxConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.store.Close)
	storereads.Fill(t, b.store, 20)
	documents, err := blob.Folder(b.blobs, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = documents.Close() }()
	b.ledger = filepath.Join(b.blobs, ".erasures.jsonl")
	keepRun(t, b.store, documents, blob.LedgerFile(b.ledger))
	b.file = filepath.Join(t.TempDir(), "verifyd.tar.gz")
	b.says("store backup "+b.url+" "+b.file+" --blob-dir "+b.blobs, 0, "bytes")
	return b
}

// TestARestoreHasEveryRecord compares with a copy, which says what differs.
func TestARestoreHasEveryRecord(t *testing.T) {
	b := newBackedUp(t)
	b.says("doctor --database-url "+b.url, 1, "ok      backup       the last one is of ")
	b.clock = clock.NewManual(time.Now().Add(26 * time.Hour))
	b.says("doctor --database-url "+b.url, 1, "warn    backup       the last one is of ")
	b.clock = clock.System{}
	b.says("store verify "+b.file, 0, "documents  1")
	scratch := pgtest.Database(t)
	b.says("store verify "+b.file+" --into "+scratch, 0, "without a problem")
	url := pgtest.Database(t)
	restore := "store restore " + b.file + " --ledger " + b.ledger + " --blob-dir " + t.TempDir() + " --to "
	b.says(restore+url, 0, "documents  1")
	b.says(restore+filepath.Join(t.TempDir(), "folder"), 2, "of PostgreSQL into a database; then use verifyctl store copy")
	for _, name := range []string{scratch, url} {
		to, err := openTarget(t.Context(), name, b.clock.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := storecopy.Copy(t.Context(), b.store, to, storecopy.Options{Source: "the database", Now: b.clock.Now()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, r := range rows {
			if r.Difference != "" {
				t.Errorf("%s: %s: %s", name, r.Kind, r.Difference)
			}
		}
		if err := to.close(); err != nil {
			t.Error(err)
		}
	}
	b.says(restore+url, 0, "restored in ") // it is complete already
	lost := "store restore " + b.file + " --blob-dir " + t.TempDir() + " --to " + pgtest.Database(t)
	_, name, _ := strings.Cut(strings.TrimSpace(b.says(lost, 2, "--ledger: required")), "--accept-ledger ")
	b.says(lost+" --accept-ledger "+strings.Fields(name)[0], 0, "the ledger of erasures was accepted as it is")
	if err := b.store.Append(t.Context(), tenant, uploadedRun, 3, store.Commit{Delete: true}); err != nil {
		t.Fatal(err)
	}
	b.says(restore+b.url, 2, "it has data, and is no copy of the source")
}

func TestADamagedBackupIsNotRestored(t *testing.T) {
	b := newBackedUp(t)
	raw, err := os.ReadFile(b.file)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"cut": raw[:len(raw)-20], "half": raw[:len(raw)/2], "empty": nil} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		b.says("store verify "+file, 1, "the backup cannot be read after ")
		b.says("store restore "+file+" --to "+b.dir+"/new --ledger "+b.ledger, 1, "the backup cannot be read after ")
	}
	if _, err := os.Stat(filepath.Join(b.dir, "new")); err == nil {
		t.Error("a damaged backup has made a folder")
	}
	if err := os.RemoveAll(filepath.Join(b.blobs, string(tenant))); err != nil {
		t.Fatal(err)
	}
	missing := fmt.Sprintf("run %s names the document %s, which is not ", uploadedRun, uploadedRun)
	b.says("store backup "+b.url+" "+b.file+" --blob-dir "+b.blobs, 1, missing)
	b.says("store verify "+b.file, 1, missing)
	b.says("store backup "+b.url+" "+b.file, 2, "--without-documents")
	if err := b.store.Append(t.Context(), tenant, uploadedRun, 3, store.Commit{Delete: true}); err != nil {
		t.Fatal(err)
	}
	b.says("store backup "+b.url+" "+b.file+" --blob-dir "+b.blobs, 0, "bytes")
}

// TestAnInterruptedRestoreIsNoticed ends restores when the records are there and the uploads are not.
func TestAnInterruptedRestoreIsNoticed(t *testing.T) {
	b := newBackedUp(t)
	afile := filepath.Join(t.TempDir(), "afile")
	if err := os.WriteFile(afile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(want string) {
		t.Helper()
		if host, err := b.startHost(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a host on a part of a restore: %v, %v; want %q", host, err, want)
		}
	}
	url := pgtest.Database(t)
	restore := "store restore " + b.file + " --to " + url + " --ledger " + b.ledger + " --blob-dir "
	b.says(restore+afile, 2, "afile")
	b.vars["VERIFYD_DATABASE_URL"] = url
	refused("it has a part of a copy of the backup of ")
	b.says(restore+t.TempDir(), 0, "restored in ")

	folder, unpacked, backup := filepath.Join(t.TempDir(), "folder"), filepath.Join(t.TempDir(), "unpacked"), filepath.Join(t.TempDir(), "folder.tar.gz")
	b.says("store copy --from "+url+" --to "+folder, 0, "verified")
	b.says("store backup "+folder+" "+backup, 0, "bytes")
	b.says("store restore "+backup+" --to "+unpacked+" --ledger "+b.ledger, 0, "restored in ")
	if err := os.WriteFile(datadir.Folder(unpacked).Restoring(), nil, 0o600); err != nil { // as a restore that was killed leaves it
		t.Fatal(err)
	}
	b.vars["VERIFYD_DATABASE_URL"], b.vars["VERIFYD_DATA_DIR"] = "", unpacked
	const part = "has a part of a backup, whose restore was interrupted"
	refused(part)
	for _, line := range []string{"store restore " + backup + " --ledger " + b.ledger + " --to ", "run list --data-dir "} {
		b.says(line+unpacked, 2, part)
	}
}

// TestABackupInABucketIsRestored has the uploads, the ledger and the backups in one bucket.
func TestABackupInABucketIsRestored(t *testing.T) {
	backend := s3mem.New()
	for _, name := range []string{"uploads", "backups", "restored"} {
		if err := backend.CreateBucket(name); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewTLSServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	bucketOf := func(name string) s3.Store {
		t.Helper()
		b, err := s3.New(s3.Options{
			Endpoint: strings.TrimPrefix(server.URL, "https://"), Bucket: name, Region: "us-east-1", AccessKey: "access", SecretKey: "secret", Secure: true,
			Transport: server.Client().Transport,
		})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	url, target := pgtest.Database(t), pgtest.Database(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{SingleHost: true, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	uploads := bucketOf("uploads")
	keepRun(t, s, uploads, uploads)
	says := func(exit int, want string, line string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(line)...)
		c.Env = append(os.Environ(), asProgram+"=1", "SSL_CERT_FILE="+roots, "VERIFYD_S3_ENDPOINT="+strings.TrimPrefix(server.URL, "https://"),
			"VERIFYD_S3_REGION=us-east-1", "VERIFYD_S3_ACCESS_KEY=access", "VERIFYD_S3_SECRET_KEY=secret", "VERIFYD_S3_BUCKET=uploads")
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err := c.Run()
		if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) || c.ProcessState.ExitCode() != exit || !strings.Contains(out.String(), want) {
			t.Fatalf("%s says %s (%v), want exit %d and %q", line, &out, err, exit, want)
		}
		return out.String()
	}
	said := says(0, "s3://backups/daily/verifyd-", "store backup "+url+" s3://backups/daily")
	name, _, _ := strings.Cut(said, ": ")
	says(0, "documents  1", "store verify "+name)
	says(2, "there is no backup s3://backups/none", "store verify s3://backups/none.tar.gz")
	says(2, "1 of 1 entries are missing", "store restore "+name+" --to "+target+" --ledger s3://backups --s3-bucket restored")
	says(0, "restored in ", "store restore "+name+" --to "+target+" --ledger s3://uploads --s3-bucket restored")
	restored := bucketOf("restored")
	f, err := restored.OpenDocument(t.Context(), verification.RunRef{Tenant: tenant, Run: uploadedRun}, string(uploadedRun))
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	entries := 0
	if err := restored.EachErasure(t.Context(), func(verification.Erasure) bool { entries++; return true }); err != nil || entries != 1 {
		t.Errorf("the restored bucket has %d entries of the ledger, %v; want 1", entries, err)
	}
}
