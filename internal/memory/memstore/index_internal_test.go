// Tests of how the indexes of runs follow the time.

package memstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Appends move the index past a few status changes each, also if more of them have the
// same time.
func TestTheIndexFollowsTheTimeOfAppends(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, together := range []int{1, maxFollow, maxFollow + 1, 3 * maxFollow} {
		x := newIndex()
		const times = 5
		for n := range times * together {
			id := verification.RunID(fmt.Sprint("run-", n))
			x.put(&record{ref: verification.RunRef{Run: id}}, rules.Summary{
				ID: id, StartedAt: noon, ExpiresAt: noon.Add(time.Duration(1+n/together) * time.Minute),
			})
		}
		x.moveTo(noon)
		later := noon.Add(time.Hour)
		for range times + 1 {
			x.follow(later)
		}
		if !x.at.Equal(later) {
			t.Errorf("with %d changes at a time the index is at %s after %d appends, want %s", together, x.at, times+1, later)
		}
	}
}

// A page of a reference id is read without a pass over the runs of the tenant.
func TestRunsOfAReferenceHaveAnIndex(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	x := newIndex()
	put := func(n int, reference string) *record {
		id := verification.RunID(fmt.Sprint("run-", n))
		r := &record{ref: verification.RunRef{Run: id}}
		x.put(r, rules.Summary{ID: id, ReferenceID: reference, StartedAt: noon.Add(time.Duration(n) * time.Minute)})
		return r
	}
	first, second := put(1, "a"), put(2, "a")
	put(3, "b")
	renamed := put(4, "a")
	x.put(renamed, rules.Summary{ID: renamed.ref.Run, ReferenceID: rules.RedactedReference, StartedAt: renamed.summary.StartedAt})
	removed := put(5, "a")
	x.remove(removed)
	x.runs = trees[filter, *record]{} // what a pass would read
	page := x.page(store.RunQuery{ReferenceID: "a", Now: noon, PageQuery: store.PageQuery{Limit: 10}})
	if page.Total != 2 || len(page.Data) != 2 || page.Data[0].ID != second.ref.Run || page.Data[1].ID != first.ref.Run {
		t.Errorf("page = %+v, want the second and the first run", page)
	}
}
