package storecopy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// failing returns a store whose call number n of SaveRecords fails, and all that follow: after
// it has saved half of its records.
func failing(s storecopy.Target, n int64) (target, *atomic.Int64) {
	var calls, saved atomic.Int64
	return target{s, &mock.CopyStoreMock{
		RecordsFunc: s.Records,
		SaveRecordsFunc: func(ctx context.Context, records []store.Record) error {
			if calls.Add(1) > n {
				return errors.Join(s.SaveRecords(ctx, records[:len(records)/2]), errLost)
			}
			saved.Add(int64(len(records)))
			return s.SaveRecords(ctx, records)
		},
	}}, &saved
}

type target struct {
	store.RowStore
	*mock.CopyStoreMock
}

var errLost = errors.New("the connection is lost")

func TestAnInterruptedCopyEndsTheSame(t *testing.T) {
	source, direct := memory.New(), memory.New()
	storereads.Fill(t, source, 1200)
	want := copied(t, source, direct)
	for n := int64(0); ; n++ {
		target := memory.New()
		broken, _ := failing(target, n)
		_, err := storecopy.Copy(t.Context(), source, broken, options())
		if err == nil {
			if n < 12 {
				t.Errorf("a copy makes %d calls of SaveRecords, want several batches", n)
			}
			break
		}
		if !errors.Is(err, errLost) {
			t.Fatal(err)
		}
		if unfinished, err := target.UnfinishedCopy(t.Context()); unfinished == "" || err != nil {
			t.Errorf("UnfinishedCopy = %q, %v after a failure, want the source", unfinished, err)
		}
		again, saved := failing(target, 1000)
		had := 0
		for _, kind := range store.RecordKinds() {
			had += len(all(t, target, kind))
		}
		if diff := cmp.Diff(want, copied(t, source, again)); diff != "" {
			t.Errorf("the copy that continues after call %d (-direct +continued):\n%s", n, diff)
		}
		count := 0
		for _, r := range want {
			count += r.Target.Count
		}
		if int(saved.Load()) != count-had {
			t.Errorf("a copy that finds %d of %d records saves %d, want the rest", had, count, saved.Load())
		}
	}
}

func all(t testing.TB, s store.CopyStore, kind store.RecordKind) (found []store.Record) {
	t.Helper()
	for r, err := range s.Records(t.Context(), kind) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, r)
	}
	return found
}

func TestACopyRefusesATargetWithOtherData(t *testing.T) {
	source := memory.New()
	storereads.Fill(t, source, 3)
	for name, tt := range map[string]struct {
		target func(m *memory.Store) error
		says   string
	}{
		"data without an unfinished copy": {
			func(m *memory.Store) error {
				return m.SaveAccount(t.Context(), verification.Account{ClientID: "other"})
			},
			"it has data, and is no copy of the source: tenants: only the source has a0000000-0000-7000-8000-000000000001",
		},
		"a part of another copy": {
			func(m *memory.Store) error { return m.SetUnfinishedCopy(t.Context(), "another source") },
			"it has a part of a copy of another source, and not of source",
		},
		"a record that the source does not have": {
			func(m *memory.Store) error {
				return errors.Join(m.SetUnfinishedCopy(t.Context(), "source"), m.SaveAccount(t.Context(), verification.Account{ClientID: "other"}))
			},
			"the source has no other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := memory.New()
			if err := tt.target(m); err != nil {
				t.Fatal(err)
			}
			_, err := storecopy.Copy(t.Context(), source, m, options())
			if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Copy = %v, want ErrConflict that says %q", err, tt.says)
			}
			if runs := all(t, m, store.RecordRun); len(runs) > 0 {
				t.Errorf("%d runs were copied", len(runs))
			}
		})
	}
}

