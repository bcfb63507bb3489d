// Where the human verdict stands.

package verification

// Decision is the second axis of a run. The empty Decision is the API's null:
// nothing on the run needs a human.
type Decision string

// The decisions. See docs/api.md, "Decision axis".
const (
	DecisionNone    Decision = ""
	DecisionReview  Decision = "review"  // a verdict is owed
	DecisionApprove Decision = "approve" // a verdict was recorded
	DecisionReject  Decision = "reject"  // a verdict was recorded
)

// ParseDecision reads review, approve or reject; anything else is ErrInvalid.
func ParseDecision(s string) (Decision, error) {
	switch d := Decision(s); d {
	case DecisionReview, DecisionApprove, DecisionReject:
		return d, nil
	case DecisionNone:
	}
	return "", &Error{Kind: ErrInvalid, Subject: "decision", Message: "there is no such decision"}
}

// Verdict tells whether the decision is one that a reviewer gave.
func (d Decision) Verdict() bool { return d == DecisionApprove || d == DecisionReject }
