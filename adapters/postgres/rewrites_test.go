// Tests of rewrites: nothing personal is left in the database, and no append is lost beside them.

package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// canary is the text of all personal data of personal, which has no other.
const canary = "Canary Rao"

// canaryKey is the search key of personal.
func canaryKey() store.SearchKey { return store.SearchKey([]byte(canary + "......")) }

// personal is the history of a run that had a review and is completed.
func personal() []rules.Event {
	data := verification.Data(fmt.Sprintf(`{"name":%q,"source_ok":false}`, canary))
	var history []rules.Event
	for i, f := range []rules.Fact{
		rules.Started{Workflow: flow, WorkflowName: "Onboarding", Version: 1, VersionHash: "hash", ReferenceID: canary, Input: data, RedirectURI: "https://x.example/" + canary},
		rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Rescreen: "sanctions", Dispatch: 1, Visit: 1},
		rules.ResultRecorded{Node: "pan", Passed: true, Data: data, Screening: &rules.Screening{
			List: "sanctions", ListVersion: "v1", Hits: []verification.Hit{{ID: canary, Name: canary}},
		}},
		rules.ReviewAsked{Node: "review", Label: "Review", Reason: canary},
		rules.NoteAdded{Notes: canary, By: "Asha"},
		rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove, Notes: canary, By: "Asha"},
		rules.Completed{Node: "done"},
	} {
		history = append(history, rules.Event{At: noon().Add(time.Duration(i) * time.Minute), Fact: f})
	}
	return history
}

// savePersonal saves personal in parts, as a host does.
func savePersonal(t *testing.T, s *postgres.Store, id verification.RunID) []rules.Event {
	t.Helper()
	history := personal()
	from := 0
	for _, to := range []int{1, 4, 5, 7} {
		c := store.NewCommit(rules.Fold(id, history[:from]), rules.Fold(id, history[:to]), history[from:to], time.UTC)
		c.Work[store.WorkKey{Kind: store.WorkRecheck}] = noon()
		c.Keys = []store.SearchKey{canaryKey()}
		must(t, s.Append(t.Context(), ours, id, from, c))
		if to == 4 {
			_, err := s.Claim(t.Context(), ours, id, rules.Claim{By: "asha", At: noon(), Until: noon().Add(time.Hour)})
			must(t, err)
		}
		from = to
	}
	return history
}

// redaction returns the commit that redacts a run.
func redaction(t *testing.T, id verification.RunID, history []rules.Event) store.Commit {
	t.Helper()
	events, err := rules.Redact(id, history, "", verification.Person{Name: "operator"}, noon().Add(time.Hour))
	must(t, err)
	return store.Commit{
		Events: events, Summary: rules.Fold(id, events).Summary(), Work: store.AdvanceAt(time.Time{}), Rewrite: true,
	}
}

// tablesWith returns the tables that have a row with one of some texts.
func tablesWith(t *testing.T, url string, texts ...string) (found []string) {
	t.Helper()
	conn := connect(t, pgtest.Admin(t, url))
	rows, err := conn.Query(t.Context(), "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')")
	must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	for _, table := range tables {
		for _, text := range texts {
			var n int
			must(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table+" AS t WHERE t::text LIKE '%' || $1 || '%'", text).Scan(&n))
			if n > 0 {
				found = append(found, table)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestNoTableHasPersonalDataOfARewrittenRun(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	id := runNumber(1)
	history := savePersonal(t, s, id)
	texts := []string{canary, uuid.UUID(canaryKey()).String()}
	if diff := cmp.Diff([]string{"verifyd.run_events", "verifyd.runs", "verifyd.search_keys"}, tablesWith(t, url, texts...)); diff != "" {
		t.Errorf("tables with personal data before the rewrite (-want +got):\n%s", diff)
	}
	if n := count(t, s, "screened_runs", string(ours)); n != 1 {
		t.Errorf("the run is screened again against %d lists, want 1", n)
	}
	c := redaction(t, id, history)
	must(t, s.Append(t.Context(), ours, id, len(history), c))
	if found := tablesWith(t, url, texts...); found != nil {
		t.Errorf("tables with personal data after the rewrite = %v, want none", found)
	}
	if n := count(t, s, "screened_runs", string(ours)); n != 0 {
		t.Errorf("the rewritten run is screened again: %d rows", n)
	}
	if n := wrongCounts(t, s); n != 0 {
		t.Errorf("%d counters are wrong after the rewrite", n)
	}
	for after := range len(c.Events) {
		got, err := s.Load(t.Context(), ours, id, after)
		if diff := cmp.Diff(c.Events[after:], got); err != nil || diff != "" {
			t.Errorf("the events after %d: %v (-want +got):\n%s", after, err, diff)
		}
	}
	want := []store.Record{store.RunRecord{
		Run: verification.RunRef{Tenant: ours, Run: id}, Events: c.Events, Summary: c.Summary,
		Work: []store.WorkRecord{{WorkKey: store.WorkKey{Kind: store.WorkRecheck}, Due: noon()}},
	}}
	got := runRecords(t, s)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the records of the run (-want +got):\n%s", diff)
	}
	to := fresh(t)
	must(t, to.SaveRecords(t.Context(), got))
	if diff := cmp.Diff(want, runRecords(t, to)); diff != "" {
		t.Errorf("the copy of the run (-want +got):\n%s", diff)
	}
}

func runRecords(t *testing.T, s *postgres.Store) (all []store.Record) {
	t.Helper()
	for r, err := range s.Records(t.Context(), store.RecordRun) {
		must(t, err)
		all = append(all, r)
	}
	return all
}

// reject returns a completed history with another verdict, and the commit that appends it.
func reject(id verification.RunID, history []rules.Event) ([]rules.Event, store.Commit) {
	next := append(slices.Clone(history), rules.Event{
		At: noon().Add(2 * time.Hour), Fact: rules.VerdictRecorded{Decision: rules.DecisionReject},
	})
	return next, store.NewCommit(rules.Fold(id, history), rules.Fold(id, next), next[len(history):], time.UTC)
}

// A group of appends reads where its histories end, and may then wait for one of its runs while another is
// appended to and rewritten.
func TestALateAppendIsNotInsertedBeforeARewrite(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	locked, id := runNumber(1), runNumber(2)
	history := savePersonal(t, s, locked)
	savePersonal(t, s, id)
	next, c := reject(id, history)
	tx, err := connect(t, pgtest.Admin(t, url)).Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events) VALUES ($1, $2, $3, $3 + 1, '')",
		string(ours), string(locked), len(history))
	must(t, err)
	late := make(chan error, 1)
	go func() {
		_, err := s.AppendTogether(ours, []verification.RunID{locked, id}, []int{len(history), len(history)}, []store.Commit{c, c})
		late <- err
	}()
	eventually(t, "the group waits for the lock", func() (waits bool) {
		must(t, tx.QueryRow(t.Context(),
			"SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)").Scan(&waits))
		return waits
	})
	must(t, s.Append(t.Context(), ours, id, len(history), c))
	rewritten := redaction(t, id, next)
	must(t, s.Append(t.Context(), ours, id, len(next), rewritten))
	must(t, tx.Rollback(t.Context()))
	if err := <-late; err == nil {
		t.Error("the late append was saved, want it refused")
	}
	got, err := s.Load(t.Context(), ours, id, 0)
	if diff := cmp.Diff(rewritten.Events, got); err != nil || diff != "" {
		t.Errorf("the history: %v (-want +got):\n%s", err, diff)
	}
}

