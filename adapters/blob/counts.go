// What the tenants hold in a folder.

package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"time"
)

// recount is how long a count holds. Other processes may save to the same
// folder meanwhile.
const recount = 5 * time.Minute

// counts says which tenants have been counted.
type counts struct {
	mu      sync.Mutex
	tenants map[string]*count
}

// count is the last count of a tenant.
type count struct {
	mu    sync.Mutex // held while the tenant is counted
	valid atomic.Bool
}

func (c *counts) of(tenant string) *count {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tenants == nil {
		c.tenants = map[string]*count{}
	}
	if c.tenants[tenant] == nil {
		c.tenants[tenant] = &count{}
	}
	return c.tenants[tenant]
}

// reserve takes room for a document of a tenant. Without a limit nothing is
// counted.
func (s *FolderStore) reserve(tenant string) (*reservation, error) {
	if s.quota.maxTenant > 0 {
		if err := s.count(tenant); err != nil {
			return &reservation{quota: s.quota, tenant: tenant}, err
		}
	}
	return s.quota.reserve(tenant)
}

// count adds up what a tenant holds, unless that was done a short time ago.
func (s *FolderStore) count(tenant string) error {
	c := s.counts.of(tenant)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.valid.Load() {
		return nil
	}
	var bytes int64
	err := fs.WalkDir(s.root.FS(), tenant, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != contentFile || entry.IsDir() {
			return gone(err)
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size() + recordBytes
		}
		return gone(err)
	})
	if err != nil {
		return fmt.Errorf("count the documents of tenant %s: %w", tenant, err)
	}
	s.quota.set(tenant, bytes)
	c.valid.Store(true)
	time.AfterFunc(recount, func() { c.valid.Store(false) })
	return nil
}

// gone passes over a document that was removed while it was counted, and a
// tenant that has none.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// metered counts what is written against the limit of a tenant.
type metered struct {
	to   io.Writer
	room *reservation
}

// Write takes room for p and writes it.
func (m metered) Write(p []byte) (int, error) {
	if err := m.room.grow(int64(len(p))); err != nil {
		return 0, err
	}
	return m.to.Write(p)
}
