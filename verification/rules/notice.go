// Notices: what a client is sent when a run is over or an event follows, and when to retry.

package rules

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// NoticeOfEnd returns the event of a run that has ended, such as run.completed. Every
// workflow with a webhook sends its notice.
func NoticeOfEnd(s Status) workflow.NoticeEvent { return workflow.NoticeEvent("run." + s) }

// noticeOf returns the event of which a workflow may ask for a notice, for the last event of a history; empty for none. before is the
// run of the events before it.
func noticeOf(before Run, history []Event) workflow.NoticeEvent {
	last := history[len(history)-1]
	switch f := last.Fact.(type) { //nolint:gochecksumtype // a workflow can ask for no other notice
	case VerdictRecorded:
		return workflow.NoticeReviewed
	case HitsFound:
		return workflow.NoticeFlagged
	case ReviewDueSoon:
		return workflow.NoticeReviewDueSoon
	case AskedAgain:
		return workflow.NoticeAskedAgain
	case Redacted:
		return workflow.NoticeRedacted
	case ReviewAsked:
		if !ofVerdict(history) {
			return workflow.NoticeReviewNeeded
		}
	case Completed:
		if before.Evolve(last).Decision() == DecisionReview {
			return workflow.NoticeReviewNeeded
		}
	case CustomerAwaited:
		if before.round.began == 0 && before.comesBackTo(f.Node, history) {
			return workflow.NoticeReturned
		}
	}
	return ""
}

// ofVerdict reports whether a verdict has led straight to the review step of the last event: nothing was called and nobody was asked
// between them.
func ofVerdict(history []Event) bool {
	for i := len(history) - 2; i >= 0; i-- {
		switch history[i].Fact.(type) { //nolint:gochecksumtype // any other fact is a call or a question
		case BranchTaken, Skipped, GroupBegan, GroupDecided, Compared:
		case VerdictRecorded:
			return true
		default:
			return false
		}
	}
	return false
}

// comesBackTo reports whether the run was at a step of its customer before, and does not go on with the elements of a list.
func (r *Run) comesBackTo(step verification.NodeID, history []Event) bool {
	if r.step(step) == nil {
		return false
	}
	if len(history) > 1 {
		if f, answered := history[len(history)-2].Fact.(CustomerSubmitted); answered && f.Node != step {
			of, _, _ := f.Node.Parts()
			return !within(of, step)
		}
	}
	return true
}

// NoticeRef names a notice of a run.
type NoticeRef struct {
	Run verification.RunID
	// Seq is 0 for the notice of the end. Otherwise it is the number of the event of the
	// history, of which 1 is the first.
	Seq int
}

// ID returns the ID of the notice, which is the same at every attempt: run_ and the id of
// the run, and _ and Seq unless it is 0.
func (r NoticeRef) ID() string {
	if r.Seq == 0 {
		return "run_" + string(r.Run)
	}
	return "run_" + string(r.Run) + "_" + strconv.Itoa(r.Seq)
}

// ParseNoticeRef parses the ID of a notice, or the id of a run, which is the notice of its
// end. It returns verification.ErrInvalid for any other text.
func ParseNoticeRef(s string) (r NoticeRef, err error) {
	invalid := verification.InvalidField("delivery", "id", "must be the id of a run, or the webhook-id of a notice")
	run, seq, further := strings.Cut(strings.TrimPrefix(s, "run_"), "_")
	if further {
		if r.Seq, err = strconv.Atoi(seq); err != nil || r.Seq < 1 || strconv.Itoa(r.Seq) != seq {
			return NoticeRef{}, invalid
		}
	}
	if r.Run, err = verification.ParseRunID(run); err != nil {
		return NoticeRef{}, invalid
	}
	return r, nil
}

// EndNotice returns the notice of the end of a run that is over: the run as it was right
// after its end, so that the notice is the same at every attempt. The caller adds the rest.
func EndNotice(r Run) Notice {
	view := r.outline().View(r.CompletedAt)
	view.RedactedAt, view.RestrictedAt = time.Time{}, time.Time{}
	if r.endDecision == DecisionReview {
		view.Outcome, view.Data = "", nil
	}
	return Notice{
		ID: NoticeRef{Run: r.ID}.ID(), Event: NoticeOfEnd(view.Status), OccurredAt: view.CompletedAt, Run: view, Decision: r.endDecision,
	}
}

