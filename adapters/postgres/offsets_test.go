// Tests of deep offsets.

package postgres_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// offsets returns offsets around SeekFrom, the first offset for which the counters are
// used, around the total, and random ones between them.
func offsets(t *testing.T, total int) []int {
	t.Helper()
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(1, uint64(seed)))
	all := []int{postgres.SeekFrom - 1, postgres.SeekFrom, postgres.SeekFrom + 1, total - 1, total, total + 1}
	for range 12 {
		all = append(all, postgres.SeekFrom+random.IntN(max(1, total-postgres.SeekFrom)))
	}
	return all
}

// Some reviews have ended, some runs are claimed, and some have no due time.
func TestADeepPageOfTheQueueMatchesTheWholeQueue(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	const runs = 60_000 // about three thousand of them are in review
	for _, sql := range []string{populate, populateQueue} {
		_, err := connect(t, pgtest.Admin(t, url)).Exec(t.Context(), strings.NewReplacer("$1", "'"+string(ours)+"'", "60000", fmt.Sprint(runs)).Replace(sql))
		must(t, err)
	}
	now := noon()
	for _, q := range []store.RunQuery{
		{},
		{Order: store.DueFirst},
		{Unclaimed: true},
		{Unclaimed: true, Order: store.DueFirst},
		{Cause: rules.CauseSource}, // never the first cause of a review
		{SinceBefore: now.AddDate(0, -2, 0)},
	} {
		q.Order = cmp.Or(q.Order, store.OldestFirst)
		q.Now, q.Limit = now, 1000
		var whole []rules.Summary
		for more := true; more; {
			p, err := s.List(t.Context(), ours, q)
			must(t, err)
			if whole = append(whole, p.Data...); len(p.Data) > 0 {
				last := p.Data[len(p.Data)-1]
				at := store.PositionOf(last.ID, *last.Review)
				q.After = &at
			}
			more = len(p.Data) == q.Limit
		}
		q.After, q.Limit = nil, 20
		for _, q.Offset = range offsets(t, len(whole)) {
			got, err := s.List(t.Context(), ours, q)
			must(t, err)
			want := whole[min(q.Offset, len(whole)):min(q.Offset+q.Limit, len(whole))]
			if diff := gocmp.Diff(want, got.Data, cmpopts.EquateEmpty()); diff != "" || got.Total != len(whole) {
				t.Errorf("List(%+v) has %d, want %d (-want +got):\n%s", q, got.Total, len(whole), diff)
			}
		}
	}
}

// Some runs are counted by month and others by day, and some rows are stale.
func TestADeepPageOfRunsMatchesTheWholeList(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	fill := func(admin *pgx.Conn, first, last int) {
		t.Helper()
		_, err := admin.Exec(t.Context(), strings.NewReplacer("$1", "'"+string(ours)+"'",
			"interval '1 second'", "interval '15 minutes'", "timestamptz '2026-12-01'", "timestamptz '2026-02-01'", "generate_series(1, 60000)", fmt.Sprintf("generate_series(%d, %d)", first, last)).Replace(populate))
		must(t, err)
	}
	closed := connect(t, pgtest.Admin(t, url))
	fill(closed, 1, 5000)
	must(t, closed.Close(t.Context()))
	for folded := 0; folded == 0; {
		must(t, s.Maintain(t.Context(), noon()))
		folded = count(t, s, "run_months", string(ours))
	}
	admin := connect(t, pgtest.Admin(t, url))
	fill(admin, 5001, 8000)
	for where, q := range map[string]store.RunQuery{
		"true":                 {},
		"status = 'completed'": {Status: rules.StatusCompleted},
		"started_at > '2026-01-08 12:00' AND started_at < '2026-03-15 13:05'": {
			StartedAfter: noon().AddDate(0, -2, 7), StartedBefore: noon().AddDate(0, 0, 14).Add(65 * time.Minute),
		},
	} {
		rows, err := admin.Query(t.Context(), "SELECT id::text FROM verifyd.runs WHERE tenant_id = $1 AND "+where+" ORDER BY started_at DESC, id DESC", string(ours))
		must(t, err)
		whole, err := pgx.CollectRows(rows, pgx.RowTo[verification.RunID])
		must(t, err)
		q.Now, q.Limit = noon(), 20
		for _, q.Offset = range offsets(t, len(whole)) {
			got, err := s.List(t.Context(), ours, q)
			must(t, err)
			want := whole[min(q.Offset, len(whole)):min(q.Offset+q.Limit, len(whole))]
			if diff := gocmp.Diff(want, idsOf(got), cmpopts.EquateEmpty()); diff != "" || got.Total != len(whole) {
				t.Errorf("List(%+v) has %d, want %d (-want +got):\n%s", q, got.Total, len(whole), diff)
			}
		}
	}
}
