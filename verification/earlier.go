// Earlier runs: what two runs have in common, and what a check asks about other runs.

package verification

import "time"

// EarlierBy is what two runs of a tenant have in common.
type EarlierBy string

// What runs may have in common. A number and a person are found by the answers with `search`.
const (
	EarlierReference EarlierBy = "reference" // the reference id
	EarlierNumber    EarlierBy = "number"    // a number that is no phone number
	EarlierPerson    EarlierBy = "person"    // a name and a date
)

// EarlierQuery asks for the other runs of the person or company of a run.
type EarlierQuery struct {
	By []EarlierBy // any of these
	// Within leaves out runs that ended longer ago; 0 for none.
	Within time.Duration
	// A run is found if its newest verdict is reject and Rejected is true, if it failed and
	// Failed is true, or if it has one of the outcomes.
	Rejected, Failed bool
	Outcomes         []string
}

// EarlierRuns is the answer to an EarlierQuery. It has no redacted and no restricted run.
type EarlierRuns struct {
	Runs  []EarlierRun // the newest 10, newest first
	Total int
	// NotCompared says by what no run could be found, because the run itself does not have it.
	NotCompared []EarlierBy
	// Incomplete says that there were too many runs to look at.
	Incomplete bool
}

// EarlierRun is a run that an EarlierQuery has found.
type EarlierRun struct {
	Run      RunID
	By       []EarlierBy
	Outcome  string    // empty for none
	Decision string    // empty for none
	EndedAt  time.Time // zero for a live run
}
