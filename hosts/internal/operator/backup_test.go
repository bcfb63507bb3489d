package operator_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const tenant verification.TenantID = "00000000-0000-7000-8000-0000000000aa"

func runID(n int) verification.RunID {
	return verification.RunID(fmt.Sprintf("00000000-0000-7000-8000-%012x", n))
}

// startRun saves a document and then a run that names it.
func startRun(ctx context.Context, s store.Store, documents verification.DocumentStore, n int) error {
	ref := verification.RunRef{Tenant: tenant, Run: runID(n)}
	saved, err := documents.SaveDocument(ctx, ref, verification.Document{ID: string(runID(n)), MediaType: "image/png"}, strings.NewReader(strings.Repeat("x", n)))
	if err != nil {
		return err
	}
	at := time.Date(2026, 1, 5, 9, 0, n, 0, time.UTC)
	events := []rules.Event{
		{At: at, Fact: rules.Started{Workflow: "w", ReferenceID: "customer"}},
		{At: at, Fact: rules.DocumentUploaded{Node: "card", Field: "front", Document: saved.ID, Size: int64(n)}},
	}
	run := rules.Fold(ref.Run, events)
	return s.Append(ctx, tenant, ref.Run, 0, store.NewCommit(rules.Run{ID: ref.Run}, run, events, time.UTC))
}

// started is a folder with a host that serves operators.
func started(t *testing.T) (folder datadir.Folder, held *operator.Held, documents verification.DocumentStore, stop func()) {
	t.Helper()
	folder = datadir.Folder(t.TempDir())
	j, err := journal.Open(t.Context(), folder.Journal(), journal.Options{SegmentBytes: 3000})
	if err != nil {
		t.Fatal(err)
	}
	held = operator.Hold(folder, j, operator.Host{})
	t.Cleanup(func() { _ = held.Close() })
	kept, err := blob.Folder(folder.Documents(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	stop, err = operator.Serve(context.WithoutCancel(t.Context()), folder, held, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(stop)
	t.Cleanup(stop)
	return folder, held, kept, stop
}

// unpack unpacks a backup into an empty folder, as tar does.
func unpack(t *testing.T, backup io.Reader) datadir.Folder {
	t.Helper()
	compressed, err := gzip.NewReader(backup)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for archive := tar.NewReader(compressed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return datadir.Folder(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "manifest.json" {
			continue
		}
		name := filepath.Join(dir, filepath.Clean(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(name, h.FileInfo().Mode())
		} else {
			var raw []byte
			if raw, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(name, raw, h.FileInfo().Mode().Perm())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestABackupHasAllThatWasAcknowledgedBefore(t *testing.T) {
	folder, held, documents, _ := started(t)
	for file, text := range map[string]string{folder.SigningKeys(): "{}", folder.SearchKey(): "key", filepath.Join(string(folder), ".draft-1"): "unfinished"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	through, err := operator.Open(t.Context(), folder, operator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = through.Close() }()
	const writers = 4
	var next, acknowledged atomic.Int64
	enough := make(chan struct{})
	var callers sync.WaitGroup
	for range writers {
		callers.Go(func() {
			for {
				select {
				case <-enough:
					return
				default:
				}
				if err := startRun(context.WithoutCancel(t.Context()), held, documents, int(next.Add(1))); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	for n := range 5 {
		for acknowledged.Load() < int64(20*(n+1)) {
			time.Sleep(time.Millisecond) //nolint:forbidigo // the writers use the disk
		}
		before := int(acknowledged.Load())
		var backup bytes.Buffer
		if err := through.Backup(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		restored := unpack(t, &backup)
		j, err := journal.Open(t.Context(), restored.Journal(), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := j.Recovery()
		if found.Runs < before || found.CutBytes != 0 {
			t.Errorf("%d runs were acknowledged before the backup, which has %d, and %d bytes that cannot be read", before, found.Runs, found.CutBytes)
		}
		uploads, err := blob.Folder(restored.Documents(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for run := range int(next.Load()) {
			if _, err := j.Load(t.Context(), tenant, runID(run), 0); err != nil {
				continue
			}
			content, err := uploads.OpenDocument(t.Context(), verification.RunRef{Tenant: tenant, Run: runID(run)}, string(runID(run)))
			if err != nil {
				t.Errorf("run %d names a document that the backup lacks: %v", run, err)
				continue
			}
			if raw, err := io.ReadAll(content); err != nil || len(raw) != run {
				t.Errorf("the document of run %d has %d bytes, %v", run, len(raw), err)
			}
			_ = content.Close()
		}
		_ = uploads.Close()
		_ = j.Close()
		var names []string
		entries, err := os.ReadDir(string(restored))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if diff := cmp.Diff([]string{"documents", "journal", "search-key", "signing-keys.json"}, names); diff != "" {
			t.Errorf("the restored folder differs (-want +got):\n%s", diff)
		}
	}
	close(enough)
	callers.Wait()
}

// contents returns the files below a folder.
func contents(t *testing.T, folder datadir.Folder) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(string(folder), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		name, _ := filepath.Rel(string(folder), path)
		all[name] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestABackupWithoutAHostChangesNothing(t *testing.T) {
	folder, held, documents, stop := started(t)
	for n := range 10 {
		if err := startRun(t.Context(), held, documents, n+1); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	var backup bytes.Buffer
	if err := operator.Backup(t.Context(), folder, operator.Options{Wait: time.Millisecond}, &backup); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("Backup of a folder that is held = %v, want ErrConflict", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder.Journal(), "*.journal"))
	if err != nil || len(files) < 2 {
		t.Fatalf("the segments are %v, %v; want several", files, err)
	}
	torn := files[len(files)-1]
	raw, err := os.ReadFile(torn)
	if err == nil {
		err = os.WriteFile(torn, append(raw, "torn"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, folder)
	if err := operator.Backup(t.Context(), folder, operator.Options{}, &backup); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, contents(t, folder)); diff != "" {
		t.Errorf("the backup changed the folder (-before +after):\n%s", diff)
	}
	want := maps.Clone(before)
	delete(want, "journal/lock")
	want[filepath.Join("journal", filepath.Base(torn))] = string(raw)
	if diff := cmp.Diff(want, contents(t, unpack(t, &backup))); diff != "" {
		t.Errorf("the restored folder differs (-want +got):\n%s", diff)
	}
	raw = []byte(before[filepath.Join("journal", filepath.Base(files[0]))])
	raw[50] ^= 0xff
	if err := os.WriteFile(files[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := operator.Backup(t.Context(), folder, operator.Options{}, io.Discard); err == nil || !strings.Contains(err.Error(), "verifyctl store check") {
		t.Errorf("Backup of a damaged folder = %v, want its damage", err)
	}
}
