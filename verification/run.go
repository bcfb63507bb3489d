// A run: the fold of its history.

package verification

import (
	"slices"
	"time"
)

// Run is what a history folds into. It is a value: Evolve returns a new one
// and leaves the old one as it was.
type Run struct {
	ID RunID
	// Seq is the length of the history folded so far.
	Seq       int
	StartedAt time.Time
	// Started is what the run was started with.
	Started Started
	// Steps are the steps reached so far, in execution order; a step that the
	// run came to again keeps its place.
	Steps []Step
	// Wait is what the run waits for; its Kind is empty once the run is over.
	Wait Wait

	// Ended is the terminal status that the history says; empty while live.
	Ended       Status
	CompletedAt time.Time // zero while live
	Error       *RunError // of a failed or expired run

	// Documents are the uploads that accepted answers name, in their order.
	Documents []Document

	// Verdict is the newest one; its Decision is empty when there is none.
	Verdict Verdict

	receipts []SignalReceipt // oldest first

	ownsSteps bool // while EvolveAll is at work: nothing else refers to Steps
}

// SignalReceipt is what a signal with an idempotency key came to.
type SignalReceipt struct {
	Request string   // the id of the request
	Node    NodeID   // the step it answered; empty for a verdict on a run that was over
	Verdict Decision // empty for the customer's answer
}

// Step is one node of a run that can show on a report.
type Step struct {
	Node   NodeID
	Type   NodeType
	Key    string // of a check
	Label  string
	Status CheckStatus // of any step: running until it has its answer
	Data   Data
	// Reason is why a review step asks for a reviewer.
	Reason      string
	StartedAt   time.Time // of the first visit
	VisitedAt   time.Time // the start of the last visit
	CompletedAt time.Time // of the last visit; zero while it is unfinished
	Visits      int
	// Dispatches counts the calls of its providers over all visits.
	Dispatches int
	// Failures counts the dispatches and polls that brought no answer.
	Failures int
	// Recovered says that an answer came after such a failure, or that the
	// check passed after it had failed on an earlier visit.
	Recovered bool

	failedBefore bool // on an earlier visit
	unanswered   bool // on the last visit
	reached      int  // the length of the history when the last visit began
	signs        signs
}

// Verdict is a reviewer's word on a run.
type Verdict struct {
	// Node is the review step it answered; empty when the run was over.
	Node     NodeID
	Decision Decision
	Notes    string
	By       string
	At       time.Time
}

// WaitKind is what a run waits for.
type WaitKind string

// The waits.
const (
	WaitNothing  WaitKind = ""
	WaitAnswer   WaitKind = "answer"   // a provider was dispatched and owes its answer
	WaitPoll     WaitKind = "poll"     // until a pending answer is asked for
	WaitRetry    WaitKind = "retry"    // until the next dispatch
	WaitCustomer WaitKind = "customer" // parked on the customer
	WaitReview   WaitKind = "review"   // parked on a reviewer
)

// Wait is where a live run stands.
type Wait struct {
	Kind WaitKind
	Node NodeID
	// Number is the length of the history when the run came to wait here.
	Number int
	Signal string // of a customer wait
	// Uploads are the documents sent during a customer wait: the last one of
	// each field. Uploaded counts all that were sent.
	Uploads  []Document
	Uploaded int
	// Since is when the run parked or, if later, when the customer last came.
	Since time.Time
	// At is when to poll or to dispatch again.
	At time.Time

	// Of a check.
	Provider     string
	Dispatch     int // over the run
	Tries        int // of this provider on this visit
	Handle       string
	PendingSince time.Time
	PollFailures int // in a row
}

// Fold makes the run of a history.
func Fold(id RunID, history []Event) Run { return Run{ID: id}.EvolveAll(history) }

// EvolveAll returns the run some events later. It copies the steps once and not for
// each event, which matters to runs of hundreds of steps.
func (r Run) EvolveAll(events []Event) Run {
	r.Steps, r.ownsSteps = slices.Clone(r.Steps), true
	for _, e := range events {
		r = r.Evolve(e)
	}
	r.ownsSteps = false
	return r
}

