// Requests to check providers, and their results.

package verification

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CheckRequest is the request for one check.
type CheckRequest struct {
	Tenant      TenantID
	Run         RunID
	ReferenceID string
	StartedAt   time.Time // when the run started
	// Zone is the name of the tenant's time zone when the run started, such as
	// Asia/Kolkata; empty for UTC.
	Zone     string
	Node     NodeID
	Key      string // the check's key
	Dispatch int    // the number of the dispatch for this step, 1 for the first
	// IdempotencyKey is the same at every call for this dispatch.
	IdempotencyKey string
	With           map[string]any // the `with` object of the node, rendered; its numbers are as Data.Map has them
	Input          Data           // the run's input
	// Needs are the fields of the data that the workflow reads also where the check has
	// failed, without asking whether they are there; an empty name stands for any data. An
	// answer that failed without one of them would end the run with INTERNAL_ERROR. A version
	// whose provider describes its data has none, unless it is older than this rule.
	Needs []string
	// Cleared are hits that reviewers have decided to be other people or companies than the
	// one that the check screens. A provider that screens leaves them out of its hits, and
	// returns those that it left out in ScreeningResult.Cleared.
	Cleared []ClearedHit
	// Earlier are the runs that an EarlierFinder has asked for; nil for any other provider, and
	// for a caller that has no runs.
	Earlier *EarlierRuns
	// CallbackURL is where the vendor may report the result of this dispatch. It is
	// empty unless the provider is a CallbackReceiver.
	CallbackURL string
	// ReturnURL is where the vendor may send the customer back to. It is empty unless the node has
	// redirect_hosts.
	ReturnURL string
}

// ProviderDescription describes the checks of a provider.
type ProviderDescription struct {
	// Summary says in one sentence what the provider checks.
	Summary string
	// With is the JSON Schema of the `with` object of a check; nil if every `with` is
	// accepted.
	With Data
	// Data is the JSON Schema of the data of a result; nil if its fields are not
	// known. It lists every field that a result may have. The fields that every result
	// that passed has are `required`; workflows cannot read the others without asking whether
	// they are there, unless the schema has no `required` at all. A result that failed may lack
	// all of them, unless the schema says `"x-always": true`. `title` is the label of a field on reports; `x-unit` is the
	// unit of its value; `"x-run": true` says that it is the id of a run; `x-scale` says on which scale a number is, with the
	// keys of workflow.Scale; `x-words` has the words for values that are codes, by code.
	Data Data
	// Rescreens says that the provider is a Rescreener. Lists are then the names of its
	// lists in order; nil if they are not known. Describe fills in both.
	Rescreens bool
	Lists     []string
	// Screens says that the provider screens people or companies, such as against lists of sanctions: its answer
	// is always awaited. Describe fills it in for a Rescreener.
	Screens bool
	// Words are what people read in place of the fixed sentences for the outcomes failed, no_coverage and inconclusive, in
	// English, such as "The PAN does not exist."; the first MaxWords characters of each count.
	Words map[CheckOutcome]string
}

// MaxWords is the maximum number of characters of the words for an outcome.
const MaxWords = 200

// ClearedHit is an entry of a list that is known to be another person or company. An entry
// with another digest has changed, and is not cleared. An empty digest means that the
// provider gives none.
type ClearedHit struct {
	List, Entry, Digest string
}

// ScreeningResult is the result of screening a person or company against a list.
type ScreeningResult struct {
	List        string
	ListVersion string // the version that was searched
	Hits        []Hit  // the best first
	// Total is how many hits were found, if Hits has only the best; else 0.
	Total int
	// Cleared are the hits that were left out because CheckRequest.Cleared has them: all of
	// them, so that the run records which decisions it rests on.
	Cleared []Hit
	// NotCompared says what of the person or company could not be compared with the list;
	// empty if everything was.
	NotCompared []string
}

// PollRequest is the request for a pending result.
type PollRequest struct {
	CheckRequest
	Handle string // of the last result
}

// Callback is a request that a vendor sent to the CallbackURL of a dispatch.
type Callback struct {
	Header map[string][]string // by canonical name, such as "Content-Type"
	Body   []byte
}

// CheckOutcome is the outcome of a check: passed or failed, or not known yet.
type CheckOutcome string

