// Tests of the providers.

package screening_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/adapters/provider/screening/names"
	"github.com/verifyd/verifyd/verification"
)

func opened(t *testing.T) *screening.Lists {
	t.Helper()
	lists, err := screening.Open(t.Context(), []screening.Source{{
		Name: "fictional", Path: fictional, Format: screening.Format{Type: screening.OpenSanctions}, MaxAge: time.Hour,
	}}, screening.Options{Log: slog.New(slog.DiscardHandler)})
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
			hits, _ := r.Data["hits"].([]screening.Hit)
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
			fits(t, p, with, r.Data)
		})
	}
}

func TestOutcomesOfNameMatch(t *testing.T) {
	p := screening.NewNameMatch(names.New())
	for _, tc := range []struct {
		with map[string]any
		want verification.CheckOutcome
	}{
		{map[string]any{"name": "Rajesh Kumar", "other": "कुमार राजेश"}, verification.OutcomePassed},
		{map[string]any{"name": "Rajesh Kumar", "other": "Ramesh Kumar"}, verification.OutcomeFailed},
		{map[string]any{"name": "Rajesh Kumar", "other": "Rajesh K.", "threshold": 0.99}, verification.OutcomeFailed},
		{map[string]any{"name": "Acme Ltd", "other": "ACME Limited", "kind": "company"}, verification.OutcomePassed},
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

func TestReasonsNameEveryWord(t *testing.T) {
	c := names.New()
	for _, tc := range []struct {
		a, b string
		want []string
	}{
		{"Wang Xiao Ming", "Wang Xiaoming", []string{"wang is the same", "xiao ming is like xiaoming: 0.98, one word"}},
		{"Wang Xiaoming", "Wang Xiao Ming", []string{"wang is the same", "xiaoming is like xiao ming: 0.98, one word"}},
		{"Ivan Petrovich Testov", "Ivan Testov", []string{"ivan is the same", "testov is the same", "petrovich is not in the other name"}},
		{"Ivan Testov", "Ivan Petrovich Testov", []string{"ivan is the same", "testov is the same", "petrovich is only in the other name"}},
	} {
		m, err := screening.Compare(c, names.Person, tc.a, tc.b)
		if diff := cmp.Diff(tc.want, m.Reasons); diff != "" || err != nil {
			t.Errorf("%s and %s: %v (-want +got):\n%s", tc.a, tc.b, err, diff)
		}
	}
}

// fits reports a with or data that the provider's description does not allow.
func fits(t *testing.T, p verification.Describer, with, data map[string]any) {
	t.Helper()
	d := p.Describe()
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
	match := screening.NewNameMatch(names.New())
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
		{search, "kind", "ship", "with.kind must be one of person, company"},
		{search, "name", 7.0, "with.name must be a string"},
		{search, "name", "...", "with.name: the name has no letter and no digit"},
		{search, "birth_date", "1.2.1970", "with.birth_date must be YYYY, YYYY-MM or YYYY-MM-DD"},
		{search, "countries", []any{1.0}, "with.countries[0] must be a string"},
		{search, "countries", 1.0, "with.countries must be null or a string or a list"},
		{search, "review_at", "high", "with.review_at must be null or a number"},
		{search, "review_at", 0.2, "with.review_at must be at least 0.5"},
		{search, "fail_at", 1.2, "with.fail_at must be at most 1"},
		{search, "fail_at", 0.7, "with.fail_at must not be below review_at"},
		{search, "failat", 0.9, "with.failat is not a key of this check"},
		{match, "list", "x", "with.list is not a key of this check"},
		{match, "other", "...", "with.other: the name has no letter and no digit"},
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
		if tc.provider == verification.Provider(match) {
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

func TestANullIsAValueThatIsNotGiven(t *testing.T) {
	for _, tc := range []struct {
		provider verification.Provider
		with     map[string]any
	}{
		{screening.NewProvider(opened(t), time.Now), map[string]any{
			"list": "fictional", "name": "A B", "kind": "person", "birth_date": nil, "countries": nil, "review_at": nil, "fail_at": nil,
		}},
		{screening.NewNameMatch(names.New()), map[string]any{"name": "A B", "other": "A B", "kind": nil, "threshold": nil}},
	} {
		if r, err := tc.provider.Check(t.Context(), verification.CheckRequest{With: tc.with}); err != nil || r.Outcome != verification.OutcomePassed {
			t.Errorf("%v: %v, %v", tc.with, r.Outcome, err)
		}
	}
}

func TestDescriptionsAreSchemas(t *testing.T) {
	for _, p := range []verification.Describer{screening.NewProvider(opened(t), time.Now), screening.NewNameMatch(names.New())} {
		if diff := cmp.Diff(p.Describe(), p.Describe()); diff != "" || p.Describe().Summary == "" {
			t.Errorf("Describe differs between calls or is empty: %s", diff)
		}
	}
}

func TestACompletedRunIsScreenedAgainWithTheValuesOfItsCheck(t *testing.T) {
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
		if err != nil || found.ListVersion != list.Version || len(found.Hits) != tc.hits {
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
	p := screening.NewProvider(screening.Named([]screening.Source{{Name: "sanctions"}, {Name: "peps"}}), time.Now)
	if d := verification.Describe(p); !d.Rescreens || !slices.Equal(d.Lists, []string{"peps", "sanctions"}) {
		t.Errorf("description = %t with the lists %q, want both", d.Rescreens, d.Lists)
	}
	if d := verification.Describe(screening.NewProvider(nil, nil)); !d.Rescreens || d.Lists != nil {
		t.Errorf("description without lists = %t with the lists %q, want none that are known", d.Rescreens, d.Lists)
	}
	if _, err := p.Check(t.Context(), verification.CheckRequest{With: map[string]any{"list": "peps", "name": "Asha Rao", "kind": "person"}}); err == nil {
		t.Error("a check of a list that is not loaded: no error")
	}
}
