// Tests of the providers.

package screening_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

const fictional = "../../../hosts/verifyd/demo/fictional-list.csv"

func opened(t *testing.T) *screening.Lists {
	t.Helper()
	lists, err := screening.Open(t.Context(), []screening.Source{{
		Name: "fictional", Path: fictional, Format: screening.Format{Type: watchlist.OpenSanctions}, MaxAge: time.Hour,
	}}, screening.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return lists
}

func TestOutcomesOfScreening(t *testing.T) {
	lists := opened(t)
	list, _ := lists.List("fictional", time.Time{})
	for _, tc := range []struct {
		name     string
		with     map[string]any
		age      time.Duration
		outcome  verification.CheckOutcome
		analysis bool
		hits     int
	}{
		{"nobody like that", map[string]any{"name": "Asha Rao"}, 0, verification.OutcomePassed, true, 0},
		{"a hit goes to review", map[string]any{"name": "Viktor Zamoyskov"}, 0, verification.OutcomePassed, false, 1},
		{"below review_at", map[string]any{"name": "Viktor Zamoyskow", "review_at": 0.99}, 0, verification.OutcomePassed, true, 0},
		{"from fail_at", map[string]any{"name": "Viktor Zamoyskov", "fail_at": 0.9}, 0, verification.OutcomeFailed, false, 1},
		{"below fail_at", map[string]any{"name": "Viktor Zamoyskow", "fail_at": 1.0}, 0, verification.OutcomePassed, false, 1},
		{"an old list", map[string]any{"name": "Viktor Zamoyskov"}, 2 * time.Hour, verification.OutcomePassed, false, 1},
		{"another birth date", map[string]any{"name": "Viktor Zamoyskov", "birth_date": "1999-01-01", "countries": []any{"ru"}}, 0, verification.OutcomePassed, true, 0},
		{"a company", map[string]any{"name": "Golden Peregrine Shipping", "kind": "company", "countries": "mh"}, 0, verification.OutcomePassed, false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := screening.NewProvider(lists, func() time.Time { return list.Date.Add(tc.age) })
			with := map[string]any{"list": "fictional", "kind": "person"}
			for k, v := range tc.with {
				with[k] = v
			}
			r, err := p.Check(t.Context(), verification.CheckRequest{With: with})
			if err != nil {
				t.Fatal(err)
			}
			hits, _ := r.Data["hits"].([]watchlist.Hit)
			if r.Outcome != tc.outcome || r.Data["analysis_ok"] != tc.analysis || len(hits) != tc.hits || r.Data["source_ok"] != (tc.age == 0) {
				t.Errorf("outcome %s, data %v", r.Outcome, r.Data)
			}
			best := 0.0
			if tc.hits > 0 {
				best = hits[0].Score
			}
			if r.Data["score"] != best {
				t.Errorf("score %v, want %v", r.Data["score"], best)
			}
			if r.Data["list_version"] != list.Version || r.Data["list_date"] != list.Date.Format(time.RFC3339) {
				t.Errorf("data %v, want the version and the date of the list", r.Data)
			}
			known := verification.ScreeningResult{List: "fictional", ListVersion: list.Version}
			for _, h := range hits {
				known.Hits = append(known.Hits, verification.Hit(h))
			}
			if diff := cmp.Diff(&known, r.Screening); diff != "" {
				t.Errorf("screening, compared with the data (-want +got):\n%s", diff)
			}
			fits(t, p, with, r.Data)
		})
	}
}

