// What hits ask of reviewers: a hit that nobody has settled is not approved without notes, and
// under four eyes the second person settles it.

package rules

import (
	"strings"

	"github.com/verifyd/verifyd/internal/screened"
	"github.com/verifyd/verifyd/verification"
)

// The refusals of a verdict because of hits. Each is a verification.ErrInvalid.
var (
	// ErrNotesForUnsure is returned to a reviewer who approves without notes a run that has a hit
	// which no reviewer has decided, or of which a reviewer is not sure.
	ErrNotesForUnsure error = verification.InvalidField("signal", "payload.notes",
		"is required, because it is not decided whether a hit is the person or company")
	// ErrHitForSecond is returned to a reviewer who confirms an approval before they have decided
	// the hits that the second person is asked about: see FoundHit.AsksSecond.
	ErrHitForSecond error = verification.InvalidField("run", "hits", "must be decided by the reviewer who confirms the approval")
)

// sameScore is the score of an entry with the same name or number. It reads 100 %.
const sameScore = 0.995

// Settled reports whether a reviewer has decided that the entry is the person or company, or that
// it is another one. "Not sure" settles nothing.
func (h FoundHit) Settled() bool {
	return h.Decision.Match == MatchSame || h.Decision.Match == MatchOther
}

// AsksSecond reports whether the reviewer who confirms a proposed approval must decide the hit:
// nobody has settled it, or the reviewer who proposed the approval did so after the proposal, or
// cleared a hit that agrees with the person or company (see Likeness.Close). A redacted hit asks nobody.
func (h FoundHit) AsksSecond(p Verdict, agrees bool) bool {
	d := h.Decision
	switch {
	case p.Decision != DecisionApprove || h.ID == "":
		return false
	case !h.Settled():
		return true
	case !(verification.Person{Identity: d.Identity, Name: d.By}).MayBe(p.Person()):
		return false
	}
	return d.At.After(p.At) || d.Match == MatchOther && agrees
}

// minSameNumber is how many letters and digits of a number are looked for in the reasons of a hit.
const minSameNumber = 5

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// eachHit calls f with the hits of the run, of all visits, until it returns false. agrees says
// whether the entry agrees with the person or company; of an earlier visit, of which the run does
// not say any more what was asked, whether it may.
func (d *decision) eachHit(f func(h FoundHit, agrees func() bool) bool) {
	for _, s := range d.run.Steps {
		for _, number := range s.screenedVisits() {
			visit, earlier := s.visit(number)
			for _, h := range visit.hits() {
				if !f(h, func() bool { return d.agrees(h.Hit, s.Node, earlier) }) {
					return
				}
			}
		}
	}
}

// agrees reports whether an entry agrees with the person or company of a visit of a check, see Likeness.Close.
func (d *decision) agrees(h verification.Hit, node verification.NodeID, earlier int) bool {
	step, _ := d.run.Step(node)
	asked, said := d.run.askedNow(d.program, step)
	if !said || earlier > 0 {
		return h.Score >= sameScore
	}
	values := d.run.FactValues(d.program)
	text := func(v FactValue) string { return strings.Join(screened.Texts(v.Value), " ") }
	return LikenessOf(h, asked, Subject{Name: text(values.Name), BirthDate: text(values.BirthDate), Number: text(values.Number)}).Close()
}

// unsettled reports whether the run has a hit that no reviewer has settled.
func (d *decision) unsettled() (open bool) {
	d.eachHit(func(h FoundHit, _ func() bool) bool {
		open = h.ID != "" && !h.Settled()
		return !open
	})
	return open
}

// checkSecond returns ErrHitForSecond for a confirmation of an approval while a hit asks the
// second person. Hits can be decided only while the run needs a verdict.
func (d *decision) checkSecond() error {
	if d.run.Decision() != DecisionReview {
		return nil
	}
	var err error
	d.eachHit(func(h FoundHit, agrees func() bool) bool {
		if h.AsksSecond(d.run.Proposal, h.Decision.Match == MatchOther && agrees()) {
			err = ErrHitForSecond
		}
		return err == nil
	})
	return err
}
