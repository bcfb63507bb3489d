// The deliveries of notices.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// deliveryRow is a row of verifyd.deliveries.
type deliveryRow struct {
	bun.BaseModel `bun:"table:verifyd.deliveries,alias:d"`

	TenantID verification.TenantID `bun:",pk"`
	RunID    verification.RunID    `bun:",pk"`
	URL      string
	State    rules.DeliveryState
	Attempts int
	FirstAt  pgtype.Timestamptz
	LastAt   time.Time
	NextAt   pgtype.Timestamptz
	Class    string
	Seq      int `bun:",pk"`
	Event    workflow.NoticeEvent
}

func (r deliveryRow) delivery() rules.Delivery {
	return rules.Delivery{
		Run: r.RunID, Seq: r.Seq, Event: r.Event, URL: r.URL, State: r.State, Attempts: r.Attempts,
		FirstAt: utc(r.FirstAt.Time), LastAt: r.LastAt.UTC(), NextAt: utc(r.NextAt.Time), Class: r.Class,
	}
}

// newDeliveryRow returns the row of a delivery, or an error when the database cannot store
// one of its texts.
func newDeliveryRow(t verification.TenantID, d rules.Delivery) (deliveryRow, error) {
	r := deliveryRow{
		TenantID: t, RunID: d.Run, Seq: d.Seq, Event: d.Event, URL: d.URL, State: d.State, Attempts: d.Attempts,
		FirstAt: orNull(d.FirstAt), LastAt: d.LastAt, NextAt: orNull(d.NextAt), Class: d.Class,
	}
	if !storable(d.URL, string(d.State), d.Class, string(d.Event)) {
		return r, notStorable("delivery")
	}
	return r, nil
}

// SaveDelivery creates or replaces the delivery of a notice.
func (s *Store) SaveDelivery(ctx context.Context, t verification.TenantID, d rules.Delivery) error {
	r, err := newDeliveryRow(t, d)
	if err != nil {
		return err
	}
	err = s.querier().exec(ctx, string(t), s.db.NewInsert().Model(&r).On("CONFLICT (tenant_id, run_id, seq) DO UPDATE").String())
	return pgerror.Translate("save the delivery of notice "+d.Ref().ID(), err)
}

// Delivery returns the delivery of a notice, or ErrNotFound.
func (s *Store) Delivery(ctx context.Context, t verification.TenantID, n rules.NoticeRef) (rules.Delivery, error) {
	if !areUUIDs(string(t), string(n.Run)) {
		return rules.Delivery{}, verification.NotFound("delivery")
	}
	r, err := selectRow[deliveryRow](ctx, s.querier(), string(t),
		s.db.NewSelect().Model((*deliveryRow)(nil)).Where("tenant_id = ?", t).Where("run_id = ?", n.Run).Where("seq = ?", n.Seq).String())
	if isMissing(err) {
		err = verification.NotFound("delivery")
	}
	if err != nil {
		return rules.Delivery{}, pgerror.Translate("load the delivery of notice "+n.ID(), err)
	}
	return r.delivery(), nil
}

// Deliveries returns one page of the deliveries in a state, newest first.
func (s *Store) Deliveries(ctx context.Context, t verification.TenantID, state rules.DeliveryState, q store.PageQuery) (store.Page[rules.Delivery], error) {
	var filters []filter
	if state != "" {
		filters = append(filters, filter{"state = ?", string(state)})
	}
	return readPage(ctx, s, t, q, "list deliveries", deliveryRow.delivery, "last_at DESC, run_id DESC, seq DESC", filters...)
}
