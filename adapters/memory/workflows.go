// Workflows and their immutable versions, a catalog for each tenant.

package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

// catalogs holds the workflows of every tenant.
type catalogs struct {
	mu sync.RWMutex
	of map[verification.TenantID]*catalog
}

// catalog holds the workflows of one tenant, and orders them newest first.
type catalog struct {
	entries map[verification.WorkflowID]*entry
	order   *btree.BTreeG[*entry]
}

type entry struct {
	workflow verification.Workflow
	versions map[string]verification.Version // by hash
}

func newCatalogs() catalogs {
	return catalogs{of: map[verification.TenantID]*catalog{}}
}

func newCatalog() *catalog {
	newer := func(a, b *entry) bool {
		if c := a.workflow.CreatedAt.Compare(b.workflow.CreatedAt); c != 0 {
			return c > 0
		}
		return a.workflow.ID > b.workflow.ID
	}
	return &catalog{
		entries: map[verification.WorkflowID]*entry{},
		order:   btree.NewBTreeGOptions(newer, btree.Options{NoLocks: true}),
	}
}

// Workflow returns one workflow, or ErrNotFound.
func (s *Store) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (verification.Workflow, error) {
	if err := ctx.Err(); err != nil {
		return verification.Workflow{}, err
	}
	s.catalogs.mu.RLock()
	defer s.catalogs.mu.RUnlock()
	e := s.catalogs.entry(t, id)
	if e == nil {
		return verification.Workflow{}, notFound("workflow")
	}
	return e.workflow, nil
}

// Workflows returns one page, newest first.
func (s *Store) Workflows(ctx context.Context, t verification.TenantID, q verification.PageQuery) (verification.Page[verification.Workflow], error) {
	p := verification.Page[verification.Workflow]{PageQuery: q}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	s.catalogs.mu.RLock()
	defer s.catalogs.mu.RUnlock()
	c := s.catalogs.of[t]
	if c == nil {
		return p, nil
	}
	p.Total = c.order.Len()
	first, ok := c.order.GetAt(q.Offset)
	if !ok || q.Limit < 1 {
		return p, nil
	}
	c.order.Ascend(first, func(e *entry) bool {
		p.Data = append(p.Data, e.workflow)
		return len(p.Data) < q.Limit
	})
	return p, nil
}

// Version returns one version by its hash, or ErrNotFound.
func (s *Store) Version(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (verification.Version, error) {
	if err := ctx.Err(); err != nil {
		return verification.Version{}, err
	}
	s.catalogs.mu.RLock()
	defer s.catalogs.mu.RUnlock()
	if e := s.catalogs.entry(t, id); e != nil {
		if v, ok := e.versions[hash]; ok {
			return v, nil
		}
	}
	return verification.Version{}, notFound("version")
}

// Versions returns one page, the highest number first.
func (s *Store) Versions(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, q verification.PageQuery,
) (verification.Page[verification.VersionInfo], error) {
	p := verification.Page[verification.VersionInfo]{PageQuery: q}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	s.catalogs.mu.RLock()
	defer s.catalogs.mu.RUnlock()
	e := s.catalogs.entry(t, id)
	if e == nil {
		return p, nil
	}
	all := make([]verification.VersionInfo, 0, len(e.versions))
	for _, v := range e.versions {
		all = append(all, verification.VersionInfo{Number: v.Number, Hash: v.Hash, CreatedAt: v.CreatedAt})
	}
	slices.SortFunc(all, func(a, b verification.VersionInfo) int { return b.Number - a.Number })
	p.Total = len(all)
	first := min(q.Offset, len(all))
	p.Data = all[first:min(first+max(q.Limit, 0), len(all))]
	return p, nil
}

// SaveWorkflow creates or replaces a workflow and adds a version, all or
// nothing, or returns ErrConflict. A hash that is there keeps its version.
func (s *Store) SaveWorkflow(ctx context.Context, t verification.TenantID, w verification.Workflow, added *verification.Version) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.catalogs.mu.Lock()
	defer s.catalogs.mu.Unlock()
	e := s.catalogs.entry(t, w.ID)
	stored := 0
	if e != nil {
		stored = e.workflow.Revision
	}
	if w.Revision != stored+1 {
		return conflict("workflow", "it was changed by another")
	}
	c := s.catalogs.of[t]
	if c == nil {
		c = newCatalog()
		s.catalogs.of[t] = c
	}
	if e == nil {
		e = &entry{versions: map[string]verification.Version{}}
		c.entries[w.ID] = e
	} else {
		c.order.Delete(e)
	}
	e.workflow = w
	c.order.Set(e)
	if added != nil {
		if _, there := e.versions[added.Hash]; !there {
			e.versions[added.Hash] = *added
		}
	}
	return nil
}

// entry finds a workflow of a tenant, or nil.
func (c *catalogs) entry(t verification.TenantID, id verification.WorkflowID) *entry {
	if of := c.of[t]; of != nil {
		return of.entries[id]
	}
	return nil
}
