// Concerns: what a reviewer should look at, with the facts that say what is wrong.

package rules

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ConcernKind says what a concern is about.
type ConcernKind string

// The kinds of concerns, the most urgent first.
const (
	ConcernHit        ConcernKind = "hit"        // an entry of a list is like the person or company
	ConcernUnscreened ConcernKind = "unscreened" // a check that screens was not called; it has no card, and flags nothing
	ConcernFailed     ConcernKind = "failed"     // a check did not pass, or gave no answer
	ConcernFlag       ConcernKind = "flag"       // another cause flags the step
	ConcernReview     ConcernKind = "review"     // the workflow asks for a review
)

// concernKinds returns the kinds in the order of concerns.
func concernKinds() []ConcernKind {
	return []ConcernKind{ConcernHit, ConcernUnscreened, ConcernFailed, ConcernFlag, ConcernReview}
}

// Concern is one thing that a reviewer should look at: a flagged step, a check that did
// not pass, or one that screens and was not called.
type Concern struct {
	NodeID verification.NodeID `json:"node_id"`
	Label  string              `json:"label"`
	Kind   ConcernKind         `json:"kind"`
	// Sentences are those of the flag, or say that the check did not pass or gave no answer.
	Sentences []Sentence `json:"sentences,omitempty"`
	// Hit is the best hit of a screening that a reviewer has decided to be the same person or
	// company, or else the best one that nobody has judged, or else the best one of which a
	// reviewer is not sure, or else the best one; nil for none. MoreHits counts the others.
	Hit      *verification.Hit `json:"hit,omitempty"`
	MoreHits int               `json:"more_hits,omitempty"`
	// List is the list of the hit, and Likeness compares both: see Run.Compared. Reviews that were stored before have neither.
	List     string    `json:"list,omitempty"`
	Likeness *Likeness `json:"likeness,omitempty"`
	// DecidedHits counts the hits that are decided, and SameHits those of them whose entry is
	// the same person or company. UnsureHits counts those of which a reviewer is not sure: they
	// are not decided.
	DecidedHits int `json:"decided_hits,omitempty"`
	SameHits    int `json:"same_hits,omitempty"`
	UnsureHits  int `json:"unsure_hits,omitempty"`
	// Finding is what the check says in one of the fields reason, status and result of its
	// data, at most 100 characters; empty for none.
	Finding string `json:"finding,omitempty"`
	// Score is the field score of the data, such as 0.41 or 41; nil for none.
	Score *float64 `json:"score,omitempty"`
	// Sources is how many sources of a group were asked, of which several have not confirmed, and Confirmed how many of them
	// have: the concern is then about the group. Both are 0 for any other concern.
	Sources   int `json:"sources,omitempty"`
	Confirmed int `json:"confirmed,omitempty"`
}

// maxFinding is the maximum number of characters of a Finding.
const maxFinding = 100

// concerns returns Report.Concerns.
func (r Run) concerns() []Concern {
	var all []Concern
	for _, s := range r.Steps {
		c, yes := s.concern()
		if yes && s.unavailable && !s.flagged() {
			group, _ := r.Group(groupOf(s.Node))
			yes = group.Status != StepPassed // else the group was met without its answer
		}
		if yes {
			all = append(all, c)
		}
	}
	all = r.together(all)
	for _, u := range r.Unscreened {
		all = append(all, u.concern())
	}
	kinds := concernKinds()
	slices.SortStableFunc(all, func(a, b Concern) int {
		return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind))
	})
	others := slices.ContainsFunc(all, func(c Concern) bool { return c.Kind != ConcernReview })
	return slices.DeleteFunc(all, func(c Concern) bool {
		return others && c.Kind == ConcernReview && c.Sentences[0].Text == ""
	})
}

// together returns the concerns with one in place of several about sources of the same group that have not confirmed.
func (r Run) together(all []Concern) (out []Concern) {
	failed := map[verification.NodeID]int{}
	member := func(c Concern) verification.NodeID {
		if _, _, name := c.NodeID.Parts(); name == "" || c.Kind != ConcernFailed {
			return ""
		}
		return groupOf(c.NodeID)
	}
	for _, c := range all {
		failed[member(c)]++
	}
	for _, c := range all {
		group := member(c)
		g, ok := r.Group(group)
		switch {
		case group == "" || !ok || failed[group] < 2:
			out = append(out, c)
		case !slices.ContainsFunc(out, func(c Concern) bool { return c.NodeID == group }):
			one := Concern{NodeID: group, Label: g.Label, Kind: ConcernFailed, Sentences: []Sentence{{Key: sentenceNotConfirmed}}}
			for _, s := range r.called(g) {
				one.Sources++
				if a := g.answer(&r, s.Node); a == AnswerConfirmed || a == AnswerFlagged {
					one.Confirmed++
				}
			}
			out = append(out, one)
		}
	}
	return out
}

