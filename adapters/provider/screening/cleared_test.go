// Tests of hits that reviewers have cleared.

package screening_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
)

var viktor = watchlist.Entry{
	ID: "viktor", Name: "Viktor Zamoyskov", Aliases: []string{"Vitya Z."}, Person: true, BirthDates: []string{"1961-03-14"}, Countries: []string{"ru"},
	Identifiers: []watchlist.Identifier{{Type: watchlist.Passport, Value: "AB 123456"}, {Type: watchlist.OtherDocument, Value: "Z-77"}},
}

func TestAnEntryThatReviewersClearedIsNoHit(t *testing.T) {
	p := screening.NewProvider(watchlist.ListsOf("sanctions", watchlist.ListOf(viktor)), time.Now)
	request := verification.CheckRequest{With: map[string]any{"list": "sanctions", "kind": "person", "name": "Viktor Zamoyskov", "fail_at": 0.9}}
	first, err := p.Check(t.Context(), request)
	if err != nil || first.Outcome != verification.OutcomeFailed || len(first.Screening.Hits) != 1 {
		t.Fatalf("Check = %+v, %v; want one hit", first, err)
	}
	if _, told := first.Data["cleared_hits"]; told {
		t.Errorf("without a cleared hit the data is %v", first.Data)
	}
	cleared := verification.ClearedHit{List: "sanctions", Entry: "viktor", Digest: first.Screening.Hits[0].Digest}
	for _, c := range []struct {
		name    string
		cleared verification.ClearedHit
		hits    int
	}{
		{"the entry", cleared, 0},
		{"the entry as it was before a change", verification.ClearedHit{List: "sanctions", Entry: "viktor", Digest: "another"}, 1},
		{"without a digest", verification.ClearedHit{List: "sanctions", Entry: "viktor"}, 1},
		{"another entry", verification.ClearedHit{List: "sanctions", Entry: "ivan", Digest: cleared.Digest}, 1},
		{"of another list", verification.ClearedHit{List: "peps", Entry: "viktor", Digest: cleared.Digest}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			request.Cleared = []verification.ClearedHit{c.cleared}
			r, err := p.Check(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			again, err := p.Rescreen(t.Context(), "sanctions", request)
			if err != nil || len(again.Hits) != c.hits || len(r.Screening.Hits) != c.hits {
				t.Errorf("%d hits, and %d at the re-screening, %v; want %d", len(r.Screening.Hits), len(again.Hits), err, c.hits)
			}
			if len(again.Cleared) != 1-c.hits || len(r.Screening.Cleared) != 1-c.hits {
				t.Errorf("%+v were left out, and %+v at the re-screening; want %d", r.Screening.Cleared, again.Cleared, 1-c.hits)
			}
			outcome, counted := verification.OutcomeFailed, any(nil)
			if c.hits == 0 {
				outcome, counted = verification.OutcomePassed, 1
			}
			if r.Outcome != outcome || r.Data["analysis_ok"] != (c.hits == 0) || r.Data["cleared_hits"] != counted {
				t.Errorf("%s with %v, want %s and %v cleared hits", r.Outcome, r.Data, outcome, counted)
			}
			fits(t, p, request.With, r.Data)
		})
	}
}

