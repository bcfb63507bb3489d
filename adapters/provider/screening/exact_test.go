// Exact lookup.

package screening_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/names"
)

func TestAnEqualNameIsFoundWhateverItsKind(t *testing.T) {
	l := screening.ListOf(
		screening.Entry{ID: "a", Name: "José Ángel", Aliases: []string{"Хосе"}, Person: true},
		screening.Entry{ID: "b", Name: "Jose-Angel", Company: true},
		screening.Entry{ID: "c", Name: "Other", Aliases: []string{"JOSE ANGEL"}, Person: true, Company: true},
		screening.Entry{ID: "d", Name: "Jose Angela", Person: true},
	)
	for text, want := range map[string][]string{"jose angel": {"a", "b", "c"}, "ХОСЕ": {"a"}, "Angel Jose": nil, "": nil, "...": nil} {
		if diff := cmp.Diff(want, l.Equal(text)); diff != "" {
			t.Errorf("names equal to %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestAnEqualIdentifierIsFound(t *testing.T) {
	l := screening.ListOf(
		screening.Entry{ID: "a", Name: "A", Person: true, Identifiers: []screening.Identifier{{Type: screening.Passport, Value: "ab 12-34"}, {Type: screening.TaxNumber, Value: "9"}}},
		screening.Entry{ID: "b", Name: "B", Person: true, Identifiers: []screening.Identifier{{Type: screening.OtherDocument, Value: "AB1234"}}},
		screening.Entry{ID: "c", Company: true, Identifiers: []screening.Identifier{{Type: screening.LEI, Value: "AB1234"}, {Type: screening.LEI, Value: "-"}}},
	)
	for _, tc := range []struct {
		kind  screening.IdentifierType
		value string
		want  []string
	}{
		{screening.Passport, "AB/1234", []string{"a", "b"}},
		{screening.LEI, "ab1234", []string{"b", "c"}},
		{screening.OtherDocument, "ＡＢ1234", []string{"a", "b", "c"}},
		{screening.NationalID, "9", nil},
		{screening.LEI, "--", nil},
	} {
		if diff := cmp.Diff(tc.want, l.Identified(screening.Identifier{Type: tc.kind, Value: tc.value})); diff != "" {
			t.Errorf("entries with the %s %q (-want +got):\n%s", tc.kind, tc.value, diff)
		}
	}
}

func TestNamesThatAreNotComparedAreCounted(t *testing.T) {
	aliases := make([]string, 0, 601)
	for i := range cap(aliases) {
		aliases = append(aliases, fmt.Sprintf("Alias Number%d", i))
	}
	l := screening.ListOf(
		screening.Entry{ID: "many", Name: "Many Names", Aliases: aliases, Person: true},
		screening.Entry{ID: "marks", Name: "?", Aliases: []string{"Marks", "&"}, Company: true, Person: true},
		screening.Entry{ID: "nothing", Name: "?", Person: true},
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
	l := screening.ListOf(screening.Entry{ID: "a", Name: "Viktor Zamoyskov", Weak: []string{"Vitya"}, Person: true})
	for name, want := range map[string]int{"VITYA": 1, "Vitja": 0, "Vitya Petrov": 0, "Viktor Zamoiskov": 1} {
		if hits := find(t, l, screening.Subject{Kind: names.Person, Name: name}); len(hits) != want {
			t.Errorf("a search for %s has %d hits, want %d", name, len(hits), want)
		}
	}
	if tested, err := l.SelfTest(t.Context(), 0, time.Now); err != nil || tested.Names != 2 || len(tested.Lost) > 0 {
		t.Errorf("self-test: %+v, %v, want 2 names, found", tested, err)
	}
}
