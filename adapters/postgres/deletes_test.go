// Tests of deletions: nothing of the run is left in the database, and no late append brings it back.

package postgres_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func deletion() store.Commit { return store.Commit{Delete: true} }

// tablesOf returns the tables with a row of a run.
func tablesOf(t *testing.T, url string, id verification.RunID) []string {
	t.Helper()
	return tablesWith(t, url, string(id))
}

func TestNoTableHasADeletedRun(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	id := runNumber(1)
	history := savePersonal(t, s, id)
	must(t, s.SaveDelivery(t.Context(), ours, rules.Delivery{Run: id, State: rules.DeliveryDelivered, LastAt: noon(), Attempts: 1}))
	if found := tablesOf(t, url, id); len(found) < 6 {
		t.Errorf("tables with the run before = %v, want more", found)
	}
	must(t, s.Append(t.Context(), ours, id, len(history), deletion()))
	texts := []string{canary, uuid.UUID(canaryKey()).String()}
	if found := tablesWith(t, url, texts...); found != nil {
		t.Errorf("tables with personal data after the deletion = %v, want none", found)
	}
	if want, found := []string{"verifyd.deleted_runs", "verifyd.run_events"}, tablesOf(t, url, id); !slices.Equal(found, want) {
		t.Errorf("tables with the id of the run after the deletion = %v, want %v", found, want)
	}
	must(t, s.Maintain(t.Context(), noon()))
	if found := tablesOf(t, url, id); found != nil {
		t.Errorf("tables with the id of the run after maintenance = %v, want none", found)
	}
	if n := wrongCounts(t, s); n != 0 {
		t.Errorf("%d counters are wrong after the deletion", n)
	}
}

// A run can be saved by a copy before maintenance has removed the rest of the deleted one.
func TestMaintenanceKeepsARunThatWasSavedAgain(t *testing.T) {
	s := openAt(t, pgtest.Database(t), postgres.Options{SingleHost: true})
	id := runNumber(1)
	history := savePersonal(t, s, id)
	records := runRecords(t, s)
	must(t, s.Append(t.Context(), ours, id, len(history), deletion()))
	must(t, s.SaveRecords(t.Context(), records))
	must(t, s.Maintain(t.Context(), noon()))
	got, err := s.Load(t.Context(), ours, id, 0)
	if err != nil || len(got) != len(history) {
		t.Errorf("Load = %d events, %v; want %d", len(got), err, len(history))
	}
}

// late sends appends in one group to a run, which it then deletes, and to one that a transaction locks: the group has
// read where the histories end, and waits. It returns the result of the group.
func late(t *testing.T, url string, s *postgres.Store, id verification.RunID, seq int, c store.Commit, meanwhile func()) error {
	t.Helper()
	locked := runNumber(1)
	history := savePersonal(t, s, locked)
	_, other := reject(locked, history)
	if other.Work = c.Work; c.Work == nil {
		other.Work = nil
	}
	tx, err := connect(t, pgtest.Admin(t, url)).Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO verifyd.run_events (tenant_id, run_id, seq, next_seq, events) VALUES ($1, $2, $3, $3 + 1, '')",
		string(ours), string(locked), len(history))
	must(t, err)
	result := make(chan error, 1)
	go func() {
		_, err := s.AppendTogether(ours, []verification.RunID{locked, id}, []int{len(history), seq}, []store.Commit{other, c})
		result <- err
	}()
	eventually(t, "the group waits for the lock", func() (waits bool) {
		must(t, tx.QueryRow(t.Context(),
			"SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)").Scan(&waits))
		return waits
	})
	meanwhile()
	must(t, tx.Rollback(t.Context()))
	return <-result
}

func TestALateAppendDoesNotBringBackADeletedRun(t *testing.T) {
	for name, change := range map[string]func(*store.Commit){
		"a change":    func(*store.Commit) {},
		"events only": func(c *store.Commit) { c.Work = nil },
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			s := openAt(t, url, postgres.Options{})
			id := runNumber(2)
			history := savePersonal(t, s, id)
			next, c := reject(id, history)
			lateOne := c
			change(&lateOne)
			err := late(t, url, s, id, len(history), lateOne, func() {
				must(t, s.Append(t.Context(), ours, id, len(history), c))
				must(t, s.Append(t.Context(), ours, id, len(next), deletion()))
			})
			if err == nil {
				t.Error("the late append was saved, want it refused")
			}
			must(t, s.Maintain(t.Context(), noon()))
			if found := tablesOf(t, url, id); found != nil {
				t.Errorf("tables with the deleted run = %v, want none", found)
			}
		})
	}
}

