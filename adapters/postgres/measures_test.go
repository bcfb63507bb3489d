// Tests of measures that the suite of stores does not have.

package postgres_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// A condition of a branch may have 20,000 characters, and is a part of a key.
func TestAMeasureMayHaveALongKey(t *testing.T) {
	s := openAt(t, pgtest.Database(t), postgres.Options{SingleHost: true})
	must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	var condition strings.Builder // cannot be compressed
	for sum := sha256.Sum256(nil); condition.Len() < 20_000; sum = sha256.Sum256(sum[:]) {
		condition.WriteString(hex.EncodeToString(sum[:]))
	}
	key := store.MeasureKey{Name: store.MeasureTransition, Key: "a:b:" + condition.String(), Version: 1}
	for n := range 2 {
		c := started(n, noon(), false)
		c.Summary.Workflow = flow
		c.Measures = []store.Measure{{MeasureKey: key, Day: today(), Count: 1}}
		must(t, s.Append(t.Context(), ours, runNumber(n+1), 0, c))
	}
	found, err := s.Measures(t.Context(), ours, store.MeasureQuery{
		Workflow: flow, Version: 1, Names: []store.MeasureName{store.MeasureTransition},
		First: today(), Last: today(),
	})
	must(t, err)
	if len(found) != 1 || found[0].MeasureKey != key || found[0].Counts[0] != 2 {
		t.Errorf("found %d measures, want the one with the long key, twice", len(found))
	}
}

// today is the day of noon.
func today() store.Day { return store.DayOf(noon(), time.UTC) }

// startsOf returns the number of runs of a workflow that started, by its measures.
func startsOf(t *testing.T, s *postgres.Store) (n int) {
	t.Helper()
	found, err := s.Measures(t.Context(), ours, store.MeasureQuery{
		Workflow: flow, Names: []store.MeasureName{store.MeasureStarted},
		First: today(), Last: today(),
	})
	must(t, err)
	for _, m := range found {
		n += m.Counts[0]
	}
	return n
}

// logStarts inserts rows into the log, each with one start on the day of noon.
func logStarts(t *testing.T, s *postgres.Store, n int) {
	t.Helper()
	const insert = `INSERT INTO verifyd.measure_log (tenant_id, measures)
SELECT ?, json_build_array(json_build_object('w', ?, 'd', ?, 'c', json_build_object('started 0 ', 1))) FROM generate_series(1, ?)`
	must(t, s.Tenanted(t.Context(), ours, insert, string(ours), string(flow), int(today()), n))
}

func TestABrokenRowOfMeasuresIsLeftOut(t *testing.T) {
	for name, measures := range map[string]string{
		"no JSON":                        "null, ",
		"no version":                     `[{"w":"` + string(flow) + `","d":1,"c":{"started":1}}]`,
		"a text that cannot be stored":   `[{"w":"` + string(flow) + `","d":1,"c":{"ended 0 \u0000":1}}]`,
		"a workflow that is not an UUID": `[{"w":"x","d":1,"c":{"ended 0 ":1}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := openAt(t, pgtest.Database(t), postgres.Options{SingleHost: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
			must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
			logStarts(t, s, 30)
			must(t, s.Tenanted(t.Context(), ours, "INSERT INTO verifyd.measure_log (tenant_id, measures) VALUES (?, ?)", string(ours), measures))
			logStarts(t, s, 30)
			for range 2 {
				must(t, s.Maintain(t.Context(), noon()))
				if n := startsOf(t, s); n != 60 {
					t.Errorf("%d starts are added up, want 60", n)
				}
			}
			if left := count(t, s, "measure_log", string(ours)); left != 1 {
				t.Errorf("%d rows are left in the log, want the broken one", left)
			}
			if n := strings.Count(log.String(), "measures cannot be added up"); n != 1 {
				t.Errorf("the broken row is logged %d times, want once:\n%s", n, log.String())
			}
		})
	}
}

// The database cancels a statement that adds up more than 15 days at once.
func TestSlowMeasuresAreAddedUpInSmallerParts(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	const slow = `
CREATE FUNCTION verifyd.too_slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM added) > 30 THEN
        RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = 'query_canceled';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER too_slow AFTER INSERT ON verifyd.measures REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION verifyd.too_slow()`
	admin, err := pgx.Connect(t.Context(), pgtest.Admin(t, url))
	must(t, err)
	defer func() { _ = admin.Close(context.WithoutCancel(t.Context())) }()
	_, err = admin.Exec(t.Context(), slow)
	must(t, err)
	const days = 90 // each has a row of the workflow and one of all
	for n := range days {
		c := started(n, noon().AddDate(0, 0, -n), false)
		c.Summary.Workflow = flow
		c.Measures = []store.Measure{{
			MeasureKey: store.MeasureKey{Name: store.MeasureStarted}, Day: today() - store.Day(n), Count: 1,
		}}
		must(t, s.Append(t.Context(), ours, runNumber(n+1), 0, c))
	}
	found, err := s.Measures(t.Context(), ours, store.MeasureQuery{
		Workflow: flow, Names: []store.MeasureName{store.MeasureStarted},
		First: today() - days, Last: today(),
	})
	must(t, err)
	if len(found) != 1 || slices.Min(found[0].Counts[1:]) != 1 || slices.Max(found[0].Counts) != 1 {
		t.Errorf("measures = %v, want a start on each of %d days", found, days)
	}
}
