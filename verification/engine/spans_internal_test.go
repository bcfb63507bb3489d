package engine

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSpansAreSetsOfNumbers compares them with a map.
func TestSpansAreSetsOfNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const last = 40
		var s spans
		want := map[int64]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "adds") {
			from := rapid.Int64Range(1, last).Draw(t, "from")
			to := rapid.Int64Range(from, min(last, from+5)).Draw(t, "to")
			s.add(from, to)
			for n := from; n <= to; n++ {
				want[n] = true
			}
		}
		missing := map[int64]bool{}
		for _, g := range s.gaps(last) {
			for n := g.from; n <= g.to; n++ {
				missing[n] = true
			}
		}
		end := int64(0)
		for n := int64(1); n <= last; n++ {
			if s.has(n) != want[n] || missing[n] == want[n] {
				t.Fatalf("%d in %v: %t, missing %t; want %t", n, s, s.has(n), missing[n], want[n])
			}
			if want[n] {
				end = n
			}
		}
		if s.end() != end {
			t.Fatalf("the end of %v is %d, want %d", s, s.end(), end)
		}
		for i := 1; i < len(s); i++ {
			if s[i].from <= s[i-1].to+1 {
				t.Fatalf("%v is not in order", s)
			}
		}
	})
}
