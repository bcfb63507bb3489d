// Tests of the plans of lists and appends.

package postgres_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// populate gives a tenant many runs in every state, straight in SQL.
const populate = `
INSERT INTO verifyd.runs (tenant_id, id, workflow_id, reference_id, started_at, expires_at, abandon_at, waiting, signal, wait,
    ended, completed_at, error, verdict, flagged, status, decision, status_from, status_until)
SELECT $1::uuid, ('d0000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
    ('c0000000-0000-7000-8000-' || lpad(to_hex(n % 10), 12, '0'))::uuid, 'customer',
    timestamptz '2026-01-01' + n * interval '1 second', NULL, NULL, '', '', 0,
    CASE WHEN n % 20 < 18 THEN (ARRAY['completed', 'failed', 'expired', 'cancelled'])[1 + n % 4] ELSE '' END, NULL, '', '', false,
    CASE WHEN n % 20 < 18 THEN (ARRAY['completed', 'failed', 'expired', 'cancelled'])[1 + n % 4]
        ELSE (ARRAY['in_progress', 'abandoned'])[1 + n % 2] END,
    CASE WHEN n % 7 = 0 THEN (ARRAY['review', 'approve', 'reject'])[1 + n % 3] ELSE '' END,
    CASE WHEN n % 20 = 19 THEN timestamptz '2026-01-02' END,
    CASE WHEN n % 20 = 18 THEN timestamptz '2026-12-01' END
FROM generate_series(1, 60000) AS n`

// populateCounts has many other tenants that have runs, too.
const populateCounts = `
INSERT INTO verifyd.run_counts SELECT gen_random_uuid(), gen_random_uuid(), status, decision, '-infinity', 0, 7
FROM generate_series(1, 2000), unnest(ARRAY['completed', 'failed', 'expired', 'cancelled', 'in_progress', 'abandoned']) AS status,
    unnest(ARRAY['', 'review', 'approve', 'reject']) AS decision;
ANALYZE verifyd.run_counts`

// populateQueue and populateMeasures give a tenant a review queue and the measures of a year.
const (
	populateQueue = `
UPDATE verifyd.runs SET review_since = started_at,
    review_due = CASE WHEN id::text LIKE '%1' THEN 'infinity' ELSE started_at + interval '1 day' END,
    review_until = CASE WHEN id::text LIKE '%00' THEN started_at + interval '2 days' END,
    causes = CASE WHEN id::text LIKE '%f' THEN ARRAY['review_step', 'source'] ELSE ARRAY['review_step'] END, review = '{}'
WHERE tenant_id = $1 AND decision = 'review';
INSERT INTO verifyd.claims SELECT tenant_id, id, review_since, 'asha', 'Asha', started_at, '2026-12-01' FROM verifyd.runs
WHERE review_since IS NOT NULL AND id::text LIKE '%07';
ANALYZE verifyd.runs, verifyd.claims`
	// populateKeys gives each run a search key of its own, some runs one key and fewer another.
	populateKeys = `
INSERT INTO verifyd.search_keys SELECT tenant_id, id, md5(id::text)::uuid, started_at FROM verifyd.runs;
INSERT INTO verifyd.search_keys SELECT tenant_id, id, '01000000-0000-0000-0000-000000000000', started_at FROM verifyd.runs WHERE id::text LIKE '%0';
INSERT INTO verifyd.search_keys SELECT tenant_id, id, '02000000-0000-0000-0000-000000000000', started_at FROM verifyd.runs WHERE id::text LIKE '%00';
ANALYZE verifyd.search_keys`
	populateMeasures = `
INSERT INTO verifyd.measures
SELECT $1::uuid, ('c0000000-0000-7000-8000-' || lpad(to_hex(w), 12, '0'))::uuid, name, day, key::text, 0, 1, md5(key::text)::uuid
FROM generate_series(1, 5) AS w, generate_series(20150, 20515) AS day, unnest(ARRAY['ended', 'started', 'verdict_time']) AS name,
    generate_series(1, 4) AS key;
ANALYZE verifyd.measures`
)

