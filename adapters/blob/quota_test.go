// Tests of the limit of the bytes that the documents of one tenant use.

package blob_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

// tenantRun is a run of tenant number n.
func tenantRun(n int) verification.RunRef {
	r := someRun(1)
	r.Tenant = verification.TenantID(fmt.Sprintf("a0000000-0000-7000-8000-%012x", n))
	return r
}

func TestATenantHoldsAtMostItsShare(t *testing.T) {
	folder := limitedFolder(t, t.TempDir(), 3<<20)
	for name, s := range map[string]verification.DocumentStore{
		"memory": blob.Memory(12<<20, 0), "memory with a share": blob.Memory(100<<20, 3<<20), "folder": folder,
	} {
		t.Run(name, func(t *testing.T) {
			save := func(r verification.RunRef, n int) error {
				_, err := s.SaveDocument(t.Context(), r, upload(n), bytes.NewReader(somePDF(1<<20)))
				return err
			}
			for n := range 2 {
				if err := save(tenantRun(1), n); err != nil {
					t.Fatal(err)
				}
			}
			if err := save(tenantRun(1), 2); !errors.Is(err, verification.ErrUnavailable) {
				t.Errorf("SaveDocument beyond the share of 3 MiB: %v, want unavailable", err)
			}
			if err := save(tenantRun(2), 2); err != nil {
				t.Errorf("SaveDocument of another tenant: %v, want no error", err)
			}
			if err := s.RemoveDocument(t.Context(), tenantRun(1), upload(0).ID); err != nil {
				t.Fatal(err)
			}
			if err := save(tenantRun(1), 2); err != nil {
				t.Errorf("SaveDocument after one was removed: %v, want no error", err)
			}
		})
	}
}

func TestARemovedDocumentFreesAllOfItsSpace(t *testing.T) {
	const share = 4 << 10
	for name, s := range map[string]verification.DocumentStore{"memory": blob.Memory(1<<20, share), "folder": limitedFolder(t, t.TempDir(), share)} {
		for n := range 4 {
			if _, err := s.SaveDocument(t.Context(), tenantRun(1), upload(n), strings.NewReader("x")); err != nil {
				t.Fatalf("%s: SaveDocument %d into an empty share: %v", name, n, err)
			}
			if err := s.RemoveDocument(t.Context(), tenantRun(1), upload(n).ID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestConcurrentUploadsStayWithinTheShare(t *testing.T) {
	folder := limitedFolder(t, t.TempDir(), 4<<20)
	for name, s := range map[string]verification.DocumentStore{"memory": blob.Memory(16<<20, 0), "folder": folder} {
		var saved atomic.Int32
		var wg sync.WaitGroup
		for n := range 16 {
			wg.Go(func() {
				_, err := s.SaveDocument(t.Context(), tenantRun(1), upload(n), bytes.NewReader(somePDF(1<<20)))
				switch {
				case err == nil:
					saved.Add(1)
				case !errors.Is(err, verification.ErrUnavailable):
					t.Errorf("%s: SaveDocument: %v, want unavailable", name, err)
				}
			})
		}
		wg.Wait()
		if n := saved.Load(); n > 3 {
			t.Errorf("%s: %d documents of 1 MiB and their records were kept within 4 MiB", name, n)
		}
		// A refused document leaves nothing reserved.
		for n := range 16 {
			if err := s.RemoveDocument(t.Context(), tenantRun(1), upload(n).ID); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 3 {
			if _, err := s.SaveDocument(t.Context(), tenantRun(1), upload(n), bytes.NewReader(somePDF(1<<20))); err != nil {
				t.Errorf("%s: SaveDocument into an empty share: %v", name, err)
			}
		}
	}
}

func TestAFolderCountsItsDocumentsAtStart(t *testing.T) {
	dir := t.TempDir()
	for n := range 2 { // by another process, or before a restart
		s := folder(t, dir)
		if _, err := s.SaveDocument(t.Context(), tenantRun(1), upload(n), bytes.NewReader(somePDF(1<<20))); err != nil {
			t.Fatal(err)
		}
	}
	s := limitedFolder(t, dir, 3<<20)
	if _, err := s.SaveDocument(t.Context(), tenantRun(1), upload(2), bytes.NewReader(somePDF(1<<20))); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("SaveDocument beyond the share: %v, want unavailable", err)
	}
	if _, err := s.SaveDocument(t.Context(), tenantRun(2), upload(2), bytes.NewReader(somePDF(1<<20))); err != nil {
		t.Errorf("SaveDocument of another tenant: %v, want no error", err)
	}
}

// In the bubble, time passes as soon as all goroutines wait.
func TestDocumentsOfOtherHostsAreCountedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		one, other := limitedFolder(t, dir, 3<<20), limitedFolder(t, dir, 3<<20)
		save := func(s blob.FolderStore, n int) error {
			_, err := s.SaveDocument(t.Context(), tenantRun(1), upload(n), bytes.NewReader(somePDF(1<<20)))
			return err
		}
		for n, s := range []blob.FolderStore{one, other} {
			if err := save(s, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := save(one, 2); err != nil {
			t.Errorf("SaveDocument within the share that was counted: %v, want no error", err)
		}
		if err := save(other, 3); !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("SaveDocument beyond the share that was counted: %v, want unavailable", err)
		}
		<-time.After(5*time.Minute + time.Second)
		if err := save(one, 4); !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("SaveDocument after a new count: %v, want unavailable", err)
		}
	})
}