func TestOutcomesOfNameMatch(t *testing.T) {
	p := screening.NewNameMatch()
	for _, tc := range []struct {
		with map[string]any
		want verification.CheckOutcome
	}{
		{map[string]any{"name": "Rajesh Kumar", "other": "कुमार राजेश"}, verification.OutcomePassed},
		{map[string]any{"name": "Rajesh Kumar", "other": "Ramesh Kumar"}, verification.OutcomeFailed},
		{map[string]any{"name": "Rajesh Kumar", "other": "Rajesh K.", "threshold": 0.99}, verification.OutcomeFailed},
		{map[string]any{"name": "Acme Ltd", "other": "ACME Limited", "kind": "company"}, verification.OutcomePassed},
		{map[string]any{"name": "Acme Ltd", "other": "Acme LLP", "kind": "company"}, verification.OutcomeFailed},
		{map[string]any{"name": "Asha Rao Rajesh Kumar", "other": "Rajesh Kumar", "threshold": 0.5}, verification.OutcomeFailed},
		{map[string]any{"name": "Rajesh Kumar S/O Mohan Lal", "other": "Rajesh Kumar"}, verification.OutcomePassed},
	} {
		r, err := p.Check(t.Context(), verification.CheckRequest{With: tc.with})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != tc.want {
			t.Errorf("%v: %s with %v, want %s", tc.with, r.Outcome, r.Data, tc.want)
		}
		fits(t, p, tc.with, r.Data)
	}
}

func TestANameThatCannotBeComparedFails(t *testing.T) {
	p := screening.NewNameMatch()
	long := strings.Repeat("Ravi ", 20)
	r, err := p.Check(t.Context(), verification.CheckRequest{With: map[string]any{"name": long, "other": long, "threshold": 0.5}})
	reasons, _ := r.Data["reasons"].([]string)
	if err != nil || r.Outcome != verification.OutcomeFailed || !strings.Contains(strings.Join(reasons, "\n"), "no more than 16 are compared") {
		t.Errorf("a name of 20 words: %s %v, %v, want failed with the doubt", r.Outcome, r.Data, err)
	}
}

// fits reports a with or data that the provider's description does not allow.
func fits(t *testing.T, p verification.Provider, with, data map[string]any) {
	t.Helper()
	d := workflow.Describe(p)
	for _, part := range []struct {
		schema verification.Data
		value  map[string]any
	}{{d.With, with}, {d.Data, data}} {
		schema, err := expression.New().Schema(part.schema)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(part.value)
		if err != nil {
			t.Fatal(err)
		}
		if problems := schema.Check(verification.Data(text)); len(problems) > 0 {
			t.Errorf("%s does not fit the description: %v", text, problems)
		}
	}
}

func TestAWrongWithIsPermanentAndNamesItsKey(t *testing.T) {
	search := screening.NewProvider(opened(t), time.Now)
	match := screening.NewNameMatch()
	good := map[string]any{"list": "fictional", "kind": "person", "name": "A B"}
	for _, tc := range []struct {
		provider verification.Provider
		key      string
		value    any
		want     string
	}{
		{search, "list", "other", "with.list: there is no list of this name: the lists are fictional"},
		{search, "list", nil, "with.list is required"},
		{search, "list", "", "with.list must not be empty"},
		{search, "name", 7.0, "with.name must be a string"},
		{search, "countries", []any{1.0}, "with.countries[0] must be a string"},
		{search, "countries", 1.0, "with.countries must be null or a string or a list"},
		{search, "identifiers", map[string]any{"visa": "1"}, "with.identifiers.visa is not a key of this check"},
		{search, "clear_on", []any{"countries"}, "with.clear_on[0] must be one of birth_date"},
		{search, "review_at", "high", "with.review_at must be null or a number"},
		{search, "review_at", 0.2, "with.review_at must be at least 0.5"},
		{search, "fail_at", 1.2, "with.fail_at must be at most 1"},
		{search, "fail_at", 0.7, "with.fail_at must not be below review_at"},
		{search, "failat", 0.9, "with.failat is not a key of this check"},
		{match, "list", "x", "with.list is not a key of this check"},
	} {
		check := screening.ProviderName
		with := map[string]any{}
		for k, v := range good {
			with[k] = v
		}
		with[tc.key] = tc.value
		if tc.value == nil {
			delete(with, tc.key)
		}
		if tc.provider == match {
			check = screening.NameMatchName
			with = map[string]any{"name": "A B", "other": "A B", tc.key: tc.value}
		}
		_, err := tc.provider.Check(t.Context(), verification.CheckRequest{With: with})
		var permanent interface{ Permanent() bool }
		if err == nil || !errors.As(err, &permanent) || !strings.HasPrefix(err.Error(), check+": ") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want the permanent error %q of %s", tc.key, err, tc.want, check)
		}
	}
}

