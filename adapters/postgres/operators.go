// What only operators ask: whose a run is.

package postgres

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// RunTenants lists the saved tenants that have a run of this id: one, or none.
// Each tenant is asked through its index, so the cost grows with the tenants and
// not with the runs.
func (s *Store) RunTenants(ctx context.Context, id verification.RunID) (tenants []verification.TenantID, err error) {
	if _, err := uuidOf(string(id)); err != nil {
		return nil, nil //nolint:nilerr // no run has such an id
	}
	err = s.read(ctx, everyTenant, func(ctx context.Context, tx bun.Tx) error {
		tenants = nil
		return tx.NewSelect().TableExpr("verifyd.tenants AS t").Column("t.tenant_id").
			Where("EXISTS (SELECT 1 FROM verifyd.runs r WHERE r.tenant_id = t.tenant_id AND r.id = ?)", id).
			OrderExpr("t.tenant_id").Scan(ctx, &tenants)
	})
	return tenants, translate("find the tenant of run "+string(id), err)
}
