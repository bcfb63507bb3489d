// Workflows and their immutable versions.

package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// workflowRow is a row of verifyd.workflows.
type workflowRow struct {
	bun.BaseModel `bun:"table:verifyd.workflows,alias:w"`

	TenantID              verification.TenantID   `bun:",pk"`
	ID                    verification.WorkflowID `bun:",pk"`
	Slug                  string
	Name                  string
	Description           string
	RunTTLSeconds         int64
	AbandonTimeoutSeconds int64
	Published             string
	Latest                string
	Versions              int
	LifecycleWebhookURL   string
	WebhookFromFile       bool
	Retired               bool
	Retention             verification.Retention `bun:"type:jsonb"`
	CreatedAt             time.Time
	Revision              int
}

func (r workflowRow) workflow() workflow.Workflow {
	return workflow.Workflow{
		ID: r.ID, Slug: r.Slug, Name: r.Name, Description: r.Description,
		RunTTLSeconds: r.RunTTLSeconds, AbandonTimeoutSeconds: r.AbandonTimeoutSeconds,
		PublishedHash: r.Published, LatestHash: r.Latest, Versions: r.Versions,
		LifecycleWebhookURL: r.LifecycleWebhookURL, WebhookFromFile: r.WebhookFromFile, Retired: r.Retired, Retention: r.Retention, CreatedAt: r.CreatedAt.UTC(), Revision: r.Revision,
	}
}

// newWorkflowRow returns the row of a workflow, or an error when the database cannot store
// one of its texts.
func newWorkflowRow(t verification.TenantID, w workflow.Workflow) (workflowRow, error) {
	r := workflowRow{
		TenantID: t, ID: w.ID, Slug: w.Slug, Name: w.Name, Description: w.Description,
		RunTTLSeconds: w.RunTTLSeconds, AbandonTimeoutSeconds: w.AbandonTimeoutSeconds,
		Published: w.PublishedHash, Latest: w.LatestHash, Versions: w.Versions,
		LifecycleWebhookURL: w.LifecycleWebhookURL, WebhookFromFile: w.WebhookFromFile, Retired: w.Retired, Retention: w.Retention, CreatedAt: w.CreatedAt, Revision: w.Revision,
	}
	if !storable(w.Slug, w.Name, w.Description, w.PublishedHash, w.LatestHash, w.LifecycleWebhookURL) {
		return r, notStorable("workflow")
	}
	return r, nil
}

// versionRow is a row of verifyd.workflow_versions.
type versionRow struct {
	bun.BaseModel `bun:"table:verifyd.workflow_versions,alias:v"`

	TenantID   verification.TenantID   `bun:",pk"`
	WorkflowID verification.WorkflowID `bun:",pk"`
	Hash       string                  `bun:",pk"`
	Number     int
	Definition string
	CreatedAt  time.Time
}

func newVersionRow(t verification.TenantID, w verification.WorkflowID, v workflow.Version) (*versionRow, error) {
	definition, err := encodeDefinition(v.Definition)
	if err != nil {
		return nil, pgerror.Translate("encode version "+v.Hash, err)
	}
	return &versionRow{TenantID: t, WorkflowID: w, Hash: v.Hash, Number: v.Number, Definition: definition, CreatedAt: v.CreatedAt}, nil
}

// Workflow returns one workflow, or ErrNotFound.
func (s *Store) Workflow(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error) {
	return loadWorkflow(ctx, s.querier(), t, id)
}

func loadWorkflow(ctx context.Context, q querier, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error) {
	if !areUUIDs(string(t), string(id)) {
		return workflow.Workflow{}, verification.NotFound("workflow")
	}
	r, err := selectRow[workflowRow](ctx, q, string(t), q.db.NewSelect().Model((*workflowRow)(nil)).
		Where("tenant_id = ?", t).Where("id = ?", id).String())
	if isMissing(err) {
		err = verification.NotFound("workflow")
	}
	if err != nil {
		return workflow.Workflow{}, pgerror.Translate("load workflow "+string(id), err)
	}
	return r.workflow(), nil
}

// Workflows returns one page, newest first.
func (s *Store) Workflows(ctx context.Context, t verification.TenantID, q store.PageQuery) (store.Page[workflow.Workflow], error) {
	return readPage(ctx, s, t, q, "list workflows", workflowRow.workflow, "created_at DESC, id DESC")
}

// Version returns one version by its hash, or ErrNotFound.
func (s *Store) Version(ctx context.Context, t verification.TenantID, id verification.WorkflowID, hash string) (workflow.Version, error) {
	return loadVersion(ctx, s.querier(), t, id, hash)
}