// concern returns what a reviewer should look at in the step, and whether there is anything.
func (s Step) concern() (c Concern, yes bool) {
	c = Concern{NodeID: s.Node, Label: s.Label, Kind: ConcernFlag, Sentences: s.sentences()}
	failed := s.Type == workflow.NodeCheck && s.Status == StepFailed && !s.cancelled && !s.Gone
	switch hits := s.allHits(); {
	case s.Type == workflow.NodeReview:
		c.Kind = ConcernReview
	case len(hits) > 0:
		c.Kind, c.MoreHits = ConcernHit, len(hits)-1
		first := slices.MinFunc(hits, func(a, b FoundHit) int { return cmp.Compare(a.urgency(), b.urgency()) })
		c.Hit = &first.Hit
		for _, h := range hits {
			switch h.Decision.Match {
			case MatchSame:
				c.SameHits++
				c.DecidedHits++
			case MatchOther:
				c.DecidedHits++
			case MatchUnsure:
				c.UnsureHits++
			}
		}
	case failed:
		c.Kind = ConcernFailed
		c.Finding, c.Score = findingOf(s.Data)
		if len(c.Sentences) == 0 {
			c.Sentences = []Sentence{s.failure()}
		}
	}
	return c, failed || s.flagged() && (s.Type != workflow.NodeReview || !s.finished())
}

// urgency orders hits for a reviewer, the most urgent first: the same person or company,
// then those that nobody has judged, then those of which a reviewer is not sure.
func (h FoundHit) urgency() int {
	switch h.Decision.Match {
	case MatchSame:
		return 0
	case "":
		return 1
	case MatchUnsure:
		return 2
	case MatchOther:
	}
	return 3
}

// listed reports whether a reviewer has decided that the entry of a hit is the person or
// company of the run.
func (r Run) listed() bool {
	return slices.ContainsFunc(r.concerns(), func(c Concern) bool { return c.SameHits > 0 })
}

// OpenHits returns the number of hits that no reviewer has decided: "not sure" is no decision.
func (c Concern) OpenHits() int {
	if c.Hit == nil {
		return 0
	}
	return 1 + c.MoreHits - c.DecidedHits
}

// hits returns the hits of the step's screenings, the best first.
func (s Step) hits() []FoundHit { return hitsOf(s.Screening, s.Rescreened, s.HitDecisions) }

// allHits returns the hits of all visits, the best first.
func (s Step) allHits() (all []FoundHit) {
	for _, number := range s.screenedVisits() {
		visit, _ := s.visit(number)
		all = append(all, visit.hits()...)
	}
	slices.SortStableFunc(all, func(a, b FoundHit) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

// Hits returns the hits of the last visit and of later versions of the list, the best first. A card that is Gone has none.
func (c Card) Hits() []FoundHit {
	if c.Gone {
		return nil
	}
	return hitsOf(c.Screening, slices.DeleteFunc(slices.Clone(c.Rescreened), func(f HitsFound) bool { return f.Visit != 0 }), c.HitDecisions)
}

// Hits returns the hits of the visit and of later versions of the list, the best first.
func (v CardVisit) Hits() []FoundHit { return hitsOf(v.Screening, v.Rescreened, v.HitDecisions) }

func hitsOf(first *Screening, later []HitsFound, decisions []HitDecision) []FoundHit {
	var all []FoundHit
	add := func(list string, hits []verification.Hit) {
		for _, h := range hits {
			found := FoundHit{List: list, Hit: h}
			if i := slices.IndexFunc(decisions, func(d HitDecision) bool {
				return d.hit() == verification.ClearedHit{List: list, Entry: h.ID, Digest: h.Digest}
			}); i >= 0 {
				found.Decision = decisions[i]
			}
			all = append(all, found)
		}
	}
	if first != nil {
		add(first.List, first.Hits)
	}
	for _, found := range later {
		add(found.List, found.Hits)
	}
	slices.SortStableFunc(all, func(a, b FoundHit) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

// findingOf returns the fields of a check's data that say in short what it found.
func findingOf(d verification.Data) (finding string, score *float64) {
	texts := map[string]string{}
	jsontext.Each(d, func(name, value []byte) {
		switch string(name) {
		case "reason", "status", "result":
			var text string
			if json.Unmarshal(value, &text) == nil {
				texts[string(name)] = strings.TrimSpace(text)
			}
		case "score":
			var number float64
			if json.Unmarshal(value, &number) == nil {
				score = &number
			}
		}
	})
	return shortened(cmp.Or(texts["reason"], texts["status"], texts["result"]), maxFinding), score
}
