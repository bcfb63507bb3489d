// Tests of searches by a prefix of the reference id.

package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func TestTheTotalOfAPrefixIsExactHoweverManyRunsHaveIt(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	admin := connect(t, pgtest.Admin(t, url))
	const half = postgres.MaxPrefixed + 100
	reference := fmt.Sprintf("CASE WHEN n <= %d THEN 'b-1' WHEN n <= %d THEN 'b-2' ELSE 'c' END || n", half, 2*half)
	for _, sql := range []string{populate, populateQueue} {
		sql = strings.NewReplacer("$1", "'"+string(ours)+"'", "'customer'", reference,
			"60000", fmt.Sprint(2*half+9)).Replace(sql)
		_, err := admin.Exec(t.Context(), sql)
		must(t, err)
	}
	for prefix, want := range map[string]int{"": 2*half + 9, "b": 2 * half, "b-1": half, "b-2": half, "c": 9, "a": 0, "d": 0, "\U0010FFFF": 0} {
		for _, w := range []verification.WorkflowID{"", flow} {
			p, err := s.List(t.Context(), ours, store.RunQuery{ReferencePrefix: prefix, Workflow: w, Now: noon()})
			must(t, err)
			var counted, queued int
			const count = "SELECT count(*) FROM verifyd.runs WHERE starts_with(reference_id, $1) AND ($2 = '' OR workflow_id::text = $2)"
			must(t, admin.QueryRow(t.Context(), count, prefix, string(w)).Scan(&counted))
			if p.Total != counted || w == "" && counted != want {
				t.Errorf("List(%q, workflow %q): total %d, want %d", prefix, w, p.Total, counted)
			}
			q, err := s.List(t.Context(), ours, store.RunQuery{ReferencePrefix: prefix, Workflow: w, Now: noon(), Order: store.OldestFirst})
			must(t, err)
			const countQueue = `SELECT count(*) FROM verifyd.runs WHERE review_since IS NOT NULL
AND starts_with(reference_id, $1) AND ($2 = '' OR workflow_id::text = $2) AND (review_until IS NULL OR review_until >= $3)`
			must(t, admin.QueryRow(t.Context(), countQueue, prefix, string(w), noon()).Scan(&queued))
			if q.Total != queued {
				t.Errorf("the queue of %q, workflow %q: total %d, want %d", prefix, w, q.Total, queued)
			}
		}
	}
}
