package blob_test

import (
	"context"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
)

func TestAFolderHasOneIdentity(t *testing.T) {
	identity := func(s interface {
		Identity(ctx context.Context) (string, error)
	},
	) string {
		t.Helper()
		id, err := s.Identity(t.Context())
		if err != nil || id == "" {
			t.Errorf("Identity = %q, %v", id, err)
		}
		return id
	}
	dir := t.TempDir()
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		s, err := blob.Folder(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		all.Go(func() { ids[i] = identity(s) })
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the identities are %q, want one", ids)
		}
	}
	other, err := blob.Folder(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	one, two := blob.Memory(0, 0), blob.Memory(0, 0)
	if identity(other) == ids[0] || identity(one) == identity(two) || identity(one) != identity(one) { //nolint:staticcheck // two calls
		t.Error("other stores have the same identity, or one has two")
	}
}
