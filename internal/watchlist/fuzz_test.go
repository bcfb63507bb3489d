// Fuzz tests of the parsers and of a search.

package watchlist_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

func FuzzRead(f *testing.F) {
	for file := range listFiles() {
		f.Add(openPublished(f, file))
	}
	f.Add([]byte("id,schema,name,aliases,birth_date,countries\na,Person,Ivan Testov,\"x;y\",1970,ru\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		format := watchlist.Format{}
		l, err := watchlist.Read(t.Context(), bytes.NewReader(raw), format)
		if err != nil {
			return
		}
		if l.Entries < 1 || l.Names < 1 {
			t.Errorf("a list with %d entries and %d names was read without an error", l.Entries, l.Names)
		}
		for _, kind := range []names.Kind{names.Person, names.Company} {
			if _, err := l.Search(watchlist.Subject{Kind: kind, Name: "Ivan Testov"}, 0.5); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzCompare(f *testing.F) {
	f.Add("Ivan Testov", "Тестов Иван", true)
	f.Add("Abd al-Rahman", "عبد الرحمن", true)
	f.Add("Dr. A.", "राजेश 1", true)
	f.Add("深圳市蓝天科技有限公司", "S.p.A. & Co", false)
	match := names.New()
	f.Fuzz(func(t *testing.T, a, b string, person bool) {
		kind := names.Company
		if person {
			kind = names.Person
		}
		ab, err := watchlist.Compare(match, kind, a, b)
		if err != nil {
			return
		}
		if ab.Score < 0 || ab.Score > 1 || math.IsNaN(ab.Score) {
			t.Errorf("Compare(%q, %q) = %v, want 0 to 1", a, b, ab.Score)
		}
		if aa, err := watchlist.Compare(match, kind, a, a); err != nil || aa.Score < 0.999 {
			t.Errorf("Compare(%q, itself) = %v, %v, want 1", a, aa, err)
		}
		ab, err = watchlist.Same(match, kind, a, b)
		if ba, also := watchlist.Same(match, kind, b, a); err != nil || also != nil || ab.Score < 0 || ab.Score > 1 || math.Abs(ab.Score-ba.Score) > 0.0011 {
			t.Errorf("Same(%q, %q) = %v, %v, want 0 to 1 in either order: %v, %v", a, b, ab, err, ba, also)
		}
	})
}
