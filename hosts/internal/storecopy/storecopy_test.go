package storecopy_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/storetest"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil { // the flag of the command wins
		panic(err)
	}
	os.Exit(pgtest.Main(m, func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	}))
}

// failer is a testing.T or a rapid.T.
type failer interface {
	Context() context.Context
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// copyable is a whole store.
type copyable interface {
	store.Store
	store.CopyStore
}

// database is a PostgreSQL that is emptied for each copy.
type database struct {
	*postgres.Store

	admin *pgx.Conn
	all   string // deletes every row
}

func openDatabase(t testing.TB) *database {
	t.Helper()
	url := pgtest.Database(t)
	d := &database{}
	var err error
	if d.Store, err = postgres.Open(t.Context(), url, postgres.Options{Copying: true, SingleHost: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if d.admin, err = pgx.Connect(t.Context(), pgtest.Admin(t, url)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.admin.Close(context.WithoutCancel(t.Context())) })
	for _, table := range []string{
		"tenants", "accounts", "workflows", "workflow_versions", "run_events", "runs", "work", "idempotency_keys", "deliveries", "audit_entries",
		"claims", "measure_log", "measures", "screened_runs", "search_keys", "rescreen_passes", "shared_values", "run_counts", "run_months",
		"deleted_runs", "retention_marks", "owed_erasures", "erasure_ledger",
	} {
		d.all += "DELETE FROM verifyd." + table + ";"
	}
	return d
}

func (d *database) empty(t failer) *postgres.Store {
	t.Helper()
	if _, err := d.admin.Exec(context.WithoutCancel(t.Context()), d.all); err != nil {
		t.Fatal(err)
	}
	return d.Store
}

func openJournal(t failer, dir string) *journal.Store {
	t.Helper()
	s, err := journal.Open(context.WithoutCancel(t.Context()), dir, journal.Options{Copying: true, SnapshotBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func options() storecopy.Options { return storecopy.Options{Source: "source", Now: storereads.Start()} }

// copied copies a store and fails the test unless that is verified.
func copied(t failer, from store.CopyStore, to storecopy.Target) []storecopy.Row {
	t.Helper()
	rows, err := storecopy.Copy(context.WithoutCancel(t.Context()), from, to, options())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Difference != "" || r.Source != r.Target {
			t.Fatalf("the copy differs: %+v", r)
		}
	}
	return rows
}

// sameReads fails the test unless stores, each with its name, read like another one, and returns the number of reads.
func sameReads(t failer, n *storereads.Names, want store.Store, got map[string]store.Store) (compared int) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	before, err := n.Read(ctx, want, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range got {
		after, err := n.Read(ctx, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := storereads.Difference(before, after); diff != "" {
			t.Fatalf("reads of %s (-source +target):\n%s", name, diff)
		}
		compared += len(before)
	}
	return compared
}

// TestACopyReadsLikeItsSource runs every clause of the contract on a store, and copies what it
// has left to another store, and from there to a third. All reads of the three must be equal.
func TestACopyReadsLikeItsSource(t *testing.T) {
	d := openDatabase(t)
	for name, path := range map[string]struct {
		source func(t *testing.T) copyable
		over   func(t *testing.T) copyable
	}{
		"journal to PostgreSQL and back": {
			func(t *testing.T) copyable { return openJournal(t, t.TempDir()) },
			func(t *testing.T) copyable { return d.empty(t) },
		},
		"PostgreSQL to journal": {
			func(t *testing.T) copyable { return d.empty(t) },
			func(t *testing.T) copyable { return openJournal(t, t.TempDir()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			compared := 0
			storetest.All(t, func(t *testing.T) store.Store {
				source, n := path.source(t), storereads.NewNames()
				t.Cleanup(func() {
					over, back := path.over(t), memory.New()
					copied(t, source, over)
					copied(t, over, back)
					compared += sameReads(t, n, source, map[string]store.Store{"the copy": over, "the copy of the copy": back})
					for _, s := range []copyable{source, over} {
						if j, ok := s.(*journal.Store); ok {
							if err := j.Close(); err != nil {
								t.Error(err)
							}
						}
					}
				})
				return storereads.Noted{Store: source, CopyStore: source, Names: n}
			})
			if compared < 5000 {
				t.Errorf("%d reads were compared: are they found?", compared)
			}
		})
	}
}

// everywhere is a store whose appends go to others, too, which must answer them in the same way.
type everywhere struct {
	store.Store

	others map[string]store.Store
}

func (e everywhere) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	err := e.Store.Append(ctx, t, id, seq, c)
	for name, s := range e.others {
		if other := s.Append(ctx, t, id, seq, c); fmt.Sprint(other) != fmt.Sprint(err) {
			return fmt.Errorf("%s answers an append of %d events with %v, and the memory with %v", name, len(c.Events), other, err) //nolint:errorlint // not an expected error
		}
	}
	return err
}

// TestHistoriesReadTheSameOnEveryStore appends histories of random definitions, with groups, elements and rounds, to three stores.
// Every read returns the same from each store, and so do the run, its report and its checks, folded from the stored events.
func TestHistoriesReadTheSameOnEveryStore(t *testing.T) {
	d, dir, n := openDatabase(t), t.TempDir(), 0
	kinds := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		n++
		folder := openJournal(t, fmt.Sprint(dir, "/", n))
		defer func() {
			if err := folder.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		others := map[string]store.Store{"the folder": folder, "the database": d.empty(t)}
		c, first := storereads.NewCaller(), memory.New()
		c.Use(everywhere{first, others})
		actions := c.Actions(t)
		t.Repeat(map[string]func(*rapid.T){
			"append": actions["append"], "append more": actions["append"], "rewrite": actions["rewrite"],
		})
		sameReads(t, c.Names, first, others)
		for i := range storereads.MaxRuns {
			told := map[string]string{}
			for name, s := range map[string]store.Store{"the memory": first, "the folder": folder, "the database": d.Store} {
				told[name] = toldOf(t, s, storereads.RunID(i), kinds)
			}
			if told["the folder"] != told["the memory"] || told["the database"] != told["the memory"] {
				t.Errorf("the runs, reports and checks differ: %v", told)
			}
		}
	})
	t.Logf("the events: %v", kinds)
	for _, kind := range []string{"group_began", "group_decided", "no_answer", "skipped", "asked_again", "customer_submitted", "completed"} {
		if kinds[kind] == 0 {
			t.Errorf("no history has the event %s: %v", kind, kinds)
		}
	}
}

// toldOf returns what a client is told of a run, and counts the kinds of its events.
func toldOf(t failer, s store.Store, id verification.RunID, kinds map[string]int) string {
	t.Helper()
	history, err := s.Load(context.WithoutCancel(t.Context()), storereads.Tenant, id, 0)
	if errors.Is(err, verification.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history {
		kinds[e.Kind()]++
	}
	now := history[len(history)-1].At
	shown := rules.Shown(history)
	detail, err := json.Marshal(rules.Fold(id, shown).Detail(now))
	if err != nil {
		t.Fatal(err)
	}
	report, err := json.Marshal(rules.MakeReport(id, history, now))
	if err != nil {
		t.Fatal(err)
	}
	return string(detail) + string(report)
}

// TestRandomStoresAreCopiedThereAndBack calls a store at random, and copies it to PostgreSQL and
// back. The result has the records of the source.
func TestRandomStoresAreCopiedThereAndBack(t *testing.T) {
	d, dir := openDatabase(t), t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		c := storereads.NewCaller()
		at := fmt.Sprint(dir, "/back", n)
		source, back := openJournal(t, fmt.Sprint(dir, "/source", n)), openJournal(t, at)
		defer func() {
			for _, s := range []*journal.Store{source, back} {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}()
		c.Use(source)
		t.Repeat(c.Actions(t))
		over, direct := d.empty(t), memory.New()
		first, second := copied(t, source, over), copied(t, over, back)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("the copy, and the copy back (-first +second):\n%s", diff)
		}
		if err := back.Close(); err != nil {
			t.Fatal(err)
		}
		back = openJournal(t, at)
		copied(t, source, direct)
		sameReads(t, c.Names, source, map[string]store.Store{"the copy": over, "the copy back": back})
		var queues [3][]string
		for i, s := range []store.Store{direct, over, back} {
			var err error
			queues[i], err = storereads.Queue(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(queues[0], queues[1]) + cmp.Diff(queues[0], queues[2]); diff != "" {
			t.Fatalf("the queues of the source and of its copies:\n%s", diff)
		}
	})
}

// TestRestrictedRunsAreCopiedThereAndBack copies runs that are redacted, held, restricted, restricted no more, and
// restricted and held, from a folder to PostgreSQL and back, and the other way.
func TestRestrictedRunsAreCopiedThereAndBack(t *testing.T) {
	d := openDatabase(t)
	for name, stores := range map[string]func(t *testing.T) (source, over, back copyable){
		"folder to PostgreSQL and back": func(t *testing.T) (source, over, back copyable) {
			return openJournal(t, t.TempDir()), d.empty(t), openJournal(t, t.TempDir())
		},
		"PostgreSQL to folder": func(t *testing.T) (source, over, back copyable) {
			return d.empty(t), openJournal(t, t.TempDir()), memory.New()
		},
	} {
		t.Run(name, func(t *testing.T) {
			source, over, back := stores(t)
			n := storereads.NewNames()
			runs := hiddenRuns(t, storereads.Noted{Store: source, CopyStore: source, Names: n})
			copied(t, source, over)
			copied(t, over, back)
			for what, s := range map[string]copyable{"the copy": over, "the copy back": back} {
				sameReads(t, n, source, map[string]store.Store{what: s})
				hiddenTheSame(t, what, runs, s)
			}
			for _, s := range []copyable{source, over, back} {
				if j, ok := s.(*journal.Store); ok {
					if err := j.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// hiddenRuns saves a run of each kind as the engine does, and returns their histories.
func hiddenRuns(t *testing.T, s store.Store) map[verification.RunID][]rules.Event {
	t.Helper()
	by, now := verification.Person{Name: "root", Identity: "operator#root"}, storereads.Start()
	runs := map[verification.RunID][]rules.Event{}
	for i, kinds := range []string{"", "redact", "hold", "restrict", "restrict lift", "restrict hold", "restrict verdict", "restrict redact"} {
		id := verification.RunID(fmt.Sprintf("00000000-0000-7000-8000-0000000000%02d", i))
		history := []rules.Event{
			{At: now, Fact: rules.Started{Workflow: storereads.Workflow, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: "customer-7"}},
			{At: now, Fact: rules.CustomerSubmitted{Node: "form", Data: verification.Data(`{"name":"Asha Rao"}`)}},
			{At: now, Fact: rules.Completed{Node: "done"}},
		}
		run := rules.Fold(id, history)
		c := store.NewCommit(rules.Run{ID: id}, run, history, time.UTC)
		c.Keys = []store.SearchKey{storereads.SearchKey(1)}
		if err := s.Append(t.Context(), storereads.Tenant, id, 0, c); err != nil {
			t.Fatal(err)
		}
		for kind := range strings.FieldsSeq(kinds) {
			before := rules.Fold(id, rules.Shown(history))
			var next []rules.Event
			var err error
			switch kind {
			case "redact":
				next, err = rules.Redact(id, history, "", by, now)
			case "restrict":
				next, err = rules.Restrict(id, history, "contested", by, now)
			case "lift":
				next, err = rules.LiftRestriction(id, history, "settled", by, now)
			case "hold":
				next = append(slices.Clip(history), rules.Event{At: now, Fact: rules.Held{Reason: "in dispute", Identity: "asha"}})
			case "verdict":
				next = append(slices.Clip(history), rules.Event{At: now, Fact: rules.VerdictRecorded{Decision: rules.DecisionReject, Notes: "seen"}})
			}
			if err != nil {
				t.Fatalf("%s: %v", kinds, err)
			}
			after := rules.Fold(id, rules.Shown(next))
			c := store.NewCommit(before, after, next[len(history):], time.UTC)
			if rules.Rewrites(c.Events) {
				c.Events, c.Rewrite, c.Measures = next, true, nil
				if kind == "lift" {
					c.Keys = []store.SearchKey{storereads.SearchKey(1)}
				}
			}
			if err := s.Append(t.Context(), storereads.Tenant, id, len(history), c); err != nil {
				t.Fatalf("%s: %v", kinds, err)
			}
			history = next
		}
		runs[id] = history
	}
	return runs
}

// hiddenTheSame fails the test unless a store has the whole histories of runs, and lists what may be read of them.
func hiddenTheSame(t *testing.T, what string, runs map[verification.RunID][]rules.Event, s store.Store) {
	t.Helper()
	found := map[string]int{}
	for name, q := range map[string]store.RunQuery{
		"reference": {ReferenceID: "customer-7"}, "key": {Keys: [][]store.SearchKey{{storereads.SearchKey(1)}}}, "all": {},
	} {
		q.PageQuery, q.Now = store.PageQuery{Limit: 100}, storereads.Start()
		p, err := s.List(t.Context(), storereads.Tenant, q)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = p.Total
		for _, summary := range p.Data {
			if want := rules.Fold(summary.ID, rules.Shown(runs[summary.ID])).Summary(); !reflect.DeepEqual(summary, want) {
				t.Errorf("%s: the summary of %s is %+v, want %+v", what, summary.ID, summary, want)
			}
		}
	}
	if want := map[string]int{"reference": 3, "key": 3, "all": len(runs)}; !reflect.DeepEqual(found, want) {
		t.Errorf("%s: %v runs are found, want %v", what, found, want)
	}
	for id, want := range runs {
		got, err := s.Load(t.Context(), storereads.Tenant, id, 0)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the history of %s is %+v, %v; want %+v", what, id, got, err, want)
		}
	}
}
