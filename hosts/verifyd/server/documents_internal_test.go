// Tests of the share of a disk that uploads have, and of removing uploads that were never completed.

package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
)

func TestBrokenUploadsAreRemovedWhileTheHostRuns(t *testing.T) {
	dir := t.TempDir()
	folder, err := blob.Folder(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	draft := filepath.Join(dir, ".incoming", "died")
	begun := time.Now().Add(-61 * time.Minute)
	if err := errors.Join(os.Mkdir(draft, 0o700), os.Chtimes(draft, begun, begun)); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			removeIncomplete(ctx, folder, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		<-time.After(incompleteEvery + time.Second)
		cancel()
		<-ended
	})
	if _, err := os.Stat(draft); !errors.Is(err, os.ErrNotExist) || !strings.Contains(log.String(), "documents=1") {
		t.Errorf("the broken upload: %v, want it removed; the log says %q", err, log.String())
	}
}

func TestATenantLeavesUploadsOfOthersAboveTheReserve(t *testing.T) {
	opened, err := openDocumentFolder(t.TempDir(), Settings{DiskReserve: 100 << 20})
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(documentFolder) //nolint:errcheck,forcetypeassert // it is one
	defer func() { _ = d.Close() }()
	free := int64(108 << 20)
	d.space.size = func(string) (datadir.Disk, error) { return datadir.Disk{All: 1 << 30, Free: free}, nil }
	shareDocuments(opened, func(context.Context) float64 { return 0.5 })
	save := func(tenant, n int) error {
		r := verification.RunRef{
			Tenant: verification.TenantID(fmt.Sprintf("a0000000-0000-7000-8000-%012d", tenant)), Run: "d0000000-0000-7000-8000-000000000001",
		}
		of := verification.Document{ID: fmt.Sprintf("e0000000-0000-7000-8000-%012d", n)}
		_, err := opened.SaveDocument(t.Context(), r, of, bytes.NewReader(make([]byte, 1<<20)))
		if err == nil {
			free -= 1 << 20
		}
		return err
	}
	for tenant, want := range []int{3, 2, 1} { // a half of 8 MiB, of 5 and of 3, with what is kept beside
		n := 0
		for n < 8 && err == nil {
			if err = save(tenant, n); err == nil {
				n++
			}
		}
		if n != want || !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("tenant %d saved %d documents of 1 MiB, then %v; want %d, then unavailable", tenant, n, err, want)
		}
		err = nil
	}
}