// Evolve is the run one event later. It never fails: what is in a history has
// happened.
func (r Run) Evolve(e Event) Run {
	r.Seq++
	switch f := e.Fact.(type) {
	case Started:
		r.Started, r.StartedAt = f, e.At
	case Dispatched:
		r = r.dispatched(f, e.At)
	case Pended:
		if r.Wait.PendingSince.IsZero() {
			r.Wait.PendingSince = e.At
		}
		r.Wait.Kind, r.Wait.Handle, r.Wait.At, r.Wait.PollFailures = WaitPoll, f.Handle, f.PollAt, 0
	case PollFailed:
		r.Wait.Kind, r.Wait.At = WaitPoll, f.PollAt
		r.Wait.PollFailures++
		r = r.withStep(f.Node, func(s *Step) { s.Failures++ })
	case Answered:
		r.Wait = Wait{}
		r = r.withStep(f.Node, func(s *Step) { s.answer(f, e.At) })
	case DispatchFailed:
		r.Wait.Kind, r.Wait.At = WaitRetry, f.RetryAt
		r = r.withStep(f.Node, func(s *Step) { s.Failures++; s.Status = CheckPending })
	case Unanswered:
		r.Wait = Wait{}
		r = r.withStep(f.Node, func(s *Step) {
			s.finish(CheckFailed, f.Data, e.At)
			s.unanswered = true
		})
	case CustomerAwaited:
		r.Wait = Wait{Kind: WaitCustomer, Node: f.Node, Number: r.Seq, Signal: f.Signal, Since: e.At}
		r = r.reach(Step{Node: f.Node, Type: f.Type, Label: f.Label, StartedAt: e.At})
	case CustomerCame:
		r.Wait.Since = e.At
	case DocumentUploaded:
		r.Wait = r.Wait.uploaded(f, e.At)
	case CustomerSubmitted:
		r.Documents = slices.Concat(r.Documents, r.Wait.named(f.Data))
		r.Wait = Wait{}
		r = r.withStep(f.Node, func(s *Step) { s.submit(f.Data, e.At) }).received(SignalReceipt{Request: f.Request, Node: f.Node})
	case BranchTaken:
	case ReviewAsked:
		r.Wait = Wait{Kind: WaitReview, Node: f.Node, Number: r.Seq, Since: e.At}
		r = r.reach(Step{Node: f.Node, Type: NodeReview, Label: f.Label, Reason: f.Reason, StartedAt: e.At})
	case VerdictRecorded:
		r = r.judged(f, e.At).received(SignalReceipt{f.Request, f.Node, f.Decision})
	case Completed:
		r = r.ended(StatusCompleted, nil, e.At)
	case Failed:
		r = r.ended(StatusFailed, &f.Error, e.At)
	case Expired:
		r = r.ended(StatusExpired, &f.Error, e.At)
	case Cancelled:
		r = r.ended(StatusCancelled, nil, e.At)
	}
	return r
}

// AsOf is the run as it reads at a moment: a deadline that has passed counts
// even where the history does not say so yet.
func (r Run) AsOf(now time.Time) Run {
	if e, overdue := r.expiry(now); overdue {
		return r.Evolve(e)
	}
	return r
}

// Deadline is the moment after which the run reads expired; zero for never.
func (r Run) Deadline() time.Time {
	if r.Started.RunTTLSeconds == 0 {
		return time.Time{}
	}
	return r.StartedAt.Add(time.Duration(r.Started.RunTTLSeconds) * time.Second)
}

// Step finds the step of a node.
func (r Run) Step(id NodeID) (Step, bool) {
	i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Node == id })
	if i < 0 {
		return Step{}, false
	}
	return r.Steps[i], true
}

// Receipt returns what the signal with this request id came to, and whether it
// was delivered at all.
func (r Run) Receipt(request string) (SignalReceipt, bool) {
	if i := slices.IndexFunc(r.receipts, func(s SignalReceipt) bool { return s.Request == request }); i >= 0 {
		return r.receipts[i], true
	}
	return SignalReceipt{}, false
}

// received keeps the receipt of a signal with an idempotency key.
func (r Run) received(s SignalReceipt) Run {
	if s.Request != "" {
		r.receipts = append(r.receipts[:len(r.receipts):len(r.receipts)], s)
	}
	return r
}

// expiry is the event that a passed deadline amounts to. A run is expired
// when it is older than its workflow allows: not yet at the deadline itself.
func (r Run) expiry(now time.Time) (Event, bool) {
	deadline := r.Deadline()
	if r.Ended != "" || deadline.IsZero() || !now.After(deadline) {
		return Event{}, false
	}
	return Event{At: deadline, Fact: Expired{Error: deadlineError(r.Wait.Kind == WaitCustomer)}}, true
}

