// Cleared hits: what reviewers have decided about the same person in this and in earlier runs.

package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

const (
	// maxEarlier is how many runs with decisions on hits are read: those with the reference id
	// of a person, and those with the number. If there are more, no hit is cleared.
	maxEarlier = 20
	// maxCleared is how many hits are cleared for a request. Further ones come back.
	maxCleared = 100
)

// The kinds of words of runs whose checks had hits: what the check was asked, and who the
// person is, or the id of a run, of which a redaction leaves nothing else to find those that rest on it.
// No text that a person types has one.
const (
	searchDecided facts.SearchKind = "decided" // the run has decisions on the hits
	searchCleared facts.SearchKind = "cleared" // hits were cleared by such decisions
	searchRests   facts.SearchKind = "rests"   // hits were cleared by decisions in the run with this id
)

// clear has a request leave out the hits that reviewers have cleared for its person or company,
// and returns the decisions. If they cannot be read, it leaves out none.
func (s *session) clear(ctx context.Context, r *verification.CheckRequest) []rules.Clearance {
	n, _ := s.program.Node(r.Node)
	p, _ := s.provider(s.ref.Tenant, n.Provider)
	if _, screens := p.(verification.Rescreener); !screens {
		return nil
	}
	all, err := s.clearances(ctx, rules.AskedDigest(r.With))
	if err != nil { // then the hits come back
		s.log.Warn("the decisions on hits are not used", "run", s.ref.Run, "tenant", s.ref.Tenant, "error", err)
		return nil
	}
	for _, c := range all {
		if hit := c.Clears(); len(r.Cleared) < maxCleared && !slices.Contains(r.Cleared, hit) {
			r.Cleared = append(r.Cleared, hit)
		}
	}
	return all
}

// clearances returns the decisions that clear hits of a check of a run that is asked the same:
// in the run itself and, if the engine has Options.SearchKey, in other runs of the same person. upheld are further ones, of runs
// that are not found any more.
func (s *session) clearances(ctx context.Context, asked string, upheld ...rules.Clearance) ([]rules.Clearance, error) {
	earlier, err := s.decidedBefore(ctx, asked)
	if err != nil {
		return nil, err
	}
	return rules.Clearances(slices.Concat([]rules.Run{s.run}, earlier), asked, s.twoPeople(), upheld...), nil
}

// twoPeople reports whether two people must stand behind a decision that clears a hit of the run.
func (s *session) twoPeople() bool {
	yes := s.run.Started.FourEyes
	for _, n := range s.program.Version.Definition.Nodes { // with the hit, the run might come to this review
		yes = yes || n.FourEyes
	}
	return yes
}

// upheld reports whether a clearance counts although its run is redacted or restricted, so that it is found by its id only.
func (s *session) upheld(ctx context.Context, c rules.Clearance) (bool, error) {
	events, err := s.ports.Store.Load(ctx, s.ref.Tenant, c.Run, 0)
	if errors.Is(err, verification.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	source := rules.Fold(c.Run, rules.Shown(events))
	if !source.Hidden() || !source.Upholds(c, s.twoPeople()) {
		return false, nil
	}
	now, err := s.clearances(ctx, c.Asked, c)
	if errors.Is(err, errTooManyDecided) {
		return false, nil
	}
	return slices.ContainsFunc(now, c.Same), err
}

var errTooManyDecided = errors.New("too many runs of the person have decisions on hits")

// decidedBefore returns the other runs of the person of a run that have decisions on hits of
// checks that were asked the same.
func (s *session) decidedBefore(ctx context.Context, asked string) (runs []rules.Run, err error) {
	if !s.Searches() || asked == "" {
		return nil, nil
	}
	seen := []verification.RunID{s.ref.Run}
	for _, word := range personWords(searchDecided, s.program, s.run, []string{asked}) {
		found, err := s.withWord(ctx, s.ref.Tenant, word, store.PageQuery{Limit: maxEarlier + 1}, "")
		if err != nil {
			return nil, err
		}
		others := found.Total
		if slices.ContainsFunc(found.Data, func(one rules.Summary) bool { return one.ID == s.ref.Run }) {
			others--
		}
		if others > maxEarlier {
			return nil, errTooManyDecided
		}
		for _, other := range found.Data {
			if slices.Contains(seen, other.ID) {
				continue
			}
			seen = append(seen, other.ID)
			events, err := s.ports.Store.Load(ctx, s.ref.Tenant, other.ID, 0)
			if err != nil {
				return nil, err // the others may clear a hit that this one keeps
			}
			runs = append(runs, rules.Fold(other.ID, rules.Shown(events)))
		}
	}
	return runs, nil
}

// withWord returns a page of the runs that have a word, the newest first.
func (e *Engine) withWord(
	ctx context.Context, t verification.TenantID, w facts.SearchWord, p store.PageQuery, status rules.Status,
) (store.Page[rules.Summary], error) {
	return e.ports.Store.List(ctx, t, store.RunQuery{
		PageQuery: p, Status: status, Now: e.now(), Keys: [][]store.SearchKey{{e.searchKey(t, w.Kind, w.Text)}},
	})
}

// personWords returns the words of a kind of a run, for each of what its checks were asked. A
// person is the same with the same reference id, or with the same number of the subject, if the
// tenant's system sends it. Two customers may have one name and one birth date, and a customer
// may type the number of another one.
func personWords(k facts.SearchKind, p workflow.Program, r rules.Run, asked []string) (words []facts.SearchWord) {
	if len(asked) == 0 {
		return nil
	}
	people := []string{"reference " + r.Started.ReferenceID}
	if number := facts.InputNumber(p, r); number != "" {
		people = append(people, "number of the input "+number)
	}
	for _, a := range asked {
		for _, person := range people {
			words = append(words, facts.SearchWord{Kind: k, Text: a + " " + person})
		}
	}
	return words
}

// restWords returns the words by which a run is found that rests on decisions in other runs.
func restWords(r rules.Run) (words []facts.SearchWord) {
	for _, s := range r.Steps {
		for _, c := range s.Cleared {
			if w := (facts.SearchWord{Kind: searchRests, Text: string(c.Run)}); c.Run != r.ID && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	return words
}

// askedOf returns what the checks of a run were asked whose hits are decided, and whose hits
// were cleared.
func askedOf(r rules.Run) (decided, cleared []string) {
	for _, s := range r.Steps {
		for _, d := range s.HitDecisions {
			if d.Asked != "" && !slices.Contains(decided, d.Asked) {
				decided = append(decided, d.Asked)
			}
		}
		for _, c := range s.Cleared {
			if !slices.Contains(cleared, c.Asked) {
				cleared = append(cleared, c.Asked)
			}
		}
	}
	return decided, cleared
}
