// The review queue: the runs that need a verdict, and who works on them.

package rules

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

const (
	// maxConcerns is how many concerns of a run the queue shows.
	maxConcerns = 5
	// maxReviewReason is how many characters of the reason of a flag the queue shows. The
	// sentences of all causes fit; only the reason of a review step may be longer.
	maxReviewReason = 600
)

// Review is what the review queue shows of a run while its decision is review. Each append
// replaces it with the summary of the run.
type Review struct {
	WorkflowName string // when the run started
	// Subject is the name of whom the run is about, and Differing the first facts that do not
	// match; empty for none. See WithBrief.
	Subject   string
	Differing []Differing
	// Since is when the run began to need a verdict: it parked on a review step, completed
	// with a flagged step, or was reopened by a hit, see Run.ReopenedAt. A run that comes back from its customer has the
	// time of before, and a microsecond more for each time.
	Since time.Time
	// Round is the round of the question that the run last came back from; zero if no reviewer has asked. CountedFrom is then the
	// time from which the time for the verdict counts: Since, later by the time from each question until the run was back.
	Round       int       `json:",omitzero"`
	CountedFrom time.Time `json:",omitzero"`
	// DueAt is CountedFrom, or else Since, plus the workflow's review_due_minutes; zero for none.
	DueAt time.Time
	// Concerns are the first concerns of the run, 5 at most, and MoreConcerns counts the
	// others. A sentence with more than 600 characters is cut, and ends with an ellipsis.
	Concerns     []Concern
	MoreConcerns int
	// Causes are the causes of all flags and of the proposal, without repetition, in the
	// order of Causes.
	Causes []Cause
	// Proposed is a verdict that a second reviewer must confirm, and ProposedBy the
	// first; both are zero for none.
	Proposed   Decision
	ProposedBy verification.Person
	// Assignment says who works on the run; zero for nobody.
	Assignment Assignment `json:",omitzero"`
	Rejections Rejections `json:"RejectedBefore,omitzero"` // as the event has them
	// Claim is the claim that a person holds at the time of the query; zero for none. Only
	// RunStore.List sets it.
	Claim Claim
}

// InReview returns the time since which the run has an entry in the review queue, and
// whether it has one: its decision is review, unless its deadline has passed.
func (r Run) InReview() (since time.Time, yes bool) {
	switch w := r.Wait(); {
	case w.Kind != WaitReview && r.Ended != StatusCompleted || r.Decision() != DecisionReview:
		return time.Time{}, false
	case !r.turn.since.IsZero():
		return r.turn.since, true
	case r.Ended == "":
		return w.Since, true
	case !r.ReopenedAt.IsZero():
		return r.ReopenedAt, true
	}
	return r.CompletedAt, true
}

// Review returns the run's entry in the review queue, and whether it has one: see
// InReview, which costs less.
func (r Run) Review() (Review, bool) {
	since, yes := r.InReview()
	if !yes {
		return Review{}, false
	}
	v := Review{
		WorkflowName: r.Started.WorkflowName, Since: since, DueAt: r.dueAt(since), Concerns: r.concerns(),
		Proposed: r.Proposal.Decision, ProposedBy: r.Proposal.Person(), Assignment: r.Assignment,
		Rejections: r.rejections,
	}
	if r.turn.round > 0 {
		v.Round, v.CountedFrom = r.turn.round, since.Add(r.turn.away)
	}
	if n := len(v.Concerns); n > maxConcerns {
		unscreened := func(c Concern) bool { return c.Kind == ConcernUnscreened }
		if i := slices.IndexFunc(v.Concerns, unscreened); i >= maxConcerns { // it is always shown
			v.Concerns[maxConcerns-1] = v.Concerns[i]
		}
		v.Concerns, v.MoreConcerns = v.Concerns[:maxConcerns], n-maxConcerns
	}
	for i := range v.Concerns {
		for k := range v.Concerns[i].Sentences {
			v.Concerns[i].Sentences[k].Text = shortened(v.Concerns[i].Sentences[k].Text, maxReviewReason)
		}
	}
	for _, s := range r.Steps {
		for _, c := range s.causes() {
			v.Causes = append(v.Causes, c.Cause)
		}
	}
	if v.Proposed != DecisionNone {
		v.Causes = append(v.Causes, CauseProposal)
	}
	slices.SortFunc(v.Causes, func(a, b Cause) int { return slices.Index(Causes(), a) - slices.Index(Causes(), b) })
	v.Causes = slices.Compact(v.Causes)
	return v, true
}

// shortened returns a text of at most limit characters.
func shortened(text string, limit int) string {
	if characters := []rune(text); len(characters) > limit {
		return string(characters[:limit-1]) + "…"
	}
	return text
}

// Overdue reports whether the verdict is late at a given time.
func (v Review) Overdue(now time.Time) bool { return !v.DueAt.IsZero() && now.After(v.DueAt) }

// DueSoonAt returns when the last quarter of the time for the verdict begins.
func (v Review) DueSoonAt() time.Time { return dueSoonAt(v.From(), v.DueAt) }

// From returns the time from which the time for the verdict counts.
func (v Review) From() time.Time {
	if v.CountedFrom.IsZero() {
		return v.Since
	}
	return v.CountedFrom
}

// ClaimTTL is how long a claim holds unless it is renewed.
const ClaimTTL = 15 * time.Minute

// Claim says that a person works on a run in the review queue. It is not evidence:
// it is not in the history, and it ends with the review.
type Claim struct {
	// By is the Key of the person; empty for no claim. Name is for display.
	By, Name string
	// At is when the person claimed the run, and Until when the claim ends. A claim that
	// ends at once releases the run.
	At, Until time.Time
}

// HeldAt reports whether a person holds the claim at a given time. The claim is over at
// Until.
func (c Claim) HeldAt(now time.Time) bool { return c.By != "" && now.Before(c.Until) }

// IsOf reports whether a person has the claim.
func (c Claim) IsOf(p verification.Person) bool { return c.By != "" && c.By == p.Key() }

// ClaimHeld returns the verification.ErrConflict of RunStore.Claim for a run that another person has
// claimed.
func ClaimHeld() error {
	return verification.ConflictFor("run_claimed", "review", "another reviewer has claimed the run")
}
