// Tests of the part of the space that one tenant may use while there are others.

package blob_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

// disk is the free space of a disk on which others than the documents use nothing.
type disk struct{ size, used int64 }

func (d *disk) left() (int64, error) { return d.size - d.used, nil }

func TestATenantLeavesSpaceToOthers(t *testing.T) {
	const space = 24 << 20
	half := func(context.Context) float64 { return 0.5 }
	d, files, memory := &disk{size: space}, folder(t, t.TempDir()), blob.Memory(space, space)
	files.Share(half, d.left)
	memory.Share(half)
	for name, s := range map[string]verification.DocumentStore{"folder": files, "memory": memory} {
		t.Run(name, func(t *testing.T) {
			// Each tenant saves until its share is full: a half of 24 MiB, of 12 MiB, and so on.
			for tenant, want := range []int{11, 6, 3, 1} {
				n := 0
				for ; n < space>>20; n++ {
					_, err := s.SaveDocument(t.Context(), tenantRun(tenant), upload(n), bytes.NewReader(somePDF(1<<20)))
					if err != nil {
						refused, _ := errors.AsType[*verification.Error](err)
						if refused == nil || !errors.Is(err, verification.ErrUnavailable) || !strings.HasPrefix(refused.Message, "this tenant's share of the space for documents is full") ||
							refused.Cause == nil || !strings.Contains(refused.Cause.Error(), string(tenantRun(tenant).Tenant)) {
							t.Errorf("SaveDocument beyond the share: %v (%v), want unavailable, which names the tenant", err, refused)
						}
						break
					}
					d.used += 1 << 20
				}
				if n != want {
					t.Errorf("tenant %d saved %d documents of 1 MiB, want %d", tenant, n, want)
				}
			}
		})
		d.used = 0
	}
}

func TestATenantThatIsAloneHasAllSpace(t *testing.T) {
	d, files := &disk{size: 3 << 20}, folder(t, t.TempDir())
	alone := func(context.Context) float64 { return 1 }
	files.Share(alone, d.left)
	memory := blob.Memory(5<<20, 5<<20)
	memory.Share(alone)
	for name, s := range map[string]verification.DocumentStore{"folder": files, "memory": memory} {
		for n := range 4 {
			if _, err := s.SaveDocument(t.Context(), tenantRun(1), upload(n), bytes.NewReader(somePDF(1<<20))); err != nil {
				t.Errorf("%s: SaveDocument %d: %v, want no error", name, n, err)
			}
		}
	}
}

func TestADiskThatSaysNothingBoundsNoTenant(t *testing.T) {
	files := folder(t, t.TempDir())
	files.Share(func(context.Context) float64 { return 0.25 }, func() (int64, error) { return 0, errors.New("the disk does not answer") })
	if _, err := files.SaveDocument(t.Context(), tenantRun(1), upload(1), bytes.NewReader(somePDF(1<<20))); err != nil {
		t.Errorf("SaveDocument: %v, want no error", err)
	}
}
