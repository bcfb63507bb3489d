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
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/screening/names"
	"github.com/verifyd/verifyd/adapters/provider/with"
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
	List      string     `json:"list"`
	Name      string     `json:"name"`
	Kind      names.Kind `json:"kind"`
	BirthDate string     `json:"birth_date"`
	Countries countries  `json:"countries"`
	ReviewAt  float64    `json:"review_at"`
	FailAt    *float64   `json:"fail_at"`
}

// countries is a list of countries; a single one may stand alone.
type countries []string

// UnmarshalJSON implements json.Unmarshaler.
func (c *countries) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		return json.Unmarshal(raw, (*[]string)(c))
	}
	var one string
	err := json.Unmarshal(raw, &one)
	if one != "" {
		*c = []string{one}
	}
	return err
}

func (p *Provider) read(values map[string]any) (w searchWith, err error) {
	w.ReviewAt = reviewAt
	err = p.with.Read(values, &w)
	switch {
	case err != nil:
	case w.BirthDate != "" && !IsDate(w.BirthDate):
		err = errors.New(ProviderName + ": with.birth_date must be YYYY, YYYY-MM or YYYY-MM-DD")
	case w.FailAt != nil && *w.FailAt < w.ReviewAt:
		err = errors.New(ProviderName + ": with.fail_at must not be below review_at")
	}
	return w, err
}

func (w searchWith) subject() Subject {
	return Subject{Kind: w.Kind, Name: w.Name, BirthDate: w.BirthDate, Countries: w.Countries}
}

// Subject returns the person or company that a check with these values screens.
func (p *Provider) Subject(values map[string]any) (Subject, error) {
	w, err := p.read(values)
	return w.subject(), err
}

// Check searches a list for the name in the check's `with`. If the best score is below
// review_at, the check passes. From review_at on it passes with analysis_ok false, so that
// a reviewer decides, and from fail_at on it fails. If the list is too old, source_ok is
// false.
func (p *Provider) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	w, err := p.read(r.With)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	list, old, hits, err := p.search(w, w.List)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	best := 0.0
	if len(hits) > 0 {
		best = hits[0].Score
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{
		"list": w.List, "list_version": list.Version, "list_date": list.Date.Format(time.RFC3339), "list_entries": list.Entries,
		"score": best, "hits": hits, "analysis_ok": len(hits) == 0, "source_ok": !old,
	}}
	if w.FailAt != nil && best >= *w.FailAt {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}

// search searches a list for whom a check screens.
func (p *Provider) search(w searchWith, name string) (list *List, old bool, hits []Hit, err error) {
	if list, old = p.lists.List(name, p.now()); list == nil {
		problem := errors.New(ProviderName + ": with.list: there is no list of this name: the lists are " + orNone(p.lists.Names()))
		return nil, false, nil, verification.Lacking(problem)
	}
	if hits, err = list.Search(w.subject(), w.ReviewAt); err != nil {
		err = fmt.Errorf("%s: with.name: %w", ProviderName, err)
	}
	return list, old, hits, err
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

// Rescreen searches a list for the name in the check's `with`, for hits of at least its
// review_at.
func (p *Provider) Rescreen(_ context.Context, list string, r verification.CheckRequest) (verification.Rescreening, error) {
	w, err := p.read(r.With)
	if err != nil {
		return verification.Rescreening{}, err
	}
	l, _, hits, err := p.search(w, list)
	if err != nil {
		return verification.Rescreening{}, err
	}
	found := verification.Rescreening{ListVersion: l.Version}
	for _, h := range hits {
		found.Hits = append(found.Hits, verification.Hit{ID: h.ID, Name: h.Name, Score: h.Score, Reasons: h.Reasons})
	}
	return found, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
