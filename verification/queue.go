// The review queue: the runs that need a verdict, and who works on them.

package verification

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxReviewFlags is how many flags of a run the queue shows.
	maxReviewFlags = 5
	// maxReviewReason is how many characters of the reason of a flag the queue shows. The
	// sentences of all causes fit; only the reason of a review step may be longer.
	maxReviewReason = 600
)

// Review is the entry of a run in the review queue, which the run has while its
// decision is review. Each append with events replaces it, see Commit.
type Review struct {
	Run          RunID
	Workflow     WorkflowID
	WorkflowName string // when the run started
	ReferenceID  string
	// Since is when the run began to need a verdict: it parked on a review step, completed
	// with a flagged step, or was reopened by a hit, see Run.ReopenedAt.
	Since time.Time
	// DueAt is Since plus the workflow's review_due_minutes; zero for none.
	DueAt time.Time
	// Until is the deadline of a run that is parked on review: after it the run has
	// expired and needs no verdict. Zero for never.
	Until time.Time
	// Flags are the first flags of the run, 5 at most, and MoreFlags counts the others. A
	// reason with more than 600 characters is cut, and ends with an ellipsis.
	Flags     []Flag
	MoreFlags int
	// Causes are the causes of all flags and of the proposal, without repetition, in the
	// order of Causes.
	Causes []Cause
	// Proposed is a verdict that a second reviewer must confirm, and ProposedBy the
	// first; both are zero for none.
	Proposed   Decision
	ProposedBy Person
}