// consoleQueries are the statements of pages of the console, by name.
func consoleQueries(s *postgres.Store) map[string]postgres.Statement {
	all := map[string]postgres.Statement{}
	page := store.PageQuery{Limit: 50}
	for name, q := range map[string]store.RunQuery{
		"all":                  {Order: store.OldestFirst},
		"all, due":             {Order: store.DueFirst},
		"workflow, due":        {Workflow: flow, Order: store.DueFirst},
		"cause":                {Cause: rules.CauseReviewStep},
		"overdue":              {DueBefore: noon()},
		"cause, due":           {Cause: rules.CauseSource, Order: store.DueFirst},
		"cause, workflow":      {Cause: rules.CauseReviewStep, Workflow: flow},
		"cause, prefix":        {Cause: rules.CauseSource, ReferencePrefix: "customer-12"},
		"age":                  {SinceBefore: noon().AddDate(0, 0, -50)},
		"unclaimed, workflow":  {Unclaimed: true, Workflow: flow},
		"mine":                 {ClaimedBy: "asha"},
		"assigned":             {AssignedTo: []string{"person:asha", "team:seniors"}},
		"prefix":               {ReferencePrefix: "customer-12"},
		"run":                  {Run: runNumber(7)},
		"search":               {Keys: [][]store.SearchKey{{{1}}, {{2}}}},
		"search, earlier form": {Keys: [][]store.SearchKey{{{1}, {3}}, {{2}, {4}}}},
		"deep":                 {PageQuery: store.PageQuery{Limit: 50, Offset: 10_000}},
		"deep, due, unclaimed": {PageQuery: store.PageQuery{Limit: 50, Offset: 10_000}, Order: store.DueFirst, Unclaimed: true},
	} {
		q.Now = noon()
		q.Limit = page.Limit
		q.Order = cmp.Or(q.Order, store.OldestFirst)
		for part, query := range s.QueueQueries(ours, q) {
			all["queue, "+name+", "+part] = postgres.Statement{Text: query}
		}
	}
	all["queue of all tenants, total"] = postgres.Statement{Text: s.CountQueuesQuery(noon(), time.Time{})}
	for name, q := range map[string]store.RunQuery{
		"days":                   {StartedAfter: noon().AddDate(0, 0, -30), StartedBefore: noon()},
		"days, workflow, status": {StartedAfter: noon().AddDate(0, 0, -30), Workflow: flow, Status: rules.StatusCompleted},
		"hours":                  {StartedAfter: noon().Add(-20 * time.Hour), StartedBefore: noon()},
		"workflow":               {Workflow: flow},
		"reference":              {ReferenceID: "customer-7"},
		"prefix":                 {ReferencePrefix: "customer-7"},
		"search, status":         {Keys: [][]store.SearchKey{{{1}}, {{2}}}, Status: rules.StatusCompleted},
	} {
		q.PageQuery, q.Now = page, noon()
		parts := []string{"total", "page"}
		if name == "workflow" {
			parts = []string{"month", "day"} // of a deep offset
		}
		if q.Keys != nil {
			parts = append(parts, "stale")
		}
		for _, part := range parts {
			all["runs, "+name+", "+part] = postgres.Statement{Text: s.ListQueries(ours, q)[part]}
		}
	}
	for name, keys := range map[string][][]store.SearchKey{
		"one word": {{{1}}}, "two words": {{{2}}, {{1}}}, "words in two forms": {{{2}, {3}}, {{1}, {4}}}, "rejected": nil,
	} {
		q := store.RunQuery{PageQuery: page, Keys: keys}
		if keys == nil {
			q.ReferenceID, q.Rejected = "customer-7", true
		}
		for part, statement := range postgres.SearchStatements(ours, q) {
			all["search, "+name+", "+part] = statement
		}
	}
	for name, after := range map[string]store.StartedPosition{
		"from the beginning": {}, "after a run": {StartedAt: noon().AddDate(0, 0, -20), Run: runNumber(7)},
	} {
		all["retention, "+name] = postgres.StartedStatement(ours, flow, after, noon())
	}
	all["numbers"] = postgres.MeasureStatement(ours, store.MeasureQuery{
		Workflow: flow, First: today() - 29, Last: today(), Names: []store.MeasureName{store.MeasureStarted, store.MeasureEnded},
		Totals: []store.MeasureName{store.MeasureVerdictTime},
	})
	return all
}

