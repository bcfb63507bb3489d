// Companies as registers of ten countries write them, and as customers do.

package watchlist_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/rig/realnames"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// TestCompaniesOfRegistersAreFound searches 60 companies, and 60 others that are not in the list, in lists that have the first 60 as
// registers write them: one of 130 entries, and one of 10,000. The pairs were written before the tables of legal forms by country and of
// translated words. They are not tuned on: -v prints those that are judged wrong.
func TestCompaniesOfRegistersAreFound(t *testing.T) {
	raw, err := os.ReadFile("../names/testdata/held-out-registers.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		entries    int
		found      int // at least
		falseFound int // at most
	}{{130, 51, 0}, {10_000, 51, 0}} {
		var text strings.Builder
		out := csv.NewWriter(&text)
		_ = out.Write([]string{"id", "kind", "name"})
		ids := map[string]string{}
		for _, row := range rows[1:] {
			if _, ok := ids[row[3]]; !ok {
				ids[row[3]] = fmt.Sprint(len(ids))
				_ = out.Write([]string{ids[row[3]], "company", row[3]})
			}
		}
		others := realnames.New(realnames.For(t), 7)
		for i := len(ids); i < c.entries; i++ {
			_ = out.Write([]string{fmt.Sprint(i), "company", others.Company().String()})
		}
		out.Flush()
		l, err := watchlist.Read(t.Context(), strings.NewReader(text.String()), watchlist.Format{Type: watchlist.CSV})
		if err != nil {
			t.Fatal(err)
		}
		found, falseFound := 0, 0
		for _, row := range rows[1:] {
			got, err := l.Search(watchlist.Subject{Kind: names.Company, Name: row[4]}, watchlist.ReviewAt)
			if err != nil {
				t.Fatal(err)
			}
			hit := false
			for _, h := range got.Hits {
				hit = hit || h.ID == ids[row[3]]
			}
			switch want := row[5] == "yes"; {
			case hit && want:
				found++
			case hit:
				falseFound++
			}
			if hit != (row[5] == "yes") {
				t.Logf("%d entries: %q in %q: hit %t", c.entries, row[4], row[3], hit)
			}
		}
		t.Logf("%d entries: %d of 60 found, %d of 60 others are hits", c.entries, found, falseFound)
		if found < c.found || falseFound > c.falseFound {
			t.Errorf("%d entries: %d found and %d false hits, want at least %d and at most %d", c.entries, found, falseFound, c.found, c.falseFound)
		}
	}
}