// A customer may have written any text where a template of the check reads it.
func TestWhatACustomerWritesIsNoError(t *testing.T) {
	const (
		country  = "a country is not known by its name or code: it was not compared"
		nameless = "the name has no letter and no digit: it was not compared"
		kindless = "the kind is neither person nor company: both were searched"
		born     = "the birth date is not YYYY, YYYY-MM or YYYY-MM-DD: it was not compared"
		nobody   = "the birth date is in the future, more than 130 years ago or a date that a system writes for none: it was not compared"
	)
	p := screening.NewProvider(opened(t), time.Now)
	for _, tc := range []struct {
		key   string
		value any
		want  []string // what was not compared
	}{
		{"countries", "Ruritania", []string{country}},
		{"countries", []any{"ru", "Ruritania"}, []string{country}},
		{"countries", []any{"Ruritania", "de", "Freedonia"}, []string{"2 countries are not known by their names or codes: they were not compared"}},
		{"countries", []any{strings.Repeat("x", 10_000)}, []string{country}},
		{"countries", []any{"", nil, " "}, nil},
		{"countries", []any{"XXB", "Stateless", "D", "RKS", "Deutschland"}, nil},
		{"name", "...", []string{nameless}},
		{"name", "", []string{nameless}},
		{"name", nil, []string{nameless}},
		{"kind", "ship", []string{kindless}},
		{"kind", nil, []string{kindless}},
		{"birth_date", "1.2.1970", []string{born}},
		{"birth_date", "1970-13-01", []string{born}},
		{"birth_date", "2513-02-01", []string{nobody}},
		{"birth_date", "1391-12-13", []string{nobody}},
		{"birth_date", "9999-12-31", []string{nobody}},
		{"birth_date", "0001-01-01", []string{nobody}},
		{"birth_date", "1900-01-01", []string{nobody}},
		{"birth_date", "1970", nil},
		{"birth_date", "1970-02", nil},
		{"birth_date", "", nil},
		{"identifiers", map[string]any{"passport": []any{nil, ""}}, nil},
	} {
		with := map[string]any{"list": "fictional", "kind": "person", "name": "A B", "clear_on": []any{"birth_date"}}
		with[tc.key] = tc.value
		r, err := p.Check(t.Context(), verification.CheckRequest{With: with})
		if err != nil {
			t.Errorf("%s %v: %v", tc.key, tc.value, err)
			continue
		}
		fits(t, p, map[string]any{"list": "fictional", "kind": "person", "name": "A B"}, r.Data)
		got, _ := r.Data["not_compared"].([]string)
		if !slices.Equal(got, tc.want) || r.Data["analysis_ok"] != (tc.want == nil) || r.Outcome != verification.OutcomePassed {
			t.Errorf("%s %v: %s, analysis_ok %v, not_compared %q, want %q", tc.key, tc.value, r.Outcome, r.Data["analysis_ok"], got, tc.want)
		}
		again, err := p.Rescreen(t.Context(), "fictional", verification.CheckRequest{With: with})
		if err != nil || !slices.Equal(again.NotCompared, tc.want) {
			t.Errorf("%s %v screened again: %q, %v, want %q", tc.key, tc.value, again.NotCompared, err, tc.want)
		}
	}
}

