// Tests of reasons: they have the words as the names write them.

package watchlist_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/fold"
	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

func TestReasonsHaveTheWordsAsTheyAreWritten(t *testing.T) {
	c := names.New()
	for _, tc := range []struct{ kind, name, other, want string }{
		{"person", "Виктор Замойсков", "Victor Zamoiskov", "Виктор is like Victor: 0.96, same name"},
		{"person", "MÜLLER José", "Jose Muller", "MÜLLER is the same as Muller"},
		{"person", "Khalil ABDUL RAHMAN", "Abdulrahman Khalil", "ABDUL RAHMAN is the same as Abdulrahman"},
		{"person", "王小明", "Wang Xiaoming", "小明 is the same as Xiaoming"},
		{"company", "Acme Handel GmbH", "Acme Trading", "Handel means the same as Trading"},
		{"company", "Twenty-One Club", "21 Club", "Twenty One is the same as 21"},
	} {
		m, err := watchlist.Compare(c, names.Kind(tc.kind), tc.name, tc.other)
		if err != nil || !slices.Contains(m.Reasons, tc.want) {
			t.Errorf("%s and %s: %q, %v, want %q", tc.name, tc.other, m.Reasons, err, tc.want)
		}
		list := "name,kind\n" + tc.other + "," + tc.kind + "\n"
		l, err := watchlist.Read(t.Context(), strings.NewReader(list), watchlist.Format{Type: watchlist.CSV})
		if err != nil {
			t.Fatal(err)
		}
		want := tc.want
		if fold.Name(tc.name) == fold.Name(tc.other) {
			want = "the name is the same"
		}
		found, err := l.Search(watchlist.Subject{Kind: names.Kind(tc.kind), Name: tc.name}, 0.8)
		if err != nil || len(found.Hits) != 1 || !slices.Contains(found.Hits[0].Reasons, want) {
			t.Errorf("%s in a list with %s: %+v, %v, want %q", tc.name, tc.other, found, err, want)
		}
	}
}
