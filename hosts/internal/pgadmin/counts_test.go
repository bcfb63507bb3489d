package pgadmin_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestCheckCountsReportsWrongCounters(t *testing.T) {
	s := fresh(t)
	begin(t, s, tenantNumber(1), runNumber(1), rules.Summary{})
	begin(t, s, tenantNumber(1), runNumber(2), rules.Summary{})
	begin(t, s, tenantNumber(2), runNumber(3), rules.Summary{Ended: rules.StatusFailed, CompletedAt: noon()})
	if lines, err := pgadmin.Of(s).CheckCounts(t.Context()); err != nil || len(lines) != 0 {
		t.Errorf("CheckCounts() = %q, %v, want none", lines, err)
	}
	must(t, named(t, s, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE verifyd.run_counts SET runs = runs + 40 WHERE tenant_id = $1", string(tenantNumber(1)))
		if err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM verifyd.run_counts WHERE tenant_id = $1", string(tenantNumber(2)))
		}
		return err
	}))
	lines, err := pgadmin.Of(s).CheckCounts(t.Context())
	must(t, err)
	if len(lines) != 4 || !strings.Contains(lines[0], string(tenantNumber(1))) || !strings.Contains(lines[0], "in_progress") ||
		!strings.Contains(lines[1], string(tenantNumber(2))) || !strings.HasSuffix(lines[1], "the counter is 0, but there are 1 runs") ||
		!strings.HasSuffix(lines[2], "started on 2026-03-01: the counter is 42, but there are 2 runs") {
		t.Errorf("CheckCounts() = %q, want a line for each tenant, and one for each of their days", lines)
	}
}
