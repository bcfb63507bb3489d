// A search at one threshold finds what a search at a lower one finds, and what a comparison with every
// name finds.

package watchlist_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/rig/realnames"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// lostAtAThreshold is the part of the entries that a comparison with every name finds and a search at the threshold
// does not.
const lostAtAThreshold = 0.001

func TestTheThresholdDoesNotChangeWhatIsFound(t *testing.T) {
	l, some := realList(t, 3000, 150)
	p := realnames.New(realnames.For(t), 7)
	thresholds := []float32{0.5, 0.75, 0.85}
	searched, wanted, lost, differ := 0, 0, map[float32]int{}, 0
	for _, number := range slices.Sorted(maps.Keys(some)) {
		kind := kindOf(some[number])
		text := some[number].String()
		for _, class := range []realnames.Class{realnames.Swapped, realnames.Typo} { // both, in two words of the name
			if altered, ok := p.Alter(class, realnames.Name{Company: true, Family: strings.Fields(text)}); ok {
				text = altered
			}
		}
		compared, err := l.Compared(kind, text, watchlist.ReviewAt)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		searched++
		wanted += len(compared)
		found := map[float32]map[uint32]float32{}
		for _, threshold := range thresholds {
			all, err := l.Found(kind, text, threshold)
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(all, func(_ uint32, score float32) bool { return score < watchlist.ReviewAt })
			found[threshold] = all
			for entry, score := range compared {
				if _, ok := all[entry]; !ok {
					lost[threshold]++
					t.Logf("at %.2f, lost: %q, entry %d, %.3f", threshold, text, entry, score)
				}
			}
			if !maps.Equal(all, found[thresholds[0]]) {
				differ++
			}
		}
	}
	t.Logf("%d searched, %d entries score %.2f or more, lost by threshold: %v, %d results differ", searched, wanted, watchlist.ReviewAt, lost, differ)
	for threshold, n := range lost {
		if float64(n) > lostAtAThreshold*float64(wanted) {
			t.Errorf("at %.2f, %d of %d entries are lost", threshold, n, wanted)
		}
	}
	if differ > 0 {
		t.Errorf("%d results depend on the threshold", differ)
	}
}

// The words of a name are written as one word, also in the other order, and one has a typing error for which the
// index has no key.
func TestARareWordFindsANameAtEveryThreshold(t *testing.T) {
	l := watchlist.ListOf(
		watchlist.Entry{ID: "1", Name: "Abdulhafiz Lutfiyev", Person: true},
		watchlist.Entry{ID: "2", Name: "Viktor Zamoyskov", Person: true},
		watchlist.Entry{ID: "3", Name: "tarvenovmikhail", Person: true},
		watchlist.Entry{ID: "4", Name: "Cornelia Barnes", Person: true},
		watchlist.Entry{ID: "5", Name: "Darya Anatolyevna Kremova", Person: true},
	)
	for text, want := range map[string]string{
		"Abudlhafiz Lutfiyev": "1", "zamoyskovviktor": "2", "VIKTORZAMOYSKOV": "2", "Viktor Zarnoyskov": "2", "Zarnoyskov Viktor": "2",
		"Mikhail Tarvenov": "3", "Tarvenov, Mikhail": "3", "Cornelia Bames": "4", "kremovadaryaanatolyevna": "5",
	} {
		for _, threshold := range []float64{0.5, 0.75, 0.85} {
			found, err := l.Search(watchlist.Subject{Kind: names.Person, Name: text}, threshold)
			if err != nil || len(found.Hits) == 0 || found.Hits[0].ID != want || found.Hits[0].Score < 0.85 {
				t.Errorf("%q at %.2f: %+v, %v, want entry %s at 0.85 or more", text, threshold, found.Hits, err, want)
			}
		}
	}
}
