// Tests of reading lists and searching them.

package watchlist_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// fictional is the list of the demo.
const fictional = "../../hosts/verifyd/demo/fictional-list.csv"

func loaded(t *testing.T) *watchlist.List {
	t.Helper()
	l, err := watchlist.Load(t.Context(), watchlist.Source{Path: fictional, Format: watchlist.Format{Type: watchlist.OpenSanctions}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestSearchFindsEntriesUnderEveryKindOfSpelling(t *testing.T) {
	l := loaded(t)
	for _, tc := range []struct {
		kind names.Kind
		name string
		want string // the id; empty for no hit
	}{
		{names.Person, "Victor Zamoyskov", "fictional-001"},
		{names.Person, "ЗАМОЙСКОВ Виктор", "fictional-001"},
		{names.Person, "Viktor A. Zamoiskow", "fictional-001"},
		{names.Person, "Vladimir Zamoyskov", ""},
		{names.Person, "Abdul Rahman Al Mazrawi", "fictional-002"},
		{names.Person, "عبدالرحمن المزروي", "fictional-002"},
		{names.Person, "Abdul Rahim Al Mazrawi", ""},
		{names.Person, "Haolin Zheng", "fictional-003"},
		{names.Person, "鄭浩林", "fictional-003"},
		{names.Person, "Zheng Haoran", ""},
		{names.Person, "Rajvir Malhotra Senapati", "fictional-004"},
		{names.Person, "Esteban Ruiz-Calvareno", "fictional-005"},
		{names.Person, "Grigory Sokolnitskiy", "fictional-006"},
		{names.Person, "Grigory Sokolov", ""},
		{names.Person, "Lee Sangwoo", "fictional-009"},
		{names.Person, "Muthu Vel Kandasamy", "fictional-010"},
		{names.Person, "Gul Rahim Shinwari", "fictional-012"},
		{names.Person, "Helen Karamanolakis", "fictional-013"},
		{names.Person, "Golden Peregrine", ""},
		{names.Company, "Torgovyi Dom Severnyi Almaz", "fictional-101"},
		{names.Company, "Golden Peregrin Shipping Limited", "fictional-102"},
		{names.Company, "Golden Pelican Shipping Limited", ""},
		{names.Company, "Al Wadi Al Akhdar Trading LLC", "fictional-103"},
		{names.Company, "丹东浩源金属", "fictional-104"},
		{names.Company, "Crimson Lantern Brotherhood", "fictional-105"},
		{names.Company, "Meridian Quill", "fictional-107"},
		{names.Person, "Meridian Quill Partners", "fictional-107"},
		{names.Company, "Silent Cormorant", ""},
	} {
		found, err := l.Search(watchlist.Subject{Kind: tc.kind, Name: tc.name}, 0.85)
		hits := found.Hits
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(hits) > 0 {
			got = hits[0].ID
		}
		if got != tc.want {
			t.Errorf("Search(%s %q) = %q, want %q; hits %v", tc.kind, tc.name, got, tc.want, hits)
		}
	}
}

func TestTheSameSearchHasTheSameHits(t *testing.T) {
	l, again := loaded(t), loaded(t)
	for range 20 {
		s := watchlist.Subject{Kind: names.Person, Name: "Abd al Rahman Mazrawi"}
		foundA, err := l.Search(s, 0.6)
		a := foundA.Hits
		if err != nil {
			t.Fatal(err)
		}
		foundB, err := again.Search(s, 0.6)
		b := foundB.Hits
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" || len(a) == 0 {
			t.Fatalf("two searches of one version differ, or find nothing (-first +second):\n%s", diff)
		}
	}
}

func TestBirthDateAndCountryChangeTheScore(t *testing.T) {
	l := loaded(t)
	search := func(s watchlist.Subject) watchlist.Hit {
		t.Helper()
		s.Kind = names.Person
		found, err := l.Search(s, 0.5)
		hits := found.Hits
		if err != nil || len(hits) == 0 {
			t.Fatalf("%+v: no hit, %v", s, err)
		}
		return hits[0]
	}
	same := func(s float64) float64 { return s }
	times := func(factor float64) func(float64) float64 { return func(s float64) float64 { return s * factor } }
	half := func(s float64) float64 { return s + (1-s)/2 }
	const name, middle, low = "Victor Zamoyskow", "Viktor Zamkov", "Viktor"
	for _, tc := range []struct {
		name, birth string
		countries   []string
		want        func(score float64) float64 // by that of the name alone
		reason      string
	}{
		{name, "", nil, same, "Zamoyskow is like Zamoiskov"},
		{name, "61", nil, same, "Zamoyskow is like Zamoiskov"},
		{middle, "1961-03-14", nil, half, "the birth date is the same"},
		{name, "1961-14-03", nil, same, "Zamoyskow is like Zamoiskov"},
		{low, "1961-03-14", nil, same, "the birth date is the same"},
		{name, "1961", nil, same, "the year of birth is the same"},
		{name, "1961-03", nil, same, "the year of birth is the same"},
		{name, "1961-05", nil, times(0.93), "the birth date differs a little"},
		{name, "1961-03-20", nil, times(0.93), "the birth date differs a little"},
		{name, "1962-03-14", nil, times(0.93), "the birth date differs a little"},
		{name, "1960-03-14", nil, times(0.93), "the birth date differs a little"},
		{name, "1963-03-14", nil, times(0.8), "the birth date differs: 1963-03-14, listed 1961-03-14"},
		{middle, "", []string{"fr", "RU"}, func(s float64) float64 { return s + (1-s)/5 }, "a country is the same: Russia"},
		{low, "", []string{"ru"}, same, "a country is the same: Russia"},
		{name, "", []string{"br"}, times(0.95), "no country is the same: listed Russia"},
	} {
		alone := search(watchlist.Subject{Name: tc.name}).Score
		got, want := search(watchlist.Subject{Name: tc.name, BirthDate: tc.birth, Countries: tc.countries}), tc.want(alone)
		if math.Abs(got.Score-want) > 0.001 || !strings.Contains(strings.Join(got.Reasons, "\n"), tc.reason) {
			t.Errorf("%s, birth %q, countries %v: %+v, want the score %.3f and %q", tc.name, tc.birth, tc.countries, got, want, tc.reason)
		}
	}
}

func TestDataThatAnEntryDoesNotHaveChangesNothing(t *testing.T) {
	l := read(t, "name\nIvan Testov\n", watchlist.Format{Type: watchlist.CSV})
	s := watchlist.Subject{Kind: names.Person, Name: "Ivan Testov"}
	alone := find(t, l, s)
	s.BirthDate, s.Countries = "1970-01-02", []string{"ru"}
	if diff := cmp.Diff(alone, find(t, l, s)); diff != "" || len(alone) != 1 {
		t.Errorf("hits (-name alone +with data):\n%s", diff)
	}
}

func TestTheKindOfAFormatIsThatOfItsEntries(t *testing.T) {
	for kind, want := range map[names.Kind][2]int{names.Person: {1, 0}, names.Company: {0, 1}, "": {1, 1}} {
		l := read(t, "name\nMeridian Quill\n", watchlist.Format{Type: watchlist.CSV, Kind: kind})
		got := [2]int{}
		for i, k := range []names.Kind{names.Person, names.Company} {
			got[i] = len(find(t, l, watchlist.Subject{Kind: k, Name: "Quill Meridian"}))
		}
		if got != want {
			t.Errorf("entries of kind %q: hits for a person and a company %v, want %v", kind, got, want)
		}
	}
}

func TestANameIsFoundIfVeryManyEntriesHaveIt(t *testing.T) {
	var list strings.Builder
	for i := range 500 {
		fmt.Fprintf(&list, "%d,Ivan Testov\n", i)
	}
	l := read(t, "id,name\n"+list.String(), watchlist.Format{Type: watchlist.CSV})
	if hits := find(t, l, watchlist.Subject{Kind: names.Person, Name: "Ivan Testov"}); len(hits) != 10 {
		t.Errorf("%d hits of 500 entries, want 10", len(hits))
	}
}

// Of two names of an entry that are equally similar, the hit has the first.
func TestAnAliasIsShownOnlyIfItIsMoreSimilar(t *testing.T) {
	// The number of Mohammad is the lower one, and Testov the more common word.
	l := read(t, "id,name,aliases\n1,Mohammad,\n2,Mohamed Testov,Mohammad Testov\n3,Mohamed,\n"+strings.Repeat("4,Piotr Testov,\n", 9), watchlist.Format{Type: watchlist.CSV})
	for name, want := range map[string]string{"Muhammad Testov": "", "Mohammad Testov": "Mohammad Testov", "Mohamed Testov": ""} {
		hits := find(t, l, watchlist.Subject{Kind: names.Person, Name: name})
		if len(hits) == 0 || hits[0].ID != "2" || hits[0].Alias != want {
			t.Errorf("%s: hits %+v, want the alias %q", name, hits, want)
		}
	}
}

func read(t *testing.T, text string, f watchlist.Format) *watchlist.List {
	t.Helper()
	l, err := watchlist.Read(t.Context(), strings.NewReader(text), f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// find returns the hits from the usual score on.
func find(t *testing.T, l *watchlist.List, s watchlist.Subject) []watchlist.Hit {
	t.Helper()
	found, err := l.Search(s, 0.85)
	hits := found.Hits
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func TestEveryFormatGivesTheSameEntries(t *testing.T) {
	simple := `id,schema,name,aliases,birth_date,countries
a1,Person,Ivan Testov,"Иван Тестов;I. Testov",1970-01-02,RU
b2,Company,Testov Shipping,,,cy
c3,Vessel,Boat,,,
e5,Person,--,,,
`
	ftm := `{"id":"a1","caption":"Ivan\tTestov","schema":"Person","target":true,"properties":{"name":["Ivan Testov"],"alias":["Иван Тестов"],"weakAlias":["I. Testov","Vanya"],"birthDate":["1970-01-02"],"nationality":["ru"]}}

{"id":"b2","schema":"Company","properties":{"name":["Testov Shipping"],"jurisdiction":["cy"]}}
{"id":"c3","caption":"Boat","schema":"Vessel"}
{"id":"d4","caption":"Maria Testova","schema":"Person","target":false}
`
	plain := "\xef\xbb\xbfref,full name,type,aka,born,nation\na1,Ivan Testov,Individual,Иван Тестов; I. Testov,1970-01-02,ru\nb2,Testov Shipping,entity,,,cy\n"
	columns := map[string]string{"id": "ref", "name": "Full Name", "kind": "type", "aliases": "aka", "birth_date": "born", "countries": "nation"}
	var want []watchlist.Hit
	for _, tc := range []struct {
		text   string
		format watchlist.Format
	}{
		{simple, watchlist.Format{Type: watchlist.OpenSanctions}},
		{ftm, watchlist.Format{Type: watchlist.FollowTheMoney}},
		{plain, watchlist.Format{Type: watchlist.CSV, Columns: columns}},
	} {
		l, err := watchlist.Read(t.Context(), strings.NewReader(tc.text), tc.format)
		if err != nil {
			t.Fatalf("%s: %v", tc.format.Type, err)
		}
		var got []watchlist.Hit
		for _, s := range []watchlist.Subject{{Kind: names.Person, Name: "Иван Тестов"}, {Kind: names.Company, Name: "Testov Shipping"}} {
			found, err := l.Search(s, 0.85)
			hits := found.Hits
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, hits...)
		}
		if l.Entries != 2 || len(got) != 2 || got[0].ID != "a1" {
			t.Errorf("%s: %d entries, hits %+v, want 2 entries and both found", tc.format.Type, l.Entries, got)
		}
		if want == nil {
			want = got
		}
		entries := cmpopts.IgnoreFields(watchlist.Hit{}, "Digest") // the list in JSON has one more alias
		if diff := cmp.Diff(want, got, entries); diff != "" {
			t.Errorf("%s (-simple CSV +this):\n%s", tc.format.Type, diff)
		}
	}
}

func TestADayMayBeSwappedWithItsMonth(t *testing.T) {
	l := read(t, "name,birth_date\nIvan Testov,1970-05-01\n", watchlist.Format{Type: watchlist.CSV})
	s := watchlist.Subject{Kind: names.Person, Name: "Ivan Testov"}
	for birth, want := range map[string]string{"1970-01-05": "the birth date is the same", "1970-02-05": "the birth date differs a little"} {
		s.BirthDate = birth
		if hits := find(t, l, s); len(hits) != 1 || !strings.Contains(strings.Join(hits[0].Reasons, "\n"), want) {
			t.Errorf("born %s: %+v, want %q", birth, hits, want)
		}
	}
}

// numbered returns n different JSON strings, separated by commas.
func numbered(n int) string {
	var all []string
	for i := range n {
		all = append(all, strconv.Quote("country "+strconv.Itoa(i)))
	}
	return strings.Join(all, ",")
}

// Countries that are compared with each other take several hundred times as long.
func TestAnEntityWithManyCountriesIsReadAtOnce(t *testing.T) {
	const countries, most = 60_000, 20
	names.New() // has read its tables, which do not count
	read := func(entities int) time.Duration {
		line := `{"id":"a","schema":"Person","caption":"A B","properties":{"country":[` + numbered(countries/entities) + "]}}\n"
		text := strings.Repeat(line, entities)
		began := time.Now()
		_, _ = watchlist.Read(t.Context(), strings.NewReader(text), watchlist.Format{Type: watchlist.FollowTheMoney})
		return time.Since(began)
	}
	if one, many := read(1), read(600); one > most*many {
		t.Errorf("reading %d countries of one entity took %s, and of 600 entities %s: want at most %d times as long", countries, one, many, most)
	}
}

func TestABrokenListIsAnErrorThatNamesTheLine(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		format     watchlist.Format
		want       string
	}{
		{"empty", "", watchlist.Format{Type: watchlist.OpenSanctions}, "the file is empty"},
		{"no entry", "id,schema,name,aliases\n", watchlist.Format{Type: watchlist.OpenSanctions}, "the list has no person and no company"},
		{"no column", "id,schema,title\n", watchlist.Format{Type: watchlist.OpenSanctions}, "the first line has no column id, name or aliases: is it targets.simple.csv?"},
		{"short row", "id,schema,name,aliases\na,Person,A B,\nb,Person\n", watchlist.Format{Type: watchlist.OpenSanctions}, "record on line 3: wrong number of fields"},
		{"open quote", "id,schema,name,aliases\na,Person,\"A B,\n", watchlist.Format{Type: watchlist.OpenSanctions}, `line 2, column 16: extraneous or missing " in quoted-field`},
		{"no name", "id,name\na,A B\nb,\nc,\n", watchlist.Format{Type: watchlist.CSV}, `name: 2 of 3 values cannot be read; the first entry without a name is "b"`},
		{"bad kind", "id,name,kind\na,A B,ship\n", watchlist.Format{Type: watchlist.CSV}, `line 2: the kind "ship" is neither person nor company`},
		{"named column", "id,name\na,A B\n", watchlist.Format{Type: watchlist.CSV, Columns: map[string]string{"aliases": "aka"}}, "the first line has no column aka"},
		{"control character", "id,name\na\x1e,A B\n", watchlist.Format{Type: watchlist.CSV}, `entry "a\x1e" has a value that is too long or has control characters`},
		{"long value", "id,name\n" + strings.Repeat("a", 2001) + ",A B\n", watchlist.Format{Type: watchlist.CSV}, "has a value that is too long"},
		{"not UTF-8", "id,name\na,A \xff\n", watchlist.Format{Type: watchlist.CSV}, "line 2: the text is not UTF-8"},
		{"no JSON", "{\"id\":\"a\",\"schema\":\"Person\",\"caption\":\"A B\"}\n{\n", watchlist.Format{Type: watchlist.FollowTheMoney}, "line 2: it is not an entity in JSON"},
		{"long line", `{"id":"` + strings.Repeat("a", 16<<20), watchlist.Format{Type: watchlist.FollowTheMoney}, "token too long"},
		{"control character in JSON", `{"id":"a\u001f","schema":"Person","caption":"A B"}` + "\n{\n", watchlist.Format{Type: watchlist.FollowTheMoney}, `entry "a\x1f" has a value`},
		{"long name", "id,name\na," + strings.Repeat("a", 2001) + "\n", watchlist.Format{Type: watchlist.CSV}, `entry "a" has a value that is too long or has control characters: its name, of 2001 bytes`},
		{"long alias", `{"id":"a","schema":"Person","caption":"A B","properties":{"alias":["` + strings.Repeat("é", 1001) + `"]}}`, watchlist.Format{Type: watchlist.FollowTheMoney}, "its alias, of 2002 bytes"},
		{"many aliases", `{"id":"a","schema":"Person","caption":"A B","properties":{"alias":[` + numbered(60_000) + `]}}`, watchlist.Format{Type: watchlist.FollowTheMoney}, `entry "a" has 60000 values of the field alias: the limit is 10000`},
		{"no id", `{"caption":"A B"}`, watchlist.Format{Type: watchlist.FollowTheMoney}, "line 1: the entity has no id or no schema"},
	} {
		_, err := watchlist.Read(context.Background(), strings.NewReader(tc.text), tc.format)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
}
