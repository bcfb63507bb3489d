// The calls that read the store.

package journal

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Load implements store.RunStore.
func (s *Store) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	return read(ctx, s, func() ([]rules.Event, error) { return s.memory.Load(ctx, t, id, after) })
}

// List implements store.RunStore.
func (s *Store) List(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	return read(ctx, s, func() (store.Page[rules.Summary], error) { return s.memory.List(ctx, t, q) })
}

// CountQueues implements store.RunStore.
func (s *Store) CountQueues(ctx context.Context, at, dueBefore time.Time) (int, error) {
	return read(ctx, s, func() (int, error) { return s.memory.CountQueues(ctx, at, dueBefore) })
}

// Measures implements store.MeasureStore.
func (s *Store) Measures(ctx context.Context, t verification.TenantID, q store.MeasureQuery) ([]store.MeasureCounts, error) {
	return read(ctx, s, func() ([]store.MeasureCounts, error) { return s.memory.Measures(ctx, t, q) })
}

// StartedRuns implements store.RetentionStore.
func (s *Store) StartedRuns(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, after store.StartedPosition, before time.Time, limit int,
) ([]rules.Summary, error) {
	return read(ctx, s, func() ([]rules.Summary, error) { return s.memory.StartedRuns(ctx, t, w, after, before, limit) })
}

// Row implements store.RowStore.
func (s *Store) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	return read(ctx, s, func() (store.Record, error) { return s.memory.Row(ctx, kind, key) })
}

// Rows implements store.RowStore.
func (s *Store) Rows(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
	return read(ctx, s, func() (store.Page[store.Record], error) { return s.memory.Rows(ctx, q) })
}

// Workflow implements store.WorkflowStore.
func (s *Store) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error) {
	return read(ctx, s, func() (workflow.Workflow, error) { return s.memory.Workflow(ctx, t, id) })
}

// Workflows implements store.WorkflowStore.
func (s *Store) Workflows(ctx context.Context, t verification.TenantID, p store.PageQuery) (store.Page[workflow.Workflow], error) {
	return read(ctx, s, func() (store.Page[workflow.Workflow], error) { return s.memory.Workflows(ctx, t, p) })
}

// Version implements store.WorkflowStore.
func (s *Store) Version(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string,
) (workflow.Version, error) {
	return read(ctx, s, func() (workflow.Version, error) { return s.memory.Version(ctx, t, id, hash) })
}

// Versions implements store.WorkflowStore.
func (s *Store) Versions(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, p store.PageQuery,
) (store.Page[workflow.VersionInfo], error) {
	return read(ctx, s, func() (store.Page[workflow.VersionInfo], error) { return s.memory.Versions(ctx, t, id, p) })
}

// AuditEntries implements store.AuditStore.
func (s *Store) AuditEntries(ctx context.Context, t verification.TenantID, q store.AuditQuery) ([]store.AuditEntry, error) {
	return read(ctx, s, func() ([]store.AuditEntry, error) { return s.memory.AuditEntries(ctx, t, q) })
}

// Backlog returns what waits at a time.
func (s *Store) Backlog(ctx context.Context, now time.Time, grace time.Duration) (memstore.Backlog, error) {
	return read(ctx, s, func() (memstore.Backlog, error) { return s.memory.Backlog(now, grace), ctx.Err() })
}
