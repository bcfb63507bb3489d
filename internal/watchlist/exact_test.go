// Exact lookup.

package watchlist_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

func TestAnEqualNameIsFoundWhateverItsKind(t *testing.T) {
	l := watchlist.ListOf(
		watchlist.Entry{ID: "a", Name: "José Ángel", Aliases: []string{"Хосе"}, Person: true},
		watchlist.Entry{ID: "b", Name: "Jose-Angel", Company: true},
		watchlist.Entry{ID: "c", Name: "Other", Aliases: []string{"JOSE ANGEL"}, Person: true, Company: true},
		watchlist.Entry{ID: "d", Name: "Jose Angela", Person: true},
	)
	for text, want := range map[string][]string{"jose angel": {"a", "b", "c"}, "ХОСЕ": {"a"}, "Angel Jose": nil, "": nil, "...": nil} {
		if diff := cmp.Diff(want, l.Equal(text)); diff != "" {
			t.Errorf("names equal to %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestAnEqualIdentifierIsFound(t *testing.T) {
	l := watchlist.ListOf(
		watchlist.Entry{ID: "a", Name: "A", Person: true, Identifiers: []watchlist.Identifier{{Type: watchlist.Passport, Value: "ab 12-34"}, {Type: watchlist.TaxNumber, Value: "9"}}},
		watchlist.Entry{ID: "b", Name: "B", Person: true, Identifiers: []watchlist.Identifier{{Type: watchlist.OtherDocument, Value: "AB1234"}}},
		watchlist.Entry{ID: "c", Company: true, Identifiers: []watchlist.Identifier{{Type: watchlist.LEI, Value: "AB1234"}, {Type: watchlist.LEI, Value: "-"}}},
	)
	for _, tc := range []struct {
		kind  watchlist.IdentifierType
		value string
		want  []string
	}{
		{watchlist.Passport, "AB/1234", []string{"a", "b"}},
		{watchlist.LEI, "ab1234", []string{"b", "c"}},
		{watchlist.OtherDocument, "ＡＢ1234", []string{"a", "b", "c"}},
		{watchlist.NationalID, "9", nil},
		{watchlist.LEI, "--", nil},
	} {
		if diff := cmp.Diff(tc.want, l.WithID(watchlist.Identifier{Type: tc.kind, Value: tc.value})); diff != "" {
			t.Errorf("entries with the %s %q (-want +got):\n%s", tc.kind, tc.value, diff)
		}
	}
}

func TestNamesThatAreNotComparedAreCounted(t *testing.T) {
	aliases := make([]string, 0, 601)
	for i := range cap(aliases) {
		aliases = append(aliases, fmt.Sprintf("Alias Number%d", i))
	}
	l := watchlist.ListOf(
		watchlist.Entry{ID: "many", Name: "Many Names", Aliases: aliases, Person: true},
		watchlist.Entry{ID: "marks", Name: "?", Aliases: []string{"Marks", "&"}, Company: true, Person: true},
		watchlist.Entry{ID: "nothing", Name: "?", Person: true},
	)
	if got, want := l.Uncompared, 102+2+1; got != want {
		t.Errorf("Uncompared = %d, want %d", got, want)
	}
	if got, want := l.Entries, 2; got != want {
		t.Errorf("Entries = %d, want %d", got, want)
	}
	if diff := cmp.Diff([]string{"many"}, l.Equal("alias number600")); diff != "" {
		t.Errorf("an alias after the 500th (-want +got):\n%s", diff)
	}
}

func TestAWeakAliasOfOneWordIsFoundAsWritten(t *testing.T) {
	l := watchlist.ListOf(watchlist.Entry{ID: "a", Name: "Viktor Zamoyskov", Weak: []string{"Vitya"}, Person: true})
	for name, want := range map[string]int{"VITYA": 1, "Vitja": 0, "Vitya Petrov": 0, "Viktor Zamoiskov": 1} {
		if hits := find(t, l, watchlist.Subject{Kind: names.Person, Name: name}); len(hits) != want {
			t.Errorf("a search for %s has %d hits, want %d", name, len(hits), want)
		}
	}
	if tested, err := l.SelfTest(t.Context(), 0, time.Now); err != nil || tested.Names != 2 || len(tested.Lost) > 0 {
		t.Errorf("self-test: %+v, %v, want 2 names, found", tested, err)
	}
}
