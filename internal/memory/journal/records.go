// Records: what a segment says about each change.

package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// kind says what a record is about. The numbers are in journals and never change.
type kind byte

const (
	kindBegun       kind = 1 // the first record of each segment
	kindAppend      kind = 2
	kindClaim       kind = 3
	kindWork        kind = 4
	kindWorkflow    kind = 5
	kindTenant      kind = 6
	kindAccount     kind = 7
	kindKeyClaimed  kind = 8
	kindKeySettled  kind = 9
	kindKeyReleased kind = 10
	kindDelivery    kind = 11
	kindPass        kind = 12
	kindRecord      kind = 13 // in copies and snapshots
	kindCopy        kind = 14
	kindSnapshot    kind = 15 // the first record of each snapshot
	kindComplete    kind = 16 // the last record of each snapshot
	kindRest        kind = 17 // in copies and snapshots
	kindMark        kind = 18 // in the file of the marks

	kindRetentionMark kind = 19
	kindForgot        kind = 20
	kindAudit         kind = 21
	kindSetup         kind = 22
	kindLedgerMark    kind = 23
	kindNoted         kind = 24
	kindAuditBlock    kind = 25 // in snapshots
	kindRows          kind = 26

	lastKind = kindRows
)

// currentVersion is the version of the records that this build writes. A kind whose JSON
// changes in another way than by a field whose zero value keeps the old meaning needs
// another version, and decode reads both. See errFirst for version 1.
const currentVersion = 2

// kindOf is what a kind is called, since which level journals have it (see store.Level), and how its records are decoded.
type kindOf struct {
	name   string
	since  int
	decode func(payload []byte) (record, error)
}

// kinds returns what is known of each kind.
func kinds() [lastKind + 1]kindOf {
	return [...]kindOf{
		kindBegun:         {"segment", 1, decodeAs[begun]},
		kindAppend:        {"append", 1, decodeAs[appended]},
		kindClaim:         {"claim", 1, decodeAs[claimed]},
		kindWork:          {"work", 1, decodeAs[worked]},
		kindWorkflow:      {"workflow", 1, decodeAs[workflowSaved]},
		kindTenant:        {"tenant", 1, decodeAs[tenantSaved]},
		kindAccount:       {"account", 1, decodeAs[accountSaved]},
		kindKeyClaimed:    {"claimed key", 1, decodeAs[keyClaimed]},
		kindKeySettled:    {"settled key", 1, decodeAs[keySettled]},
		kindKeyReleased:   {"released key", 1, decodeAs[keyReleased]},
		kindDelivery:      {"delivery", 1, decodeAs[deliverySaved]},
		kindPass:          {"pass", 1, decodeAs[passHeld]},
		kindRecord:        {"record", 1, decodeAs[recordSaved]},
		kindCopy:          {"copy", 1, decodeAs[copySet]},
		kindSnapshot:      {"snapshot", 1, decodeAs[snapshotBegun]},
		kindComplete:      {"end of the snapshot", 1, decodeAs[completed]},
		kindRest:          {"rest of a record", 1, decodeAs[restSaved]},
		kindMark:          {"mark", 1, decodeAs[marked]},
		kindRetentionMark: {"retention mark", 1, decodeAs[retentionMarked]},
		kindForgot:        {"removal of old records", 1, decodeAs[forgot]},
		kindAudit:         {"audit", 1, decodeAs[audited]},
		kindSetup:         {"setup", 1, decodeAs[setupSaved]},
		kindLedgerMark:    {"mark of the ledger of erasures", 1, decodeAs[ledgerMarked]},
		kindNoted:         {"entries of the ledger of erasures", 1, decodeAs[noted]},
		kindAuditBlock:    {"audit block", 1, decodeAs[auditBlock]},
		kindRows:          {"rows", 1, decodeAs[rowsSaved]},
	}
}

// check returns an error if a journal of a level must not have the kind.
func (k kind) check(level int) error {
	return store.CheckSince("record "+k.String(), kinds()[k].since, level)
}

func (k kind) String() string {
	if all := kinds(); k <= lastKind && all[k].name != "" {
		return all[k].name
	}
	return fmt.Sprintf("unknown kind %d", byte(k))
}

// record is a decoded record. apply makes its change in the store.
type record interface {
	apply(ctx context.Context, m *memstore.Store) error
}