// InReview returns the time since which the run has an entry in the review queue, and
// whether it has one: its decision is review, whatever the time. The entry ends at
// Review.Until.
func (r Run) InReview() (since time.Time, yes bool) {
	switch {
	case r.Wait.Kind != WaitReview && r.Ended != StatusCompleted || r.Decision() != DecisionReview:
		return time.Time{}, false
	case r.Ended == "":
		return r.Wait.Since, true
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
		Run: r.ID, Workflow: r.Started.Workflow, WorkflowName: r.Started.WorkflowName,
		ReferenceID: r.Started.ReferenceID, Since: since, Flags: r.Flags(),
		Proposed: r.Proposal.Decision, ProposedBy: r.Proposal.Person(),
	}
	if r.Ended == "" {
		v.Until = r.Deadline()
	}
	if minutes := r.Started.ReviewDueMinutes; minutes > 0 {
		v.DueAt = v.Since.Add(time.Duration(minutes) * time.Minute)
	}
	if n := len(v.Flags); n > maxReviewFlags {
		v.Flags, v.MoreFlags = v.Flags[:maxReviewFlags], n-maxReviewFlags
	}
	for i := range v.Flags {
		v.Flags[i].Reason = shortened(v.Flags[i].Reason, maxReviewReason)
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

// OpenAt reports whether the run needs the verdict at a given time.
func (v Review) OpenAt(now time.Time) bool { return v.Until.IsZero() || !now.After(v.Until) }

// Overdue reports whether the verdict is late at a given time.
func (v Review) Overdue(now time.Time) bool { return !v.DueAt.IsZero() && now.After(v.DueAt) }

// ClaimTTL is how long a claim holds unless it is renewed.
const ClaimTTL = 15 * time.Minute

// Claim says that a person works on a run in the review queue. It is not evidence:
// it is not in the history, and it ends with the review.
type Claim struct {
	// By is the Key of the person; empty for no claim. Name is for display.
	By, Name string
	// At is when the person claimed the run, and Until when the claim ends.
	At, Until time.Time
}

// HeldAt reports whether a person holds the claim at a given time. The claim is over at
// Until.
func (c Claim) HeldAt(now time.Time) bool { return c.By != "" && now.Before(c.Until) }

// IsOf reports whether a person has the claim.
func (c Claim) IsOf(p Person) bool { return c.By != "" && c.By == p.Key() }

// ClaimHeld returns the ErrConflict of a ClaimStore for a run that another person has
// claimed.
func ClaimHeld() error { return Conflict("review", "another reviewer has claimed the run") }

// QueueEntry is a run in the review queue with its claim, which is zero if no
// person holds one at the time of the query.
type QueueEntry struct {
	Review
	Claim Claim
}

// QueueOrder is an order of the review queue.
type QueueOrder string

// The orders. Ties break by Since, then by the lowest run id.
const (
	OldestFirst QueueOrder = "oldest" // by Since
	DueFirst    QueueOrder = "due"    // by DueAt; reviews without one come last
)

// ParseQueueOrder parses an order; empty is OldestFirst. It returns ErrInvalid for
// any other text.
func ParseQueueOrder(s string) (QueueOrder, error) {
	return parsed(cmp.Or(s, string(OldestFirst)), []QueueOrder{OldestFirst, DueFirst}, Invalid("order", "there is no such order of the queue"))
}

// QueueQuery selects entries of the review queue of a tenant. An entry must match
// every filter; the zero value of a filter matches every entry.
type QueueQuery struct {
	PageQuery
	Order QueueOrder // empty is OldestFirst
	// Now is the time as of which the queue is read.
	Now time.Time
	// After continues after a position; Offset counts from there. The total does
	// not depend on it.
	After *QueuePosition

	Workflow WorkflowID
	Cause    Cause
	// SinceBefore selects reviews that began at this time or earlier.
	SinceBefore time.Time
	// Run selects one run.
	Run RunID
	// ReferencePrefix selects the reference ids that begin with it.
	ReferencePrefix string
	// ClaimedBy selects the runs that the person with this Key has claimed, and Unclaimed
	// those without a claim.
	ClaimedBy string
	Unclaimed bool
}

// Matches reports whether the query selects an entry, whose claim may be over.
func (q QueueQuery) Matches(e QueueEntry) bool {
	held := e.Claim.HeldAt(q.Now)
	return e.OpenAt(q.Now) &&
		(q.Workflow == "" || q.Workflow == e.Workflow) &&
		(q.Cause == "" || slices.Contains(e.Causes, q.Cause)) &&
		(q.SinceBefore.IsZero() || !e.Since.After(q.SinceBefore)) &&
		(q.Run == "" || q.Run == e.Run) &&
		strings.HasPrefix(e.ReferenceID, q.ReferencePrefix) &&
		(q.ClaimedBy == "" || held && e.Claim.By == q.ClaimedBy) &&
		(!q.Unclaimed || !held)
}

// QueuePosition is the position of an entry in the queue, even of one that has left it
// since.
type QueuePosition struct {
	Since, DueAt time.Time
	Run          RunID
}

// Position returns the position of the entry.
func (v Review) Position() QueuePosition { return QueuePosition{v.Since, v.DueAt, v.Run} }

// Compare compares two positions in an order: negative if p comes first.
func (o QueueOrder) Compare(p, q QueuePosition) int {
	if o == DueFirst && !p.DueAt.Equal(q.DueAt) {
		switch {
		case p.DueAt.IsZero():
			return 1
		case q.DueAt.IsZero():
			return -1
		}
		return p.DueAt.Compare(q.DueAt)
	}
	return cmp.Or(p.Since.Compare(q.Since), cmp.Compare(p.Run, q.Run))
}

// String encodes the position for a URL.
func (p QueuePosition) String() string {
	micros := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return strconv.FormatInt(t.UnixMicro(), 36)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(micros(p.Since) + "." + micros(p.DueAt) + "." + string(p.Run)))
}

// ParseQueuePosition parses what String returns. It returns ErrInvalid for any other
// text.
func ParseQueuePosition(s string) (p QueuePosition, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.Split(string(raw), ".")
	if err != nil || len(parts) != 3 {
		return p, Invalid("position", "it is not a position in the queue")
	}
	for i, to := range []*time.Time{&p.Since, &p.DueAt} {
		if parts[i] == "" {
			continue
		}
		micros, err := strconv.ParseInt(parts[i], 36, 64)
		if err != nil {
			return p, Invalid("position", "it is not a position in the queue")
		}
		*to = time.UnixMicro(micros).UTC()
	}
	p.Run, err = ParseRunID(parts[2])
	return p, err
}

// QueueStats describes a review queue at one time.
type QueueStats struct {
	Open    int // runs that need a verdict
	Overdue int // those whose due time has passed
	// Oldest is the earliest Since; zero if the queue is empty, or for all tenants.
	Oldest time.Time
	// SinceCounts[i] counts the runs whose Since is the time since[i] of the call, or
	// earlier.
	SinceCounts []int
}
