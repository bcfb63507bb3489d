// Cleared hits: what reviewers have decided about the same person in this and in earlier runs.

package engine

import (
	"context"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/view"
)

// maxEarlier is how many runs with the reference id of a person, and how many with the number,
// are read for their decisions on hits.
const maxEarlier = 5

// searchDecided is the kind of the word of a run with a decision on a hit: what the check was
// asked, and who the person is. No text that a person types has one.
const searchDecided view.SearchKind = "decided"

// cleared returns the hits that reviewers have cleared for the person or company of a request:
// in the run itself and, if the engine has Options.SearchKey, in the newest runs of the same
// person whose checks were asked the same. A hit that some of them keep is not cleared.
func (e *Engine) cleared(ctx context.Context, s *session, r verification.CheckRequest) []verification.ClearedHit {
	n, _ := s.program.Node(r.Node)
	p, _ := e.provider(s.ref.Tenant, n.Provider)
	if _, screens := p.(verification.Rescreener); !screens {
		return nil
	}
	cleared, kept := s.run.DecidedHits(r.With)
	earlier, err := e.decidedBefore(ctx, s, verification.AskedDigest(r.With))
	if err != nil { // then the hits come back
		e.log.Warn("the earlier decisions on hits cannot be read", "run", s.ref.Run, "tenant", s.ref.Tenant, "error", err)
	}
	for _, run := range earlier {
		also, not := run.DecidedHits(r.With)
		cleared, kept = append(cleared, also...), append(kept, not...)
	}
	return slices.DeleteFunc(cleared, func(h verification.ClearedHit) bool { return slices.Contains(kept, h) })
}

// decidedBefore returns the newest other runs of the person of a run that have decisions on hits
// of checks that were asked the same.
func (e *Engine) decidedBefore(ctx context.Context, s *session, asked string) (runs []verification.Run, err error) {
	if !e.Searches() || asked == "" {
		return nil, nil
	}
	seen := []verification.RunID{s.ref.Run}
	for _, word := range decidedWords(s.program, s.run, []string{asked}) {
		found, err := e.ports.Store.List(ctx, s.ref.Tenant, store.RunQuery{
			PageQuery: store.PageQuery{Limit: maxEarlier + 1}, Now: e.now(),
			Keys: []store.SearchKey{e.searchKey(s.ref.Tenant, word.Kind, word.Text)},
		})
		if err != nil {
			return nil, err
		}
		for _, other := range found.Data {
			if slices.Contains(seen, other.ID) {
				continue
			}
			seen = append(seen, other.ID)
			events, err := e.ports.Store.Load(ctx, s.ref.Tenant, other.ID, 0)
			if err != nil {
				return nil, err // the others may clear a hit that this one keeps
			}
			runs = append(runs, verification.Fold(other.ID, events))
		}
	}
	return runs, nil
}

// decidedWords returns the words of a run with decisions on hits, for each of what its checks
// were asked. A person is the same with the same reference id, or the same number of the
// subject: two customers may have one name and one birth date.
func decidedWords(p verification.Program, r verification.Run, asked []string) (words []view.SearchWord) {
	people := []string{"reference " + r.Started.ReferenceID}
	if number := view.SubjectOf(p, r).Number; number != "" {
		people = append(people, "number "+number)
	}
	for _, a := range asked {
		for _, person := range people {
			words = append(words, view.SearchWord{Kind: searchDecided, Text: a + " " + person})
		}
	}
	return words
}

// askedOf returns what the checks were asked whose hits are decided.
func askedOf(r verification.Run) (asked []string) {
	for _, s := range r.Steps {
		for _, d := range s.HitDecisions {
			if d.Asked != "" && !slices.Contains(asked, d.Asked) {
				asked = append(asked, d.Asked)
			}
		}
	}
	return asked
}