func TestACompleteCopyIsOnlyVerified(t *testing.T) {
	source, m := memory.New(), memory.New()
	storereads.Fill(t, source, 3)
	want := copied(t, source, m)
	target, _ := failing(m, 0)
	if diff := cmp.Diff(want, copied(t, source, target)); diff != "" || len(target.SaveRecordsCalls()) > 0 {
		t.Errorf("another copy saves %d times, and says (-first +second):\n%s", len(target.SaveRecordsCalls()), diff)
	}
	if err := m.SaveAccount(t.Context(), verification.Account{ClientID: "of a host"}); err != nil {
		t.Fatal(err)
	}
	_, err := storecopy.Copy(t.Context(), source, target, options())
	if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "accounts: only the target has of a host") {
		t.Errorf("Copy = %v to a target that a host has used, want ErrConflict that says how it differs", err)
	}
	if unfinished, err := m.UnfinishedCopy(t.Context()); unfinished != "" || err != nil || len(target.SaveRecordsCalls()) > 0 {
		t.Errorf("UnfinishedCopy = %q, %v, and %d calls save, want no change", unfinished, err, len(target.SaveRecordsCalls()))
	}
}

// TestACopyThatDiffersIsNotComplete copies to stores that lose or change something.
func TestACopyThatDiffersIsNotComplete(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(r store.Record) store.Record // nil loses the record
		kind   store.RecordKind
		says   string
	}{
		"a lost run": {func(r store.Record) store.Record {
			if store.KindOf(r) == store.RecordRun && strings.HasSuffix(store.KeyOf(r), "1") {
				return nil
			}
			return r
		}, store.RecordRun, "only the source has a0000000-0000-7000-8000-000000000001 d0000000-0000-7000-8000-000000000001"},
		"the bytes of data that mean the same": {func(r store.Record) store.Record {
			if run, ok := r.(store.RunRecord); ok {
				started, _ := run.Events[0].Fact.(rules.Started)
				started.Input = verification.Data(strings.Replace(string(started.Input), "ë", `\u00eb`, 1))
				run.Events = slices.Clone(run.Events)
				run.Events[0].Fact = started
				return run
			}
			return r
		}, store.RecordRun, "not the same in both: a0000000-0000-7000-8000-000000000001 d0000000-0000-7000-8000-000000000000"},
		"the attempts of work": {func(r store.Record) store.Record {
			if run, ok := r.(store.RunRecord); ok {
				run.Work = slices.Clone(run.Work)
				run.Work[0].Attempt++
				return run
			}
			return r
		}, store.RecordRun, "not the same in both"},
		"a logo": {func(r store.Record) store.Record {
			if t, ok := r.(store.TenantRecord); ok {
				t.Tenant.Logo = verification.NewLogo("image/png", []byte{1})
				return t
			}
			return r
		}, store.RecordTenant, "not the same in both"},
	} {
		t.Run(name, func(t *testing.T) {
			source, m := memory.New(), memory.New()
			storereads.Fill(t, source, 3)
			target, _ := failing(m, 0)
			target.SaveRecordsFunc = func(ctx context.Context, records []store.Record) error {
				var kept []store.Record
				for _, r := range records {
					if r = tt.change(r); r != nil {
						kept = append(kept, r)
					}
				}
				return m.SaveRecords(ctx, kept)
			}
			rows, err := storecopy.Copy(t.Context(), source, target, options())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if differs := r.Kind == tt.kind; differs != strings.Contains(r.Difference, tt.says) || differs == (r.Source == r.Target) {
					t.Errorf("%+v, want %q only of %s", r, tt.says, tt.kind)
				}
			}
			if unfinished, err := m.UnfinishedCopy(t.Context()); unfinished != "source" || err != nil {
				t.Errorf("UnfinishedCopy = %q, %v, want the source", unfinished, err)
			}
			copied(t, source, m) // a sound store repairs it
		})
	}
}

