// Workflows and their versions.

package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"github.com/verifyd/verifyd/verification"
)

type workflows struct {
	mu      sync.RWMutex
	tenants map[verification.TenantID]*tenantWorkflows
}

// tenantWorkflows has the workflows of one tenant by id, and newest first.
type tenantWorkflows struct {
	byID   map[verification.WorkflowID]*workflow
	newest *btree.BTreeG[*workflow]
}

type workflow struct {
	verification.Workflow

	versions map[string]verification.Version // by hash
}

// Workflow returns one workflow, or ErrNotFound.
func (s *Store) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (verification.Workflow, error) {
	if err := ctx.Err(); err != nil {
		return verification.Workflow{}, err
	}
	s.workflows.mu.RLock()
	defer s.workflows.mu.RUnlock()
	w := s.workflows.find(t, id)
	if w == nil {
		return verification.Workflow{}, verification.NotFound("workflow")
	}
	return w.Workflow, nil
}

// Workflows returns one page, newest first.
func (s *Store) Workflows(ctx context.Context, t verification.TenantID, q verification.PageQuery) (verification.Page[verification.Workflow], error) {
	s.workflows.mu.RLock()
	defer s.workflows.mu.RUnlock()
	all := s.workflows.tenants[t]
	if err := ctx.Err(); err != nil || all == nil {
		return verification.Page[verification.Workflow]{PageQuery: q}, err
	}
	return readPage(all.newest, q, func(w *workflow) verification.Workflow { return w.Workflow }), nil
}

// Version returns one version by its hash, or ErrNotFound.
func (s *Store) Version(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (verification.Version, error) {
	if err := ctx.Err(); err != nil {
		return verification.Version{}, err
	}
	s.workflows.mu.RLock()
	defer s.workflows.mu.RUnlock()
	if w := s.workflows.find(t, id); w != nil {
		if v, ok := w.versions[hash]; ok {
			return v, nil
		}
	}
	return verification.Version{}, verification.NotFound("version")
}

// Versions returns one page, the highest number first.
func (s *Store) Versions(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, q verification.PageQuery,
) (verification.Page[verification.VersionInfo], error) {
	p := verification.Page[verification.VersionInfo]{PageQuery: q}
	s.workflows.mu.RLock()
	defer s.workflows.mu.RUnlock()
	w := s.workflows.find(t, id)
	if err := ctx.Err(); err != nil || w == nil {
		return p, err
	}
	all := make([]verification.VersionInfo, 0, len(w.versions))
	for _, v := range w.versions {
		all = append(all, verification.VersionInfo{Number: v.Number, Hash: v.Hash, CreatedAt: v.CreatedAt})
	}
	slices.SortFunc(all, func(a, b verification.VersionInfo) int { return b.Number - a.Number })
	p.Total = len(all)
	first := min(q.Offset, len(all))
	p.Data = all[first:min(first+max(q.Limit, 0), len(all))]
	return p, nil
}

// SaveWorkflow creates or replaces a workflow and adds a version, all or
// nothing, or returns ErrConflict. A version that exists already is not replaced.
func (s *Store) SaveWorkflow(ctx context.Context, t verification.TenantID, w verification.Workflow, added *verification.Version) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.workflows.mu.Lock()
	defer s.workflows.mu.Unlock()
	all := s.workflows.tenants[t]
	if all == nil {
		all = &tenantWorkflows{byID: map[verification.WorkflowID]*workflow{}, newest: newTree(newerWorkflow)}
	}
	stored := all.byID[w.ID]
	if stored == nil {
		stored = &workflow{versions: map[string]verification.Version{}}
	}
	if w.Revision != stored.Revision+1 {
		return verification.Conflict("workflow", "it was changed by another")
	}
	s.workflows.tenants[t] = all
	all.byID[w.ID] = stored
	all.newest.Delete(stored)
	stored.Workflow = w
	all.newest.Set(stored)
	if added != nil {
		if _, exists := stored.versions[added.Hash]; !exists {
			stored.versions[added.Hash] = *added
		}
	}
	return nil
}

// find returns a workflow of a tenant, or nil.
func (w *workflows) find(t verification.TenantID, id verification.WorkflowID) *workflow {
	if all := w.tenants[t]; all != nil {
		return all.byID[id]
	}
	return nil
}

func newerWorkflow(a, b *workflow) bool {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c > 0
	}
	return a.ID > b.ID
}
