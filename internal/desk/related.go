// Related runs: other runs of the same person, number, phone, mail address or reference.

package desk

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Relation is what a run has in common with another one.
type Relation string

// The relations.
const (
	SameReference Relation = "reference"
	SamePerson    Relation = "person"  // name and birth date
	SameElement   Relation = "element" // name and birth date of an element
	SameNumber    Relation = "number"
	SamePhone     Relation = "phone"
	SameMail      Relation = "mail"
)

// Weak reports whether families and offices share it.
func (r Relation) Weak() bool { return r == SamePhone || r == SameMail }

// RelatedRuns are the other runs of a tenant that have something in common with a run.
type RelatedRuns struct {
	// Runs are at most 10: the rejected ones first, then those with the strongest relation, then the newest.
	Runs []RelatedRun
	// Total is how many there are. AtLeast says that there may be more than Total.
	Total   int
	AtLeast bool
	At      time.Time // when they were read
}

// RelatedRun is a run and what it has in common with the other one.
type RelatedRun struct {
	rules.Summary
	Same []Relation
	// Elements are those of the other run whose name and birth date the run has.
	Elements []facts.Element
	// Rejection is why a reviewer rejected the run. It is zero if its verdict is no
	// rejection or has no reason, and has only a Code if the workflow does not know the reason.
	Rejection workflow.RejectReason
}

// The bounds of RelatedRuns.
const (
	maxRelated   = 10
	maxRelations = 8 // queries
	maxElements  = 16
)

// RelatedRuns returns the other runs with the same reference id, or with the same name and
// birth date, number, phone number or mail address if the workflows of both search them. The name and birth date may be
// those of an element. A redacted run has none.
func (d *Desk) RelatedRuns(ctx context.Context, t verification.TenantID, r RunRecord) (found RelatedRuns, err error) {
	page := store.PageQuery{Limit: maxRelated + 1} // the run itself is one of them
	type likeness struct {
		Relation
		query   store.RunQuery
		element facts.Element
	}
	var all []likeness
	if id := r.Report.Run.ReferenceID; id != rules.RedactedReference { // which runs of several people have
		all = append(all, likeness{SameReference, store.RunQuery{PageQuery: page, ReferenceID: id}, facts.Element{}})
	}
	for _, w := range r.words {
		relation, ok := relationOf(w.Kind)
		if ok && d.engine.Searches() && len(all) < maxRelations {
			if w.CouldBeLocal() { // the key of a number is also that of a phone number without its country
				w.Kind = facts.SearchWhole
			}
			keys := d.engine.SearchKeys(t, []facts.SearchWord{w})
			all = append(all, likeness{relation, store.RunQuery{PageQuery: page, Keys: keys}, facts.Element{}})
		}
	}
	elements := 0
	for _, e := range r.Elements.All {
		words := slices.DeleteFunc(e.SearchWords(), func(w facts.SearchWord) bool { return w.Kind != facts.SearchPerson })
		switch keys := d.engine.SearchKeys(t, words); {
		case len(keys) == 0 || slices.ContainsFunc(all, func(l likeness) bool { return slices.EqualFunc(l.query.Keys, keys, slices.Equal) }):
		case elements == maxElements:
			found.AtLeast = true
		default:
			elements++
			all = append(all, likeness{SameElement, store.RunQuery{PageQuery: page, Keys: keys}, e})
		}
	}
	ctx = verification.WithActor(ctx, verification.Actor{Kind: verification.ActorSystem}) // it is part of reading the run
	for _, l := range all {
		p, at, err := d.engine.RunSummaries(ctx, t, l.query)
		if err != nil {
			return found, err
		}
		found.At = at
		found.AtLeast = found.AtLeast || p.Total > len(p.Data)
		found.Total = max(found.Total, p.Total-1)
		for _, s := range p.Data {
			found.add(r.Report.Run.ID, s, l.Relation, l.element)
		}
	}
	slices.SortFunc(found.Runs, func(a, b RelatedRun) int {
		if c := slices.Compare(a.rank(), b.rank()); c != 0 {
			return c
		}
		if store.Newer(a.Summary, b.Summary) {
			return -1
		}
		return 1
	})
	found.Total = max(found.Total, len(found.Runs))
	found.Runs = found.Runs[:min(len(found.Runs), maxRelated)]
	for i, run := range found.Runs {
		if run.Verdict != rules.DecisionReject {
			continue
		}
		if found.Runs[i].Rejection, err = d.engine.Rejection(ctx, t, run.ID); err != nil {
			return found, err
		}
	}
	return found, nil
}