func loadVersion(
	ctx context.Context, q querier, t verification.TenantID, id verification.WorkflowID, hash string,
) (workflow.Version, error) {
	if !areUUIDs(string(t), string(id)) || !storable(hash) {
		return workflow.Version{}, verification.NotFound("version")
	}
	r, err := selectRow[versionRow](ctx, q, string(t), q.db.NewSelect().Model((*versionRow)(nil)).
		Where("tenant_id = ?", t).Where("workflow_id = ?", id).Where("hash = ?", hash).String())
	v := workflow.Version{Hash: hash, Number: r.Number, CreatedAt: r.CreatedAt.UTC()}
	switch {
	case isMissing(err):
		err = verification.NotFound("version")
	case err == nil:
		err = json.Unmarshal([]byte(r.Definition), &v.Definition)
	}
	if err != nil {
		return workflow.Version{}, pgerror.Translate("load version "+hash+" of workflow "+string(id), err)
	}
	return v, nil
}

// versionInfoRow is a row of verifyd.workflow_versions without its definition.
type versionInfoRow struct {
	bun.BaseModel `bun:"table:verifyd.workflow_versions,alias:v"`

	Hash      string
	Number    int
	CreatedAt time.Time
}

func (r versionInfoRow) info() workflow.VersionInfo {
	return workflow.VersionInfo{Number: r.Number, Hash: r.Hash, CreatedAt: r.CreatedAt.UTC()}
}

// Versions returns one page, the highest number first.
func (s *Store) Versions(
	ctx context.Context, t verification.TenantID, id verification.WorkflowID, q store.PageQuery,
) (store.Page[workflow.VersionInfo], error) {
	if !areUUIDs(id) {
		return store.Page[workflow.VersionInfo]{PageQuery: q}, nil
	}
	return readPage(ctx, s, t, q, "list the versions of workflow "+string(id), versionInfoRow.info, "number DESC", filter{"workflow_id = ?", string(id)})
}

// SaveWorkflow creates or replaces a workflow and adds a version, all or
// nothing, or returns ErrConflict. A version that exists already is not replaced. After
// a change it waits for the appends that may not have seen the change: see awaitAppends.
func (s *Store) SaveWorkflow(ctx context.Context, t verification.TenantID, w workflow.Workflow, added *workflow.Version) error {
	set := store.Setup{Workflows: []store.WorkflowChange{{Tenant: t, Workflow: w, Added: added}}}
	return pgerror.Translate("save workflow "+string(w.ID), s.SaveSetup(ctx, set))
}

// workflowSaves returns the statement that saves a workflow, and the one that adds its version; empty without one. The
// first changes no row if the stored revision is not the one before.
func (s *Store) workflowSaves(c store.WorkflowChange) (save, add string, err error) {
	r, err := newWorkflowRow(c.Tenant, c.Workflow)
	if err != nil {
		return "", "", err
	}
	if c.Added != nil {
		v, err := newVersionRow(c.Tenant, c.Workflow.ID, *c.Added)
		if err != nil {
			return "", "", err
		}
		add = s.db.NewInsert().Model(v).On("CONFLICT DO NOTHING").String()
	}
	if r.Revision == 1 {
		return s.db.NewInsert().Model(&r).On("CONFLICT DO NOTHING").String(), add, nil
	}
	return s.db.NewUpdate().Model(&r).WherePK().Where("revision = ?", r.Revision-1).String(), add, nil
}

// appending selects the transactions that have inserted events. A transaction locks the table
// before the statement takes its snapshot. exceptCallers leaves out the transactions of
// callers (lockCaller).
const (
	appending = `
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = 'verifyd.run_events'::regclass AND mode = 'RowExclusiveLock' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	exceptCallers = `
EXCEPT
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'advisory' AND classid = 0 AND objid = ` + callerKey
)

// lockCaller marks a transaction of a caller, which may stay open for long. Whether the end
// of a run in it is announced is decided when the notice is sent.
const (
	callerKey  = "1447252550"
	lockCaller = "pg_advisory_xact_lock_shared(" + callerKey + ")"
)

// errAppending is returned by awaitAppends when it has waited for too long.
var errAppending = errors.New("a change of a run that began before is not saved yet")

// awaitAppends waits until the transactions that a statement selects now have ended. An
// append reads the revision of its workflow, and the versions of lists, in a snapshot,
// without a lock: it may be committed after a change that it has not seen. See decision 26.
func (s *Store) awaitAppends(ctx context.Context, statement string) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	read := func() ([]string, error) {
		rows, err := s.pool.Query(ctx, statement)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[string])
	}
	waiting, err := read()
	for wait := time.Millisecond; err == nil && len(waiting) > 0; wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			return errors.Join(errAppending, context.Cause(ctx))
		case <-time.After(wait):
		}
		var open []string
		open, err = read()
		waiting = slices.DeleteFunc(waiting, func(transaction string) bool { return !slices.Contains(open, transaction) })
	}
	return err
}

// encodeDefinition writes a definition as JSON, the objects in it byte for byte.
func encodeDefinition(d workflow.Definition) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(d)
	return strings.TrimSuffix(b.String(), "\n"), err
}
