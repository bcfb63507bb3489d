// The recall of the index: a search must find what a comparison finds.

package screening_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"testing"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/adapters/provider/screening/names"
)

func TestASearchFindsWhatAComparisonFinds(t *testing.T) {
	var pairs [][]string
	for _, name := range []string{"hard-pairs.csv", "held-out-pairs.csv"} {
		raw, err := os.ReadFile("names/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, rows[1:]...)
	}
	var list bytes.Buffer
	w := csv.NewWriter(&list)
	_ = w.Write([]string{"id", "kind", "name"})
	for i, p := range pairs {
		_ = w.Write([]string{fmt.Sprint(i), p[0], p[2]})
	}
	p := newPopulation(3)
	for i := range 20_000 {
		_ = w.Write([]string{fmt.Sprint("noise-", i), "person", p.person()})
	}
	w.Flush()
	c := names.New()
	l, err := screening.Read(t.Context(), &list, screening.Format{Type: screening.CSV}, c)
	if err != nil {
		t.Fatal(err)
	}
	found, want := 0, 0
	for i, p := range pairs {
		kind := names.Kind(p[0])
		compared, err := screening.Compare(c, kind, p[1], p[2])
		if err != nil {
			t.Fatal(err)
		}
		if compared.Score < 0.9 { // the weight of rare words moves a score a little
			continue
		}
		want++
		hits, err := l.Search(screening.Subject{Kind: kind, Name: p[1]}, 0.8)
		if err != nil {
			t.Fatal(err)
		}
		ok := false
		for _, h := range hits {
			ok = ok || h.ID == fmt.Sprint(i) || h.Name == p[2]
		}
		if ok {
			found++
		} else {
			t.Logf("not found: %s %q %q, compared %.3f; %d hits", p[0], p[1], p[2], compared.Score, len(hits))
		}
	}
	t.Logf("%d of %d found", found, want)
	if float64(found) < 0.98*float64(want) {
		t.Errorf("%d of %d pairs are found by a search, want 98 %%", found, want)
	}
}
