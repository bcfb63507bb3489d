// Hits: a later version of a list has some for a check of a completed run, and reviewers
// decide each of them.

package rules

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// maxHits is the maximum number of hits that one event records.
const maxHits = 10

func (d *decision) recordHits(c RecordHits) error {
	s, reached := d.run.Step(c.Node)
	switch {
	case d.run.Ended != StatusCompleted:
		return verification.Conflict("run", "only a completed run can have hits of a later version of a list")
	case !reached || s.Type != workflow.NodeCheck:
		return verification.InvalidField("run", "node_id", "the run has made no check at this node")
	}
	visit, earlier := s.visit(c.Visit)
	known := visit.hitsOn(clean(c.List))
	cleared, unfounded := clearedBy(clean(c.List), clean(c.ListVersion), c.LeftOut, c.Cleared)
	found := slices.Concat(c.Hits, unfounded)
	hits := make([]verification.Hit, 0, min(len(found), maxHits))
	for _, h := range found {
		h = cleanHit(h)
		if len(hits) < maxHits && !slices.ContainsFunc(known, func(k verification.Hit) bool { return unchanged(h, k) }) {
			known, hits = append(known, h), append(hits, h)
		}
	}
	if len(hits) > 0 {
		f := HitsFound{Node: c.Node, List: clean(c.List), ListVersion: clean(c.ListVersion), Hits: hits, Overruled: c.Overruled, Visit: earlier}
		if earlier > 0 || s.Gone {
			f.Asked = c.Asked
		}
		d.add(f)
	}
	cleared = slices.DeleteFunc(cleared, func(c Clearance) bool { return slices.ContainsFunc(s.Cleared, c.Same) })
	if len(cleared) > 0 {
		d.add(HitsCleared{Node: c.Node, Cleared: cleared, Visit: earlier})
	}
	return nil
}

// hitsOn returns the entries of a list that the check or a later screening found.
func (s Step) hitsOn(list string) (all []verification.Hit) {
	if s.Screening != nil && s.Screening.List == list {
		all = append(all, s.Screening.Hits...)
	}
	for _, found := range s.Rescreened {
		if found.List == list {
			all = append(all, found.Hits...)
		}
	}
	return all
}

// HitMatch says whether the entry of a hit is the person or company that was screened.
type HitMatch string

// The decisions on a hit.
const (
	MatchSame   HitMatch = "same"   // the entry is that person or company
	MatchOther  HitMatch = "other"  // it is another one: the hit is cleared
	MatchUnsure HitMatch = "unsure" // the reviewer cannot tell
)

// HitDecision is a decision on a hit. Its Match is empty for none.
type HitDecision struct {
	HitDecided
	At    time.Time
	Visit int // of the check: the decision is on a hit of this visit

	seq   int // of the event in the history, 1 for the first
	since int // of the first event of those that said the same of the hit, without another between
}

// about hides the method of HitDecided: a HitDecision is no fact.
func (HitDecision) about() {} //nolint:unused // it hides another one

// hit returns the hit that was decided.
func (f HitDecided) hit() verification.ClearedHit {
	return verification.ClearedHit{List: f.List, Entry: f.Entry, Digest: f.Digest}
}

// FoundHit is a hit of a check, with the newest decision on it.
type FoundHit struct {
	List string
	verification.Hit
	Decision HitDecision
}

// decideHit records a decision. A decision that says the same again changes nothing.
func (d *decision) decideHit(c DecideHit) error {
	decided := HitDecided{
		Node: c.Node, Visit: c.Visit, List: c.List, Entry: c.Entry, Digest: c.Digest, Match: c.Match, Reason: c.Reason,
		By: clean(c.By), Identity: clean(c.Identity),
	}
	switch c.Match {
	case MatchSame, MatchOther, MatchUnsure:
	default:
		return verification.InvalidField("hit", "match", `must be "same", "other" or "unsure"`)
	}
	if problem := notesProblem(c.Reason); problem != "" {
		return verification.InvalidField("hit", "reason", problem)
	}
	if err := d.checkClaim(c.Claim, verification.Person{Identity: decided.Identity, Name: decided.By}); err != nil {
		return err
	}
	if d.run.Decision() != DecisionReview {
		return verification.Conflict("run", "the run needs no verdict now, so its hits cannot be decided")
	}
	step, _ := d.run.Step(c.Node)
	visit, earlier := step.visit(c.Visit)
	hits := visit.hits()
	decided.Visit = earlier
	i := slices.IndexFunc(hits, func(h FoundHit) bool {
		return (verification.ClearedHit{List: h.List, Entry: h.ID, Digest: h.Digest}) == decided.hit()
	})
	if i < 0 {
		return verification.Conflict("run", "the check does not have this hit, or has it no longer")
	}
	if c.Together && d.agrees(hits[i].Hit, c.Node, earlier) {
		return verification.InvalidField("hit", "entry", "must be decided alone, because the name or a number and the birth date are the same")
	}
	if c.Justified && c.Match == MatchOther && strings.TrimSpace(c.Reason) == "" && d.agrees(hits[i].Hit, c.Node, earlier) {
		return verification.InvalidField("hit", "reason", "is required, because the name or a number and the birth date are the same")
	}
	if earlier > 0 || step.Gone {
		decided.Asked = visit.asked()
	} else if request, err := d.run.RequestAgain(d.program, "", c.Node); err == nil {
		decided.Asked = AskedDigest(request.With)
	}
	if hits[i].Decision.HitDecided == decided {
		return nil
	}
	if err := d.run.hits.room(verification.Person{Identity: decided.Identity, Name: decided.By}, maxHitDecisions, "decisions on hits"); err != nil {
		return err
	}
	d.add(decided)
	return nil
}