// An entry is one hit, also if it is listed as both.
func TestAnUnknownKindFindsPeopleAndCompanies(t *testing.T) {
	p := screening.NewProvider(watchlist.ListsOf("l", watchlist.ListOf(
		watchlist.Entry{ID: "person", Name: "Ivan Testov", Person: true, BirthDates: []string{"1961"}},
		watchlist.Entry{ID: "company", Name: "Ivan Testow", Company: true},
		watchlist.Entry{ID: "both", Name: "Ivan Testov", Person: true, Company: true},
		watchlist.Entry{ID: "other", Name: "Asha Rao", Person: true},
	)), time.Now)
	r, err := p.Check(t.Context(), verification.CheckRequest{With: map[string]any{
		"list": "l", "kind": "?", "name": "Ivan Testov", "birth_date": "1990", "clear_on": []any{"birth_date"},
	}})
	hits, _ := r.Data["hits"].([]watchlist.Hit)
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	if want := []string{"both", "company", "person"}; err != nil || !slices.Equal(ids, want) || r.Data["hits_total"] != 3 {
		t.Errorf("hits = %q of %v, %v, want %q", ids, r.Data["hits_total"], err, want)
	}
}

func TestNamesThatCannotBeReadDoNotMatch(t *testing.T) {
	p := screening.NewNameMatch()
	for _, tc := range []struct {
		key, reason string
		value       any
	}{
		{"name", "name: the name has no letter and no digit", "..."},
		{"other", "other: the name has no letter and no digit", ""},
		{"other", "other: the name has no letter and no digit", nil},
		{"kind", "the kind is neither person nor company", "ship"},
	} {
		with := map[string]any{"name": "A B", "other": "A B", tc.key: tc.value}
		r, err := p.Check(t.Context(), verification.CheckRequest{With: with})
		if err != nil || r.Outcome != verification.OutcomeFailed {
			t.Errorf("%v: %s, %v, want failed", with, r.Outcome, err)
			continue
		}
		if diff := cmp.Diff(map[string]any{"score": 0.0, "reasons": []string{tc.reason}}, r.Data); diff != "" {
			t.Errorf("%v (-want +got):\n%s", with, diff)
		}
	}
}

func TestANullIsAValueThatIsNotGiven(t *testing.T) {
	for _, tc := range []struct {
		provider verification.Provider
		with     map[string]any
	}{
		{screening.NewProvider(opened(t), time.Now), map[string]any{
			"list": "fictional", "name": "A B", "kind": "person", "birth_date": nil, "countries": nil, "review_at": nil, "fail_at": nil,
		}},
		{screening.NewNameMatch(), map[string]any{"name": "A B", "other": "A B", "kind": nil, "threshold": nil}},
	} {
		if r, err := tc.provider.Check(t.Context(), verification.CheckRequest{With: tc.with}); err != nil || r.Outcome != verification.OutcomePassed {
			t.Errorf("%v: %v, %v", tc.with, r.Outcome, err)
		}
	}
}

func TestDescriptionsAreSchemas(t *testing.T) {
	for _, p := range []verification.Provider{screening.NewProvider(opened(t), time.Now), screening.NewNameMatch()} {
		d, ok := p.(verification.Describer)
		if !ok {
			t.Fatalf("%T has no description", p)
		}
		if diff := cmp.Diff(d.Describe(), d.Describe()); diff != "" || d.Describe().Summary == "" {
			t.Errorf("Describe differs between calls or is empty: %s", diff)
		}
	}
}

