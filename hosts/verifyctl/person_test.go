// Tests of the commands about persons.

package main

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// unzip returns the files of a ZIP by name.
func unzip(t *testing.T, name string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	files := map[string]string{}
	for _, f := range archive.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(raw)
	}
	return files
}

func TestAPersonIsExportedFromEveryStore(t *testing.T) {
	for _, store := range []struct {
		name string
		open func(*testing.T) *world
	}{{"memory", onMemory}, {"postgres", onPostgres}, {"folder", onFolder}} {
		t.Run(store.name, func(t *testing.T) {
			w := store.open(t)
			w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
			w.ctl("apply testdata/bootstrap.yaml")
			id := string(w.start(onboarding, "person-1").ID)
			w.kit.Submit(verification.RunID(id), "consent_submitted", map[string]any{"consent_status": "declined"})
			verdict := rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "a note of a reviewer", By: "a reviewer"}
			if _, err := w.kit.Engine.GiveVerdict(t.Context(), tenant, verification.RunID(id), verdict, ""); err != nil {
				t.Fatal(err)
			}
			w.start(onboarding, "person-1")
			w.start(onboarding, "person-2")
			w.transcript()

			dir := t.TempDir()
			out := func(name string) string { return " --out " + filepath.Join(dir, name) }
			w.ctl("person export --reference person-1" + out("person.zip"))
			w.ctl("person export --reference person-1" + out("person.zip"))
			w.ctl("person export --run " + id + out("run.zip"))
			w.ctl("person export --run " + id + " --include-screening --reason court" + out("all.zip"))
			w.ctl("person export --run " + id + " --include-screening" + out("none.zip"))
			w.ctl("person export --run " + id + " --reason court" + out("none.zip"))
			w.ctl("person export --run " + id + " --screening-check aml" + out("none.zip"))
			w.ctl("person export --run " + id + " --reference person-1" + out("none.zip"))
			w.ctl("person export" + out("none.zip"))
			w.ctl("person export --run 00000000-0000-7000-8000-00000000ffff" + out("none.zip"))
			w.ctl("person export --tenant TENANT --run 00000000-0000-7000-8000-00000000ffff" + out("none.zip"))
			w.ctl("person export --reference person" + out("none.zip"))
			w.ctl("person export --reference redacted" + out("none.zip"))
			w.ctl("person export --reference person-1" + out("none/person.zip"))
			w.ctl("person export --reference person-1 --blob-dir " + dir + "/none" + out("none.zip"))
			w.ctl("person export --reference person-1 --blob-dir " + dir + " --s3-endpoint s3.example" + out("none.zip"))
			golden.Equal(t, "testdata/talks/person.txt", []byte(strings.ReplaceAll(string(w.transcript()), dir, "DIR")))

			var names []string
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				names = append(names, e.Name())
				if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has the mode %v, %v; want 0600", e.Name(), info.Mode(), err)
				}
			}
			if diff := cmp.Diff([]string{"all.zip", "person.zip", "run.zip"}, names); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if files := unzip(t, filepath.Join(dir, "person.zip")); len(files) != 1+2*4 || !strings.Contains(files["index.txt"], "by the operator root, with verifyctl") {
				t.Errorf("person.zip has %d files, want 4 of each run; the index is\n%s", len(files), files["index.txt"])
			}
			for name, want := range map[string]bool{"run.zip": false, "all.zip": true} {
				text := ""
				for _, file := range unzip(t, filepath.Join(dir, name)) {
					text += file
				}
				if strings.Contains(text, "a note of a reviewer") != want || strings.Contains(text, `"a reviewer"`) != want {
					t.Errorf("%s has the note and the name of the reviewer: %t, want %t", name, !want, want)
				}
			}
		})
	}
}

// uploaded is the run that withUpload makes, and the document that it names.
const (
	uploaded verification.RunID = "00000000-0000-7000-8000-0000000000f1"
	document string             = "00000000-0000-7000-8000-00000000d0c1"
)

