// How notices fared: the delivery ledger.

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// deliveryRow is a delivery as it is kept.
type deliveryRow struct {
	bun.BaseModel `bun:"table:verifyd.deliveries,alias:d"`

	TenantID verification.TenantID `bun:",pk"`
	RunID    verification.RunID    `bun:",pk"`
	URL      string
	State    verification.DeliveryState
	Attempts int
	FirstAt  pgtype.Timestamptz
	LastAt   time.Time
	NextAt   pgtype.Timestamptz
	Class    string
}

func (r deliveryRow) delivery() verification.Delivery {
	return verification.Delivery{
		Run: r.RunID, URL: r.URL, State: r.State, Attempts: r.Attempts,
		FirstAt: utc(r.FirstAt.Time), LastAt: r.LastAt.UTC(), NextAt: utc(r.NextAt.Time), Class: r.Class,
	}
}

// SaveDelivery creates or replaces the delivery of a run.
func (s *Store) SaveDelivery(ctx context.Context, t verification.TenantID, d verification.Delivery) error {
	r := deliveryRow{
		TenantID: t, RunID: d.Run, URL: d.URL, State: d.State, Attempts: d.Attempts,
		FirstAt: moment(d.FirstAt), LastAt: d.LastAt, NextAt: moment(d.NextAt), Class: d.Class,
	}
	if !plain(d.URL, string(d.State), d.Class) {
		return unkept("delivery")
	}
	err := s.write(ctx, t, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&r).On("CONFLICT (tenant_id, run_id) DO UPDATE").Exec(ctx)
		return err
	})
	return translate("save the delivery of run "+string(d.Run), err)
}

// Delivery returns the delivery of a run, or ErrNotFound.
func (s *Store) Delivery(ctx context.Context, t verification.TenantID, run verification.RunID) (verification.Delivery, error) {
	const selectDelivery = `
SELECT run_id::text, url, state, attempts, first_at, last_at, next_at, class
FROM verifyd.deliveries WHERE tenant_id = $1 AND run_id = $2`
	tenant, errTenant := uuidOf(string(t))
	id, errRun := uuidOf(string(run))
	if errTenant != nil || errRun != nil {
		return verification.Delivery{}, notFound("delivery")
	}
	var r deliveryRow
	err := s.one(ctx, string(t), selectDelivery, []any{tenant, id},
		&r.RunID, &r.URL, &r.State, &r.Attempts, &r.FirstAt, &r.LastAt, &r.NextAt, &r.Class)
	if missing(err) {
		err = notFound("delivery")
	}
	if err != nil {
		return verification.Delivery{}, translate("load the delivery of run "+string(run), err)
	}
	return r.delivery(), nil
}

// Deliveries returns one page of those in a state, newest first.
func (s *Store) Deliveries(ctx context.Context, t verification.TenantID, state verification.DeliveryState, q verification.PageQuery) (verification.Page[verification.Delivery], error) {
	p := verification.Page[verification.Delivery]{PageQuery: q}
	var rows []deliveryRow
	var err error
	p.Total, err = s.readPage(ctx, t, q, func(tx bun.Tx) *bun.SelectQuery {
		rows = nil
		in := tx.NewSelect().Model(&rows).Where("tenant_id = ?", t).OrderExpr("last_at DESC, run_id DESC")
		if state != "" {
			in = in.Where("state = ?", state)
		}
		return in
	})
	if err != nil {
		return verification.Page[verification.Delivery]{PageQuery: q}, translateList("list deliveries", err)
	}
	for _, r := range rows {
		p.Data = append(p.Data, r.delivery())
	}
	return p, nil
}
