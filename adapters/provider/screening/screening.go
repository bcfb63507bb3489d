// Package screening checks people and companies against lists, in this process and
// without a network.
//
// Two providers are here: Provider (offline.screening) searches a list, NameMatch
// (offline.name_match) compares two names. Package names computes the scores.
package screening

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/with"
	"github.com/verifyd/verifyd/verification"
)

// The names of the providers.
const (
	ProviderName  = "offline.screening"
	NameMatchName = "offline.name_match"
)

// reviewAt is the score from which a reviewer decides, unless the check says
// otherwise.
const reviewAt = 0.85

// checks.json has the descriptions of both.
//
//go:embed checks.json
var checksJSON []byte

type described struct {
	description verification.ProviderDescription
	with        with.Schema
}

func describedAs(name string) described {
	all := map[string]verification.ProviderDescription{}
	if err := json.Unmarshal(checksJSON, &all); err != nil {
		panic("screening: " + err.Error())
	}
	return described{all[name], with.Compile(name, all[name].With)}
}

// Describe implements verification.Describer.
func (d described) Describe() verification.ProviderDescription { return d.description }

// Provider is offline.screening. It implements verification.Describer and
// verification.Rescreener.
type Provider struct {
	described
	lists *Lists
	now   func() time.Time
}

// NewProvider returns a provider that searches lists. It judges their age by now.
func NewProvider(lists *Lists, now func() time.Time) *Provider {
	return &Provider{describedAs(ProviderName), lists, now}
}

type searchWith struct {
	List        string                     `json:"list"`
	Name        string                     `json:"name"`
	Kind        names.Kind                 `json:"kind"`
	BirthDate   string                     `json:"birth_date"`
	Countries   texts                      `json:"countries"`
	Identifiers map[IdentifierType]texts   `json:"identifiers"`
	ReviewAt    float64                    `json:"review_at"`
	FailAt      *float64                   `json:"fail_at"`
	Topics      map[string]json.RawMessage `json:"policy"`
	ClearOn     []string                   `json:"clear_on"`

	policy policy
}

// texts is a list of texts; a single one may stand alone.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		return json.Unmarshal(raw, (*[]string)(t))
	}
	var one string
	err := json.Unmarshal(raw, &one)
	if one != "" {
		*t = []string{one}
	}
	return err
}

func (p *Provider) read(values map[string]any) (w searchWith, err error) {
	w.ReviewAt = reviewAt
	if err := p.with.Read(values, &w); err != nil {
		return w, err
	}
	otherwise := thresholds{ReviewAt: w.ReviewAt}
	if w.FailAt != nil {
		otherwise.FailAt = *w.FailAt
	}
	switch {
	case w.BirthDate != "" && !IsDate(w.BirthDate):
		err = errors.New("with.birth_date must be YYYY, YYYY-MM or YYYY-MM-DD")
	case w.FailAt != nil && *w.FailAt < w.ReviewAt:
		err = errors.New("with.fail_at must not be below review_at")
	default:
		w.policy, err = readPolicy(w.Topics, otherwise)
	}
	if err == nil {
		w.Countries, err = readCountries(w.Countries)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", ProviderName, err)
	}
	return w, err
}

// readCountries returns the codes of countries.
func readCountries(given []string) (codes []string, err error) {
	for i, text := range given {
		if strings.TrimSpace(text) == "" {
			continue
		}
		code, ok := country.Parse(text)
		if !ok {
			return nil, fmt.Errorf("with.countries[%d] is not a country: give its name, or its code of ISO 3166-1, such as ru, RUS or 643", i)
		}
		codes = append(codes, code)
	}
	return codes, nil
}

func (w searchWith) subject() Subject {
	s := Subject{Kind: w.Kind, Name: w.Name, BirthDate: w.BirthDate, Countries: w.Countries}
	for _, kind := range slices.Sorted(maps.Keys(w.Identifiers)) {
		for _, value := range w.Identifiers[kind] {
			s.Identifiers = append(s.Identifiers, Identifier{kind, value})
		}
	}
	return s
}