func TestOneOfARewriteAndAnAppendIsSaved(t *testing.T) {
	url := pgtest.Database(t)
	stores := []*postgres.Store{openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})}
	for n := range 100 {
		id := verification.RunID(uuid.Must(uuid.NewV7()).String())
		history := savePersonal(t, stores[0], id)
		next, c := reject(id, history)
		if n%2 == 0 { // the append changes nothing but the history
			c.Work = nil
		}
		want := map[string][]rules.Event{"append": next, "rewrite": redaction(t, id, history).Events}
		errs := map[string]error{}
		var both sync.WaitGroup
		var mu sync.Mutex
		for what, send := range map[string]func() error{
			"append":  func() error { return stores[1].Append(t.Context(), ours, id, len(history), c) },
			"rewrite": func() error { return stores[0].Append(t.Context(), ours, id, len(history), redaction(t, id, history)) },
		} {
			both.Go(func() {
				err := send()
				mu.Lock()
				defer mu.Unlock()
				errs[what] = err
			})
		}
		both.Wait()
		winner := "append"
		if errs["append"] != nil {
			winner = "rewrite"
		}
		for what, err := range errs {
			if what == winner && err != nil || what != winner && !errors.Is(err, verification.ErrConflict) {
				t.Fatalf("%s = %v, and the other = %v; want one of them to be refused", what, err, errs)
			}
		}
		got, err := stores[0].Load(t.Context(), ours, id, 0)
		if diff := cmp.Diff(want[winner], got); err != nil || diff != "" {
			t.Fatalf("the history after the %s: %v (-want +got):\n%s", winner, err, diff)
		}
	}
	if n := wrongCounts(t, stores[0]); n != 0 {
		t.Errorf("%d counters are wrong", n)
	}
}

func TestARewriteInATransactionOfTheCaller(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	pool, err := pgxpool.New(t.Context(), url)
	must(t, err)
	t.Cleanup(pool.Close)
	within := map[string]func(func(*postgres.Tx) error) error{
		"pgx": func(f func(*postgres.Tx) error) error {
			return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return f(s.Within(tx)) })
		},
		"database/sql": func(f func(*postgres.Tx) error) error {
			db := stdlib.OpenDBFromPool(pool)
			defer func() { _ = db.Close() }()
			conn, err := db.Conn(t.Context())
			must(t, err)
			defer conn.Close()
			tx, err := conn.BeginTx(t.Context(), nil)
			must(t, err)
			if err := s.WithinSQL(t.Context(), conn, f); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
	}
	for kind, do := range within {
		t.Run(kind, func(t *testing.T) {
			id := verification.RunID(uuid.Must(uuid.NewV7()).String())
			history := savePersonal(t, s, id)
			c := redaction(t, id, history)
			must(t, do(func(in *postgres.Tx) error {
				if err := in.Append(t.Context(), ours, id, len(history)-1, c); !errors.Is(err, verification.ErrConflict) {
					t.Errorf("a rewrite of an earlier history = %v, want a conflict", err)
				}
				return in.Append(t.Context(), ours, id, len(history), c)
			}))
			got, err := s.Load(t.Context(), ours, id, 0)
			if diff := cmp.Diff(c.Events, got); err != nil || diff != "" {
				t.Errorf("the history: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
