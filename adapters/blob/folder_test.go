package blob_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

// stores are both stores, empty.
func stores(t *testing.T) map[string]verification.DocumentStore {
	t.Helper()
	return map[string]verification.DocumentStore{"memory": blob.Memory(100<<20, 100<<20), "folder": folder(t, t.TempDir())}
}

// files returns the files below a folder, with their permissions.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := entry.Info()
		found[path] = info.Mode().String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestADocumentIsAFolderOfTwoFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	s := folder(t, dir)
	d, err := s.SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(0)))
	if err != nil {
		t.Fatal(err)
	}
	const tenant = "a0000000-0000-7000-8000-000000000001"
	const run = tenant + "/d0000000-0000-7000-8000-000000000001"
	const document = run + "/e0000000-0000-7000-8000-000000000001"
	want := map[string]string{
		".incoming": "drwx------", tenant: "drwx------", run: "drwx------", document: "drwx------",
		document + "/content": "-rw-------", document + "/document.json": "-rw-------",
	}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	raw, err := os.ReadFile(filepath.Join(dir, document, "document.json"))
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(raw, &record); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{
		"id": d.ID, "field": "front", "media_type": "application/pdf", "size": float64(d.Size),
		"sha256": d.SHA256, "created_at": "2026-03-01T09:00:00.123456Z",
	}, record); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
}

func TestDocumentsOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	want, err := folder(t, dir).SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(0)))
	if err != nil {
		t.Fatal(err)
	}
	again := folder(t, dir)
	got, err := again.Document(t.Context(), someRun(1), want.ID)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Document after a restart: %v (-want +got):\n%s", err, diff)
	}
	f, err := again.OpenDocument(t.Context(), someRun(1), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if content, err := io.ReadAll(f); err != nil || !bytes.Equal(content, somePDF(0)) {
		t.Errorf("OpenDocument after a restart reads %q, %v", content, err)
	}
}

func TestLeftoversOfACrashAreRemovedWhileOpen(t *testing.T) {
	dir := t.TempDir()
	store := folder(t, dir)
	if _, err := store.SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(0))); err != nil {
		t.Fatal(err)
	}
	kept := files(t, dir)
	draft := filepath.Join(dir, ".incoming", "died") // another process, after this one opened the folder
	begun := time.Now().Add(-61 * time.Minute)
	if err := errors.Join(os.Mkdir(draft, 0o700), os.Chtimes(draft, begun, begun)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if n, err := store.RemoveIncomplete(t.Context()); err != nil || n != want {
			t.Errorf("RemoveIncomplete = %d, %v; want %d", n, err, want)
		}
	}
	if diff := cmp.Diff(kept, files(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
}

func TestLeftoversOfACrashAreRemovedAtOpen(t *testing.T) {
	dir := t.TempDir()
	d, err := folder(t, dir).SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(0)))
	if err != nil {
		t.Fatal(err)
	}
	kept := files(t, dir)
	// The process died an hour ago, or is another one that is still writing.
	now := time.Now()
	for name, age := range map[string]time.Duration{"died": 61 * time.Minute, "writes": 59 * time.Minute, "slow": 61 * time.Minute} {
		draft := filepath.Join(dir, ".incoming", name)
		content := filepath.Join(draft, "content")
		if err := errors.Join(os.Mkdir(draft, 0o700), os.WriteFile(content, []byte("%PDF-1"), 0o600)); err != nil {
			t.Fatal(err)
		}
		begun, touched := now.Add(-age), now.Add(-age)
		if name == "slow" {
			touched = now.Add(-time.Minute)
		}
		if err := errors.Join(os.Chtimes(content, touched, touched), os.Chtimes(draft, begun, begun)); err != nil {
			t.Fatal(err)
		}
		if name != "died" {
			kept[".incoming/"+name], kept[".incoming/"+name+"/content"] = "drwx------", "-rw-------"
		}
	}
	again := folder(t, dir)
	if diff := cmp.Diff(kept, files(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	if _, err := again.Document(t.Context(), someRun(1), d.ID); err != nil {
		t.Errorf("Document: %v, want no error", err)
	}
}

// TestAnInterruptedRemovalIsCompleted has the folder that a process leaves that dies while it removes a document.
func TestAnInterruptedRemovalIsCompleted(t *testing.T) {
	dir := t.TempDir()
	store := folder(t, dir)
	for name, complete := range map[string]func() error{
		"with the removal of the run": func() error { return store.RemoveDocuments(t.Context(), someRun(1)) },
		"with the other drafts": func() error {
			_, err := store.RemoveIncomplete(t.Context())
			return err
		},
	} {
		left := filepath.Join(dir, ".incoming", "removed-1")
		if err := errors.Join(os.Mkdir(left, 0o700), os.WriteFile(filepath.Join(left, "content"), []byte("%PDF-1"), 0o600), complete()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want it removed", name, err)
		}
	}
}

func TestARemovedDocumentLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	s := folder(t, dir)
	for n := range 2 {
		if _, err := s.SaveDocument(t.Context(), someRun(1), upload(n), bytes.NewReader(somePDF(0))); err != nil {
			t.Fatal(err)
		}
	}
	removed := string(someRun(1).Tenant) + "/" + string(someRun(1).Run) + "/" + upload(0).ID
	want := files(t, dir)
	for name := range want {
		if strings.HasPrefix(name, removed) {
			delete(want, name)
		}
	}
	open, err := s.OpenDocument(t.Context(), someRun(1), upload(0).ID)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.RemoveDocument(t.Context(), someRun(1), upload(0).ID); err != nil {
				t.Errorf("RemoveDocument: %v", err)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	if content, err := io.ReadAll(open); err != nil || !bytes.Equal(content, somePDF(0)) {
		t.Errorf("the document that was being read ends as %q, %v", content, err)
	}
}

func TestFolderRefusesADirectoryThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, ".incoming"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), occupied, "a\x00b"} {
		if s, err := blob.Folder(dir, 0); err == nil {
			t.Errorf("Folder(%q) opened, want an error", dir)
			_ = s.Close()
		}
	}
}