// Check searches a list for the name in the check's `with`. Without a hit the check
// passes; an entry that reviewers have cleared is no hit. With one it passes with analysis_ok false, so that a reviewer decides, or fails,
// as the thresholds and the policy say. A name that could not be compared as a whole has
// analysis_ok false. If the list is too old, source_ok is false.
func (p *Provider) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	w, err := p.read(r.With)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	list, old, found, err := p.search(w, w.List, r.Cleared)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	hits, score := best(found.hits), 0.0
	if len(hits) > 0 {
		score = hits[0].Score
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Screening: found.result(w.List, list), Data: map[string]any{
		"list": w.List, "list_version": list.Version, "list_date": list.Date.Format(time.RFC3339), "list_entries": list.Entries,
		"score": score, "hits": hits, "hits_total": len(found.hits),
		"analysis_ok": len(hits)+len(found.doubts) == 0, "source_ok": !old,
	}}
	if len(found.noted) > 0 {
		result.Data["noted"], result.Data["noted_total"] = best(found.noted), len(found.noted)
	}
	if len(found.cleared) > 0 {
		result.Data["cleared"], result.Data["cleared_total"] = best(found.cleared), len(found.cleared)
	}
	if found.decided > 0 {
		result.Data["cleared_hits"] = found.decided
	}
	if len(found.doubts) > 0 {
		result.Data["not_compared"] = found.doubts
	}
	if found.failed {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}

// judged is what a check found, the best first.
type judged struct {
	hits    []*match // for a reviewer
	noted   []*match // shown only, by the policy
	cleared []*match // of whom the check says that another birth date clears them
	failed  bool     // one of the hits fails the check
	decided int      // hits that reviewers have cleared
	doubts  []string // what could not be compared
}

// result returns what a search of a list with this name found.
func (j judged) result(name string, l *List) *verification.ScreeningResult {
	r := &verification.ScreeningResult{List: name, ListVersion: l.Version, NotCompared: j.doubts}
	for _, h := range best(j.hits) {
		r.Hits = append(r.Hits, verification.Hit(h))
	}
	if len(j.hits) > len(r.Hits) {
		r.Total = len(j.hits)
	}
	return r
}

// search searches a list for whom a check screens, and judges what it finds. Hits that
// reviewers have cleared are only counted.
func (p *Provider) search(w searchWith, name string, known []verification.ClearedHit) (list *List, old bool, found judged, err error) {
	if list, old = p.lists.List(name, p.now()); list == nil {
		problem := errors.New(ProviderName + ": with.list: there is no list of this name: the lists are " + orNone(p.lists.Names()))
		return nil, false, judged{}, verification.Lacking(problem)
	}
	subject := w.subject()
	all, doubts, err := list.matches(subject, w.policy.lowest())
	if err != nil {
		return nil, false, judged{}, fmt.Errorf("%s: with.name: %w", ProviderName, err)
	}
	found.doubts = doubts
	for _, m := range all {
		t := w.policy.treat(m)
		switch {
		case t == ignored:
		case w.clears(subject, m):
			m.Reasons = append(m.Reasons, "cleared: the birth date differs by more than approximate dates explain")
			found.cleared = append(found.cleared, m)
		case t == noted:
			found.noted = append(found.noted, m)
		case slices.Contains(known, verification.ClearedHit{List: name, Entry: m.ID, Digest: m.Digest}):
			found.decided++
		default:
			found.hits = append(found.hits, m)
			found.failed = found.failed || t == failed
		}
	}
	return list, old, found, nil
}

// clears reports whether the check says that the birth date clears an entry. An equal
// identifier is never cleared.
func (w searchWith) clears(s Subject, m *match) bool {
	return slices.Contains(w.ClearOn, "birth_date") && !m.identified && s.Kind == names.Person && clears(s.BirthDate, m.BirthDates)
}

// ListVersions returns the version in use of each list; nil if the lists are not known.
func (p *Provider) ListVersions() map[string]string {
	if p.lists == nil {
		return nil
	}
	versions := map[string]string{}
	for _, name := range p.lists.Names() {
		versions[name] = ""
		if l, _ := p.lists.List(name, p.now()); l != nil {
			versions[name] = l.Version
		}
	}
	return versions
}

// Rescreen searches a list for the name in the check's `with`, by the same rules as Check.
func (p *Provider) Rescreen(_ context.Context, list string, r verification.CheckRequest) (verification.ScreeningResult, error) {
	w, err := p.read(r.With)
	if err != nil {
		return verification.ScreeningResult{}, err
	}
	l, _, found, err := p.search(w, list, r.Cleared)
	if err != nil {
		return verification.ScreeningResult{}, err
	}
	return *found.result(list, l), nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
