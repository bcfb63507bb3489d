// Workflows and their versions.

package memstore

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// workflows has the workflows by id, and those of each tenant newest first.
type workflows struct {
	table[workflowKey, *keptWorkflow]

	newest trees[verification.TenantID, *keptWorkflow]
}

type workflowKey struct {
	tenant verification.TenantID
	id     verification.WorkflowID
}

type keptWorkflow struct {
	workflow.Workflow

	versions []workflow.Version // in the order of their numbers
}

// version returns the version with a hash, and whether there is one.
func (w *keptWorkflow) version(hash string) (workflow.Version, bool) {
	i := slices.IndexFunc(w.versions, func(v workflow.Version) bool { return v.Hash == hash })
	if i < 0 {
		return workflow.Version{}, false
	}
	return w.versions[i], true
}

// Workflow returns one workflow, or ErrNotFound.
func (s *Store) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (found workflow.Workflow, err error) {
	err = s.workflows.read(ctx, func() error {
		w := s.workflows.rows[workflowKey{t, id}]
		if w == nil {
			return verification.NotFound("workflow")
		}
		found = w.Workflow
		return nil
	})
	return found, err
}

// Workflows returns one page, newest first.
func (s *Store) Workflows(
	ctx context.Context, t verification.TenantID, q store.PageQuery,
) (p store.Page[workflow.Workflow], err error) {
	err = s.workflows.read(ctx, func() error {
		p = readPage(s.workflows.newest[t], q, func(w *keptWorkflow) workflow.Workflow { return w.Workflow })
		return nil
	})
	return p, err
}

// Version returns one version by its hash, or ErrNotFound.
func (s *Store) Version(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string,
) (found workflow.Version, err error) {
	err = s.workflows.read(ctx, func() error {
		if w := s.workflows.rows[workflowKey{t, id}]; w != nil {
			var ok bool
			if found, ok = w.version(hash); ok {
				return nil
			}
		}
		return verification.NotFound("version")
	})
	return found, err
}

// Versions returns one page, the highest number first.
func (s *Store) Versions(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, q store.PageQuery,
) (p store.Page[workflow.VersionInfo], err error) {
	p.PageQuery = q
	err = s.workflows.read(ctx, func() error {
		if w := s.workflows.rows[workflowKey{t, id}]; w != nil {
			p.Total = len(w.versions)
			for i := p.Total - 1 - q.Offset; i >= 0 && len(p.Data) < q.Limit; i-- {
				v := w.versions[i]
				p.Data = append(p.Data, workflow.VersionInfo{Number: v.Number, Hash: v.Hash, CreatedAt: v.CreatedAt})
			}
		}
		return nil
	})
	return p, err
}

// SaveWorkflow creates or replaces a workflow and adds a version, all or
// nothing, or returns ErrConflict. A version that exists already is not replaced.
func (s *Store) SaveWorkflow(ctx context.Context, t verification.TenantID, w workflow.Workflow, added *workflow.Version) error {
	return s.workflows.change(ctx, func(rows map[workflowKey]*keptWorkflow) error {
		stored := rows[workflowKey{t, w.ID}]
		if stored == nil {
			stored = &keptWorkflow{}
		}
		if w.Revision != stored.Revision+1 {
			return store.WorkflowChanged()
		}
		rows[workflowKey{t, w.ID}] = stored
		newest := s.workflows.newest.at(t, newerWorkflow)
		newest.Delete(stored)
		stored.Workflow = w
		newest.Set(stored)
		if added != nil {
			if _, exists := stored.version(added.Hash); !exists {
				stored.versions = append(stored.versions, *added)
				s.kept.add(t, behind(reflect.ValueOf(*added)))
			}
		}
		return nil
	})
}

// revision returns the revision of a workflow, or 0 if there is none.
func (w *workflows) revision(t verification.TenantID, id verification.WorkflowID) int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if stored := w.rows[workflowKey{t, id}]; stored != nil {
		return stored.Revision
	}
	return 0
}

func newerWorkflow(a, b *keptWorkflow) bool {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) > 0
}