// A caller's transaction that reads as of its beginning does not append to a run that was deleted since.
func TestAnOldSnapshotOfACallerKeepsNoDeletedRun(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	pool, err := pgxpool.New(t.Context(), url)
	must(t, err)
	t.Cleanup(pool.Close)
	id := runNumber(1)
	history := savePersonal(t, s, id)
	_, c := reject(id, history)
	c.Work = nil
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1") // takes the snapshot
	must(t, err)
	must(t, s.Append(t.Context(), ours, id, len(history), deletion()))
	must(t, s.Maintain(t.Context(), noon()))
	if err := s.Within(tx).Append(t.Context(), ours, id, len(history), c); err == nil {
		t.Error("the append was saved, want it refused")
	}
	_ = tx.Rollback(t.Context())
	if found := tablesOf(t, url, id); found != nil {
		t.Errorf("tables with the deleted run = %v, want none", found)
	}
}

func TestADeletionInATransactionOfTheCaller(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	pool, err := pgxpool.New(t.Context(), url)
	must(t, err)
	t.Cleanup(pool.Close)
	id := runNumber(1)
	history := savePersonal(t, s, id)
	rolledBack := errors.New("rolled back")
	for _, want := range []error{rolledBack, nil} {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if err := s.Within(tx).Append(t.Context(), ours, id, len(history)-1, deletion()); !errors.Is(err, verification.ErrConflict) {
				t.Errorf("a deletion of an earlier history = %v, want a conflict", err)
			}
			must(t, s.Within(tx).Append(t.Context(), ours, id, len(history), deletion()))
			return want
		})
		if !errors.Is(err, want) {
			t.Fatal(err)
		}
		_, err = s.Load(t.Context(), ours, id, 0)
		if deleted := errors.Is(err, verification.ErrNotFound); deleted != (want == nil) {
			t.Errorf("Load after the transaction ended with %v = %v", want, err)
		}
	}
}

// Of a deletion and what comes at the same time, one is saved, and of the deleted run nothing is left.
func TestOneOfADeletionAndAnAppendIsSaved(t *testing.T) {
	url := pgtest.Database(t)
	stores := []*postgres.Store{openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})}
	stop := make(chan struct{})
	var maintenance sync.WaitGroup
	maintenance.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				if err := stores[0].Maintain(t.Context(), noon()); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	outcomes := map[string]int{}
	left := map[verification.RunID]bool{}
	for n := range 100 {
		id := verification.RunID(uuid.Must(uuid.NewV7()).String())
		history := savePersonal(t, stores[0], id)
		next, c := reject(id, history)
		switch n % 3 {
		case 0: // the append changes nothing but the history
			c.Work = nil
		case 1: // or nothing but the queue
			c = store.Commit{Summary: c.Summary, Work: store.AdvanceAt(noon())}
			next = history
		}
		var deleted, appended, started error
		var all sync.WaitGroup
		all.Go(func() { deleted = stores[0].Append(t.Context(), ours, id, len(history), deletion()) })
		all.Go(func() { appended = stores[1].Append(t.Context(), ours, id, len(history), c) })
		all.Go(func() { // a start with the same id, until the deletion is saved
			first := rules.Fold(id, history[:1])
			started = stores[1].Append(t.Context(), ours, id, 0, store.NewCommit(rules.Run{}, first, history[:1], time.UTC))
		})
		all.Wait()
		for what, err := range map[string]error{"the deletion": deleted, "the append": appended, "the start": started} {
			if err != nil && !errors.Is(err, verification.ErrConflict) {
				t.Fatalf("%s = %v", what, err)
			}
		}
		got, err := stores[0].Load(t.Context(), ours, id, 0)
		switch {
		case deleted == nil && started == nil && err == nil && len(got) == 1: // maintenance came between
			outcomes["started again"]++
			left[id] = true
		case deleted == nil && started != nil && errors.Is(err, verification.ErrNotFound):
			outcomes["deleted"]++
		case deleted != nil && appended == nil && started != nil && len(got) == len(next):
			outcomes["appended"]++
			left[id] = true
		default:
			t.Fatalf("deletion = %v, append = %v, start = %v; then Load = %d events, %v", deleted, appended, started, len(got), err)
		}
		if deleted == nil && appended == nil && n%3 != 1 {
			t.Fatalf("a deletion and an append at one length were both saved")
		}
	}
	close(stop)
	maintenance.Wait()
	t.Log(outcomes)
	must(t, stores[0].Maintain(t.Context(), noon()))
	admin := connect(t, pgtest.Admin(t, url))
	for _, table := range []string{"run_events", "work", "claims", "search_keys", "screened_runs", "deliveries"} {
		rows, err := admin.Query(t.Context(), "SELECT DISTINCT run_id::text FROM verifyd."+table)
		must(t, err)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		for _, id := range ids {
			if !left[verification.RunID(id)] {
				t.Errorf("%s has rows of a deleted run", table)
			}
		}
	}
	if n := wrongCounts(t, stores[0]); n != 0 {
		t.Errorf("%d counters are wrong", n)
	}
}