func TestRescreeningUsesTheValuesOfTheCheck(t *testing.T) {
	lists := opened(t)
	list, _ := lists.List("fictional", time.Time{})
	p := screening.NewProvider(lists, time.Now)
	if diff := cmp.Diff(map[string]string{"fictional": list.Version}, p.ListVersions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	for _, tc := range []struct {
		name     string
		reviewAt float64
		hits     int
	}{{"Viktor Zamoyskov", 0.85, 1}, {"Viktor Zamoyskow", 0.99, 0}, {"Asha Rao", 0.85, 0}} {
		found, err := p.Rescreen(t.Context(), "fictional", verification.CheckRequest{With: map[string]any{
			"list": "fictional", "kind": "person", "name": tc.name, "review_at": tc.reviewAt,
		}})
		if err != nil || found.List != "fictional" || found.ListVersion != list.Version || len(found.Hits) != tc.hits {
			t.Errorf("%s from %v: %+v, %v; want %d hits of version %s", tc.name, tc.reviewAt, found, err, tc.hits, list.Version)
		}
		if tc.hits > 0 && (found.Hits[0].ID != "fictional-001" || len(found.Hits[0].Reasons) == 0) {
			t.Errorf("hit = %+v, want fictional-001 with its reasons", found.Hits[0])
		}
	}
	if _, err := p.Rescreen(t.Context(), "elsewhere", verification.CheckRequest{With: map[string]any{"list": "fictional", "kind": "person", "name": "Asha Rao"}}); err == nil {
		t.Error("a list that is not there: no error")
	}
}

func TestAHostWithoutChecksKnowsTheNamesOfItsLists(t *testing.T) {
	p := screening.NewProvider(watchlist.Named([]screening.Source{{Name: "sanctions"}, {Name: "peps"}}), time.Now)
	if d := workflow.Describe(p); !d.Rescreens || !slices.Equal(d.Lists, []string{"peps", "sanctions"}) {
		t.Errorf("description = %t with the lists %q, want both", d.Rescreens, d.Lists)
	}
	if d := workflow.Describe(screening.NewProvider(nil, nil)); !d.Rescreens || d.Lists != nil {
		t.Errorf("description without lists = %t with the lists %q, want none that are known", d.Rescreens, d.Lists)
	}
	if _, err := p.Check(t.Context(), verification.CheckRequest{With: map[string]any{"list": "peps", "name": "Asha Rao", "kind": "person"}}); err == nil {
		t.Error("a check of a list that is not loaded: no error")
	}
}

// checked returns the outcome and the data of a check of entries that screens Ivan Testov.
func checked(t *testing.T, with map[string]any, entries ...watchlist.Entry) (verification.CheckResult, verification.Rescreener) {
	t.Helper()
	all := map[string]any{"list": "l", "kind": "person", "name": "Ivan Testov"}
	maps.Copy(all, with)
	p := screening.NewProvider(watchlist.ListsOf("l", watchlist.ListOf(entries...)), time.Now)
	r, err := p.Check(t.Context(), verification.CheckRequest{With: all})
	if err != nil {
		t.Fatal(err)
	}
	fits(t, p, all, r.Data)
	return r, p
}

// idsOf returns the ids of the entries in a field of the data.
func idsOf(r verification.CheckResult, field string) string {
	hits, _ := r.Data[field].([]watchlist.Hit)
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " ")
}

func TestADifferenceIsForAReviewer(t *testing.T) {
	entry := watchlist.Entry{ID: "1", Name: "Ivan Testov", Person: true, BirthDates: []string{"1961-03-14"}, Countries: []string{"ru"}}
	for _, tc := range []struct {
		name    string
		with    map[string]any
		outcome verification.CheckOutcome
	}{
		{"nothing differs", nil, verification.OutcomeFailed},
		{"the same birth date", map[string]any{"birth_date": "1961-03-14"}, verification.OutcomeFailed},
		{"the same country", map[string]any{"countries": "Russia"}, verification.OutcomeFailed},
		{"another birth date", map[string]any{"birth_date": "1916-03-14"}, verification.OutcomePassed},
		{"another day", map[string]any{"birth_date": "1961-03-15"}, verification.OutcomePassed},
		{"another country", map[string]any{"countries": []any{"fra"}}, verification.OutcomePassed},
		{"the other kind", map[string]any{"kind": "company"}, verification.OutcomePassed},
	} {
		with := map[string]any{"fail_at": 0.9}
		maps.Copy(with, tc.with)
		r, _ := checked(t, with, entry)
		if r.Outcome != tc.outcome || idsOf(r, "hits") != "1" || r.Data["score"] != 1.0 || r.Data["analysis_ok"] != false {
			t.Errorf("%s: %s with %v, want %s and a hit", tc.name, r.Outcome, r.Data, tc.outcome)
		}
	}
}

