// What a run waits for, and on whom.

package verification

// ReviewSignal is the name of the signal that carries a verdict.
const ReviewSignal = "human_review_decision"

// ActionType tells who must act.
type ActionType string

// The action types.
const (
	ActionCustomerInput ActionType = "customer_input" // send the end user to the link
	ActionReview        ActionType = "review"         // an internal reviewer must decide
)

// Action is what unblocks a run that waits on a human.
type Action struct {
	Type       ActionType
	SignalName string
	// URL is the hosted-journey link of a customer input; else empty.
	URL string
}