// The outcomes.
const (
	OutcomePassed  CheckOutcome = "passed"
	OutcomeFailed  CheckOutcome = "failed"
	OutcomePending CheckOutcome = "pending" // poll later
	// OutcomeNoCoverage and OutcomeInconclusive say that the source was reached and cannot tell: it does not know such
	// people, or what it found decides nothing. They lead to the fallback, and to the next member of a group.
	OutcomeNoCoverage   CheckOutcome = "no_coverage"
	OutcomeInconclusive CheckOutcome = "inconclusive"
	// OutcomeRedirect leads the customer to CheckResult.Redirect. The result comes once the customer was there.
	OutcomeRedirect CheckOutcome = "redirect"
)

// CheckResult is the result of a check.
type CheckResult struct {
	Outcome CheckOutcome
	// Data becomes the step's data; it must encode to a JSON object.
	Data map[string]any
	// Screening is set by a Rescreener; nil if the check has screened nobody. The run keeps
	// the list, its version and the ids of the hits, so that re-screening finds new hits
	// only. Reports do not show it: what people read is in Data.
	Screening *ScreeningResult
	// Handle identifies a pending result, or one for which the customer is away, to Poll.
	Handle string
	// Redirect is the URL of OutcomeRedirect: https, or http on a loopback host. The node declares its host.
	Redirect string
	// PollAfter is the wait before the next poll; 0 means the node's poll
	// interval.
	PollAfter time.Duration
}

// PermanentError is an error of a provider that says whether another dispatch can fix it.
// The errors that Permanent makes are of this kind.
type PermanentError interface {
	error
	// Permanent returns true if no dispatch can succeed.
	Permanent() bool
}

// Permanent marks an error of a provider as one that another dispatch will not
// fix. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

// Lacking marks an error as one of this process alone: it lacks what the next step of a
// run needs, such as a list or knowledge of a part of the definition, and another host
// may have it. The engine leaves the run to other hosts; see Options.ProviderWait of the
// engine. Lacking(nil) is nil.
func Lacking(err error) error {
	if err == nil {
		return nil
	}
	return &lackingError{err}
}

// LackingOf returns the error in the chain of err that Lacking has marked; nil for none.
func LackingOf(err error) error {
	if found, ok := errors.AsType[*lackingError](err); ok {
		return found
	}
	return nil
}

type lackingError struct{ err error }

func (e *lackingError) Error() string { return e.err.Error() }
func (e *lackingError) Unwrap() error { return e.err }

func (e *permanentError) Error() string   { return e.err.Error() }
func (e *permanentError) Unwrap() error   { return e.err }
func (e *permanentError) Permanent() bool { return true }

// RetryError is returned by a Notifier that sets the time of the next attempt: not
// before At, or never if At is zero. A Provider may return it, too.
type RetryError struct {
	At    time.Time
	Cause error
}

// Error returns "retry: " and the text of the cause.
func (e *RetryError) Error() string { return fmt.Sprintf("retry: %v", e.Cause) }

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Cause }

// Hit is an entry of a list that is like a person or company.
type Hit struct {
	ID         string   `json:"id"` // of the entry, within its list
	Name       string   `json:"name"`
	Alias      string   `json:"alias,omitempty"` // the name of the entry that matched, if it is not Name
	Score      float64  `json:"score"`           // 0 to 1
	Reasons    []string `json:"reasons,omitempty"`
	BirthDates []string `json:"birth_dates,omitempty"`
	Countries  []string `json:"countries,omitempty"`
	Topics     []string `json:"topics,omitempty"` // why the entry is on the list
	// Digest identifies what the entry says: another one means that the entry has changed.
	// It is empty if the provider gives none, and then the entry counts as unchanged.
	Digest string `json:"digest,omitempty"`
	// Formerly are earlier ids of the entry; one that ends with * stands for all ids that begin so. An earlier hit with
	// such an id and the same Digest is the same entry. It is not stored.
	Formerly []string `json:"-"`
}

// Was reports whether an entry with this id and digest is the entry of the hit, under an earlier id.
func (h Hit) Was(id, digest string) bool {
	return digest != "" && digest == h.Digest && slices.ContainsFunc(h.Formerly, func(former string) bool {
		begin, several := strings.CutSuffix(former, "*")
		return former == id || several && strings.HasPrefix(id, begin)
	})
}