func TestIDsThatAreNoUUIDReachNoFile(t *testing.T) {
	for name, s := range stores(t) {
		for _, bad := range []string{
			"", ".", "..", "../../etc/passwd", "/etc/passwd", ".incoming", "{e0000000-0000-7000-8000-000000000001}",
			"urn:uuid:e0000000-0000-7000-8000-000000000001", "e0000000000070008000000000000001", "e0000000-0000-7000-8000-00000000000/",
			"e0000000-0000-7000-8000-000000000001\x00", "e0000000-0000-7000-8000-000000000001/content", strings.Repeat("a", 5000),
		} {
			run, tenant, d := someRun(1), someRun(1), upload(1)
			run.Run, tenant.Tenant, d.ID = verification.RunID(bad), verification.TenantID(bad), bad
			for _, c := range []struct {
				r verification.RunRef
				d verification.Document
			}{{someRun(1), d}, {run, upload(1)}, {tenant, upload(1)}} {
				var expected *verification.Error
				if _, err := s.SaveDocument(t.Context(), c.r, c.d, bytes.NewReader(somePDF(0))); err == nil || errors.As(err, &expected) {
					t.Errorf("%s: SaveDocument(%+v, %q): %v, want an internal error", name, c.r, c.d.ID, err)
				}
				if _, err := s.Document(t.Context(), c.r, c.d.ID); !errors.Is(err, verification.ErrNotFound) {
					t.Errorf("%s: Document(%+v, %q): %v, want not found", name, c.r, c.d.ID, err)
				}
				if _, err := s.OpenDocument(t.Context(), c.r, c.d.ID); !errors.Is(err, verification.ErrNotFound) {
					t.Errorf("%s: OpenDocument(%+v, %q): %v, want not found", name, c.r, c.d.ID, err)
				}
			}
		}
	}
}

func TestAnIDInCapitalsIsTheSameID(t *testing.T) {
	for name, s := range stores(t) {
		capital := upload(1)
		capital.ID = strings.ToUpper(capital.ID)
		d, err := s.SaveDocument(t.Context(), someRun(1), capital, bytes.NewReader(somePDF(0)))
		if err != nil || d.ID != upload(1).ID {
			t.Errorf("%s: SaveDocument = %q, %v, want the id in lower case", name, d.ID, err)
		}
		for _, id := range []string{capital.ID, upload(1).ID} {
			if got, err := s.Document(t.Context(), someRun(1), id); err != nil || got.ID != d.ID {
				t.Errorf("%s: Document(%q) = %q, %v", name, id, got.ID, err)
			}
		}
	}
}

func TestASymbolicLinkIsNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s := folder(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, string(someRun(1).Tenant))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(0))); err == nil {
		t.Error("SaveDocument through a link succeeded, want an error")
	}
	if found := files(t, outside); len(found) > 0 {
		t.Errorf("outside of the folder there is %v, want nothing", found)
	}
}

func TestADocumentIsNeverReplaced(t *testing.T) {
	for name, s := range stores(t) {
		const callers = 16
		var wg sync.WaitGroup
		won := make(chan int, callers)
		for caller := range callers {
			wg.Go(func() {
				_, err := s.SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(1000+caller)))
				switch {
				case err == nil:
					won <- 1000 + caller
				case !errors.Is(err, verification.ErrConflict):
					t.Errorf("%s: SaveDocument: %v, want conflict", name, err)
				}
			})
		}
		wg.Wait()
		close(won)
		if len(won) != 1 {
			t.Fatalf("%s: %d of %d callers saved one document, want 1", name, len(won), callers)
		}
		size := <-won
		if d, err := s.Document(t.Context(), someRun(1), upload(1).ID); err != nil || d.Size != int64(size) {
			t.Errorf("%s: Document = %d bytes, %v, want the %d that were saved", name, d.Size, err, size)
		}
	}
}

func TestAFailedSaveLeavesNothingInTheFolder(t *testing.T) {
	dir := t.TempDir()
	s := folder(t, dir)
	empty := files(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := iotest.DataErrReader(&cancelling{cancel: cancel, left: somePDF(100_000)})
	for name, c := range map[string]struct {
		ctx     context.Context
		content io.Reader
	}{
		"a refusal":            {t.Context(), iotest.ErrReader(refusal())},
		"a late refusal":       {t.Context(), io.MultiReader(bytes.NewReader(somePDF(100_000)), iotest.ErrReader(refusal()))},
		"a broken connection":  {t.Context(), io.MultiReader(bytes.NewReader(somePDF(0)), iotest.ErrReader(io.ErrClosedPipe))},
		"a context that ended": {ctx, ends},
	} {
		if _, err := s.SaveDocument(c.ctx, someRun(1), upload(1), c.content); err == nil {
			t.Errorf("SaveDocument of %s succeeded, want an error", name)
		}
		if diff := cmp.Diff(empty, files(t, dir)); diff != "" {
			t.Errorf("the folder after %s (-want +got):\n%s", name, diff)
		}
	}
}

// cancelling ends a context with its last byte.
type cancelling struct {
	cancel func()
	left   []byte
}

func (c *cancelling) Read(p []byte) (int, error) {
	n := copy(p, c.left)
	if c.left = c.left[n:]; len(c.left) == 0 {
		c.cancel()
		return n, io.EOF
	}
	return n, nil
}
