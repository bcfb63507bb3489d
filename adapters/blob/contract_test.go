package blob_test

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	storetest.Documents(t, func(*testing.T) verification.DocumentStore { return blob.Memory(100<<20, 100<<20) })
}

func TestFolderKeepsTheContract(t *testing.T) {
	storetest.Documents(t, func(t *testing.T) verification.DocumentStore { return folder(t, t.TempDir()) })
}

func folder(t testing.TB, dir string) blob.FolderStore {
	t.Helper()
	return limitedFolder(t, dir, 0)
}

func limitedFolder(t testing.TB, dir string, tenantLimit int64) blob.FolderStore {
	t.Helper()
	s, err := blob.Folder(dir, tenantLimit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}
