// Who may decide a run: claims, own proposals and people who may be one person.

package rules

import "github.com/verifyd/verifyd/verification"

// Standing is how a person stands to the verdict of a run: what others, or the person before, have
// done about it. Decide, the queue and the console judge by it.
type Standing struct {
	Claimed bool // another person has claimed the run
	Own     bool // the person has proposed the verdict, and cannot confirm it
	Doubt   bool // the person may be who proposed it; true with Own, too
}

// StandingOf returns how a person stands to a verdict that somebody has proposed, if it is one, and
// to a claim that is held; zero for none.
func StandingOf(p verification.Person, proposed Decision, by verification.Person, held Claim) Standing {
	return Standing{
		Claimed: held.By != "" && !held.IsOf(p), Own: proposed.Verdict() && by.Is(p), Doubt: proposed.Verdict() && by.MayBe(p),
	}
}

// OpenTo reports whether a person may decide on the run now, as far as other people are
// concerned: nobody else has claimed it, and it has no proposal that the person cannot confirm.
func (v Review) OpenTo(p verification.Person) bool {
	s := StandingOf(p, v.Proposed, v.ProposedBy, v.Claim)
	return !s.Claimed && !s.Doubt
}
