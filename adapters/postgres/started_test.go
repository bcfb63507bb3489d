// Tests of the totals of lists that are filtered by start time.

package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Some runs are counted by month, some by day, and some are in both.
func TestTotalsBetweenStartTimesAreExact(t *testing.T) {
	url := pgtest.Database(t)
	first, s, m := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{}), memory.New()
	const runs = 240
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(1, uint64(seed)))
	histories := make([][]rules.Event, runs)
	appendTo := func(to *postgres.Store, n, from, length int) {
		t.Helper()
		if length = min(length, len(histories[n])); length <= from {
			return
		}
		c := store.Commit{
			Events: histories[n][from:length], Summary: rules.Fold(runNumber(n), histories[n][:length]).Summary(),
			Work: store.DueWork{},
		}
		must(t, to.Append(t.Context(), ours, runNumber(n), from, c))
		must(t, m.Append(t.Context(), ours, runNumber(n), from, c))
	}
	lengths := make([]int, runs)
	for n := range runs {
		later := time.Duration(random.IntN(70*24*4)) * 15 * time.Minute // many at midnight
		for _, e := range life(n, n, 3) {
			e.At = e.At.Add(later - noon().Sub(noon().Truncate(24*time.Hour)) - time.Duration(n)*time.Minute)
			histories[n] = append(histories[n], e)
		}
		if lengths[n] = random.IntN(4); lengths[n] > 0 {
			appendTo(first, n, 0, lengths[n])
		}
	}
	first.Close()
	for folded := 0; folded == 0; {
		must(t, s.Maintain(t.Context(), noon()))
		folded = count(t, s, "run_months", string(ours))
	}
	for n := range runs {
		appendTo(s, n, min(lengths[n], len(histories[n])), 4)
	}
	if n := wrongCounts(t, s); n > 0 {
		t.Errorf("%d counts differ from counting", n)
	}
	anyTime := func() time.Time {
		return noon().Truncate(24*time.Hour).AddDate(0, 0, random.IntN(74)-2).
			Add(time.Duration(random.IntN(96)) * 15 * time.Minute).Add(time.Duration(random.IntN(3)-1) * time.Microsecond)
	}
	for range 400 {
		all := queries(noon().AddDate(1, 0, 0))
		q := all[random.IntN(len(all))]
		switch random.IntN(4) {
		case 0:
			q.StartedAfter = anyTime()
		case 1:
			q.StartedBefore = anyTime()
		case 2:
			q.StartedAfter, q.StartedBefore = anyTime(), anyTime()
		default:
			q.StartedAfter = anyTime()
			q.StartedBefore = q.StartedAfter.Add(time.Duration(random.IntN(60)) * time.Hour)
		}
		got, err := s.List(t.Context(), ours, q)
		must(t, err)
		want, err := m.List(t.Context(), ours, q)
		must(t, err)
		if g, w := fmt.Sprint(got.Total, idsOf(got)), fmt.Sprint(want.Total, idsOf(want)); g != w {
			t.Fatalf("List(%+v) = %s, want %s", q, g, w)
		}
	}
}
