// Package screening checks people and companies against lists, in this process and
// without a network.
//
// Two providers are here: NewProvider (offline.screening) searches a list, NewNameMatch
// (offline.name_match) compares two names.
package screening

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/internal/with"
	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
)

// The names of the providers.
const (
	ProviderName  = "offline.screening"
	NameMatchName = "offline.name_match"
)

// checks.json has the descriptions of both.
//
//go:embed checks.json
var checksJSON []byte

// Lists are the lists that a provider searches. See Open.
type Lists = watchlist.Lists

// A Source is where a list is read from, and its Format says how. Options configure Open.
type (
	Source  = watchlist.Source
	Format  = watchlist.Format
	Options = watchlist.Options
)

// Open loads all lists. The error joins the problems of all of them.
func Open(ctx context.Context, sources []Source, o Options) (*Lists, error) {
	return watchlist.Open(ctx, sources, o)
}

type described struct {
	description verification.ProviderDescription
	with        with.Schema
}

func describedAs(name string) described {
	all := map[string]verification.ProviderDescription{}
	if err := json.Unmarshal(checksJSON, &all); err != nil {
		panic("screening: " + err.Error())
	}
	return described{all[name], with.Compile(name, all[name].With, "name", "other", "kind", "birth_date")}
}

// Describe implements verification.Describer.
func (d described) Describe() verification.ProviderDescription { return d.description }

// provider is offline.screening.
type provider struct {
	described
	lists *Lists
	now   func() time.Time
}

// NewProvider returns a provider that searches lists. It judges their age by now. It is also a verification.Describer.
func NewProvider(lists *Lists, now func() time.Time) verification.Rescreener {
	return &provider{describedAs(ProviderName), lists, now}
}

// Check searches a list for the name in the check's `with`. Without a hit the check
// passes; an entry that reviewers have cleared is no hit, but has analysis_ok false if the check says so. With a hit it passes with analysis_ok false, so that a reviewer decides, or fails,
// as the thresholds and the policy say. A name that could not be compared as a whole has
// analysis_ok false. If the list is too old, source_ok is false.
func (p *provider) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	w, err := p.read(r)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	list, old, found, err := p.search(w, w.List, r.Cleared)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	hits, score := watchlist.Best(found.hits), 0.0
	if len(hits) > 0 {
		score = hits[0].Score
	}
	result := verification.CheckResult{Outcome: verification.OutcomePassed, Screening: found.result(w.List, list), Data: map[string]any{
		"list": w.List, "list_version": list.Version, "list_date": list.Date.Format(time.RFC3339), "list_entries": list.Entries,
		"score": score, "hits": hits, "hits_total": len(found.hits),
		"analysis_ok": len(hits)+len(found.doubts) == 0 && (w.Cleared != "flag" || len(found.decided) == 0), "source_ok": !old,
	}}
	if len(found.noted) > 0 {
		result.Data["noted"], result.Data["noted_total"] = watchlist.Best(found.noted), len(found.noted)
	}
	if len(found.cleared) > 0 {
		result.Data["cleared"], result.Data["cleared_total"] = watchlist.Best(found.cleared), len(found.cleared)
	}
	if n := len(found.decided); n > 0 {
		result.Data["cleared_hits"] = n
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
	hits    []*watchlist.Match // for a reviewer
	noted   []*watchlist.Match // shown only, by the policy
	cleared []*watchlist.Match // of whom the check says that another birth date clears them
	failed  bool               // one of the hits fails the check
	decided []*watchlist.Match // hits that reviewers have cleared
	doubts  []string           // what could not be compared
}

// result returns what a search of a list with this name found.
func (j judged) result(name string, l *watchlist.List) *verification.ScreeningResult {
	r := &verification.ScreeningResult{List: name, ListVersion: l.Version, NotCompared: j.doubts}
	for _, h := range watchlist.Best(j.hits) {
		r.Hits = append(r.Hits, verification.Hit(h))
	}
	for _, h := range j.decided {
		r.Cleared = append(r.Cleared, verification.Hit(h.Hit))
	}
	if len(j.hits) > len(r.Hits) {
		r.Total = len(j.hits)
	}
	return r
}

