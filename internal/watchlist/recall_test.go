// The recall of the index: a search must find what a comparison finds.

package watchlist_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/rig/realnames"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// leastRecall is the part of the names with a score of at least ReviewAt that a search finds,
// in each class.
const leastRecall = 0.999

// recallEntries is the number of entries of the list.
func recallEntries(t *testing.T) int {
	text := os.Getenv("VERIFYD_RECALL")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("VERIFYD_RECALL is %q, want the number of entries of the list: 1000 or more", text)
	}
	return n
}

// large is the list of all tests of recall, which takes seconds to read.
var large struct {
	once sync.Once
	list *watchlist.List
	some map[uint32]realnames.Name
}

// largeList returns the list of recallEntries, and some of its names.
func largeList(t *testing.T) (*watchlist.List, map[uint32]realnames.Name) {
	t.Helper()
	n := recallEntries(t)
	large.once.Do(func() { large.list, large.some = realList(t, n, samples(n)) })
	switch {
	case large.list == nil && testing.Short():
		t.Skip("the names of the list need an npm package, and -short leaves such tests out")
	case large.list == nil:
		t.Fatal("the list was not read, as an earlier test says")
	}
	return large.list, large.some
}

// TestASearchFindsAlteredNames searches names of a list as they are altered in each class.
// The wanted ones are those whose own pair of names has a score of at least ReviewAt.
func TestASearchFindsAlteredNames(t *testing.T) {
	l, some := largeList(t)
	p := realnames.New(realnames.For(t), 2)
	t.Logf("%d entries, %d names", l.Entries, l.Names)
	for _, class := range realnames.Classes() {
		searched, wanted, found := map[names.Kind]int{}, map[names.Kind]int{}, map[names.Kind]int{}
		for _, entry := range slices.Sorted(maps.Keys(some)) {
			text, ok := p.Alter(class, some[entry])
			if !ok {
				continue
			}
			kind := kindOf(some[entry])
			searched[kind]++
			compared, err := l.Compared(kind, text, watchlist.ReviewAt, entry)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if len(compared) == 0 {
				continue
			}
			wanted[kind]++
			got, err := l.Found(kind, text, watchlist.ReviewAt)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := got[entry]; ok {
				found[kind]++
			} else if os.Getenv("VERIFYD_RECALL") != "" {
				t.Logf("lost: %s, %s %q for %q, %.3f; %d found", class, kind, text, some[entry], compared[entry], len(got))
			}
		}
		for _, kind := range []names.Kind{names.Person, names.Company} {
			if searched[kind] == 0 {
				continue
			}
			recall := float64(found[kind]) / max(1, float64(wanted[kind]))
			t.Logf("%-20s %-8s %5d searched, %5d score %.2f or more, %5d of them found: %.2f %%", class, kind, searched[kind], wanted[kind], watchlist.ReviewAt, found[kind], 100*recall)
			if recall < leastRecall {
				t.Errorf("%s: %d of %d altered names of the kind %s are found, want %.1f %%", class, found[kind], wanted[kind], kind, 100*leastRecall)
			}
		}
	}
}

// samples returns the number of places in a list of which some names are searched.
func samples(n int) int {
	if text, err := strconv.Atoi(os.Getenv("VERIFYD_RECALL_SAMPLES")); err == nil {
		return text
	}
	return 60
}

// TestEveryNameOfALargeListIsFoundAsWritten searches each name of a list in the exact lookup, which
// a search uses before everything else. VERIFYD_RECALL sets the number of entries.
func TestEveryNameOfALargeListIsFoundAsWritten(t *testing.T) {
	l, _ := largeList(t)
	searched, lost := l.LostAsWritten()
	t.Logf("%d names of %d entries were searched, %d are lost", searched, l.Entries, lost)
	if searched < l.Names || lost > 0 {
		t.Errorf("%d of %d names were searched and %d are lost, want all of them found", searched, l.Names, lost)
	}
}
