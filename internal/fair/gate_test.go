// Tests of the gate: what an unproven credential waits for, and a proven one does not.

package fair_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/internal/fair"
)

var (
	errWrong = errors.New("wrong")
	errBusy  = errors.New("busy")
)

// wrong fails at once, and right returns 1.
func wrong() (int, error) { return 0, errWrong }
func right() (int, error) { return 1, nil }

func TestAGateDelaysWhatFollowsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := fair.NewGate[string, int](1, 1, errBusy)
		began := time.Now()
		if _, err := g.Check(t.Context(), "a", "a", wrong); !errors.Is(err, errWrong) || time.Since(began) > 0 {
			t.Errorf("a wrong credential = %v after %s, want a refusal at once", err, time.Since(began))
		}
		if v, err := g.Check(t.Context(), "b", "b", right); v != 1 || err != nil || time.Since(began) != 5*time.Millisecond {
			t.Errorf("the next one = %d, %v after %s, want 1 after 5ms", v, err, time.Since(began))
		}
	})
}

func TestAProvenCredentialWaitsForNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := fair.NewGate[string, int](1, 1, errBusy)
		if _, ok := g.Proven("a"); ok {
			t.Error("a credential is proven before its check")
		}
		if _, err := g.Check(t.Context(), "a", "a", right); err != nil {
			t.Fatal(err)
		}
		leave := make(chan struct{})
		go func() { _ = g.Try(t.Context(), "b", func() error { <-leave; return nil }) }()
		synctest.Wait()
		if v, ok := g.Proven("a"); v != 1 || !ok {
			t.Errorf("Proven = %d, %v, want what the check returned", v, ok)
		}
		if v, err := g.Check(t.Context(), "a", "a", right); v != 1 || err != nil {
			t.Errorf("a proven credential = %d, %v, want 1", v, err)
		}
		if _, err := g.Check(t.Context(), "a", "a", wrong); !errors.Is(err, errWrong) {
			t.Errorf("a proven credential that became wrong = %v, want a refusal", err)
		}
		began := time.Now()
		if _, err := g.Check(t.Context(), "a", "a", right); !errors.Is(err, errBusy) || time.Since(began) != 5*time.Second {
			t.Errorf("an unproven credential = %v after %s, want busy after 5s", err, time.Since(began))
		}
		close(leave)
	})
}

func TestACredentialIsProvenOnceForAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := fair.NewGate[string, int](1, 1, errBusy)
		var mu sync.Mutex
		atOnce, most := 0, 0
		check := func() (int, error) {
			mu.Lock()
			atOnce++
			most = max(most, atOnce)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			atOnce--
			mu.Unlock()
			return 1, nil
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := g.Check(t.Context(), "a", "a", check); err != nil {
					t.Error(err)
				}
			})
		}
		began := time.Now()
		all.Wait()
		// One check in the slot, and then those of all others, one second each.
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("50 callers took %s with at most %d checks at once, want all but the first together", took, most)
		}
	})
}
