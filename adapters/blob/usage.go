// The space that the tenants use in a folder.

package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"time"
)

// recountInterval is how long a count is valid. Other processes may save to the
// same folder meanwhile.
const recountInterval = 5 * time.Minute

// counted says whether the stored documents of a tenant have been counted.
type counted struct {
	mu    sync.Mutex // held while they are counted
	valid atomic.Bool
}

// reserve reserves space for a document of a tenant. Without a limit nothing is
// counted.
func (s *folderStore) reserve(ctx context.Context, tenant string) (*reservation, error) {
	if s.quota.maxTenant > 0 || s.quota.part != nil {
		if err := s.recount(tenant); err != nil {
			return &reservation{quota: s.quota, tenant: tenant}, err
		}
	}
	return s.quota.reserve(ctx, tenant)
}

// recount adds up the stored documents of a tenant unless its count is valid. Documents
// saved or removed meanwhile may be counted twice or not at all, until the next count.
func (s *folderStore) recount(tenant string) error {
	entry, _ := s.counts.LoadOrStore(tenant, &counted{})
	c := entry.(*counted) //nolint:errcheck // the map holds nothing else
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.valid.Load() {
		return nil
	}
	var bytes int64
	err := fs.WalkDir(s.root.FS(), tenant, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && path.Base(name) == contentFile && !entry.IsDir() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				bytes += info.Size() + recordBytes
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or a tenant without documents
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count the documents of tenant %s: %w", tenant, err)
	}
	s.quota.set(tenant, bytes)
	c.valid.Store(true)
	time.AfterFunc(recountInterval, func() { c.valid.Store(false) })
	return nil
}