func deadlineError(onCustomer bool) RunError {
	if onCustomer {
		return RunError{Code: CodeLinkExpired, Message: "The customer did not complete the journey before it expired."}
	}
	return RunError{Code: CodeRunExpired, Message: "The run did not finish before its deadline."}
}

func (r Run) dispatched(f Dispatched, at time.Time) Run {
	again := r.Wait.Node == f.Node && r.Wait.Provider == f.Provider && r.Wait.Kind == WaitRetry
	tries := 1
	if again {
		tries = r.Wait.Tries + 1
	}
	r.Wait = Wait{
		Kind: WaitAnswer, Node: f.Node, Number: r.Seq, Since: at,
		Provider: f.Provider, Dispatch: f.Dispatch, Tries: tries,
	}
	if s, ok := r.Step(f.Node); ok && s.Visits == f.Visit {
		return r.withStep(f.Node, func(s *Step) { s.Status, s.Dispatches = CheckRunning, f.Dispatch })
	}
	return r.reach(Step{Node: f.Node, Type: NodeCheck, Key: f.Key, Label: f.Label, StartedAt: at, Dispatches: f.Dispatch})
}

func (r Run) judged(f VerdictRecorded, at time.Time) Run {
	r.Verdict = Verdict{Node: f.Node, Decision: f.Decision, Notes: f.Notes, By: f.By, At: at}
	if f.Node == "" {
		return r
	}
	r.Wait = Wait{}
	status := CheckPassed
	if f.Decision == DecisionReject {
		status = CheckFailed
	}
	return r.withStep(f.Node, func(s *Step) {
		s.finish(status, Data(`{"decision":"`+string(f.Decision)+`"}`), at)
	})
}

// ended closes the run. A check that is still outstanding then has failed: no
// answer is accepted any more.
func (r Run) ended(s Status, cause *RunError, at time.Time) Run {
	for _, step := range r.Steps {
		if step.Type == NodeCheck && !step.finished() {
			r = r.withStep(step.Node, func(s *Step) { s.Status = CheckFailed })
		}
	}
	r.Wait = Wait{}
	r.Ended, r.CompletedAt, r.Error = s, at, cause
	return r
}

// reach opens a step, or opens it again on a later visit.
func (r Run) reach(s Step) Run {
	if _, seen := r.Step(s.Node); seen {
		return r.withStep(s.Node, func(old *Step) {
			old.failedBefore = old.failedBefore || old.Type == NodeCheck && old.Status == CheckFailed
			old.Visits++
			old.Status, old.Data, old.signs, old.CompletedAt = CheckRunning, nil, signs{}, time.Time{}
			old.Reason, old.VisitedAt, old.reached, old.Dispatches = s.Reason, s.StartedAt, r.Seq, s.Dispatches
		})
	}
	s.Visits, s.Status, s.VisitedAt, s.reached = 1, CheckRunning, s.StartedAt, r.Seq
	if r.ownsSteps {
		r.Steps = append(r.Steps, s)
	} else {
		r.Steps = slices.Concat(r.Steps, []Step{s})
	}
	return r
}

// withStep changes the step of a node, in a copy of the steps unless r owns them.
func (r Run) withStep(id NodeID, change func(*Step)) Run {
	for i := range r.Steps {
		if r.Steps[i].Node == id {
			if !r.ownsSteps {
				r.Steps = slices.Clone(r.Steps)
			}
			change(&r.Steps[i])
			break
		}
	}
	return r
}

func (s *Step) answer(f Answered, at time.Time) {
	status := CheckFailed
	if f.Passed {
		status = CheckPassed
	}
	s.Recovered = s.Recovered || s.Failures > 0 || (f.Passed && s.failedBefore)
	s.finish(status, f.Data, at)
}

func (s *Step) submit(d Data, at time.Time) {
	s.finish(CheckPassed, d, at)
	if s.signs.any() {
		s.Status = CheckFailed
	}
}

// finished reports whether the last visit of the step is over.
func (s Step) finished() bool { return !s.CompletedAt.IsZero() }

func (s *Step) finish(status CheckStatus, d Data, at time.Time) {
	s.Status, s.Data, s.CompletedAt, s.signs = status, d, at, signsOf(d)
	s.unanswered = false
}
