// One logical check, as the API shows it.

package verification

// CheckStatus is where one check stands.
type CheckStatus string

// The check statuses.
const (
	CheckPending CheckStatus = "pending" // its next dispatch is scheduled
	CheckRunning CheckStatus = "running" // an answer is outstanding
	CheckPassed  CheckStatus = "passed"
	CheckFailed  CheckStatus = "failed" // it did not pass, or the run ended without its answer
)

// Check is one logical verification step, keyed by a name that is stable
// across versions of the workflow.
type Check struct {
	Key    string      `json:"key"`
	Label  string      `json:"label"`
	Status CheckStatus `json:"status"`
	Data   Data        `json:"data,omitempty"`
}
