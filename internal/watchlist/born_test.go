// Tests of birth dates as lists write them.

package watchlist_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

func TestBirthDatesAreReadAsListsWriteThem(t *testing.T) {
	for text, want := range map[string][]string{
		"1961": {"1961"}, "1961-03": {"1961-03"}, "1961-03-14": {"1961-03-14"}, "1961-03-14T00:00:00": {"1961-03-14"}, "1961-00-00": {"1961"}, "1961-03-00": {"1961-03"},
		"14/03/1961": {"1961-03-14"}, "00/00/1961": {"1961"}, "00/03/1961": {"1961-03"}, "dd/mm/1961": {"1961"}, "14.3.1961": {"1961-03-14"}, "03/14/1961": {"1961-03-14"},
		"14 Mar 1961": {"1961-03-14"}, "14 March 1961": {"1961-03-14"}, "14-Mar-1961": {"1961-03-14"}, "March 14, 1961": {"1961-03-14"}, "Mar. 14, 1961": {"1961-03-14"}, "14th March 1961": {"1961-03-14"},
		"Nov. 1973": {"1973-11"}, "Sept. 1973": {"1973-09"}, "August 1971 ": {"1971-08"}, "1961/03/14": {"1961-03-14"}, "19610314": {"1961-03-14"}, "born": {"?born"},
		// approximate dates
		"circa 1961": {"~1961"}, "Circa 1961": {"~1961"}, "c. 1961": {"~1961"}, "c.1961": {"~1961"}, "c1961": {"~1961"}, "ca. 1961": {"~1961"}, "approximately 1961": {"~1961"}, "Approx. 1961": {"~1961"},
		"about 1961": {"~1961"}, "~1961": {"~1961"}, "1961 (approx.)": {"~1961"}, "1961?": {"~1961"}, "circa Mar 1961": {"~1961-03"}, "1960s": {"1960..1969"}, "1960's": {"1960..1969"}, "early 1961": {"~1961"}, "circa 1960-1962": {"1960..1962"}, "between circa 1960 and 1962": {"1960..1962"}, "from 1960 to approx. 1962": {"1960..1962"},
		// ranges
		"1960 to 1962": {"1960..1962"}, "1960-1962": {"1960..1962"}, "1960-62": {"1960..1962"}, "1960/1962": {"1960..1962"}, "between 1960 and 1962": {"1960..1962"}, "1960..1962": {"1960..1962"},
		"Between Aug. and Sep. 1977": {"1977-08..1977-09"}, "1 Mar to 14 Apr 1961": {"1961-03-01..1961-04-14"},
		// several
		"1958, 1960": {"1958", "1960"}, "1958 or 1960": {"1958", "1960"}, "14 Mar 1961; circa 1963": {"1961-03-14", "~1963"}, "1958, vor 1950": {"1958", "?1958, vor 1950"},
		// what is no date of birth
		"1961-13": {"?1961-13"}, "197O": {"?197O"}, "1340-07-01": {"?1340-07-01"}, "before 1950": {"?before 1950"}, "1963-1961": {"?1963-1961"}, "31/02/1961": {"?31/02/1961"}, "unknown": nil, "": nil,
	} {
		file := "id,name,birth_date\ne,Viktor Zamoyskov,\"" + text + "\"\n" + strings.Repeat("o,Asha Rao,1990\n", 3)
		l, err := watchlist.Read(t.Context(), strings.NewReader(file), watchlist.Format{Type: watchlist.CSV})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, l.All()[0].BirthDates); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// loadedOn returns a list of own columns, as a host reads it on 28 November 2026.
func loadedOn(t *testing.T, content string) *watchlist.List {
	t.Helper()
	l, err := watchlist.Load(t.Context(), watchlist.Source{
		Path: "l.csv", Files: fstest.MapFS{"l.csv": {Data: []byte(content)}}, Format: watchlist.Format{Type: watchlist.CSV}, Today: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBracketsBesideADateCount(t *testing.T) {
	for text, want := range map[string]string{
		// approximate dates
		"1959 (estimated)": "~1959", "1959 (est.)": "~1959", "1959 (c.)": "~1959", "1959 (ca)": "~1959", "(c.) 1959": "~1959", "1959 (?)": "~1959", "1959 [?]": "~1959", "1959 [approx.]": "~1959",
		"1959 (probably)": "~1959", "1959 (not confirmed)": "~1959", "1959 (alleged)": "~1959", "1959 (ungefähr)": "~1959", "14 Mar 1959 (unverified)": "~1959-03-14", "1959 (passport?)": "~1959",
		// where it is from
		"1959 (passport)": "1959", "14/03/1959 (as per passport)": "1959-03-14", "1959 (national ID card)": "1959", "14 Mar 1959 (Gregorian)": "1959-03-14", "1959 (Gregorian calendar)": "1959",
		"1959 (Iranian passport)": "1959",
		// other calendars
		"05/07/1951 (Ethiopian)": "?05/07/1951 (Ethiopian)", "1951 (E.C.)": "?1951 (E.C.)", "1951 (EC)": "?1951 (EC)", "1880 (Saka era)": "?1880 (Saka era)", "2016 (B.S.)": "?2016 (B.S.)",
		"2016 (Bikram Sambat)": "?2016 (Bikram Sambat)", "2016 [Nepali]": "?2016 [Nepali]", "1378 (A.H.)": "?1378 (A.H.)", "1959 (Julian calendar)": "?1959 (Julian calendar)", "1959 (lunar)": "?1959 (lunar)",
		"1959 (old calendar)": "?1959 (old calendar)", "(Ethiopian) 1951": "?(Ethiopian) 1951",
		// what is no birth date of anybody
		"2031-01-01": "?2031-01-01", "2026-12-01": "?2026-12-01", "1849": "?1849", "1894": "?1894", "1895": "1895", "2026": "2026", "1900-01-01": "?1900-01-01", "1890 to 1899": "1890..1899", "1880-1885": "?1880-1885",
		"circa 1850": "?circa 1850", "1959 (born 1961)": "?1959 (born 1961)",
	} {
		l := loadedOn(t, "id,name,birth_date\ne,Viktor Zamoyskov,\""+text+"\"\n"+strings.Repeat("o,Asha Rao,1990\n", 3))
		if diff := cmp.Diff([]string{want}, l.All()[0].BirthDates); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if unread := strings.HasPrefix(want, "?"); unread != (len(l.Unread) == 1) {
			t.Errorf("%q: not used %v, want it to be named %t", text, l.Unread, unread)
		}
		uncleared, err := l.Uncleared(watchlist.Subject{Kind: names.Person, Name: "Viktor Zamoyskov", BirthDate: "1963-09-01"}, 0.85)
		if cleared := want == "1959" || strings.HasPrefix(want, "1959-") || want == "1895" || want == "2026" || want == "1890..1899"; err != nil || cleared != (uncleared == 0) {
			t.Errorf("%q: %d hits of somebody born in 1963 are left (%v), want cleared %t", text, uncleared, err, cleared)
		}
	}
}

func TestTheNoteOfTheUNNamesTheCalendar(t *testing.T) {
	for note, want := range map[string][]string{
		"Gregorian calendar": {"1959"}, "Ethiopian calendar": {"?1959 (Ethiopian calendar)"}, "5/7/1951 (Ethiopian)": {"1959", "?5/7/1951 (Ethiopian)"}, "": {"1959"}, "According to his brother": {"1959"},
	} {
		l := read(t, "<CONSOLIDATED_LIST><INDIVIDUALS><INDIVIDUAL><DATAID>1</DATAID><FIRST_NAME>ASHA</FIRST_NAME><SECOND_NAME>VELMORA</SECOND_NAME>"+
			"<INDIVIDUAL_DATE_OF_BIRTH><YEAR>1959</YEAR><NOTE>"+note+"</NOTE></INDIVIDUAL_DATE_OF_BIRTH></INDIVIDUAL>"+
			strings.Repeat("<INDIVIDUAL><DATAID>2</DATAID><FIRST_NAME>IVAN</FIRST_NAME><INDIVIDUAL_DATE_OF_BIRTH><YEAR>1970</YEAR></INDIVIDUAL_DATE_OF_BIRTH></INDIVIDUAL>", 3)+
			"</INDIVIDUALS></CONSOLIDATED_LIST>", watchlist.Format{})
		if diff := cmp.Diff(want, l.All()[0].BirthDates); diff != "" {
			t.Errorf("%q (-want +got):\n%s", note, diff)
		}
	}
}

// Dates of the list of the UN: of aliases, in notes, and one that cannot be read.
const unDates = `<CONSOLIDATED_LIST><INDIVIDUALS>
<INDIVIDUAL><DATAID>alias</DATAID><FIRST_NAME>VIKTOR</FIRST_NAME><SECOND_NAME>ZAMOYSKOV</SECOND_NAME>
 <INDIVIDUAL_ALIAS><QUALITY>Good</QUALITY><ALIAS_NAME>Ivan Testov</ALIAS_NAME><DATE_OF_BIRTH>31 Dec. 1979</DATE_OF_BIRTH></INDIVIDUAL_ALIAS>
 <INDIVIDUAL_ALIAS><QUALITY>Good</QUALITY><ALIAS_NAME>Pavel Orlov</ALIAS_NAME><NOTE>Date of birth: 10 Jun 1982</NOTE></INDIVIDUAL_ALIAS>
 <INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>EXACT</TYPE_OF_DATE><DATE>1961-09-28</DATE></INDIVIDUAL_DATE_OF_BIRTH></INDIVIDUAL>
<INDIVIDUAL><DATAID>note</DATAID><FIRST_NAME>ASHA</FIRST_NAME><SECOND_NAME>VELMORA</SECOND_NAME>
 <INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>APPROXIMATELY</TYPE_OF_DATE><YEAR>1958</YEAR><NOTE>Gregorian calendar</NOTE></INDIVIDUAL_DATE_OF_BIRTH>
 <INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>EXACT</TYPE_OF_DATE><NOTE>Between Aug. and Sep. 1977</NOTE></INDIVIDUAL_DATE_OF_BIRTH></INDIVIDUAL>
<INDIVIDUAL><DATAID>unread</DATAID><FIRST_NAME>KARIM</FIRST_NAME><SECOND_NAME>NORDIC</SECOND_NAME>
 <INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>EXACT</TYPE_OF_DATE><YEAR>1959</YEAR></INDIVIDUAL_DATE_OF_BIRTH>
 <INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>EXACT</TYPE_OF_DATE><NOTE>two years after the flood of 1971</NOTE></INDIVIDUAL_DATE_OF_BIRTH></INDIVIDUAL>
</INDIVIDUALS></CONSOLIDATED_LIST>`

func TestEachBirthDateOfAnEntryCounts(t *testing.T) {
	l := read(t, unDates, watchlist.Format{})
	want := map[string][]string{
		"alias": {"1979-12-31", "1982-06-10", "1961-09-28"}, "note": {"~1958", "1977-08..1977-09"}, "unread": {"1959", "?two years after the flood of 1971"},
	}
	for _, e := range l.All() {
		if diff := cmp.Diff(want[e.ID], e.BirthDates); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.ID, diff)
		}
	}
	for _, tc := range []struct {
		name, born, reason string
		uncleared          int
	}{
		{"Ivan Testov", "1979-12-31", "the birth date is the same: 1979-12-31, 1982-06-10, 1961-09-28", 1},
		{"Viktor Zamoyskov", "1982-06-10", "the birth date is the same: 1979-12-31, 1982-06-10, 1961-09-28", 1},
		{"Viktor Zamoyskov", "1941-01-01", "the birth date differs: 1941-01-01, listed 1979-12-31, 1982-06-10, 1961-09-28", 0},
		{"Asha Velmora", "1977-08-20", "the year of birth may be the same: listed ~1958, 1977-08..1977-09", 1},
		{"Asha Velmora", "1999-01-01", "the birth date differs: 1999-01-01, listed ~1958, 1977-08..1977-09", 0},
		{"Karim Nordic", "1999-01-01", "a listed birth date cannot be read: two years after the flood of 1971", 1},
	} {
		s := watchlist.Subject{Kind: names.Person, Name: tc.name, BirthDate: tc.born}
		hits := find(t, l, s)
		if len(hits) != 1 || !slices.Contains(hits[0].Reasons, tc.reason) {
			t.Errorf("%s, born %s: %+v, want the reason %q", tc.name, tc.born, hits, tc.reason)
		}
		if n, err := l.Uncleared(s, 0.85); err != nil || n != tc.uncleared {
			t.Errorf("%s, born %s: %d hits are left, %v, want %d", tc.name, tc.born, n, err, tc.uncleared)
		}
	}
	if got := fmt.Sprint(l.Unread); got != `[1 of 7 birth_date, first aaa aaaaa aaaaa aaa aaaaa aa 9999 in entry "unread"]` {
		t.Errorf("not read: %s", got)
	}
}

// A name that is only alike is not lost because one of two dates differs and the other one cannot be read.
func TestAnUnreadDateLowersNoScore(t *testing.T) {
	l := read(t, "id,name,birth_date\na,Viktor Zamoyskov,1959;some day\nb,Asha Rao,1990\n", watchlist.Format{Type: watchlist.CSV})
	s := watchlist.Subject{Kind: names.Person, Name: "Viktor Zamoiskow"}
	without := find(t, l, s)
	s.BirthDate = "1999-01-01"
	with := find(t, l, s)
	if len(without) != 1 || len(with) != 1 || with[0].Score != without[0].Score || !strings.Contains(strings.Join(with[0].Reasons, "; "), "a listed birth date cannot be read: some day") {
		t.Errorf("without a date %+v, with another one %+v, want the same score and a reason", without, with)
	}
}