// rank orders related runs for a reviewer.
func (r RelatedRun) rank() []int {
	strongest := len(strongestFirst())
	for _, same := range r.Same {
		strongest = min(strongest, slices.Index(strongestFirst(), same))
	}
	if r.Verdict == rules.DecisionReject {
		return []int{0, strongest}
	}
	return []int{1, strongest}
}

func strongestFirst() []Relation {
	return []Relation{SameReference, SameNumber, SamePerson, SameElement, SamePhone, SameMail}
}

// add adds a run, unless it is the run itself.
func (r *RelatedRuns) add(self verification.RunID, s rules.Summary, same Relation, of facts.Element) {
	if s.ID == self {
		return
	}
	i := slices.IndexFunc(r.Runs, func(one RelatedRun) bool { return one.ID == s.ID })
	if i < 0 {
		i = len(r.Runs)
		r.Runs = append(r.Runs, RelatedRun{Summary: s, Same: []Relation{same}})
	} else if !slices.Contains(r.Runs[i].Same, same) {
		r.Runs[i].Same = append(r.Runs[i].Same, same)
	}
	if same == SameElement {
		r.Runs[i].Elements = append(r.Runs[i].Elements, of)
	}
}

// EarlierRun is another run of the person or company of a run, as it is now.
type EarlierRun struct {
	engine.EarlierRun
	Run verification.RunID
	By  []verification.EarlierBy
}

// StillRejected returns the first runs that came with a run in the queue and still are rejected, at most limit. It
// leaves out those that are deleted, redacted or restricted since. unknown says that there may be others.
func (d *Desk) StillRejected(
	ctx context.Context, t verification.TenantID, f rules.Rejections, limit int,
) (shown []EarlierRun, unknown bool) {
	for _, r := range f.Runs {
		if len(shown) == limit {
			break
		}
		found, ok, err := d.EarlierRun(ctx, t, r.Run)
		if err != nil {
			d.log.Warn("an earlier run cannot be read", "run", r.Run, "tenant", t, "error", err)
			unknown = true
		}
		if ok && found.Decision == rules.DecisionReject {
			found.By = r.By
			shown = append(shown, found)
		}
	}
	return shown, unknown || f.Unknown
}

// EarlierRun returns what pages show of a run that another run has found, unless it is deleted, redacted or restricted.
func (d *Desk) EarlierRun(ctx context.Context, t verification.TenantID, id verification.RunID) (found EarlierRun, ok bool, err error) {
	found.Run = id
	found.EarlierRun, err = d.engine.EarlierRun(ctx, t, id)
	if errors.Is(err, verification.ErrNotFound) {
		return found, false, nil
	}
	return found, err == nil, err
}

// relationOf returns the relation of runs that have a word in common; ok is false if
// that means nothing, such as for one word of a name.
func relationOf(k facts.SearchKind) (relation Relation, ok bool) {
	switch k {
	case facts.SearchPerson:
		return SamePerson, true
	case facts.SearchNumber:
		return SameNumber, true
	case facts.SearchPhone:
		return SamePhone, true
	case facts.SearchMail:
		return SameMail, true
	case facts.SearchName, facts.SearchDate, facts.SearchLocal, facts.SearchWhole:
	}
	return "", false
}
