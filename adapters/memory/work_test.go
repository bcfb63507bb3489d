package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
)

// waiting is a piece of work in the simplest queue there is.
type waiting struct {
	due     time.Time
	attempt int
	until   time.Time // zero while nobody has it
}

type pieceName struct {
	kind verification.WorkKind
	run  verification.RunRef
}

func TestQueueWorksLikeAListThatIsSearched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := memory.New()
		model := map[pieceName]*waiting{}
		lengths := map[verification.RunRef]int{}
		var taken []verification.Work
		runs := rapid.Custom(func(t *rapid.T) verification.RunRef {
			n := rapid.IntRange(0, 5).Draw(t, "run")
			return verification.RunRef{Tenant: verification.TenantID(fmt.Sprint(n % 2)), Run: verification.RunID(fmt.Sprint(n / 2))}
		})
		start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		held := func(w verification.Work) *waiting {
			if p := model[pieceName{w.Kind, w.RunRef}]; p != nil && p.until.Equal(w.Until) {
				return p
			}
			return nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				run, at := runs.Draw(t, "run"), maybe(instants()).Draw(t, "advance at")
				announce := rapid.Bool().Draw(t, "announce")
				a := verification.Appendix{
					Events:    []verification.Event{{At: start, Fact: verification.CustomerCame{}}},
					Summary:   verification.Summary{ID: run.Run, StartedAt: start, CompletedAt: start},
					AdvanceAt: at, Announce: announce,
				}
				if err := s.Append(t.Context(), run.Tenant, run.Run, lengths[run], a); err != nil {
					t.Fatal(err)
				}
				lengths[run]++
				delete(model, pieceName{verification.WorkAdvance, run})
				if !at.IsZero() {
					model[pieceName{verification.WorkAdvance, run}] = &waiting{due: at}
				}
				if announce {
					model[pieceName{verification.WorkAnnounce, run}] = &waiting{due: start}
				}
			},
			"take": func(t *rapid.T) {
				now, most := instants().Draw(t, "now"), rapid.IntRange(0, 4).Draw(t, "most")
				lease := 3 * time.Second
				work, next, err := s.Take(t.Context(), now, lease, most)
				if err != nil {
					t.Fatal(err)
				}
				var due []time.Time
				for _, p := range model {
					if !p.due.After(now) {
						due = append(due, p.due)
					}
				}
				slices.SortFunc(due, time.Time.Compare)
				if want := min(most, len(due)); len(work) != want {
					t.Fatalf("Take gives %d pieces, want %d", len(work), want)
				}
				for i, w := range work {
					p := model[pieceName{w.Kind, w.RunRef}]
					if p == nil || !p.due.Equal(due[i]) || p.attempt != w.Attempt {
						t.Fatalf("piece %d is %+v, want one that was due at %v; the queue has %+v", i, w, due[i], p)
					}
					if late := w.Until.Sub(now.Add(lease)); late < 0 || late > time.Millisecond {
						t.Fatalf("the lease ends at %v, want %v", w.Until, now.Add(lease))
					}
				}
				for _, w := range work {
					p := model[pieceName{w.Kind, w.RunRef}]
					p.due, p.until = w.Until, w.Until
				}
				taken = append(taken, work...)
				var first time.Time
				for _, p := range model {
					if first.IsZero() || p.due.Before(first) {
						first = p.due
					}
				}
				if !next.Equal(first) {
					t.Fatalf("Take asks again at %v, want %v", next, first)
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
					delete(model, pieceName{w.Kind, w.RunRef})
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
					p.due, p.until = at, time.Time{}
					p.attempt++
				}
			},
			"renew": func(t *rapid.T) {
				renewed, until := rapid.SliceOfN(runs, 0, 3).Draw(t, "runs"), instants().Draw(t, "until")
				if err := s.Renew(t.Context(), renewed, until); err != nil {
					t.Fatal(err)
				}
				for _, run := range renewed {
					if p := model[pieceName{verification.WorkAdvance, run}]; p != nil {
						p.due = until
					}
				}
			},
		})
	})
}