// TestWhatWasLeasedIsDueInACopy copies a lease, a hold and an old idempotency key.
func TestWhatWasLeasedIsDueInACopy(t *testing.T) {
	source, target, now := memory.New(), memory.New(), storereads.Start().Add(time.Hour)
	storereads.Fill(t, source, 1)
	_, _, err := source.Take(t.Context(), store.TakeRequest{Kind: store.WorkAdvance, Now: now, Lease: time.Hour, Max: 1, MaxPerTenant: 1})
	if err == nil {
		_, err = source.HoldPass(t.Context(), store.RescreenPass{List: "sanctions", Version: "1", Holder: "a", HeldUntil: now.Add(time.Hour)}, now)
	}
	for i, at := range []time.Time{now.Add(-store.IdempotencyKeyTTL), now.Add(time.Second - store.IdempotencyKeyTTL)} {
		if err == nil {
			key := store.IdempotencyKey{Scope: store.ScopeStart, Key: fmt.Sprint(i)}
			_, err = source.ClaimIdempotencyKey(t.Context(), storereads.Tenant, store.IdempotencyRecord{IdempotencyKey: key, ID: string(storereads.RunID(i)), At: at})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Now = now
	if _, err := storecopy.Copy(t.Context(), source, target, o); err != nil {
		t.Fatal(err)
	}
	work, _, err := target.Take(t.Context(), store.TakeRequest{Kind: store.WorkAdvance, Now: now, Lease: time.Hour, Max: 1, MaxPerTenant: 1})
	if err != nil || len(work) != 1 || work[0].Lost != 1 {
		t.Errorf("Take = %+v, %v, want the run with one lost lease", work, err)
	}
	if _, err := target.HoldPass(t.Context(), store.RescreenPass{List: "sanctions", Version: "1", Holder: "b", HeldUntil: now.Add(time.Hour)}, now); err != nil {
		t.Errorf("another host cannot hold the list: %v", err)
	}
	if keys := all(t, target, store.RecordIdempotencyKey); len(keys) != 1 {
		t.Errorf("%d idempotency keys, want the one that is not too old", len(keys))
	}
}

// TestAnUnfinishedCopyIsNotOpened opens a journal and a database with a part of a copy.
func TestAnUnfinishedCopyIsNotOpened(t *testing.T) {
	dir, url := t.TempDir(), pgtest.Database(t)
	j := openJournal(t, dir)
	db, err := postgres.Open(t.Context(), url, postgres.Options{Copying: true, SingleHost: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range []store.Tables{j.Tables, db.Tables} {
		if err := s.SetUnfinishedCopy(t.Context(), "source"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Snapshot(t.Context()), j.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(t.Context(), dir, journal.Options{}); err == nil || !strings.Contains(err.Error(), "a part of a copy of source") {
		t.Errorf("journal.Open = %v, want an error that names the source", err)
	}
	if _, err := postgres.Open(t.Context(), url, postgres.Options{}); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("postgres.Open = %v, want ErrConflict", err)
	}
	j = openJournal(t, dir)
	for _, s := range []store.Tables{j.Tables, db.Tables} {
		if err := s.SetUnfinishedCopy(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func() error{
		func() error {
			s, err := journal.Open(t.Context(), dir, journal.Options{})
			if err == nil {
				err = s.Close()
			}
			return err
		},
		func() error {
			s, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err == nil {
				s.Close()
			}
			return err
		},
	} {
		if err := open(); err != nil {
			t.Errorf("a complete copy: %v", err)
		}
	}
}

// TestACopyGoesOnAfterLostConnections ends the connections of the database while it is copied
// to, and from.
func TestACopyGoesOnAfterLostConnections(t *testing.T) {
	source, d := memory.New(), openDatabase(t)
	storereads.Fill(t, source, 2000)
	back := openJournal(t, t.TempDir())
	for _, path := range [][2]storecopy.Target{{source, d.Store}, {d.Store, back}} {
		var lost atomic.Int64
		end := make(chan struct{})
		var ending sync.WaitGroup
		ending.Go(func() {
			for lost.Load() < 5 {
				select {
				case <-end:
					return
				case <-time.After(30 * time.Millisecond):
				}
				const others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
				if _, err := d.admin.Exec(t.Context(), others); err != nil {
					t.Error(err)
					return
				}
			}
		})
		for {
			rows, err := storecopy.Copy(t.Context(), path[0], path[1], options())
			if errors.Is(err, verification.ErrUnavailable) {
				lost.Add(1)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.Difference != "" {
					t.Errorf("after %d lost connections: %+v", lost.Load(), r)
				}
			}
			break
		}
		close(end)
		ending.Wait()
		if lost.Load() == 0 {
			t.Error("no copy has lost its connection: are they ended?")
		}
	}
	for _, kind := range store.RecordKinds() {
		if diff := cmp.Diff(all(t, source, kind), all(t, back, kind), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-source +copy of the copy):\n%s", kind, diff)
		}
	}
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
}
