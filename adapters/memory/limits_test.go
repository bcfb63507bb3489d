// Tests of what a store refuses.

package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// canWait has the facts that a store without room refuses, and cannotWait others.
func canWait() []rules.Fact {
	return []rules.Fact{
		rules.JourneyOpened{Node: "consent"},
		rules.CustomerSubmitted{Node: "consent"},
		rules.DocumentUploaded{Node: "consent", Document: "d", Field: "front"},
		rules.NoteAdded{Notes: "checked"},
		rules.Assigned{},
	}
}

func cannotWait() []rules.Fact {
	return []rules.Fact{
		rules.ResultRecorded{Node: "pan", Passed: true},
		rules.VerdictRecorded{Decision: rules.DecisionApprove},
		rules.Expired{},
		rules.Cancelled{},
	}
}

// Beyond the second limit, and under pressure, answers are refused and results are not.
func TestAStoreWithoutRoomTakesOnlyResults(t *testing.T) {
	for name, c := range map[string]struct {
		limits   memory.Limits
		pressure memstore.Pressure
		refuses  bool
	}{
		"room":             {memory.Limits{Runs: 1 << 30, Answers: 1 << 30}, memstore.NoPressure, false},
		"no room for runs": {memory.Limits{Runs: 1, Answers: 1 << 30}, memstore.RefuseRuns, false},
		"no room":          {memory.Limits{Runs: 1, Answers: 1}, memstore.NoPressure, true},
		"pressure":         {memory.Limits{}, memstore.RefuseAnswers, true},
		"no work either":   {memory.Limits{}, memstore.LeaveWork, true},
	} {
		s := memory.New()
		if err := appendTo(t, s, 1, started(1), rules.CustomerAwaited{Node: "consent", Signal: "consent"}); err != nil {
			t.Fatal(err)
		}
		s.Limit(c.limits)
		s.SetPressure(c.pressure)
		for _, f := range canWait() {
			if err := appendTo(t, s, 1, f); errors.Is(err, store.ErrFull) != c.refuses || errors.Is(err, verification.ErrUnavailable) != c.refuses {
				t.Errorf("%s: Append of %T = %v, want refused: %v", name, f, err, c.refuses)
			}
		}
		for _, f := range cannotWait() {
			if err := appendTo(t, s, 1, f); err != nil {
				t.Errorf("%s: Append of %T = %v", name, f, err)
			}
		}
	}
}

// Under the highest pressure no run is driven, and other work goes on.
func TestAStoreUnderPressureLeavesRunsAlone(t *testing.T) {
	s := memory.New()
	if err := errors.Join(appendTo(t, s, 1, started(1)), queueAdvance(t, s, 1)); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	take := func() int {
		work, next, err := s.Take(t.Context(), store.TakeRequest{Kind: store.WorkAdvance, Now: now, Lease: time.Second, Max: 10, MaxPerTenant: 10})
		if err != nil || len(work) == 0 && !next.After(now) {
			t.Errorf("Take = %d pieces, next %s, %v", len(work), next, err)
		}
		return len(work)
	}
	s.SetPressure(memstore.LeaveWork)
	if got := take(); got != 0 {
		t.Errorf("Take under pressure = %d pieces, want none", got)
	}
	s.SetPressure(memstore.RefuseAnswers)
	if got := take(); got != 1 {
		t.Errorf("Take afterwards = %d pieces, want 1", got)
	}
}

// startOf starts run n of a tenant.
func startOf(t *testing.T, s store.Store, tenant verification.TenantID, n int) error {
	id := verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
	begun := started(n).(rules.Started) //nolint:errcheck,forcetypeassert // it is one
	begun.ReferenceID = strings.Repeat("a", 250)
	events := []rules.Event{{At: time.Date(2026, 3, 1, 9, 0, n, 0, time.UTC), Fact: begun}}
	return s.Append(t.Context(), tenant, id, 0, store.NewCommit(rules.Run{}, rules.Fold(id, events), events, time.UTC))
}