func TestABirthDateClearsOnlyIfTheCheckSaysSo(t *testing.T) {
	entry := watchlist.Entry{
		ID: "1", Name: "Ivan Testov", Person: true, BirthDates: []string{"1950", "1961-03-14"},
		Identifiers: []watchlist.Identifier{{Type: watchlist.Passport, Value: "A1"}},
	}
	clear := []any{"birth_date"}
	for _, tc := range []struct {
		with    map[string]any
		cleared bool
	}{
		{map[string]any{"birth_date": "1990-01-01"}, false},
		{map[string]any{"birth_date": "1990-01-01", "clear_on": []any{}}, false},
		{map[string]any{"birth_date": "1990-01-01", "clear_on": clear}, true},
		{map[string]any{"birth_date": "1990-01-01", "clear_on": clear, "fail_at": 0.85}, true},
		{map[string]any{"birth_date": "1990-01-01", "clear_on": clear, "kind": "company"}, false},
		{map[string]any{"birth_date": "1990-01-01", "clear_on": clear, "identifiers": map[string]any{"passport": "a-1"}}, false},
		{map[string]any{"birth_date": "1962-01-01", "clear_on": clear}, false},
		{map[string]any{"birth_date": "1952-01-01", "clear_on": clear}, false},
		{map[string]any{"clear_on": clear}, false},
	} {
		r, p := checked(t, tc.with, entry)
		hits, cleared := "1", ""
		if tc.cleared {
			hits, cleared = cleared, hits
		}
		if idsOf(r, "hits") != hits || idsOf(r, "cleared") != cleared || r.Data["analysis_ok"] != tc.cleared || r.Outcome != verification.OutcomePassed {
			t.Errorf("%v: %s with %v, want cleared %t", tc.with, r.Outcome, r.Data, tc.cleared)
		}
		if tc.cleared {
			var reasons []string
			if hits, ok := r.Data["cleared"].([]watchlist.Hit); ok {
				reasons = hits[0].Reasons
			}
			want := []string{
				"the name is the same", "the birth date differs: 1990-01-01, listed 1950, 1961-03-14",
				"cleared: the birth date differs by more than approximate dates explain",
			}
			if diff := cmp.Diff(want, reasons); diff != "" || r.Data["cleared_total"] != 1 {
				t.Errorf("data %v, reasons (-want +got):\n%s", r.Data, diff)
			}
		}
		all := map[string]any{"list": "l", "kind": "person", "name": "Ivan Testov"}
		maps.Copy(all, tc.with)
		again, err := p.Rescreen(t.Context(), "l", verification.CheckRequest{With: all})
		if err != nil || (len(again.Hits) == 0) != tc.cleared {
			t.Errorf("%v: screened again: %+v, %v", tc.with, again, err)
		}
	}
}

