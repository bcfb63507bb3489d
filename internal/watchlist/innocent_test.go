// How many people and companies that are on no list have a hit.

package watchlist_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/rig/realnames"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// TestFewInnocentsHaveAHit searches people and companies in a list of 2,000 entries whose names
// are of the same locales. A person with the very name of an entry counts, too: only a birth
// date tells them apart.
func TestFewInnocentsHaveAHit(t *testing.T) {
	locales := realnames.For(t)
	const entries, searched = 2000, 5000
	var text strings.Builder
	out := csv.NewWriter(&text)
	_ = out.Write([]string{"id", "kind", "name", "birth_date"})
	listed := realnames.New(locales, 1)
	for i := range entries {
		n := listed.Person()
		if i%4 == 3 {
			n = listed.Company()
		}
		_ = out.Write([]string{fmt.Sprint(i), string(kindOf(n)), n.String(), map[names.Kind]string{names.Person: fmt.Sprintf("%d-05-17", 1940+i%60)}[kindOf(n)]})
	}
	out.Flush()
	l, err := watchlist.Read(t.Context(), strings.NewReader(text.String()), watchlist.Format{Type: watchlist.CSV})
	if err != nil {
		t.Fatal(err)
	}
	people := realnames.New(locales, 9)
	for _, c := range []struct {
		kind  names.Kind
		birth bool
		most  float64 // of 1,000
	}{{names.Person, false, 5}, {names.Person, true, 1}, {names.Company, false, 12}} {
		flagged := 0
		for i := range searched {
			n := people.Person()
			if c.kind == names.Company {
				n = people.Company()
			}
			s := watchlist.Subject{Kind: c.kind, Name: n.String()}
			if c.birth {
				s.BirthDate = fmt.Sprintf("%d-0%d-1%d", 1940+i%60, 1+i%9, i%7)
			}
			uncleared, err := l.Uncleared(s, 0.85)
			if err != nil {
				t.Fatalf("%q: %v", s.Name, err)
			}
			if uncleared > 0 {
				flagged++
			}
		}
		rate := 1000 * float64(flagged) / searched
		t.Logf("%s, birth date %t: %.1f of 1,000 have a hit", c.kind, c.birth, rate)
		if rate > c.most {
			t.Errorf("%s, birth date %t: %.1f of 1,000 innocents have a hit, want at most %.0f", c.kind, c.birth, rate, c.most)
		}
	}
}
