// Tests of what is said of the columns of a list that nothing reads.

package watchlist_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

func TestAColumnThatNothingReadsIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		format     watchlist.Format
		want       []string
	}{
		{
			"own list", "id,name,also called,remarks\na,Viktor Zamoyskov,Vitya,\nb,Asha Rao,,see file\n",
			watchlist.Format{Type: watchlist.CSV},
			[]string{`1 values of the column "also called", first in entry "a"`, `1 values of the column "remarks", first in entry "b"`},
		},
		{
			"FollowTheMoney", `{"id":"a","schema":"Person","properties":{"name":["Viktor Zamoyskov"],"nickName":["Vitya","Vit"],"notes":["x"],"firstName":["Viktor"]}}`,
			watchlist.Format{},
			[]string{`2 values of the column "nickName", first in entry "a"`},
		},
		{
			"UN", `<CONSOLIDATED_LIST><INDIVIDUALS><INDIVIDUAL><DATAID>a</DATAID><FIRST_NAME>VIKTOR</FIRST_NAME><FIFTH_NAME>ZAMOYSKOV</FIFTH_NAME><COMMENTS1>x</COMMENTS1>
			<INDIVIDUAL_DATE_OF_BIRTH><HIJRI_DATE_OF_BIRTH>1340</HIJRI_DATE_OF_BIRTH></INDIVIDUAL_DATE_OF_BIRTH><INDIVIDUAL_ADDRESS><COUNTRY>Iraq</COUNTRY></INDIVIDUAL_ADDRESS></INDIVIDUAL></INDIVIDUALS></CONSOLIDATED_LIST>`,
			watchlist.Format{},
			[]string{`1 values of the column "FIFTH_NAME", first in entry "a"`, `1 values of the column "INDIVIDUAL_DATE_OF_BIRTH/HIJRI_DATE_OF_BIRTH", first in entry "a"`},
		},
		{
			"EU", `<export><sanctionEntity euReferenceNumber="a"><subjectType code="person"/><nameAlias wholeName="Viktor Zamoyskov" maidenName="Orlova" gender="F"/></sanctionEntity></export>`,
			watchlist.Format{},
			[]string{`1 values of the column "nameAlias/@maidenName", first in entry "a"`},
		},
		{
			"UK", "Last Updated,2026\nName 6,Name 7,Group Type,Alias Type,Group ID\nZAMOYSKOV,Vitya,Individual,Primary name,a\n",
			watchlist.Format{},
			[]string{`1 values of the column "Name 7", first in entry "a"`},
		},
		{
			"Consolidated Screening List", "_id,source,entity_number,type,name,alt_names,second_nationality\na,x,1,Individual,Viktor Zamoyskov,,RU\n",
			watchlist.Format{},
			[]string{`1 values of the column "second_nationality", first in entry "a"`},
		},
	} {
		l := read(t, tc.text, tc.format)
		var got []string
		for _, u := range l.Unread {
			got = append(got, u.String())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestAColumnSaysWhatWasReadOfIt(t *testing.T) {
	l := read(t, "ref,full name,born,nation,remarks\na,Viktor Zamoyskov,1961;vor 1950,Russia,see file 1\nb,Asha Rao,1990,India,see file 1\nc,Ravi Kumar,1991,,see file 2\n",
		watchlist.Format{Columns: map[string]string{"id": "ref", "name": "full name", "birth_date": "born", "countries": "nation"}})
	want := []watchlist.Column{
		{Name: "ref", ReadAs: "id", Read: 3},
		{Name: "full name", ReadAs: "name", Read: 3},
		{Name: "born", ReadAs: "birth_date", Read: 3, Unread: 1, Examples: []string{"vor 1950"}},
		{Name: "nation", ReadAs: "countries", Read: 2},
		{Name: "remarks", Unread: 3, Examples: []string{"see file 1", "see file 2"}},
	}
	if diff := cmp.Diff(want, l.Columns, cmpopts.IgnoreUnexported(watchlist.Column{})); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

func TestWhatIsKeptOfColumnsIsBounded(t *testing.T) {
	var properties []string
	for i := range 5000 {
		properties = append(properties, fmt.Sprintf(`"p%s%d":["%s","b","c","d"]`, strings.Repeat("x", 500), i, strings.Repeat("é\u001b", 200)))
	}
	l := read(t, `{"id":"a","schema":"Person","caption":"Viktor Zamoyskov","properties":{`+strings.ReplaceAll(strings.Join(properties, ","), "\u001b", `\u001b`)+`}}`, watchlist.Format{})
	values := 0
	for _, c := range l.Columns {
		values += c.Unread
		if len(c.Examples) > 3 || len(c.Name) > 200 || slices.ContainsFunc(c.Examples, func(example string) bool { return len(example) > 60 || strings.ContainsRune(example, '\u001b') }) {
			t.Fatalf("column %.300q", fmt.Sprint(c))
		}
	}
	if len(l.Columns) > 301 || values != 20_000 {
		t.Errorf("%d columns of %d values, want at most 301 of 20000", len(l.Columns), values)
	}
}

// The log of a host has no values of a list.
func TestExamplesAreNotLogged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.csv")
	rewrite(t, path, "id,name,birth_date,nick\na,Viktor Zamoyskov,before 1950,Vitya\nb,Asha Rao,1990,\n", start)
	var log strings.Builder
	if _, err := watchlist.Open(t.Context(), []watchlist.Source{{Name: "l", Path: path}}, watchlist.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"nick": true, "birth_date": true, "aaaaaa 9999": true, "Vitya": false, "before": false} {
		if strings.Contains(log.String(), text) != want {
			t.Errorf("%q in the log: %t, want %t:\n%s", text, !want, want, &log)
		}
	}
}

func TestAbbreviationsOfFollowTheMoneyAreNames(t *testing.T) {
	l := read(t, `{"id":"a","schema":"Organization","properties":{"name":["Velmor Group"],"abbreviation":["VLMG","Velm Net"]}}`, watchlist.Format{})
	for name, want := range map[string]int{"VLMG": 1, "vlmg": 1, "Velm Net": 1, "VLMH": 0} {
		if hits := find(t, l, watchlist.Subject{Kind: names.Company, Name: name}); len(hits) != want {
			t.Errorf("%s finds %+v, want %d hits", name, hits, want)
		}
	}
}

func TestTheConsolidatedScreeningListMayBeAnArray(t *testing.T) {
	const entry = `{"id":"a","source":"x","name":"Viktor Zamoyskov","type":"Individual","alt_names":["Vitya Orlov"],"dates_of_birth":["1961"],"ids":[{"type":"Passport","number":"750123456"}]}`
	for name, text := range map[string]string{
		"array": "[" + entry + "]", "results": `{"results":[` + entry + `]}`, "results among others": `{"sources":[{"a":[1]}],"results":[` + entry + `],"total":1}`,
	} {
		l := read(t, text, watchlist.Format{})
		if hits := find(t, l, watchlist.Subject{Kind: names.Person, Name: "Vitya Orlov"}); len(hits) != 1 || l.Format != "csl (consolidated.json)" || l.Entries != 1 {
			t.Errorf("%s: %s, %d entries, %+v", name, l.Format, l.Entries, hits)
		}
	}
	for name, text := range map[string]string{"cut off": `{"results":[` + entry + `,{"id":`, "no object": `{"results":[` + entry + `,1]}`, "no results": `{"results":[]}`} {
		if _, err := watchlist.Read(t.Context(), strings.NewReader(text), watchlist.Format{}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one in one line", name, err)
		}
	}
}
