// The deliveries of notices.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

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

func (r deliveryRow) record() store.Record {
	return store.DeliveryRecord{Tenant: r.TenantID, Delivery: r.delivery()}
}

// deliverySave returns the statement that saves a delivery.
func (s *Store) deliverySave(d store.DeliveryRecord) (string, error) {
	r, err := newDeliveryRow(d.Tenant, d.Delivery)
	return s.db.NewInsert().Model(&r).On("CONFLICT (tenant_id, run_id, seq) DO UPDATE").String(), err
}

// listDeliveries returns one page of the deliveries in a state, newest first.
func (s *Store) listDeliveries(ctx context.Context, q store.RowQuery) (store.Page[store.Record], error) {
	var filters []filter
	if q.State != "" {
		filters = append(filters, filter{"state = ?", string(q.State)})
	}
	return readPage(ctx, s, q.Tenant, q.PageQuery, "list deliveries", deliveryRow.record, "last_at DESC, run_id DESC, seq DESC", filters...)
}
