// Tests of how the indexes of runs follow the time.

package memstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
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
