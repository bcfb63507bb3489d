// The calls of a client.

package operator

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Load implements Ports.
func (c *Client) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
	return one[[]rules.Event](ctx, c, "Load", t, id, after)
}

// Append implements Ports.
func (c *Client) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, commit store.Commit) error {
	return c.call(ctx, "Append", nil, t, id, seq, commit)
}

// List implements Ports.
func (c *Client) List(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
	return one[store.Page[rules.Summary]](ctx, c, "List", t, q)
}

// CountQueues implements Ports.
func (c *Client) CountQueues(ctx context.Context, at, dueBefore time.Time) (int, error) {
	return one[int](ctx, c, "CountQueues", at, dueBefore)
}

// Claim implements Ports.
func (c *Client) Claim(ctx context.Context, t verification.TenantID, id verification.RunID, claim rules.Claim) (rules.Claim, error) {
	return one[rules.Claim](ctx, c, "Claim", t, id, claim)
}

// Take implements Ports.
func (c *Client) Take(ctx context.Context, r store.TakeRequest) (work []store.Work, next time.Time, err error) {
	err = c.call(ctx, "Take", []any{&work, &next}, r)
	return work, next, err
}

// Renew implements Ports.
func (c *Client) Renew(ctx context.Context, runs []verification.RunRef, until time.Time, alone bool) error {
	return c.call(ctx, "Renew", nil, runs, until, alone)
}

// Finish implements Ports.
func (c *Client) Finish(ctx context.Context, w store.Work) error {
	return c.call(ctx, "Finish", nil, w)
}

// Postpone implements Ports.
func (c *Client) Postpone(ctx context.Context, w store.Work, at time.Time) error {
	return c.call(ctx, "Postpone", nil, w, at)
}

// Release implements Ports.
func (c *Client) Release(ctx context.Context, work []store.Work, at time.Time) error {
	return c.call(ctx, "Release", nil, work, at)
}

// Measures implements Ports.
func (c *Client) Measures(ctx context.Context, t verification.TenantID, q store.MeasureQuery) ([]store.MeasureCounts, error) {
	return one[[]store.MeasureCounts](ctx, c, "Measures", t, q)
}

// HoldPass implements Ports.
func (c *Client) HoldPass(ctx context.Context, p store.RescreenPass, now time.Time) (store.RescreenPass, error) {
	return one[store.RescreenPass](ctx, c, "HoldPass", p, now)
}

// StartedRuns implements Ports.
func (c *Client) StartedRuns(
	ctx context.Context, t verification.TenantID, w verification.WorkflowID, after store.StartedPosition, before time.Time, limit int,
) ([]rules.Summary, error) {
	return one[[]rules.Summary](ctx, c, "StartedRuns", t, w, after, before, limit)
}

// Row implements Ports.
func (c *Client) Row(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
	return one[store.Record](ctx, c, "Row", kind, key)
}

// Rows implements Ports.
func (c *Client) Rows(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
	return one[store.Page[store.Record]](ctx, c, "Rows", q)
}

// Change implements Ports.
func (c *Client) Change(ctx context.Context, rows []store.Record) error {
	return c.call(ctx, "Change", nil, rows)
}

// Forget implements Ports.
func (c *Client) Forget(ctx context.Context, before store.Ages, limit int) (int, error) {
	return one[int](ctx, c, "Forget", before, limit)
}

// Workflow implements Ports.
func (c *Client) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error) {
	return one[workflow.Workflow](ctx, c, "Workflow", t, id)
}

// Workflows implements Ports.
func (c *Client) Workflows(ctx context.Context, t verification.TenantID, p store.PageQuery) (store.Page[workflow.Workflow], error) {
	return one[store.Page[workflow.Workflow]](ctx, c, "Workflows", t, p)
}

// Version implements Ports.
func (c *Client) Version(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
	return one[workflow.Version](ctx, c, "Version", t, id, hash)
}

// Versions implements Ports.
func (c *Client) Versions(ctx context.Context, t verification.TenantID, id verification.WorkflowID, p store.PageQuery) (store.Page[workflow.VersionInfo], error) {
	return one[store.Page[workflow.VersionInfo]](ctx, c, "Versions", t, id, p)
}

// SaveWorkflow implements Ports.
func (c *Client) SaveWorkflow(ctx context.Context, t verification.TenantID, w workflow.Workflow, added *workflow.Version) error {
	return c.call(ctx, "SaveWorkflow", nil, t, w, added)
}

// SaveSetup implements Ports.
func (c *Client) SaveSetup(ctx context.Context, s store.Setup) error {
	return c.call(ctx, "SaveSetup", nil, s)
}

// Hosts implements Ports.
func (c *Client) Hosts(ctx context.Context) ([]pgadmin.Host, error) {
	return one[[]pgadmin.Host](ctx, c, "Hosts")
}

// AppliedFiles implements Ports.
func (c *Client) AppliedFiles(ctx context.Context) ([]pgadmin.AppliedFile, error) {
	return one[[]pgadmin.AppliedFile](ctx, c, "AppliedFiles")
}

// SaveAppliedFile implements Ports.
func (c *Client) SaveAppliedFile(ctx context.Context, f pgadmin.AppliedFile) error {
	return c.call(ctx, "SaveAppliedFile", nil, f)
}

// AcceptedLists implements Ports.
func (c *Client) AcceptedLists(ctx context.Context) ([]pgadmin.AcceptedList, error) {
	return one[[]pgadmin.AcceptedList](ctx, c, "AcceptedLists")
}

// SaveAcceptedList implements Ports.
func (c *Client) SaveAcceptedList(ctx context.Context, l pgadmin.AcceptedList) error {
	return c.call(ctx, "SaveAcceptedList", nil, l)
}

// SignOuts implements Ports.
func (c *Client) SignOuts(ctx context.Context) ([]pgadmin.SignOut, error) {
	return one[[]pgadmin.SignOut](ctx, c, "SignOuts")
}

// SaveSignOut implements Ports.
func (c *Client) SaveSignOut(ctx context.Context, s pgadmin.SignOut) error {
	return c.call(ctx, "SaveSignOut", nil, s)
}

// Health implements Ports.
func (c *Client) Health(ctx context.Context, now time.Time) (pgadmin.Health, error) {
	return one[pgadmin.Health](ctx, c, "Health", now)
}

// RunTenants implements Ports.
func (c *Client) RunTenants(ctx context.Context, id verification.RunID) ([]verification.TenantID, error) {
	return one[[]verification.TenantID](ctx, c, "RunTenants", id)
}

// AppendAudit implements Ports.
func (c *Client) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	return c.call(ctx, "AppendAudit", nil, entries)
}

// AuditEntries implements Ports.
func (c *Client) AuditEntries(ctx context.Context, t verification.TenantID, q store.AuditQuery) ([]store.AuditEntry, error) {
	return one[[]store.AuditEntry](ctx, c, "AuditEntries", t, q)
}
