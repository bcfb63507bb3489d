// Package screening checks people and companies against lists, in this process and
// without a network.
//
// Two providers are here: Provider (offline.screening) searches a list, NameMatch
// (offline.name_match) compares two names. Package names computes the scores.
package screening

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// Provider is offline.screening. It implements verification.Describer.
type Provider struct {
	lists *Lists
	now   func() time.Time
}

// NewProvider returns a provider that searches lists. It judges their age by now.
func NewProvider(lists *Lists, now func() time.Time) *Provider {
	return &Provider{lists: lists, now: now}
}

// Check searches a list for the name in the check's with. No hit from review_at:
// passed. A hit from review_at: passed with analysis_ok false, so that a reviewer
// decides. A hit from fail_at: failed. If the list is too old, source_ok is false.
func (p *Provider) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	w := with{values: r.With}
	w.only("list", "name", "kind", "birth_date", "countries", "review_at", "fail_at")
	listName := w.text("list", true)
	s := w.subject()
	review, _ := w.score("review_at", reviewAt)
	fail, fails := w.score("fail_at", 1)
	if fails && fail < review {
		w.problem("fail_at", "must not be below review_at")
	}
	list, old := p.lists.List(listName, p.now())
	if listName != "" && list == nil {
		w.problem("list", "there is no list of this name: the lists are "+orNone(p.lists.Names()))
	}
	if w.err != nil {
		return verification.CheckResult{}, verification.Permanent(w.err)
	}
	hits, err := list.Search(s, review)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(fmt.Errorf("with.name: %w", err))
	}
	best := 0.0
	if len(hits) > 0 {
		best = hits[0].Score
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{
		"list": listName, "list_version": list.Version, "list_date": list.Date.Format(time.RFC3339), "list_entries": list.Entries,
		"score": best, "hits": hits, "analysis_ok": len(hits) == 0, "source_ok": !old,
	}}
	if fails && best >= fail {
		result.Outcome = verification.OutcomeFailed
	}
	return result, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Describe returns the description of the provider.
func (p *Provider) Describe() verification.ProviderDescription {
	return verification.ProviderDescription{
		Summary: "Searches a list for a person or a company.",
		With: verification.Data(`{
  "type": "object", "additionalProperties": false, "required": ["list", "name", "kind"],
  "properties": {
    "list": {"type": "string", "title": "List"},
    "name": {"type": "string", "title": "Name"},
    "kind": {"type": "string", "enum": ["person", "company"], "title": "Kind"},
    "birth_date": {"type": ["string", "null"], "title": "Birth date"},
    "countries": {"type": ["array", "string", "null"], "items": {"type": "string"}, "title": "Countries"},
    "review_at": {"type": "number", "minimum": 0.5, "maximum": 1, "default": 0.85, "title": "Score for review"},
    "fail_at": {"type": "number", "minimum": 0.5, "maximum": 1, "title": "Score for failure"}
  }
}`),
		Data: verification.Data(`{
  "type": "object", "additionalProperties": false,
  "required": ["list", "list_version", "list_date", "list_entries", "score", "hits", "analysis_ok", "source_ok"],
  "properties": {
    "list": {"type": "string", "title": "List"},
    "list_version": {"type": "string", "title": "Version of the list"},
    "list_date": {"type": "string", "title": "Date of the list"},
    "list_entries": {"type": "integer", "title": "Entries of the list"},
    "score": {"type": "number", "title": "Highest score"},
    "hits": {"type": "array", "title": "Hits", "items": {
      "type": "object", "additionalProperties": false, "required": ["id", "name", "score", "reasons"],
      "properties": {
        "id": {"type": "string", "title": "Id"},
        "name": {"type": "string", "title": "Name"},
        "alias": {"type": "string", "title": "Alias"},
        "score": {"type": "number", "title": "Score"},
        "reasons": {"type": "array", "items": {"type": "string"}, "title": "Reasons"},
        "birth_dates": {"type": "array", "items": {"type": "string"}, "title": "Birth dates"},
        "countries": {"type": "array", "items": {"type": "string"}, "title": "Countries"},
        "topics": {"type": "array", "items": {"type": "string"}, "title": "Topics"}
      }
    }},
    "analysis_ok": {"type": "boolean", "title": "No hit"},
    "source_ok": {"type": "boolean", "title": "List is up to date"}
  }
}`),
	}
}
