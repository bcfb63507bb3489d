// Notices: the events of which a workflow may ask to be told.

package workflow

// NoticeEvent is what a notice is about: the type that the client reads in it.
type NoticeEvent string

// The events of which a workflow may ask for notices, see Definition.Notify.
const (
	NoticeReviewed   NoticeEvent = "run.reviewed"    // a verdict was given or changed
	NoticeFlagged    NoticeEvent = "run.flagged"     // a completed run has a hit in a later version of a list
	NoticeAskedAgain NoticeEvent = "run.asked_again" // the customer was asked again
	NoticeRedacted   NoticeEvent = "run.redacted"    // the personal data of a run was removed for the first time
	// NoticeReviewNeeded is about a run that comes to need a verdict, and NoticeReturned about a step that a run comes back to without
	// AskAgain: see rules.NewNotice.
	NoticeReviewNeeded NoticeEvent = "run.review_needed"
	NoticeReturned     NoticeEvent = "run.returned_to_customer"
	// NoticeReviewDueSoon is about a verdict that falls due soon, see rules.ReviewDueSoon.
	NoticeReviewDueSoon NoticeEvent = "run.review_due_soon"
)

// NoticeEvents returns the events of which a workflow may ask for notices.
func NoticeEvents() []NoticeEvent {
	return []NoticeEvent{NoticeReviewed, NoticeFlagged, NoticeReviewDueSoon, NoticeAskedAgain, NoticeRedacted, NoticeReviewNeeded, NoticeReturned}
}

// ReviewSignal is the name of the signal that carries a verdict.
const ReviewSignal = "human_review_decision"