// One tenant that fills its share shuts out nobody, and a tenant that is alone may have all.
func TestATenantFillsOnlyItsShare(t *testing.T) {
	const greedy, other = verification.TenantID("a0000000-0000-7000-8000-000000000001"), verification.TenantID("a0000000-0000-7000-8000-000000000002")
	for _, alone := range []bool{true, false} {
		s := memory.New()
		if !alone { // a tenant without runs is there, too
			if err := s.SaveTenant(t.Context(), verification.Tenant{ID: other, Name: "Other"}); err != nil {
				t.Fatal(err)
			}
		}
		const limit = 400_000
		s.Limit(memory.Limits{Runs: limit, Answers: 2 * limit, Share: 0.25})
		n := 0
		var err error
		for ; err == nil && n < 10_000; n++ {
			err = startOf(t, s, greedy, n)
		}
		want := int64(limit / 4)
		if alone {
			want = limit
		}
		if kept := s.Kept(); !errors.Is(err, store.ErrFull) || kept < want-2000 || kept > want+2000 {
			t.Errorf("alone %v: the tenant has %d bytes, want about %d; %v", alone, kept, want, err)
		}
		if names := strings.Contains(fmt.Sprint(err), "this tenant's share"); names == alone {
			t.Errorf("alone %v: the refusal is %v", alone, err)
		}
		if alone {
			continue
		}
		if err := startOf(t, s, other, n); err != nil {
			t.Errorf("a start of the other tenant: %v", err)
		}
		for _, u := range s.Use() {
			if (u.Tenant == greedy) != (u.Bytes >= u.Share) || (u.Tenant == greedy) != (u.Refused == 1) {
				t.Errorf("use of tenant %s is %+v", u.Tenant, u)
			}
		}
	}
}

// One tenant that fills its share of the disk shuts out nobody, and its answers go on.
func TestATenantLeavesTheDiskToOthers(t *testing.T) {
	const greedy, other = verification.TenantID("a0000000-0000-7000-8000-000000000001"), verification.TenantID("a0000000-0000-7000-8000-000000000002")
	s := memory.New()
	if err := s.SaveTenant(t.Context(), verification.Tenant{ID: other, Name: "Other"}); err != nil {
		t.Fatal(err)
	}
	const size = 400_000
	free, unknown := int64(size), error(nil)
	s.Limit(memory.Limits{Runs: 1 << 40, Answers: 2 << 40, Share: 0.25, Disk: func() (int64, error) { return free, unknown }})
	n := 0
	var err error
	for ; err == nil && n < 10_000; n++ {
		err = startOf(t, s, greedy, n)
		free = size - s.Kept()
	}
	if kept := s.Kept(); !strings.Contains(fmt.Sprint(err), "this tenant's share of the disk is full") || kept < size/4-2000 || kept > size/4+2000 {
		t.Errorf("the tenant has %d bytes, want about %d; %v", kept, size/4, err)
	}
	if err := startOf(t, s, other, n); err != nil {
		t.Errorf("a start of the other tenant: %v", err)
	}
	opened := store.Commit{Events: []rules.Event{{At: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), Fact: rules.JourneyOpened{}}}}
	if err := s.Append(t.Context(), greedy, "d0000000-0000-7000-8000-000000000000", 1, opened); err != nil {
		t.Errorf("an opening of a journey: %v", err)
	}
	unknown = errors.New("the disk does not answer")
	if err := startOf(t, s, greedy, n); err != nil {
		t.Errorf("a start while the free space is unknown: %v", err)
	}
}

// A start that is refused leaves no idempotency key, and keys that are released leave nothing.
func TestRefusedKeysNeedNoMemory(t *testing.T) {
	s := memory.New()
	key := func(n int, scope store.IdempotencyScope) store.IdempotencyRecord {
		return store.IdempotencyRecord{
			IdempotencyKey: store.IdempotencyKey{Scope: scope, Key: fmt.Sprint("key-", n)}, ID: fmt.Sprint("id-", n), At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
		}
	}
	for n := range 50_000 {
		r := key(n, store.ScopeSignal)
		if _, err := s.ClaimIdempotencyKey(t.Context(), sizedTenant, r); err != nil {
			t.Fatal(err)
		}
		if err := s.ReleaseIdempotencyKey(t.Context(), sizedTenant, r); err != nil {
			t.Fatal(err)
		}
	}
	if kept := s.Kept(); kept > 2_000_000 {
		t.Errorf("%d bytes are kept for keys that were released", kept)
	}
	s.SetPressure(memstore.RefuseRuns)
	if _, err := s.ClaimIdempotencyKey(t.Context(), sizedTenant, key(1, store.ScopeStart)); !errors.Is(err, store.ErrFull) {
		t.Errorf("ClaimIdempotencyKey of a start = %v, want ErrFull", err)
	}
	if _, err := s.ClaimIdempotencyKey(t.Context(), sizedTenant, key(1, store.ScopeSignal)); err != nil {
		t.Errorf("ClaimIdempotencyKey of a signal = %v", err)
	}
}
