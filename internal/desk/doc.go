// Package desk has what the people who work with runs see beside the report: the record of a run,
// related runs, the numbers of a tenant, and the file of a person. It stands above the engine; only the console and
// verifyctl use it.
package desk

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// Desk reads what an engine and its store have. It is safe for concurrent use.
type Desk struct {
	engine *engine.Engine
	store  store.Store
	now    func() time.Time
	log    *slog.Logger
}

// New returns the desk of an engine and its store. now is the clock of the engine.
func New(e *engine.Engine, s store.Store, now func() time.Time, log *slog.Logger) *Desk {
	return &Desk{engine: e, store: s, now: now, log: log}
}

// time returns the time as the engine keeps it.
func (d *Desk) time() time.Time { return d.now().UTC().Truncate(time.Microsecond) }

// zone returns the time zone of a tenant and its name; UTC and "" for a tenant that is not stored.
func (d *Desk) zone(ctx context.Context, t verification.TenantID) (*time.Location, string, error) {
	tenant, err := store.Tables{RowStore: d.store}.Tenant(ctx, t)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return nil, "", err
	}
	zone, err := time.LoadLocation(tenant.Zone)
	if err != nil {
		d.log.ErrorContext(ctx, "time zone not found: days are in UTC", "zone", tenant.Zone, "error", err)
		zone = time.UTC
	}
	return zone, tenant.Zone, nil
}

// QueueSize returns the number of runs that need a verdict now and match the query. q.Now is set,
// and q.ClaimedBy is an identity.
func (d *Desk) QueueSize(ctx context.Context, t verification.TenantID, q store.RunQuery) (int, error) {
	q.PageQuery, q.Now, q.ClaimedBy, q.Order = store.PageQuery{}, d.time(), verification.Person{Identity: q.ClaimedBy}.Key(), store.OldestFirst
	return d.total(ctx, t, q)
}

// total returns the number of runs that match a query.
func (d *Desk) total(ctx context.Context, t verification.TenantID, q store.RunQuery) (int, error) {
	p, err := d.store.List(ctx, t, q)
	return p.Total, err
}