// NewNotice returns the notice of an event of a run as the client reads it: the run as it
// was right after the event. history is the history of the run at least until the event. It
// returns verification.ErrConflict if ref names no event of which a workflow may ask for notices.
func NewNotice(ref NoticeRef, history []Event) (Notice, error) {
	none := verification.Conflict("delivery", "the run has no such event of which a client is notified")
	if ref.Seq < 1 || ref.Seq > len(history) {
		return Notice{}, none
	}
	e := history[ref.Seq-1]
	before := Run{ID: ref.Run}.EvolveAll(history[:ref.Seq-1])
	n := Notice{ID: ref.ID(), Seq: ref.Seq, Event: noticeOf(before, history[:ref.Seq]), OccurredAt: e.At}
	if n.Event == "" {
		return Notice{}, none
	}
	then := before.Evolve(e)
	n.Run, n.Decision = then.summary().View(e.At), then.Decision()
	switch f := e.Fact.(type) { //nolint:gochecksumtype // a fact without a notice is refused
	case VerdictRecorded: // the run no longer waits for it
		n.Run.Action, n.Decision = nil, f.Decision
	case CustomerAwaited: // its link is the same as before
		n.Run.Action = nil
	case Redacted: // a later one has removed no more than notes of a verdict
		if !before.RedactedAt.IsZero() {
			return Notice{}, none
		}
	case ReviewDueSoon:
		n.DueAt = f.DueAt
		since, _ := then.InReview()
		still, open := then.EvolveAll(history[ref.Seq:]).InReview()
		n.Obsolete = !open || !still.Equal(since)
	}
	return n, nil
}

// Notice is the message to a client that a run is over, or that an event followed of which
// the workflow asks for notices.
type Notice struct {
	// ID is the same at every attempt, and no other notice has it, see NoticeRef.
	ID string
	// Seq is NoticeRef.Seq: 0 for the end.
	Seq int
	// Event is what the notice is about, and OccurredAt when that happened.
	Event      workflow.NoticeEvent
	OccurredAt time.Time
	// Decision is the decision of the run right after the event; empty for none.
	Decision Decision
	// CustomerText is what the workflow tells the customer about a rejection, in the customer's
	// language, for workflow.NoticeReviewed; empty for nothing. The caller of NewNotice adds it.
	CustomerText string
	// DueAt is when the verdict is due, for workflow.NoticeReviewDueSoon. Obsolete says that the
	// verdict was given since: the notice is not sent any more.
	DueAt    time.Time
	Obsolete bool
	Tenant   verification.TenantID
	URL      string    // the lifecycle webhook of the workflow
	Attempt  int       // 0 for the first attempt
	At       time.Time // when the attempt began
	// Run is the run right after the event.
	Run RunView
}

// NoticeRetry returns how long to wait after a failed attempt, of which 0 is the first.
// more is false if the schedule has no further attempt.
func NoticeRetry(attempt int) (wait time.Duration, more bool) {
	schedule := [...]time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	if attempt < 0 || attempt >= len(schedule) {
		return 0, false
	}
	return schedule[attempt], true
}

// NoticesOf returns which of the events that follow a run, in one command, a workflow asks to be notified of, by NoticeRef.Seq.
func NoticesOf(d workflow.Definition, before Run, events []Event) (seqs []int) {
	if len(d.Notify) == 0 {
		return nil
	}
	seq := before.Seq
	for i, e := range events {
		if slices.Contains(d.Notify, noticeOf(before, events[:i+1])) {
			seqs = append(seqs, seq+i+1)
		}
		before = before.Evolve(e)
	}
	return seqs
}

// Notifier sends notices. A nil error means that the notice is delivered. After an error
// the next attempt is at the time that NoticeRetry gives, or later if a verification.RetryError says
// so; there is none after a verification.RetryError whose At is zero. An attempt that fails with
// verification.ErrUnavailable does not count: the same attempt is made again when the lease of the work
// ends. The error may have a class, see ClassOf.
type Notifier interface {
	// Notify makes one attempt.
	Notify(ctx context.Context, n Notice) error
}
