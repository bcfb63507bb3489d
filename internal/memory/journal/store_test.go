package journal_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/storetest"
)

// TestStoreKeepsTheContract runs every clause, and then compares every read of the store with
// every read of the store that is opened again.
func TestStoreKeepsTheContract(t *testing.T) { keepsTheContract(t, journal.Options{}) }

// TestSnapshotsKeepTheContract does it with snapshots all the time.
func TestSnapshotsKeepTheContract(t *testing.T) {
	keepsTheContract(t, journal.Options{SegmentBytes: 1000, SnapshotBytes: 1})
}

func keepsTheContract(t *testing.T, o journal.Options) {
	t.Helper()
	compared := 0
	storetest.All(t, func(t *testing.T) store.Store {
		dir := t.TempDir()
		s := openIn(t, dir, o)
		n := storereads.NewNames()
		t.Cleanup(func() {
			before := readsOf(t, n, s.Memory()) // while it can read its files
			closed(t, s)
			compared += sameAs(t, n, before, openIn(t, dir, journal.Options{}))
		})
		return storereads.Noted{Store: s, CopyStore: s, Names: n}
	})
	if compared < 5000 {
		t.Errorf("%d reads were compared: are they found?", compared)
	}
}

// test is a test, or a random one.
type test interface {
	Context() context.Context
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// sameReads fails the test unless a journal reads like a store in memory, and returns the
// number of reads.
func sameReads(t test, n *storereads.Names, want *memstore.Store, got *journal.Store) int {
	t.Helper()
	return sameAs(t, n, readsOf(t, n, want), got)
}

// readsOf returns every read of a store.
func readsOf(t test, n *storereads.Names, s *memstore.Store) map[string]any {
	t.Helper()
	all, err := n.Read(context.WithoutCancel(t.Context()), s, piecesOf(s)) // also in a cleanup
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameAs is sameReads with the reads that are wanted.
func sameAs(t test, n *storereads.Names, before map[string]any, got *journal.Store) int {
	t.Helper()
	after, err := n.Read(context.WithoutCancel(t.Context()), got, piecesOf(got.Memory()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := storereads.Difference(before, after); diff != "" {
		t.Fatalf("reads of the store that is opened again (-before +after):\n%s", diff)
	}
	return len(before)
}

// piecesOf returns the state of the work of a store.
func piecesOf(s *memstore.Store) storereads.Pieces {
	return func(run verification.RunRef, key store.WorkKey) storereads.Piece {
		return storereads.Piece(memstore.PieceOf(s, run, key))
	}
}

// TestCallsWaitForWhatTheySaw calls every method of every port while a record is not on disk.
func TestCallsWaitForWhatTheySaw(t *testing.T) {
	methods := reflect.TypeFor[store.Store]()
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		t.Run(method.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, gate := newFakeDisk(), make(chan struct{})
				s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
				if err != nil {
					t.Fatal(err)
				}
				call := func() (ended chan struct{}) {
					ended = make(chan struct{})
					args := []reflect.Value{reflect.ValueOf(t.Context())}
					for n := 1; n < method.Type.NumIn(); n++ {
						args = append(args, reflect.Zero(method.Type.In(n)))
					}
					go func() {
						defer close(ended)
						reflect.ValueOf(s).MethodByName(method.Name).Call(args)
					}()
					synctest.Wait()
					return ended
				}
				<-call() // while the journal is idle
				d.gate = gate
				var callers sync.WaitGroup
				callers.Go(func() {
					if err := startRun(t.Context(), s, 0); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				ended := call()
				select {
				case <-ended:
					t.Errorf("%s returned while a record was not on disk", method.Name)
				default:
				}
				close(gate)
				callers.Wait()
				<-ended
				closed(t, s)
			})
		})
	}
}

// TestReadersSeeOnlyWhatIsOnDisk is also for the race detector. Each reader copies the disk as
// a loss of power would leave it, after a read: what it has read must be there.
func TestReadersSeeOnlyWhatIsOnDisk(t *testing.T) {
	const writers, each = 8, 25
	d := newFakeDisk()
	s, err := journal.OpenDisk(t.Context(), d, journal.Options{SegmentBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for w := range writers {
		callers.Go(func() {
			for i := range each {
				if err := startRun(t.Context(), s, w*each+i); err != nil {
					t.Error(err)
				}
			}
		})
		callers.Go(func() {
			for range each {
				count := func(s store.Store) int {
					p, err := s.List(t.Context(), tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: start()})
					if err != nil {
						t.Error(err)
					}
					return p.Total
				}
				seen := count(s)
				copied, err := journal.OpenDisk(t.Context(), d.afterPowerLoss(), journal.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if kept := count(copied); kept < seen {
					t.Errorf("%d runs were read, and %d are kept", seen, kept)
				}
				closed(t, copied)
			}
		})
	}
	callers.Wait()
	closed(t, s)
}

// Hosts that die one after the other soon end no run: work that was lost before is due when its
// lease ends, and not at once.
func TestARestartEndsLeasesAndCountsThem(t *testing.T) {
	dir := t.TempDir()
	take := func(s store.Store, now time.Time) []store.Work {
		work, _, err := s.Take(t.Context(), store.TakeRequest{Kind: store.WorkAdvance, Now: now, Lease: time.Hour, Max: 9, MaxPerTenant: 9})
		if err != nil {
			t.Fatal(err)
		}
		return work
	}
	s := openIn(t, dir, journal.Options{})
	now := start().Add(time.Minute)
	if err := startRun(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	leased := started(2)
	leased.Hold, leased.Work[store.WorkKey{Kind: store.WorkAdvance}] = store.Leased, now.Add(time.Hour)
	if err := s.Append(t.Context(), tenant, runID(2), 0, leased); err != nil {
		t.Fatal(err)
	}
	for lost := range 6 {
		work := take(s, now)
		if lost == 0 {
			if len(work) != 1 || work[0].Run != runID(0) {
				t.Fatalf("Take = %+v, want the first run", work)
			}
		} else {
			if len(work) != 2 || work[0].Lost+work[1].Lost != 2*lost {
				t.Errorf("after %d restarts: Take = %+v, want the first and the leased run with %d lost leases", lost, work, lost)
			}
		}
		closed(t, s)
		s = openIn(t, dir, journal.Options{})
		if lost > 0 {
			if early := take(s, now.Add(time.Hour-1)); len(early) > 0 {
				t.Errorf("after %d restarts: Take = %+v before the lease has ended", lost+1, early)
			}
			now = now.Add(time.Hour)
		}
	}
}
