// Tests of hits: exact names and identifiers, and what they say differs.

package watchlist_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

var (
	viktor = watchlist.Entry{
		ID: "viktor", Name: "Viktor Zamoyskov", Aliases: []string{"Vitya Z."}, Person: true, BirthDates: []string{"1961-03-14"}, Countries: []string{"ru"},
		Identifiers: []watchlist.Identifier{{Type: watchlist.Passport, Value: "AB 123456"}, {Type: watchlist.OtherDocument, Value: "Z-77"}},
	}
	peregrine = watchlist.Entry{
		ID: "peregrine", Name: "Golden Peregrine Ltd", Company: true, Countries: []string{"mh"},
		Identifiers: []watchlist.Identifier{{Type: watchlist.LEI, Value: "5493001KJTIIGC8Y1R12"}, {Type: watchlist.Registration, Value: "7001"}},
	}
)

func TestAnExactNameIsAlwaysAHit(t *testing.T) {
	l := watchlist.ListOf(viktor, peregrine)
	for _, tc := range []struct {
		name    string
		subject watchlist.Subject
		reasons []string
	}{
		{"as it stands", watchlist.Subject{Name: "Viktor Zamoyskov"}, []string{"the name is the same"}},
		{"in other letters", watchlist.Subject{Name: "VIKTOR  zamoyskóv."}, []string{"the name is the same"}},
		{"an alias", watchlist.Subject{Name: "Vitya Z."}, []string{"the name is the same"}},
		{"the same birth date", watchlist.Subject{Name: "Viktor Zamoyskov", BirthDate: "1961-03-14"}, []string{"the name is the same", "the birth date is the same: 1961-03-14"}},
		{"another day", watchlist.Subject{Name: "Viktor Zamoyskov", BirthDate: "1961-03-15"}, []string{"the name is the same", "the birth date differs a little: 1961-03-15, listed 1961-03-14"}},
		{"digits swapped", watchlist.Subject{Name: "Viktor Zamoyskov", BirthDate: "1916-03-14"}, []string{"the name is the same", "the birth date differs: 1916-03-14, listed 1961-03-14"}},
		{"another country", watchlist.Subject{Name: "Viktor Zamoyskov", Countries: []string{"fr"}}, []string{"the name is the same", "no country is the same: listed Russia"}},
		{"a person as a company", watchlist.Subject{Kind: names.Company, Name: "Viktor Zamoyskov"}, []string{"the name is the same", "listed as a person"}},
		{"a company as a person", watchlist.Subject{Name: "golden-peregrine LTD"}, []string{"the name is the same", "listed as a company"}},
		{
			"all of it",
			watchlist.Subject{Kind: names.Company, Name: "viktor zamoyskov", BirthDate: "1999", Countries: []string{"fr"}},
			[]string{"the name is the same", "no country is the same: listed Russia", "listed as a person"},
		},
	} {
		if tc.subject.Kind == "" {
			tc.subject.Kind = names.Person
		}
		found, err := l.Search(tc.subject, 1)
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Score != 1 {
			t.Errorf("%s: %+v, %v, want one hit with the score 1", tc.name, found, err)
			continue
		}
		if diff := cmp.Diff(tc.reasons, found.Hits[0].Reasons); diff != "" {
			t.Errorf("%s: reasons (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestAnExactNameComesBeforeSimilarNames(t *testing.T) {
	var entries []watchlist.Entry
	for i := range 30 {
		entries = append(entries, watchlist.Entry{ID: fmt.Sprint("a", i), Name: "Youssef Karamanov", Person: true, BirthDates: []string{"1970-01-02"}})
	}
	entries = append(entries, watchlist.Entry{ID: "z", Name: "Yusuf Karamanov", Person: true, BirthDates: []string{"1950"}})
	found, err := watchlist.ListOf(entries...).Search(watchlist.Subject{Kind: names.Person, Name: "Yusuf Karamanov", BirthDate: "1970-01-02"}, 0.85)
	if err != nil || len(found.Hits) != 10 || found.Hits[0].ID != "z" || found.Total != 31 {
		t.Errorf("%d of %d hits, the first %+v, %v; want 10 of 31 and z first", len(found.Hits), found.Total, found.Hits, err)
	}
}

func TestAnEqualIdentifierIsAHitWhateverTheName(t *testing.T) {
	l := watchlist.ListOf(viktor, peregrine)
	const other = "the name is not like the listed name"
	for _, tc := range []struct {
		kind       names.Kind
		name       string
		identifier watchlist.Identifier
		want       string // of the entry
		reasons    []string
	}{
		{names.Person, "Asha Rao", watchlist.Identifier{Type: watchlist.Passport, Value: "ab123456"}, "viktor", []string{"the passport number is the same: AB 123456", other}},
		{names.Person, "Asha Rao", watchlist.Identifier{Type: watchlist.OtherDocument, Value: "AB-123456"}, "viktor", []string{"the passport number is the same: AB 123456", other}},
		{names.Person, "Asha Rao", watchlist.Identifier{Type: watchlist.NationalID, Value: "Z77"}, "viktor", []string{"the national number is the same: Z-77", other}},
		{names.Person, "Asha Rao", watchlist.Identifier{Type: watchlist.OtherDocument, Value: "Z77"}, "viktor", []string{"the identifier is the same: Z-77", other}},
		{names.Person, "Asha Rao", watchlist.Identifier{Type: watchlist.TaxNumber, Value: "AB123456"}, "", nil},
		{names.Person, "Asha Rao", watchlist.Identifier{Type: watchlist.Passport, Value: " "}, "", nil},
		{names.Company, "Acme", watchlist.Identifier{Type: watchlist.LEI, Value: "5493 001K JTII GC8Y 1R12"}, "peregrine", []string{"the LEI is the same: 5493001KJTIIGC8Y1R12", other}},
		{names.Person, "Asha Rao", watchlist.Identifier{Type: watchlist.Registration, Value: "7001"}, "peregrine", []string{"the registration number is the same: 7001", other, "listed as a company"}},
		{
			names.Person, "Viktor Zamoyskov",
			watchlist.Identifier{Type: watchlist.Passport, Value: "AB123456"},
			"viktor",
			[]string{"the passport number is the same: AB 123456", "the name is the same"},
		},
		{
			names.Person, "Zamoyskov, Viktor",
			watchlist.Identifier{Type: watchlist.Passport, Value: "AB123456"},
			"viktor",
			[]string{"the passport number is the same: AB 123456", "Viktor is the same", "Zamoyskov is the same"},
		},
	} {
		found, err := l.Search(watchlist.Subject{Kind: tc.kind, Name: tc.name, Identifiers: []watchlist.Identifier{tc.identifier}}, 1)
		var got watchlist.Hit
		if len(found.Hits) > 0 {
			got = found.Hits[0]
		}
		slices.Sort(got.Reasons)
		slices.Sort(tc.reasons)
		if diff := cmp.Diff(tc.reasons, got.Reasons); diff != "" || err != nil || got.ID != tc.want || tc.want != "" && got.Score != 1 {
			t.Errorf("%s %+v: %+v, %v; want %q (-want +got):\n%s", tc.name, tc.identifier, got, err, tc.want, diff)
		}
	}
}

func TestApproximateBirthDatesExplainOtherDates(t *testing.T) {
	for _, tc := range []struct {
		listed, date, reason string
		clears               bool
	}{
		{"1961-03-14", "1961-03-14", "the birth date is the same", false},
		{"1961-03-12", "1961-12-03", "the birth date is the same", false},
		{"1961-03-14", "1961-03", "the year of birth is the same", false},
		{"1961-03-14", "1961-08-01", "differs a little", false},
		{"1961-03-14", "1962-03-14", "differs a little", false},
		{"1961-03-14", "1963-03-14", "the birth date differs:", true},
		{"1961-03", "1963-03-14", "the birth date differs:", true},
		{"1961", "1961-08-01", "the year of birth is the same", false},
		{"1961", "1963-03-14", "the birth date differs:", false},
		{"1961", "1964-03-14", "the birth date differs:", true},
		{"~1965", "1961-08-01", "the year of birth may be the same", false},
		{"~1965-02-01", "1970", "the year of birth may be the same", false},
		{"~1965", "1971", "the birth date differs:", true},
		{"1960..1965", "1962-01-01", "the year of birth may be the same", false},
		{"1960-01-01..1965-12-31", "1965", "the year of birth may be the same", false},
		{"1960..1965", "1966", "differs a little", false},
		{"1960..1965", "1958", "the birth date differs:", false},
		{"1960..1965", "1957", "the birth date differs:", true},
		{"1950-01-01;1961-03-14", "1961-03-14", "the birth date is the same", false},
		{"1950-01-01;1961", "1963-03-14", "the birth date differs:", false},
		{"1950-01-01;1961", "1970-03-14", "the birth date differs:", true},
		{"about sixty", "1970-03-14", "", false},
		{"about sixty;1961", "1970-03-14", "the birth date differs:", false},
	} {
		listed := strings.Split(tc.listed, ";")
		l := watchlist.ListOf(watchlist.Entry{ID: "1", Name: "Ivan Testov", Person: true, BirthDates: listed})
		found, err := l.Search(watchlist.Subject{Kind: names.Person, Name: "Ivan Testov", BirthDate: tc.date}, 1)
		if err != nil || len(found.Hits) != 1 || !strings.Contains(strings.Join(found.Hits[0].Reasons[1:], "; "), tc.reason) {
			t.Errorf("%s and %s: %+v, %v, want a hit with %q", tc.listed, tc.date, found.Hits, err, tc.reason)
		}
		if got := watchlist.Clears(tc.date, listed); got != tc.clears {
			t.Errorf("%s clears %s: %t", tc.date, tc.listed, got)
		}
	}
}