// encode returns the JSON of a record, without fields that are zero.
func encode(r record) ([]byte, error) {
	raw, err := json.Marshal(r, json.OmitZeroStructFields(true), jsonv1.OmitEmptyWithLegacySemantics(true),
		json.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err == nil && len(raw) >= maxPayload {
		err = verification.Invalid("change", fmt.Sprintf("needs %d bytes in the journal, and a record may have %d; send less at once", len(raw), maxPayload))
	}
	if err != nil {
		return nil, fmt.Errorf("encode a record of the journal: %w", err)
	}
	return raw, nil
}

// decode decodes a record of any version that a build since version 2 has written.
func decode(f frame) (record, error) {
	if f.version < 2 || f.version > currentVersion {
		return nil, fmt.Errorf("it has version %d, which this build does not know", f.version)
	}
	if all := kinds(); f.kind <= lastKind && all[f.kind].decode != nil {
		return all[f.kind].decode(f.payload)
	}
	return nil, errors.New("this build does not know its kind")
}

// decodeAs refuses fields that it does not know: a later build has written them, and without
// them something would be lost.
func decodeAs[R record](payload []byte) (record, error) {
	var r R
	err := json.Unmarshal(payload, &r, json.RejectUnknownMembers(true), jsonv1.OmitEmptyWithLegacySemantics(true))
	return r, err
}

// begun begins a segment.
type begun struct {
	Segment int      `json:"segment"`
	After   position `json:"after"` // the end of the segment before it
	Level   int      `json:"level"` // of the journal; 0 is 1
}

func (begun) apply(context.Context, *memstore.Store) error {
	return errors.New("only the first record of a file begins a segment")
}

// events have the JSON of package verification.
type events []rules.Event

// MarshalJSONTo implements json.MarshalerTo.
func (es events) MarshalJSONTo(to *jsontext.Encoder) error {
	raw, err := rules.EncodeEvents(es)
	if err != nil {
		return err
	}
	return to.WriteValue(raw)
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (es *events) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	raw, err := from.ReadValue()
	if err != nil {
		return err
	}
	*es, err = rules.DecodeEvents(raw)
	return err
}

// appended is a commit.
type appended struct {
	Run              verification.RunID    `json:"run"`
	Tenant           verification.TenantID `json:"tenant"`
	Seq              int                   `json:"seq"`
	Events           events                `json:"events"`
	Summary          rules.Summary         `json:"summary"`
	Work             []dueWork             `json:"work"` // nil and empty differ
	Hold             store.Hold            `json:"hold"`
	WorkflowRevision int                   `json:"workflow_revision"`
	Screened         []rules.ScreenedList  `json:"screened"`
	Measures         []store.Measure       `json:"measures"`
	Keys             []store.SearchKey     `json:"keys"` // nil and empty differ
	Rewrite          bool                  `json:"rewrite"`
	Delete           bool                  `json:"delete"`
	Audit            []store.AuditEntry    `json:"audit"`
	Erasure          *verification.Erasure `json:"erasure"`
}

// dueWork is an entry of store.DueWork.
type dueWork struct {
	Kind string    `json:"kind"` // store.WorkKey.KindText
	Seq  int       `json:"seq"`
	Due  time.Time `json:"due"` // zero removes the work
}

func newAppended(t verification.TenantID, id verification.RunID, seq int, c store.Commit) appended {
	r := appended{
		Run: id, Tenant: t, Seq: seq, Events: c.Events, Summary: c.Summary, Hold: c.Hold, WorkflowRevision: c.WorkflowRevision,
		Screened: c.Screened, Measures: c.Measures, Keys: c.Keys, Rewrite: c.Rewrite, Delete: c.Delete, Audit: c.Audit,
		Erasure: c.Erasure,
	}
	if c.Work == nil {
		if seq > 0 { // the summary is the one before
			r.Summary = rules.Summary{Workflow: c.Summary.Workflow}
		}
		return r
	}
	r.Work = make([]dueWork, 0, len(c.Work))
	for _, key := range c.Work.Keys() {
		due := c.Work[key]
		if key.Kind == store.WorkAdvance && c.Hold == store.Leased && !due.IsZero() && len(c.Events) > 0 {
			due = c.Events[len(c.Events)-1].At // and not when the lease ends
		}
		r.Work = append(r.Work, dueWork{key.KindText(), key.Seq, due})
	}
	return r
}

func (r appended) apply(ctx context.Context, m *memstore.Store) error {
	c := store.Commit{
		Events: r.Events, Summary: r.Summary, Hold: r.Hold, WorkflowRevision: r.WorkflowRevision,
		Screened: r.Screened, Measures: r.Measures, Keys: r.Keys, Rewrite: r.Rewrite, Delete: r.Delete, Audit: r.Audit,
		Erasure: r.Erasure,
	}
	if r.Work != nil {
		c.Work = store.DueWork{}
	}
	for _, w := range r.Work {
		c.Work[store.ParseWorkKey(w.Kind, w.Seq)] = w.Due
	}
	return m.Append(ctx, r.Tenant, r.Run, r.Seq, c)
}

// claimed is a claim of a run in the review queue.
type claimed struct {
	Run    verification.RunID    `json:"run"`
	Tenant verification.TenantID `json:"tenant"`
	Claim  rules.Claim           `json:"claim"`
}

func (r claimed) apply(ctx context.Context, m *memstore.Store) error {
	_, err := m.Claim(ctx, r.Tenant, r.Run, r.Claim)
	return err
}

// worked has the new states of pieces of work.
type worked struct {
	Pieces []pieceState `json:"pieces"`
}

// pieceState is a memstore.Piece.
type pieceState struct {
	Run     verification.RunID    `json:"run"`
	Tenant  verification.TenantID `json:"tenant"`
	Kind    string                `json:"kind"` // store.WorkKey.KindText
	Seq     int                   `json:"seq"`
	Due     time.Time             `json:"due"` // zero removes the work
	Attempt int                   `json:"attempt"`
	Lost    int                   `json:"lost"`
	Alone   int                   `json:"alone,omitempty"`
	LeftAt  time.Time             `json:"left_at"`
	Taken   bool                  `json:"taken"`
}

func stateOf(p memstore.Piece) pieceState {
	return pieceState{p.Run.Run, p.Run.Tenant, p.Key.KindText(), p.Key.Seq, p.Due, p.Attempt, p.Lost, p.Alone, p.LeftAt, p.Taken}
}

// piece returns the piece without its workflow.
func (p pieceState) piece() memstore.Piece {
	return memstore.Piece{
		Run: verification.RunRef{Tenant: p.Tenant, Run: p.Run}, Key: store.ParseWorkKey(p.Kind, p.Seq),
		Due: p.Due, Attempt: p.Attempt, Lost: p.Lost, Alone: p.Alone, LeftAt: p.LeftAt, Taken: p.Taken,
	}
}

func (r worked) apply(_ context.Context, m *memstore.Store) error {
	for _, p := range r.Pieces {
		if err := memstore.SetPiece(m, p.piece()); err != nil {
			return err
		}
	}
	return nil
}

// workflowSaved is a workflow, and its new version if there is one.
type workflowSaved struct {
	Tenant   verification.TenantID `json:"tenant"`
	Workflow workflow.Workflow     `json:"workflow"`
	Version  *workflow.Version     `json:"version"`
}

func (r workflowSaved) apply(ctx context.Context, m *memstore.Store) error {
	return m.SaveWorkflow(ctx, r.Tenant, r.Workflow, r.Version)
}

// tenantSaved is a tenant of a setup. Builds before kindRows recorded each tenant so.
type tenantSaved struct {
	Tenant verification.Tenant `json:"tenant"`
}

func (r tenantSaved) apply(ctx context.Context, m *memstore.Store) error {
	return m.SaveTenant(ctx, r.Tenant)
}

// accountSaved is an account of a setup. Builds before kindRows recorded each account so.
type accountSaved struct {
	Account verification.Account `json:"account"`
}

func (r accountSaved) apply(ctx context.Context, m *memstore.Store) error {
	return m.SaveAccount(ctx, r.Account)
}

// keyRecord is an idempotency key.
type keyRecord struct {
	Tenant verification.TenantID   `json:"tenant"`
	Record store.IdempotencyRecord `json:"record"`
}

type (
	keyClaimed  keyRecord
	keySettled  keyRecord
	keyReleased keyRecord
)

func (r keyClaimed) apply(ctx context.Context, m *memstore.Store) error {
	_, err := m.ClaimIdempotencyKey(ctx, r.Tenant, r.Record)
	return err
}

func (r keySettled) apply(ctx context.Context, m *memstore.Store) error {
	return m.SettleIdempotencyKey(ctx, r.Tenant, r.Record)
}

func (r keyReleased) apply(ctx context.Context, m *memstore.Store) error {
	return m.ReleaseIdempotencyKey(ctx, r.Tenant, r.Record)
}

// deliverySaved is a delivery.
type deliverySaved struct {
	Tenant   verification.TenantID `json:"tenant"`
	Delivery rules.Delivery        `json:"delivery"`
}

func (r deliverySaved) apply(ctx context.Context, m *memstore.Store) error {
	return m.SaveDelivery(ctx, r.Tenant, r.Delivery)
}

// passHeld is a call of HoldPass.
type passHeld struct {
	Pass store.RescreenPass `json:"pass"`
	Now  time.Time          `json:"now"`
}

func (r passHeld) apply(ctx context.Context, m *memstore.Store) error {
	_, err := m.HoldPass(ctx, r.Pass, r.Now)
	return err
}

// rowsSaved is a call of Change.
type rowsSaved struct {
	Rows []recordSaved `json:"rows"`
}

func (r rowsSaved) apply(ctx context.Context, m *memstore.Store) error {
	var rows []store.Record
	for _, saved := range r.Rows {
		row := saved.record()
		if row == nil {
			return errNoRecord
		}
		rows = append(rows, row)
	}
	return m.Change(ctx, rows)
}

// retentionMarked is how far retention has come with a workflow, as builds before kindRows recorded it.
type retentionMarked struct {
	Mark store.RetentionMark `json:"mark"`
}

func (r retentionMarked) apply(ctx context.Context, m *memstore.Store) error {
	return m.Change(ctx, []store.Record{store.RetentionMarkRecord(r)})
}

// forgot is a call of Forget.
type forgot struct {
	Before store.Ages `json:"before"`
	Limit  int        `json:"limit"`
}

func (r forgot) apply(ctx context.Context, m *memstore.Store) error {
	_, err := m.Forget(ctx, r.Before, r.Limit)
	return err
}

// audited are entries of the audit trail.
type audited struct {
	Entries []store.AuditEntry `json:"entries"`
}

func (r audited) apply(ctx context.Context, m *memstore.Store) error {
	return m.AppendAudit(ctx, r.Entries)
}

// setupSaved is what a bootstrap file has changed.
type setupSaved struct {
	Tenants   []tenantSaved      `json:"tenants,omitempty"`
	Accounts  []accountSaved     `json:"accounts,omitempty"`
	Workflows []workflowSaved    `json:"workflows,omitempty"`
	Audit     []store.AuditEntry `json:"audit,omitempty"`
}

func newSetupSaved(set store.Setup) setupSaved {
	r := setupSaved{Audit: set.Audit}
	for _, t := range set.Tenants {
		r.Tenants = append(r.Tenants, tenantSaved{t})
	}
	for _, a := range set.Accounts {
		r.Accounts = append(r.Accounts, accountSaved{a})
	}
	for _, w := range set.Workflows {
		r.Workflows = append(r.Workflows, workflowSaved{w.Tenant, w.Workflow, w.Added})
	}
	return r
}

func (r setupSaved) apply(ctx context.Context, m *memstore.Store) error {
	set := store.Setup{Audit: r.Audit}
	for _, t := range r.Tenants {
		set.Tenants = append(set.Tenants, t.Tenant)
	}
	for _, a := range r.Accounts {
		set.Accounts = append(set.Accounts, a.Account)
	}
	for _, w := range r.Workflows {
		set.Workflows = append(set.Workflows, store.WorkflowChange{Tenant: w.Tenant, Workflow: w.Workflow, Added: w.Version})
	}
	return m.SaveSetup(ctx, set)
}

// ledgerMarked is a call of SaveLedgerMark, as builds recorded it before the ledger was a row.
type ledgerMarked struct {
	Was  store.LedgerMark       `json:"was"`
	Mark store.LedgerMark       `json:"mark"`
	Owed []verification.Erasure `json:"owed"`
}

func (r ledgerMarked) apply(ctx context.Context, m *memstore.Store) error {
	return m.SaveLedgerMark(ctx, r.Was, r.Mark, r.Owed)
}

// noted is a call of ErasuresNoted, as builds recorded it before the ledger was a row.
type noted struct {
	Numbers []int64 `json:"numbers"`
}

func (r noted) apply(ctx context.Context, m *memstore.Store) error {
	return m.ErasuresNoted(ctx, r.Numbers)
}