// withUpload adds a run whose customer has sent a document for the open step.
func (w *world) withUpload() {
	w.t.Helper()
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	db := w.database()
	history, err := db.Load(w.t.Context(), tenant, w.start(records, "firm-1").ID, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	history = slices.Concat(history[:1], []rules.Event{
		{At: history[0].At, Fact: rules.CustomerAwaited{Node: "card", Signal: "card"}},
		{At: history[0].At, Fact: rules.DocumentUploaded{Node: "card", Document: document, Field: "front", MediaType: "image/jpeg"}},
	})
	c := store.Commit{Events: history, Summary: rules.Fold(uploaded, history).Summary()}
	if err := errors.Join(db.Append(w.t.Context(), tenant, uploaded, 0, c), db.close()); err != nil {
		w.t.Fatal(err)
	}
	w.transcript()
}

func TestUploadsAreInAPersonsFile(t *testing.T) {
	w := onFolder(t)
	w.withUpload()
	folder := datadir.Folder(w.env["VERIFYD_DATA_DIR"])
	for _, dir := range []string{folder.Documents(), t.TempDir()} {
		documents, err := blob.Folder(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		ref := verification.RunRef{Tenant: tenant, Run: uploaded}
		if _, err := documents.SaveDocument(t.Context(), ref, verification.Document{ID: document}, strings.NewReader("in "+dir)); err != nil {
			t.Fatal(err)
		}
		if err := documents.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "person.zip")
		line := "person export --run " + string(uploaded) + " --out " + file
		if dir != folder.Documents() {
			line += " --blob-dir " + dir
		}
		if said := w.ctl(line); !strings.Contains(said, "runs 1, documents 1") {
			t.Errorf("the command says %q: %s", said, w.transcript())
		}
		if got := unzip(t, file)[string(uploaded)+"/documents/1-front.jpg"]; got != "in "+dir {
			t.Errorf("the upload is %q, want that of %s", got, dir)
		}
	}
	if err := os.RemoveAll(folder.Documents()); err != nil {
		t.Fatal(err)
	}
	w.transcript()
	w.ctl("person export --run " + string(uploaded) + " --out " + filepath.Join(t.TempDir(), "person.zip"))
	if got := string(w.transcript()); !strings.Contains(got, "documents that the document store does not have: 1; see index.txt") {
		t.Errorf("the command says %s, want that a document is missing", got)
	}
	w.stop()
	w.ctl("person export --run " + string(uploaded) + " --out " + filepath.Join(t.TempDir(), "person.zip"))
	if got := string(w.transcript()); !strings.HasSuffix(got, "exit 0\n") {
		t.Errorf("without a host, the command says %s", got)
	}
}

func TestADatabaseDoesNotSayWhereUploadsAre(t *testing.T) {
	w := onMemory(t)
	w.withUpload()
	dir := t.TempDir()
	w.ctl("person export --run " + string(uploaded) + " --out " + filepath.Join(dir, "person.zip"))
	want := "stderr: verifyctl: a run has uploads: give --blob-dir (VERIFYD_BLOB_DIR) or --s3-endpoint (VERIFYD_S3_ENDPOINT), or --without-documents\nexit 2\n"
	if got := string(w.transcript()); !strings.HasSuffix(got, want) {
		t.Errorf("the command says %s, want %s", got, want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, %v; want nothing half done", entries, err)
	}
	w.ctl("person export --without-documents --run " + string(uploaded) + " --out " + filepath.Join(dir, "person.zip"))
	if got := string(w.transcript()); !strings.HasSuffix(got, "runs 1, documents 0\nexit 0\n") {
		t.Errorf("the command says %s", got)
	}
}

func TestTheDraftsOfKilledExportsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	left, busy := filepath.Join(dir, ".person-1"), filepath.Join(dir, ".person-2")
	for _, name := range []string{left, busy} {
		if err := os.WriteFile(name, []byte("Asha"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(left, time.Time{}, time.Now().Add(-2*draftLife)); err != nil {
		t.Fatal(err)
	}
	if err := createFile(filepath.Join(dir, "person.zip"), func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	entries, err := filepath.Glob(filepath.Join(dir, ".person-*"))
	if err != nil || !slices.Equal(entries, []string{busy}) {
		t.Errorf("the drafts are %q, %v, want the one that was written lately", entries, err)
	}
}