func TestAClearedHitFlagsIfTheCheckSaysSo(t *testing.T) {
	p := screening.NewProvider(watchlist.ListsOf("sanctions", watchlist.ListOf(viktor)), time.Now)
	request := verification.CheckRequest{With: map[string]any{"list": "sanctions", "kind": "person", "name": "Viktor Zamoyskov", "fail_at": 0.9, "cleared": "flag"}}
	first, err := p.Check(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	request.Cleared = []verification.ClearedHit{{List: "sanctions", Entry: "viktor", Digest: first.Screening.Hits[0].Digest}}
	for name, want := range map[string]bool{"Viktor Zamoyskov": false, "Asha Rao": true} {
		request.With["name"] = name
		r, err := p.Check(t.Context(), request)
		if err != nil || r.Outcome != verification.OutcomePassed || r.Data["analysis_ok"] != want || len(r.Screening.Hits) != 0 {
			t.Errorf("%s: %s with %v, %v; want passed and analysis_ok %t", name, r.Outcome, r.Data, err, want)
		}
		fits(t, p, request.With, r.Data)
	}
	request.With["cleared"] = "ignore"
	if _, err := p.Check(t.Context(), request); err == nil {
		t.Error("a check that ignores cleared hits is accepted")
	}
}

func TestTheDigestTellsThatAnEntryHasChanged(t *testing.T) {
	digest := func(e watchlist.Entry) string {
		found, err := watchlist.ListOf(e).Search(watchlist.Subject{Kind: "person", Name: "Viktor Zamoyskov"}, 0.5)
		if err != nil || len(found.Hits) != 1 {
			t.Fatalf("Search = %+v, %v; want one hit", found, err)
		}
		return found.Hits[0].Digest
	}
	base := viktor
	base.Aliases, base.Countries, base.Topics = []string{"Vitya Z.", "V. Zamoyskov"}, []string{"ru", "by"}, []string{"sanction"}
	want := digest(base)
	for name, c := range map[string]struct {
		change func(*watchlist.Entry)
		same   bool
	}{
		"nothing":                  {func(*watchlist.Entry) {}, true},
		"the order of aliases":     {func(e *watchlist.Entry) { e.Aliases = []string{"V. Zamoyskov", "Vitya Z."} }, true},
		"the order of countries":   {func(e *watchlist.Entry) { e.Countries = []string{"by", "ru"} }, true},
		"a new alias":              {func(e *watchlist.Entry) { e.Aliases = append(slices.Clone(e.Aliases), "Vik") }, false},
		"a birth date":             {func(e *watchlist.Entry) { e.BirthDates = []string{"1961-03-15"} }, false},
		"no birth date":            {func(e *watchlist.Entry) { e.BirthDates = nil }, false},
		"a country":                {func(e *watchlist.Entry) { e.Countries = []string{"ru"} }, false},
		"a topic":                  {func(e *watchlist.Entry) { e.Topics = []string{"sanction", "role.pep"} }, false},
		"an identifier":            {func(e *watchlist.Entry) { e.Identifiers = e.Identifiers[:1] }, false},
		"a value of another field": {func(e *watchlist.Entry) { e.Countries, e.Topics = []string{"ru", "by", "sanction"}, nil }, false},
	} {
		changed := base
		c.change(&changed)
		if got := digest(changed); (got == want) != c.same || got == "" {
			t.Errorf("%s: digest %s, before %s", name, got, want)
		}
	}
}

func TestAClearedEntryStaysClearedUnderAnotherID(t *testing.T) {
	moved, merged := viktor, viktor
	moved.ID, moved.Formerly = "NK-2", []string{"NK-1", "viktor"}
	merged.ID, merged.Formerly, merged.Topics = "NK-2", []string{"viktor"}, []string{"sanction"}
	request := verification.CheckRequest{With: map[string]any{"list": "sanctions", "kind": "person", "name": "Viktor Zamoyskov"}}
	hit := func(e watchlist.Entry) (cleared, hits []verification.Hit) {
		t.Helper()
		p := screening.NewProvider(watchlist.ListsOf("sanctions", watchlist.ListOf(e)), time.Now)
		again, err := p.Rescreen(t.Context(), "sanctions", request)
		if err != nil {
			t.Fatal(err)
		}
		return again.Cleared, again.Hits
	}
	_, first := hit(viktor)
	request.Cleared = []verification.ClearedHit{{List: "sanctions", Entry: "viktor", Digest: first[0].Digest}}
	if cleared, hits := hit(moved); len(hits) != 0 || len(cleared) != 1 || cleared[0].ID != "viktor" {
		t.Errorf("with another id: cleared %+v, hits %+v; want it cleared under the id of the decision", cleared, hits)
	}
	if _, hits := hit(merged); len(hits) != 1 || !hits[0].Was("viktor", hits[0].Digest) {
		t.Errorf("with another id and another topic: %+v, want a hit", hits)
	}
	moved.Formerly = []string{"NK-1"}
	if _, hits := hit(moved); len(hits) != 1 {
		t.Errorf("of another entity that says the same: %+v, want a hit", hits)
	}
}

func TestAClearedLineStaysClearedWithoutItsNumber(t *testing.T) {
	l, err := watchlist.Read(t.Context(), strings.NewReader("name,birth_date\nPiotr Exempel,\nViktor Zamoyskov,1961\n"), watchlist.Format{})
	if err != nil {
		t.Fatal(err)
	}
	p := screening.NewProvider(watchlist.ListsOf("own", l), time.Now)
	request := verification.CheckRequest{With: map[string]any{"list": "own", "kind": "person", "name": "Viktor Zamoyskov"}}
	first, err := p.Rescreen(t.Context(), "own", request)
	if err != nil || len(first.Hits) != 1 {
		t.Fatalf("%+v, %v; want a hit", first, err)
	}
	for _, c := range []struct {
		entry, digest string
		hits          int
	}{
		{"line-77", first.Hits[0].Digest, 0}, // as runs of before have it
		{"line-77", "another", 1},
		{"line-77", "", 1},
		{"person-77", first.Hits[0].Digest, 1},
	} {
		request.Cleared = []verification.ClearedHit{{List: "own", Entry: c.entry, Digest: c.digest}}
		if again, err := p.Rescreen(t.Context(), "own", request); err != nil || len(again.Hits) != c.hits {
			t.Errorf("cleared as %s, %s: %d hits, %v; want %d", c.entry, c.digest, len(again.Hits), err, c.hits)
		}
	}
}
