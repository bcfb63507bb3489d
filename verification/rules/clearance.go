// Clearances: which decisions on hits count, and which of them cleared a hit of a run.

package rules

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Clearance says that a check left out a hit, because a reviewer had decided that the entry
// is another person or company.
type Clearance struct {
	List        string           `json:"list" fact:"kept"`
	ListVersion string           `json:"list_version,omitempty" fact:"kept"` // that was searched
	Hit         verification.Hit `json:"hit" fact:"emptied"`
	// Asked identifies what the check was asked, see HitDecided.Asked.
	Asked string `json:"asked" fact:"emptied"`
	// Run, Node and Visit say for which hit the decision was made: of that visit of the
	// check, 1 for the first. The run may be the one that has the clearance.
	Run   verification.RunID  `json:"run" fact:"kept"`
	Node  verification.NodeID `json:"node" fact:"kept"`
	Visit int                 `json:"visit" fact:"kept"`
	At    time.Time           `json:"at" fact:"kept"`           // of the decision
	By    string              `json:"by,omitempty" fact:"kept"` // as in VerdictRecorded
	// Identity identifies the reviewer, as in VerdictRecorded.
	Identity string `json:"identity,omitempty" fact:"kept"`
	// For is the visit of the check that left out the hit, 1 for the first. Step.Cleared has it.
	For int `json:"-" fact:"kept"`
}

// Clears returns the hit that is cleared.
func (c Clearance) Clears() verification.ClearedHit {
	return verification.ClearedHit{List: c.List, Entry: c.Hit.ID, Digest: c.Hit.Digest}
}

// Same reports whether both are of the same hit and rest on the same decision.
func (c Clearance) Same(other Clearance) bool {
	return c.Clears() == other.Clears() && c.Asked == other.Asked && c.Run == other.Run && c.At.Equal(other.At)
}

// Clearances returns the decisions in runs of one person or company that clear a hit of a
// check that is asked the same, in the order of the runs. There may be several for a hit, and
// there is none for a hit that a decision in one of the runs keeps: that it is the same person,
// or that the reviewer is not sure.
//
// A decision that clears a hit counts only while the decision on its run is approve, by a
// verdict that was given after it. If the run has four eyes, or twoPeople is set, two people
// must have said so: the reviewer who decided the hit and the one who gave the verdict, or both
// who gave the verdict. A decision that keeps a hit always counts. upheld are decisions that count in further runs, see Upholds.
func Clearances(runs []Run, asked string, twoPeople bool, upheld ...Clearance) (all []Clearance) {
	if asked == "" {
		return nil
	}
	all = slices.Clone(upheld)
	var kept []verification.ClearedHit
	for _, r := range runs {
		for _, s := range r.Steps {
			for _, d := range s.HitDecisions {
				switch {
				case d.Asked != asked:
				case d.Match != MatchOther:
					kept = append(kept, d.hit())
				case r.counts(d, twoPeople):
					all = append(all, Clearance{
						List: d.List, Hit: verification.Hit{ID: d.Entry, Digest: d.Digest}, Asked: asked,
						Run: r.ID, Node: d.Node, Visit: d.Visit, At: d.At, By: d.By, Identity: d.Identity,
					})
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(c Clearance) bool { return slices.Contains(kept, c.Clears()) })
}

// Upholds reports whether a decision counts that cleared a hit of another run, although the run is redacted or restricted. What is left of
// a decision does not say which entry it is about: a later one on the same list that keeps an entry may be about this one.
func (r Run) Upholds(c Clearance, twoPeople bool) bool {
	s := r.step(c.Node)
	if s == nil {
		return false
	}
	made := slices.IndexFunc(s.HitDecisions, func(d HitDecision) bool { return d.Visit == c.Visit && d.At.Equal(c.At) && d.List == c.List })
	return made >= 0 && r.counts(s.HitDecisions[made], twoPeople) && !slices.ContainsFunc(s.HitDecisions, func(d HitDecision) bool {
		return d.Visit == c.Visit && d.List == c.List && d.Match != MatchOther && d.seq > s.HitDecisions[made].seq
	})
}

// counts reports whether a decision that clears a hit counts.
func (r Run) counts(d HitDecision, twoPeople bool) bool {
	need := 1
	if twoPeople || r.FourEyes() {
		need = 2
	}
	return r.people(d) >= need
}

// people returns how many people stand behind a decision that clears a hit, 2 at most: those
// who have made it, or have approved the run after it. It is 0 unless the run is approved.
func (r Run) people(d HitDecision) int {
	switch v := r.Verdict; {
	case d.Match != MatchOther || r.judgedAt < d.seq || r.Decision() != DecisionApprove:
		return 0
	case r.proposedAt > d.since:
		return 2 // one who proposed the verdict, and another one who confirmed it, and may have said it again of the hit
	case d.Identity != "" && v.Identity != "" && !v.Person().MayBe(verification.Person{Identity: d.Identity, Name: d.By}):
		return 2
	}
	return 1
}

// Overruled reports whether some decision on a hit counts less after events than before them,
// or keeps a hit that it did not keep: what rests on the decisions of the run must then be
// checked again. after is the run after the events.
func (r Run) Overruled(after Run) bool {
	for i := range after.Steps {
		decisions := after.Steps[i].HitDecisions
		if len(decisions) == 0 {
			continue
		}
		before, _ := r.Step(after.Steps[i].Node)
		for _, d := range decisions {
			i := slices.IndexFunc(before.HitDecisions, func(old HitDecision) bool { return old.seq == d.seq || old.replacedBy(d) })
			switch {
			case d.Match != MatchOther && (i < 0 || before.HitDecisions[i].Match == MatchOther):
				return true
			case i >= 0 && after.people(d) < r.people(before.HitDecisions[i]):
				return true
			}
		}
	}
	return false
}

// ClearedByOthers returns how many clearances the run has that rest on decisions in other runs.
func (r Run) ClearedByOthers() (n int) {
	for i := range r.Steps {
		for _, c := range r.Steps[i].Cleared {
			if c.Run != r.ID {
				n++
			}
		}
	}
	return n
}

// clearedBy returns the clearances of hits that a provider has left out, by the first of the
// decisions that clears each, and the hits that none of them clears.
func clearedBy(list, version string, hits []verification.Hit, by []Clearance) (cleared []Clearance, unfounded []verification.Hit) {
	for _, h := range hits {
		h = cleanHit(h)
		i := slices.IndexFunc(by, func(c Clearance) bool {
			return c.Clears() == verification.ClearedHit{List: list, Entry: h.ID, Digest: h.Digest}
		})
		if i < 0 {
			unfounded = append(unfounded, h)
			continue
		}
		c := by[i]
		c.Hit, c.ListVersion = h, version
		cleared = append(cleared, c)
	}
	return cleared, unfounded
}

// clear keeps clearances of a visit, each once: of the last visit that has it.
func (s *Step) clear(all []Clearance, visit int) {
	for _, c := range all {
		c.For = visit
		i := slices.IndexFunc(s.Cleared, c.Same)
		switch {
		case i < 0:
			s.Cleared = append(slices.Clip(s.Cleared), c)
		case s.Cleared[i].For < visit:
			s.Cleared = slices.Clone(s.Cleared)
			s.Cleared[i].For = visit
		}
	}
}

// AskedDigest identifies what a check is asked; empty if it cannot be encoded.
func AskedDigest(with map[string]any) string {
	text, err := verification.NewData(with)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
