// Precision and recall of people and companies, by class and script.

package names_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
)

// TestPeopleAndCompaniesAreToldApartByClass measures pairs that were written before the
// comparison was tried on them. `-v` prints the figures and each pair that is judged wrong.
func TestPeopleAndCompaniesAreToldApartByClass(t *testing.T) {
	for _, file := range []string{"held-out-classes.csv", "held-out-forms.csv"} {
		t.Run(file, func(t *testing.T) { toldApartByClass(t, "testdata/"+file) })
	}
}

func toldApartByClass(t *testing.T, path string) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	c := names.New()
	byKind, byPart := map[string]*verdicts{}, map[[3]string]*verdicts{}
	add := func(kind, part, name string, want, got bool) {
		key := [3]string{kind, part, name}
		if byPart[key] == nil {
			byPart[key] = &verdicts{}
		}
		byPart[key].add(want, got)
	}
	for _, row := range rows[1:] {
		class, script, kind, a, b, want := row[0], row[1], row[2], row[3], row[4], row[5] == "yes"
		m := score(t, c, kind, a, b)
		got := m.Score >= threshold
		if byKind[kind] == nil {
			byKind[kind] = &verdicts{}
		}
		byKind[kind].add(want, got)
		add(kind, "class", class, want, got)
		add(kind, "script", script, want, got)
		if want != got {
			t.Logf("%s, %s, %s: %q and %q have %.3f, want match %t", kind, class, script, a, b, m.Score, want)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(byPart), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		v := byPart[key]
		t.Logf("%-8s %-7s %-22s %3d of %3d matches found, %3d of %3d others kept apart", key[0], key[1], key[2], v.hits, v.hits+v.misses, v.clears, v.clears+v.alarms)
	}
	for kind, least := range map[string]float64{"person": 0.9, "company": 0.9} {
		v := cmp.Or(byKind[kind], &verdicts{})
		t.Logf("%-8s recall %.3f, precision %.3f, F1 %.3f of %d pairs", kind, v.recall(), v.precision(), v.f1(), v.hits+v.misses+v.alarms+v.clears)
		if v.f1() < least {
			t.Errorf("F1 of the kind %s is %.3f, want at least %.2f", kind, v.f1(), least)
		}
	}
}