// fold takes the verdict back: it was given without the hits, so the run needs another one.
func (f HitsFound) fold(r *Run, at time.Time) {
	if r.Decision() != DecisionReview { // else it needed one before
		r.ReopenedAt, r.turn = at, turn{}
	}
	r.Verdict, r.Proposal, r.HadHits = Verdict{}, Verdict{}, true
	r.withStep(f.Node, func(s *Step) { s.Rescreened = append(slices.Clip(s.Rescreened), f) })
}

func (f HitDecided) fold(r *Run, at time.Time) {
	r.hits = r.hits.plus(verification.Person{Identity: f.Identity, Name: f.By})
	r.withStep(f.Node, func(s *Step) { s.decided(f, at, r.Seq) })
}

func (f HitsCleared) fold(r *Run, _ time.Time) {
	r.withStep(f.Node, func(s *Step) { s.clear(f.Cleared, cmp.Or(f.Visit, s.Visits)) })
}

// decided keeps a decision in place of an earlier one on the same hit.
func (s *Step) decided(f HitDecided, at time.Time, seq int) {
	newest := HitDecision{HitDecided: f, At: at, Visit: cmp.Or(f.Visit, s.Visits), seq: seq, since: seq}
	others := slices.DeleteFunc(slices.Clone(s.HitDecisions), func(d HitDecision) bool {
		replaced := d.replacedBy(newest)
		if replaced && d.Match == f.Match {
			newest.since = d.since
		}
		return replaced
	})
	s.HitDecisions = append(others, newest)
}

// replacedBy reports whether two decisions are on the same hit. That is not known of one that was redacted.
func (d HitDecision) replacedBy(newest HitDecision) bool {
	return d.Entry+d.Digest != "" && d.hit() == newest.hit() && d.Visit == newest.Visit
}

// visit returns the step with the screening, the later hits and the decisions of one visit. number
// is 0 for the last one, as earlier is then. Of a visit that is not known there is no hit.
func (s Step) visit(number int) (_ Step, earlier int) {
	last := s.Visits
	if number != 0 && number != last {
		earlier, s.Screening = number, nil
		for i := range s.EarlierHits {
			if s.EarlierHits[i].Visit == number {
				s.Screening = &s.EarlierHits[i].Screening
			}
		}
	}
	s.Rescreened = slices.DeleteFunc(slices.Clone(s.Rescreened), func(f HitsFound) bool { return f.Visit != earlier })
	s.HitDecisions = slices.DeleteFunc(slices.Clone(s.HitDecisions), func(d HitDecision) bool { return d.Visit != cmp.Or(earlier, last) })
	return s, earlier
}

// asked returns what a check was asked on an earlier visit that has hits, see HitDecided.Asked.
func (s Step) asked() string {
	if s.Screening != nil && len(s.Screening.Hits) > 0 {
		return s.Screening.Asked
	}
	return s.Rescreened[0].Asked
}

// screenedVisits returns the numbers of the visits with hits that are known, the last visit first.
func (s Step) screenedVisits() []int {
	numbers := []int{0}
	for _, v := range s.EarlierHits {
		numbers = append(numbers, v.Visit)
	}
	for _, f := range s.Rescreened {
		if !slices.Contains(numbers, f.Visit) {
			numbers = append(numbers, f.Visit)
		}
	}
	return numbers
}

// cleanHit returns a hit with texts that every store can keep.
func cleanHit(h verification.Hit) verification.Hit {
	h.ID, h.Name, h.Alias, h.Digest = clean(h.ID), clean(h.Name), clean(h.Alias), clean(h.Digest)
	for _, texts := range []*[]string{&h.BirthDates, &h.Countries, &h.Topics, &h.Reasons} {
		*texts = slices.Clone(*texts)
		for i, text := range *texts {
			(*texts)[i] = clean(text)
		}
	}
	return h
}

// unchanged reports whether known is the same entry, and the entry has not changed since as
// far as the digests tell.
func unchanged(h, known verification.Hit) bool {
	return known.ID == h.ID && (known.Digest == h.Digest || known.Digest == "" || h.Digest == "") || h.Was(known.ID, known.Digest)
}

// recorded returns what a run keeps of the result of a screening that left out the hits which
// some of the decisions clear; nil if there is none. more reports whether it left out others,
// which are hits.
func recorded(r *verification.ScreeningResult, c RecordResult) (s *Screening, more bool) {
	if r == nil {
		return nil, false
	}
	s = &Screening{List: clean(r.List), ListVersion: clean(r.ListVersion), Total: r.Total}
	for _, h := range r.Hits {
		s.Hits = append(s.Hits, cleanHit(h))
	}
	var unfounded []verification.Hit
	s.Cleared, unfounded = clearedBy(s.List, s.ListVersion, r.Cleared, c.Cleared)
	if s.Hits = append(s.Hits, unfounded...); len(s.Hits) > 0 {
		s.Asked = c.Asked
	}
	return s, len(unfounded) > 0
}