// search searches a list for whom a check screens, and judges what it finds. Hits that
// reviewers have cleared are kept apart.
func (p *provider) search(w searchWith, name string, known []verification.ClearedHit) (list *watchlist.List, old bool, found judged, err error) {
	if list, old = p.lists.List(name, p.now()); list == nil {
		problem := errors.New(ProviderName + ": with.list: there is no list of this name: the lists are " + orNone(p.lists.Names()))
		return nil, false, judged{}, verification.Lacking(problem)
	}
	subject := w.subject(w.Kind)
	all, doubts, err := w.matches(list)
	if err != nil {
		return nil, false, judged{}, fmt.Errorf("%s: with.name: %w", ProviderName, err)
	}
	found.doubts = append(doubts, w.doubts...)
	if list.Lacks > 0 {
		found.doubts = append(found.doubts,
			fmt.Sprintf("the list lost more than half of its entries (%d of %d), and nobody has accepted this version", list.Lacks, list.Entries+list.Lacks))
	}
	for _, m := range all {
		t := w.policy.treat(m)
		switch {
		case t == ignored:
		case w.clears(subject, m):
			m.Reasons = append(m.Reasons, "cleared: the birth date differs by more than approximate dates explain")
			found.cleared = append(found.cleared, m)
		case t == noted:
			found.noted = append(found.noted, m)
		case isCleared(name, m, known):
			found.decided = append(found.decided, m)
		default:
			found.hits = append(found.hits, m)
			found.failed = found.failed || t == failed
		}
	}
	return list, old, found, nil
}

// isCleared reports whether reviewers have cleared an entry. If they did so under an earlier id, the hit gets that id,
// so that the run names the decision.
func isCleared(list string, m *watchlist.Match, known []verification.ClearedHit) bool {
	if slices.Contains(known, verification.ClearedHit{List: list, Entry: m.ID, Digest: m.Digest}) {
		return true
	}
	i := slices.IndexFunc(known, func(c verification.ClearedHit) bool {
		return c.List == list && verification.Hit(m.Hit).Was(c.Entry, c.Digest)
	})
	if i >= 0 {
		m.ID = known[i].Entry
	}
	return i >= 0
}

// matches returns the entries that are like the subject, as each of its kinds, the best
// first, and what could not be compared.
func (w searchWith) matches(l *watchlist.List) (all []*watchlist.Match, doubts []string, err error) {
	for _, kind := range w.kinds {
		found, unread, err := l.Matches(w.subject(kind), w.policy.lowest())
		switch {
		case errors.Is(err, names.ErrNoName):
			unread = []string{watchlist.Nameless}
		case err != nil:
			return nil, nil, err
		}
		all = append(all, found...)
		for _, doubt := range unread {
			if !slices.Contains(doubts, doubt) {
				doubts = append(doubts, doubt)
			}
		}
	}
	if len(w.kinds) > 1 {
		watchlist.BestFirst(all)
		known := map[uint32]bool{}
		all = slices.DeleteFunc(all, func(m *watchlist.Match) bool {
			twice := known[m.Entry]
			known[m.Entry] = true
			return twice
		})
	}
	return all, doubts, nil
}

// clears reports whether the check says that the birth date clears an entry. An equal
// identifier is never cleared.
func (w searchWith) clears(s watchlist.Subject, m *watchlist.Match) bool {
	return slices.Contains(w.ClearOn, "birth_date") && !m.Identified && s.Kind == names.Person && watchlist.Clears(s.BirthDate, m.BirthDates)
}

// ListVersions returns the version in use of each list; nil if the lists are not known. No run is screened again
// against a version that waits to be accepted.
func (p *provider) ListVersions() map[string]string {
	if p.lists == nil {
		return nil
	}
	versions := map[string]string{}
	for _, name := range p.lists.Names() {
		versions[name] = ""
		if l, _ := p.lists.List(name, p.now()); l != nil && l.Lacks == 0 {
			versions[name] = l.Version
		}
	}
	return versions
}

// Rescreen searches a list for the name in the check's `with`, by the same rules as Check.
func (p *provider) Rescreen(_ context.Context, list string, r verification.CheckRequest) (verification.ScreeningResult, error) {
	w, err := p.read(r)
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