func TestListsAreReadFromIndexes(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	s.Close() // its connections still prepare statements
	admin, err := pgx.Connect(t.Context(), pgtest.Admin(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(t.Context()) }()
	// The plans must not depend on a random sample of the rows, nor on whether VACUUM marks the
	// rows as visible, which it does not while their commit is not on disk.
	const repeatable = "SET default_statistics_target = 300; SET synchronous_commit = on"
	for _, sql := range []string{repeatable, strings.ReplaceAll(populate, "$1", "'"+string(ours)+"'"), strings.NewReplacer("$1", "'"+string(theirs)+"'", "60000", "1000").Replace(populate), "VACUUM ANALYZE verifyd.runs, verifyd.run_counts"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{populateCounts, populateQueue, populateKeys, populateMeasures, "VACUUM FULL verifyd.runs", "VACUUM ANALYZE verifyd.runs, verifyd.claims, verifyd.search_keys"} {
		if _, err := admin.Exec(t.Context(), strings.ReplaceAll(sql, "$1", "'"+string(ours)+"'")); err != nil {
			t.Fatal(err)
		}
	}
	queries := map[string]store.RunQuery{}
	for _, w := range []verification.WorkflowID{"", flow} {
		for _, st := range []rules.Status{"", rules.StatusCompleted, rules.StatusAbandoned} {
			for _, d := range []rules.Decision{"", rules.DecisionReview} {
				name := strings.Join(slices.DeleteFunc([]string{map[bool]string{true: "workflow"}[w != ""], string(st), string(d)},
					func(s string) bool { return s == "" }), " ")
				if name == "" {
					name = "all runs"
				}
				queries[name] = store.RunQuery{
					PageQuery: store.PageQuery{Limit: 50}, Workflow: w, Status: st, Decision: d, Now: noon(),
				}
			}
		}
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "SELECT set_config('verifyd.tenant', $1, false)", string(ours)); err != nil {
		t.Fatal(err)
	}
	sorts := regexp.MustCompile(`(?m)^\s*(->\s*)?(Incremental )?Sort\s*$`)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		for _, part := range []string{"stale", "total", "seek", "seek from end", "page", "page from"} {
			plan := explain(t, conn, s.ListQueries(ours, queries[name])[part])
			if strings.Contains(plan, "Seq Scan") || part != "stale" && sorts.MatchString(plan) {
				t.Errorf("%s, %s scans or sorts:\n%s", name, part, plan)
			}
			if strings.HasPrefix(part, "seek") && strings.Contains(plan, "Index Scan") {
				t.Errorf("%s, %s reads more than the index:\n%s", name, part, plan)
			}
			if part == "page" || name == "all runs" || part == "total" && name == "workflow completed review" {
				fmt.Fprintf(&b, "## %s, %s\n\n%s\n", name, part, plan)
			}
		}
	}
	console, scans := consoleQueries(s), regexp.MustCompile(`Seq Scan on (runs|measures|search_keys)\b`)
	for _, name := range slices.Sorted(maps.Keys(console)) {
		plan := explain(t, conn, console[name].Text, console[name].Args...)
		if scans.MatchString(plan) {
			t.Errorf("%s scans:\n%s", name, plan)
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n", name, plan)
	}
	golden.Equal(t, "testdata/plans.txt", []byte(b.String()))
	for _, q := range []store.RunQuery{{ReferenceID: "somebody"}, {ReferencePrefix: "some"}} {
		q.Limit, q.Now = 50, noon()
		if plan := explain(t, conn, s.ListQueries(ours, q)["total"]); !strings.Contains(plan, "runs_by_reference") {
			t.Errorf("%q %q is not read from the index of reference ids:\n%s", q.ReferenceID, q.ReferencePrefix, plan)
		}
	}
}

// An append finds each row by its primary key even when its plan was made in a new
// database, whose tables have no statistics.
func TestAppendsFindRowsByPrimaryKeyWithoutStatistics(t *testing.T) {
	other := regexp.MustCompile(`using (\w+) on (runs|workflows|work) `)
	for _, rows := range []string{"0", "50", "2000"} {
		url := pgtest.Database(t)
		openAt(t, url, postgres.Options{SingleHost: true})
		admin, host := connect(t, pgtest.Admin(t, url)), connect(t, url)
		for _, sql := range []string{populate} {
			_, err := admin.Exec(t.Context(), strings.NewReplacer("$1", "'"+string(ours)+"'", "60000", rows, "20000", rows).Replace(sql))
			must(t, err)
		}
		for _, sql := range []string{"BEGIN", "PREPARE hot AS " + postgres.SetTenantHot, "EXECUTE hot('all')"} {
			_, err := host.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
			must(t, err)
		}
		for name, statement := range postgres.AppendStatements() {
			d, err := host.Prepare(t.Context(), name, statement)
			must(t, err)
			nulls := strings.TrimSuffix(strings.Repeat("NULL,", len(d.ParamOIDs)), ",")
			plan := explain(t, host, "EXECUTE "+name+" ("+nulls+")")
			for _, used := range other.FindAllStringSubmatch(plan, -1) {
				if used[1] != used[2]+"_pkey" {
					t.Errorf("with %s rows, %s reads %s by %s:\n%s", rows, name, used[2], used[1], plan)
				}
			}
			if strings.Contains(plan, "Seq Scan") {
				t.Errorf("with %s rows, %s scans a table:\n%s", rows, name, plan)
			}
		}
	}
}

// A pass of retention that finds nothing old reads indexes, however many records there are.
func TestOldRecordsAreFoundByIndex(t *testing.T) {
	url := pgtest.Database(t)
	openAt(t, url, postgres.Options{SingleHost: true})
	host := connect(t, url)
	for _, sql := range []string{"BEGIN", "PREPARE hot AS " + postgres.SetTenantHot, "EXECUTE hot('all')"} {
		_, err := host.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		must(t, err)
	}
	for index, s := range postgres.ForgetStatements(noon()) {
		if plan := explain(t, host, s.Text, s.Args...); !strings.Contains(plan, "using "+index+" ") || strings.Contains(plan, "Seq Scan on verifyd") {
			t.Errorf("%s is not used:\n%s", index, plan)
		}
	}
}

// explain returns the plan of a query without the lines of row-level security and
// those that differ from one server to the next.
func explain(t *testing.T, conn *pgx.Conn, query string, args ...any) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) "+query, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	filter := regexp.MustCompile(`^\s*(Filter: |Recheck Cond: |InitPlan |->  Result$)`)
	lines = slices.DeleteFunc(lines, filter.MatchString)
	return strings.Join(lines, "\n") + "\n"
}
