package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// piece is a piece of work of the model.
type piece struct {
	due           time.Time
	attempt, lost int
	leased        bool
	lease         store.LeaseID // empty unless a taker has it
}

type pieceKey struct {
	kind store.WorkKind
	run  verification.RunRef
}

func TestTheQueueDoesWhatItsModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := memory.New()
		model := map[pieceKey]*piece{}
		lengths := map[verification.RunRef]int{}
		var taken []store.Work
		leases := map[store.LeaseID]bool{}
		runs := rapid.Custom(func(t *rapid.T) verification.RunRef {
			n := rapid.IntRange(0, 5).Draw(t, "run")
			return verification.RunRef{Tenant: verification.TenantID(fmt.Sprint(n % 2)), Run: verification.RunID(fmt.Sprint(n / 2))}
		})
		start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		held := func(w store.Work) *piece {
			if p := model[pieceKey{w.Kind, w.RunRef}]; p != nil && p.lease != "" && p.lease == w.Lease {
				return p
			}
			return nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				run, at := runs.Draw(t, "run"), maybe(instants()).Draw(t, "advance at")
				announce := maybe(instants()).Draw(t, "announce at")
				a := store.Commit{
					Events:  []rules.Event{{At: start, Fact: rules.JourneyOpened{}}},
					Summary: rules.Summary{ID: run.Run, StartedAt: start, CompletedAt: start},
					Work:    store.AdvanceAt(at),
				}
				if !announce.IsZero() {
					a.Work[store.WorkKey{Kind: store.WorkAnnounce}] = announce
				}
				if err := s.Append(t.Context(), run.Tenant, run.Run, lengths[run], a); err != nil {
					t.Fatal(err)
				}
				lengths[run]++
				delete(model, pieceKey{store.WorkAdvance, run})
				if !at.IsZero() {
					model[pieceKey{store.WorkAdvance, run}] = &piece{due: at}
				}
				if !announce.IsZero() {
					model[pieceKey{store.WorkAnnounce, run}] = &piece{due: announce}
				}
			},
			"take": func(t *rapid.T) {
				lease := 3 * time.Second
				request := store.TakeRequest{
					Kind: rapid.SampledFrom([]store.WorkKind{store.WorkAdvance, store.WorkAnnounce}).Draw(t, "kind"),
					Now:  instants().Draw(t, "now"), Lease: lease,
					Max: rapid.IntRange(0, 4).Draw(t, "max"), MaxPerTenant: rapid.IntRange(1, 3).Draw(t, "max per tenant"),
					Except: rapid.SliceOfN(rapid.SampledFrom([]verification.TenantID{"0", "1"}), 0, 1).Draw(t, "except"),
					After:  rapid.SampledFrom([]verification.TenantID{"", "0", "1"}).Draw(t, "after"),
				}
				work, next, err := s.Take(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				dueTimes := map[verification.TenantID][]time.Time{} // of each tenant
				for n, p := range model {
					if n.kind == request.Kind && !p.due.After(request.Now) && !slices.Contains(request.Except, n.run.Tenant) {
						dueTimes[n.run.Tenant] = append(dueTimes[n.run.Tenant], p.due)
					}
				}
				var want []due // in the order of their turns
				left := false
				for turn := 0; ; turn++ {
					found := false
					for _, tenant := range turns(request.After) {
						slices.SortFunc(dueTimes[tenant], time.Time.Compare)
						switch {
						case turn >= len(dueTimes[tenant]):
						case turn >= request.MaxPerTenant || len(want) >= request.Max:
							left = true
						default:
							found = true
							want = append(want, due{tenant, dueTimes[tenant][turn]})
						}
					}
					if !found {
						break
					}
				}
				if len(work) != len(want) {
					t.Fatalf("Take returns %d pieces, want %d", len(work), len(want))
				}
				for i, w := range work {
					p := model[pieceKey{w.Kind, w.RunRef}]
					if p == nil || w.Tenant != want[i].tenant || !p.due.Equal(want[i].at) || p.attempt != w.Attempt {
						t.Fatalf("piece %d is %+v, want one of %+v; the queue has %+v", i, w, want[i], p)
					}
					if p.leased {
						p.lost++
					}
					if p.lost != w.Lost {
						t.Fatalf("piece %d has lost %d leases, want %d", i, w.Lost, p.lost)
					}
					if leases[w.Lease] || w.Lease == "" {
						t.Fatalf("piece %d has the lease %q, want a new one", i, w.Lease)
					}
				}
				for _, w := range work {
					p := model[pieceKey{w.Kind, w.RunRef}]
					p.due, p.lease, p.leased = request.Now.Add(lease), w.Lease, true
					leases[w.Lease] = true
				}
				taken = append(taken, work...)
				var first time.Time
				for n, p := range model {
					if n.kind == request.Kind && p.due.After(request.Now) && (first.IsZero() || p.due.Before(first)) {
						first = p.due
					}
				}
				switch {
				case left && !next.Equal(request.Now):
					t.Fatalf("Take returns %v as the time of the next call, want now: it left work behind", next)
				case !left && len(request.Except) == 0 && !next.Equal(first):
					t.Fatalf("Take returns %v as the time of the next call, want %v", next, first)
				}
			},
			"finish": func(t *rapid.T) {
				if len(taken) == 0 {
					t.Skip("nothing was taken")
				}
				w := rapid.SampledFrom(taken).Draw(t, "work")
				if err := s.Finish(t.Context(), w); err != nil {
					t.Fatal(err)
				}
				if held(w) != nil {
					delete(model, pieceKey{w.Kind, w.RunRef})
				}
			},
			"postpone": func(t *rapid.T) {
				if len(taken) == 0 {
					t.Skip("nothing was taken")
				}
				w, at := rapid.SampledFrom(taken).Draw(t, "work"), instants().Draw(t, "at")
				if err := s.Postpone(t.Context(), w, at); err != nil {
					t.Fatal(err)
				}
				if p := held(w); p != nil {
					p.due, p.lease, p.leased, p.lost = at, "", false, 0
					p.attempt++
				}
			},
			"release": func(t *rapid.T) {
				if len(taken) == 0 {
					t.Skip("nothing was taken")
				}
				w, at := rapid.SampledFrom(taken).Draw(t, "work"), instants().Draw(t, "at")
				if err := s.Release(t.Context(), []store.Work{w}, at); err != nil {
					t.Fatal(err)
				}
				if p := held(w); p != nil {
					p.due, p.lease, p.leased = at, "", false
				}
			},
			"renew": func(t *rapid.T) {
				renewed, until := rapid.SliceOfN(runs, 0, 3).Draw(t, "runs"), instants().Draw(t, "until")
				if err := s.Renew(t.Context(), renewed, until, false); err != nil {
					t.Fatal(err)
				}
				for _, run := range renewed {
					if p := model[pieceKey{store.WorkAdvance, run}]; p != nil {
						p.due = until
					}
				}
			},
		})
	})
}

// due is a piece that is due, by its tenant and its time.
type due struct {
	tenant verification.TenantID
	at     time.Time
}

// turns returns the order of the two tenants if after was served last.
func turns(after verification.TenantID) []verification.TenantID {
	if after == "0" {
		return []verification.TenantID{"1", "0"}
	}
	return []verification.TenantID{"0", "1"}
}
