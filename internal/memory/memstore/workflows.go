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
		change := store.WorkflowChange{Tenant: t, Workflow: w, Added: added}
		err := fitsRevision(rows, change)
		if err == nil {
			s.putWorkflow(rows, change)
		}
		return err
	})
}

// fitsRevision returns ErrConflict if the stored revision of a workflow is not the one before.
func fitsRevision(rows map[workflowKey]*keptWorkflow, c store.WorkflowChange) error {
	before := 0
	if stored := rows[workflowKey{c.Tenant, c.Workflow.ID}]; stored != nil {
		before = stored.Revision
	}
	if c.Workflow.Revision != before+1 {
		return store.WorkflowChanged()
	}
	return nil
}

func (s *Store) putWorkflow(rows map[workflowKey]*keptWorkflow, c store.WorkflowChange) {
	key := workflowKey{c.Tenant, c.Workflow.ID}
	stored := rows[key]
	if stored == nil {
		stored = &keptWorkflow{}
		rows[key] = stored
	}
	newest := s.workflows.newest.at(c.Tenant, newerWorkflow)
	newest.Delete(stored)
	stored.Workflow = c.Workflow
	stored.CreatedAt = toMicrosecond(stored.CreatedAt)
	newest.Set(stored)
	if c.Added == nil {
		return
	}
	if _, exists := stored.version(c.Added.Hash); !exists {
		stored.versions = append(stored.versions, *c.Added)
		last := &stored.versions[len(stored.versions)-1]
		last.CreatedAt = toMicrosecond(last.CreatedAt)
		s.kept.add(c.Tenant, behind(reflect.ValueOf(*c.Added)))
	}
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