// A date on which nobody can have been born clears no entry and lowers no score. What is in the future depends on the day on which
// the run started, in the zone of its tenant.
func TestADateThatNobodyHasClearsNobody(t *testing.T) {
	start := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC) // the 29th in Kolkata
	entry := watchlist.Entry{ID: "1", Name: "Melkior Tarnovaltan", Person: true, BirthDates: []string{"1961-03-14"}}
	p := screening.NewProvider(watchlist.ListsOf("l", watchlist.ListOf(entry)), time.Now)
	for _, tc := range []struct {
		kind, date, zone string
		compared         bool
	}{
		{"person", "2026-11-29", "", false},
		{"person", "2026-11-29", "Asia/Kolkata", true},
		{"person", "2026-11-28", "", true},
		{"person", "2569-03-14", "", false},
		{"person", "1380-09-28", "", false},
		{"person", "1339-12-23", "", false},
		{"person", "0001-01-01", "", false},
		{"person", "1900-01-01", "", false},
		{"person", "1895-10", "", false},
		{"person", "1895-12", "", true},
		{"person", "1990", "", true},
		{"company", "1795-11-29", "", true},
	} {
		for _, name := range []string{"Melkior Tarnovaltan", "Melkior Tarnoveltan"} {
			r, err := p.Check(t.Context(), verification.CheckRequest{StartedAt: start, Zone: tc.zone, With: map[string]any{
				"list": "l", "kind": tc.kind, "name": name, "birth_date": tc.date, "clear_on": []any{"birth_date"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			doubts, _ := r.Data["not_compared"].([]string)
			if len(doubts) == 0 != tc.compared || !tc.compared && (r.Data["analysis_ok"] != false || idsOf(r, "cleared") != "") {
				t.Errorf("%s, a %s of %s in %q: %v, want compared %t", name, tc.kind, tc.date, tc.zone, r.Data, tc.compared)
			}
			without, err := p.Check(t.Context(), verification.CheckRequest{StartedAt: start, With: map[string]any{"list": "l", "kind": tc.kind, "name": name}})
			if err != nil {
				t.Fatal(err)
			}
			if !tc.compared && (idsOf(r, "hits") != "1" || r.Data["score"] != without.Data["score"]) {
				t.Errorf("%s of %s: score %v, want %v as without a date", name, tc.date, r.Data["score"], without.Data["score"])
			}
		}
	}
}

func TestThePolicyDecidesByTopic(t *testing.T) {
	policy := map[string]any{
		"sanction": map[string]any{"review_at": 0.85, "fail_at": 0.99}, "pep": "review", "relative": "note", "crime": "fail",
		"crime.env": map[string]any{"review_at": 1.0}, "role.judge": map[string]any{"fail_at": 1.0},
	}
	with := func(key string, value any) map[string]any {
		all := maps.Clone(policy)
		all[key] = value
		return all
	}
	for _, tc := range []struct {
		policy        map[string]any
		topics, birth string
		want          string // hits, failed or noted; empty for none
	}{
		{policy, "sanction", "", "failed"},
		{policy, "sanction.linked", "", "failed"},
		{policy, "sanction", "1999", "hits"},
		{policy, "role.pep", "", "hits"},
		{policy, "role.pep.frmr", "", "hits"},
		{policy, "role.rca", "", "noted"},
		{policy, "role.rca", "1999", "noted"},
		{policy, "role.rca role.pep", "", "hits"},
		{policy, "role.rca sanction", "", "failed"},
		{policy, "role.rca poi", "", "hits"}, // poi is as the check says
		{policy, "crime.terror", "", "failed"},
		{policy, "crime.env", "", "hits"},
		{policy, "role.judge", "", "failed"},
		{policy, "role.spy", "", "hits"},
		{policy, "", "", "hits"},
		{with("*", "note"), "", "", "noted"},
		{with("*", "note"), "role.rca poi", "", "noted"},
		{with("*", "fail"), "role.spy", "", "failed"},
		{with("role", "note"), "role.spy", "", "noted"},
		{with("role", "note"), "role.pep", "", "hits"},
		{nil, "role.rca", "", "hits"},
	} {
		entry := watchlist.Entry{ID: "1", Name: "Ivan Testov", Person: true, Topics: strings.Fields(tc.topics), BirthDates: []string{"1961"}}
		values := map[string]any{"policy": tc.policy, "birth_date": tc.birth}
		if tc.policy == nil {
			values["policy"] = nil
		}
		r, p := checked(t, values, entry)
		got := ""
		switch {
		case r.Outcome == verification.OutcomeFailed:
			got = "failed"
		case idsOf(r, "hits") == "1":
			got = "hits"
		case idsOf(r, "noted") == "1" && r.Data["analysis_ok"] == true && r.Data["noted_total"] == 1:
			got = "noted"
		}
		if got != tc.want {
			t.Errorf("%v with the topics %q: %s, want %s; data %v", tc.policy, tc.topics, got, tc.want, r.Data)
		}
		values["list"], values["kind"], values["name"] = "l", "person", "Ivan Testov"
		again, err := p.Rescreen(t.Context(), "l", verification.CheckRequest{With: values})
		if err != nil || (len(again.Hits) == 0) != (tc.want == "noted") {
			t.Errorf("%v with the topics %q: screened again: %+v, %v", tc.policy, tc.topics, again, err)
		}
	}
}

func TestAPolicyThatContradictsItselfIsRefused(t *testing.T) {
	p := screening.NewProvider(watchlist.ListsOf("l", watchlist.ListOf(viktor)), time.Now)
	for want, policy := range map[string]map[string]any{
		"with.policy.pep.fail_at must not be below review_at": {"pep": map[string]any{"fail_at": 0.7}},
		"with.policy has role.pep twice":                      {"pep": "note", "role.pep": "fail"},
		"with.policy.sanctions is not a key":                  {"sanctions": "fail"},
	} {
		_, err := p.Check(t.Context(), verification.CheckRequest{With: map[string]any{"list": "l", "kind": "person", "name": "A B", "policy": policy}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", policy, err, want)
		}
	}
}

func TestWhatWasNotComparedIsSaid(t *testing.T) {
	long := map[string]any{"name": strings.Repeat("word ", 200)}
	r, p := checked(t, long, viktor)
	doubts, _ := r.Data["not_compared"].([]string)
	if len(doubts) == 0 || r.Data["analysis_ok"] != false || r.Outcome != verification.OutcomePassed {
		t.Errorf("%s with %v, want the doubts and analysis_ok false", r.Outcome, r.Data)
	}
	long["list"], long["kind"] = "l", "person"
	again, err := p.Rescreen(t.Context(), "l", verification.CheckRequest{With: long})
	if diff := cmp.Diff(doubts, again.NotCompared); diff != "" || err != nil {
		t.Errorf("screened again: %v (-check +again):\n%s", err, diff)
	}
}

func TestHitsBeyondTenAreCounted(t *testing.T) {
	entries := make([]watchlist.Entry, 12)
	for i := range entries {
		entries[i] = watchlist.Entry{ID: strconv.Itoa(i), Name: "Ivan Testov", Person: true}
	}
	if r, _ := checked(t, nil, entries...); len(strings.Fields(idsOf(r, "hits"))) != 10 || r.Data["hits_total"] != 12 || r.Screening.Total != 12 {
		t.Errorf("data %v, total %d, want 10 hits of 12", r.Data, r.Screening.Total)
	}
}

// An acronym is a reason to look, and not to refuse anybody.
func TestAShortPartFailsNoCheck(t *testing.T) {
	l := watchlist.ListOf(watchlist.Entry{ID: "e", Name: "Velmor Network (VLN)", Company: true})
	p := screening.NewProvider(watchlist.ListsOf("l", l), time.Now)
	for name, want := range map[string]verification.CheckOutcome{
		"Velmor Network": verification.OutcomeFailed, "Velmor Network (VLN)": verification.OutcomeFailed,
		"VLN": verification.OutcomePassed, "Ordrun Works (VLN)": verification.OutcomePassed,
	} {
		result, err := p.Check(context.Background(), verification.CheckRequest{With: map[string]any{"list": "l", "kind": "company", "name": name, "fail_at": 0.9}})
		if err != nil || result.Outcome != want || result.Data["analysis_ok"] != false {
			t.Errorf("%s: %s, %v, %v, want %s and a hit", name, result.Outcome, result.Data, err, want)
		}
	}
}

func TestAListThatNobodyAcceptedPassesNobody(t *testing.T) {
	cut := watchlist.ListOf(watchlist.Entry{ID: "1", Name: "Viktor Zamoyskov", Person: true})
	cut.Version, cut.Lacks = "v2", 399
	p := screening.NewProvider(watchlist.ListsOf("l", cut), time.Now)
	r, err := p.Check(t.Context(), verification.CheckRequest{With: map[string]any{"list": "l", "kind": "person", "name": "Asha Rao"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the list lost more than half of its entries (399 of 400), and nobody has accepted this version"}
	if r.Outcome != verification.OutcomePassed || r.Data["analysis_ok"] != false || !cmp.Equal(r.Data["not_compared"], any(want)) {
		t.Errorf("outcome %s, data %v, want it flagged with a sentence", r.Outcome, r.Data)
	}
	if got := p.ListVersions(); got["l"] != "" {
		t.Errorf("ListVersions() = %v, want no version, so that no run is screened again against it", got)
	}
}
