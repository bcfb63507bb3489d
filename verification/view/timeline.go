// The timeline of a run: its history as lines for a reader.

package view

import (
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// TimelineEntry is one line of a timeline. Kind says what happened; the other fields
// are the values of the line, as far as its kind has them.
type TimelineEntry struct {
	Kind TimelineKind
	At   time.Time // of the first event of the line
	// Count is the number of events of the line, at least 1: events that repeat the one
	// before them, such as polls, are one line. Until is the time of the last one.
	Count int
	Until time.Time

	Node     verification.NodeID
	Label    string // of the step; for a branch, its node
	Provider string // of a dispatch
	Number   int    // of a dispatch
	Visit    int    // of a line that begins a later visit of its step: 2 for the second visit; else 0
	Field    string // of an upload; for hits, the list
	Workflow string // of a start, with Version
	Version  int
	// Text is what a person, a program or the workflow wrote: a cause, a reason, an outcome,
	// notes, an error, or the names of hits. It may be empty.
	Text string
	// Sentences are fixed ones: what flags an answer or a result of a step that was visited
	// more than once, and why the run expired.
	Sentences []verification.Sentence
	By        string              // the reviewer; may be empty
	Reason    string              // of a verdict or a returned proposal: the code of the reject reason; may be empty
	Next      time.Time           // of the next dispatch or poll; zero for none
	When      string              // of a branch: the condition that held; empty for else
	To        verification.NodeID // of a branch
	ToLabel   string              // the label of To if it is a step that the run reached; else To
	Values    verification.Data   // of a branch: the values that its conditions read
}

// TimelineKind says what happened.
type TimelineKind string

// The kinds of lines.
const (
	TimelineStarted     TimelineKind = "started"
	TimelineDispatched  TimelineKind = "dispatched"  // the first dispatch of a visit
	TimelineRetried     TimelineKind = "retried"     // a further dispatch of the visit: a retry or the fallback
	TimelinePending     TimelineKind = "pending"     // the provider has no result yet
	TimelineCalledBack  TimelineKind = "called_back" // the vendor called back without a result: the provider is polled
	TimelinePollFailed  TimelineKind = "poll_failed"
	TimelinePassed      TimelineKind = "passed"
	TimelineNotPassed   TimelineKind = "not_passed"
	TimelineNoResult    TimelineKind = "no_result" // a dispatch failed
	TimelineUnavailable TimelineKind = "unavailable"
	TimelineAwaited     TimelineKind = "awaited" // the customer must act
	TimelineOpened      TimelineKind = "opened"
	TimelineUploaded    TimelineKind = "uploaded"
	TimelineSubmitted   TimelineKind = "submitted"
	TimelineConsented   TimelineKind = "consented"
	TimelineDeclined    TimelineKind = "declined"
	TimelineOptedOut    TimelineKind = "opted_out"
	TimelineBranched    TimelineKind = "branched" // a condition held
	TimelineElse        TimelineKind = "else"     // no condition of the branch held
	TimelineReview      TimelineKind = "review"   // a reviewer must give a verdict
	TimelineApproved    TimelineKind = "approved"
	TimelineRejected    TimelineKind = "rejected"
	// One of two reviewers proposed a verdict, or a proposal was sent back.
	TimelineProposedApproval  TimelineKind = "proposed_approval"
	TimelineProposedRejection TimelineKind = "proposed_rejection"
	TimelineSentBack          TimelineKind = "sent_back"
	TimelineHitsFound         TimelineKind = "hits_found" // a later version of a list has new hits
	TimelineCompleted         TimelineKind = "completed"
	TimelineFailed            TimelineKind = "failed"
	TimelineExpired           TimelineKind = "expired"
	TimelineCancelled         TimelineKind = "cancelled"
)

// Timeline returns the lines of a history, oldest first.
func Timeline(history []verification.Event) []TimelineEntry {
	t := timeline{steps: map[verification.NodeID]verification.Step{}, visits: map[verification.NodeID]int{}}
	for _, s := range verification.Fold("", history).Steps {
		t.steps[s.Node] = s
	}
	for _, e := range history {
		t.add(e)
	}
	return t.entries
}

type timeline struct {
	steps   map[verification.NodeID]verification.Step
	visits  map[verification.NodeID]int // so far
	entries []TimelineEntry
}

// add adds the line of an event, or counts the event in the line before it.
func (t *timeline) add(e verification.Event) {
	entry := t.entry(e.Fact)
	entry.Label = t.label(entry.Node)
	entry.At, entry.Until, entry.Count = e.At, e.At, 1
	if n := len(t.entries); n > 0 {
		if last := &t.entries[n-1]; entry.repeats(*last) {
			last.Until, last.Next = e.At, entry.Next
			last.Count++
			return
		}
	}
	t.entries = append(t.entries, entry)
}

// repeats reports whether an entry says the same as the one before it.
func (e TimelineEntry) repeats(last TimelineEntry) bool {
	switch e.Kind { //nolint:exhaustive // no other kind comes many times in a row
	case TimelinePending, TimelinePollFailed, TimelineCalledBack, TimelineOpened:
		return e.Kind == last.Kind && e.Node == last.Node && e.Text == last.Text
	}
	return false
}

func (t *timeline) label(id verification.NodeID) string {
	if s, ok := t.steps[id]; ok && s.Label != "" {
		return s.Label
	}
	return string(id)
}

// entry returns the line of a fact without its label and times.
func (t *timeline) entry(f verification.Fact) TimelineEntry {
	switch f := f.(type) {
	case verification.Started:
		return TimelineEntry{Kind: TimelineStarted, Workflow: f.WorkflowName, Version: f.Version}
	case verification.Dispatched:
		if f.Visit > t.visits[f.Node] {
			return TimelineEntry{Kind: TimelineDispatched, Node: f.Node, Provider: f.Provider, Number: f.Dispatch, Visit: t.arrive(f.Node)}
		}
		return TimelineEntry{Kind: TimelineRetried, Node: f.Node, Provider: f.Provider, Number: f.Dispatch}
	case verification.ResultPending:
		return TimelineEntry{Kind: TimelinePending, Node: f.Node, Next: f.PollAt}
	case verification.CallbackReceived:
		return TimelineEntry{Kind: TimelineCalledBack, Node: f.Node}
	case verification.PollFailed:
		return TimelineEntry{Kind: TimelinePollFailed, Node: f.Node, Text: f.Cause, Next: f.PollAt}
	case verification.ResultRecorded:
		if f.Passed {
			return TimelineEntry{Kind: TimelinePassed, Node: f.Node, Sentences: t.flags(f.Node, f.Data)}
		}
		return TimelineEntry{Kind: TimelineNotPassed, Node: f.Node, Sentences: t.flags(f.Node, f.Data)}
	case verification.DispatchFailed:
		return TimelineEntry{Kind: TimelineNoResult, Node: f.Node, Text: f.Cause, Next: f.RetryAt}
	case verification.ResultUnavailable:
		return TimelineEntry{Kind: TimelineUnavailable, Node: f.Node, Sentences: t.flags(f.Node, f.Data)}
	case verification.CustomerAwaited:
		return TimelineEntry{Kind: TimelineAwaited, Node: f.Node, Visit: t.arrive(f.Node)}
	case verification.JourneyOpened:
		return TimelineEntry{Kind: TimelineOpened, Node: f.Node}
	case verification.DocumentUploaded:
		return TimelineEntry{Kind: TimelineUploaded, Node: f.Node, Field: f.Field}
	case verification.CustomerSubmitted:
		return TimelineEntry{Kind: t.submission(f), Node: f.Node, Sentences: t.flags(f.Node, f.Data)}
	case verification.BranchTaken:
		kind := TimelineBranched
		if f.When == "" {
			kind = TimelineElse
		}
		return TimelineEntry{Kind: kind, Node: f.Node, When: f.When, To: f.Next, ToLabel: t.label(f.Next), Values: f.Values}
	case verification.ReviewAsked:
		return TimelineEntry{Kind: TimelineReview, Node: f.Node, Text: f.Reason, Visit: t.arrive(f.Node)}
	case verification.VerdictRecorded:
		kind := TimelineApproved
		if f.Decision == verification.DecisionReject {
			kind = TimelineRejected
		}
		return TimelineEntry{Kind: kind, Node: f.Node, Text: f.Notes, By: f.By, Reason: f.Reason}
	case verification.VerdictProposed:
		kind := TimelineProposedApproval
		if f.Decision == verification.DecisionReject {
			kind = TimelineProposedRejection
		}
		return TimelineEntry{Kind: kind, Node: f.Node, Text: f.Notes, By: f.By, Reason: f.Reason}
	case verification.ProposalReturned:
		return TimelineEntry{Kind: TimelineSentBack, Node: f.Node, Text: f.Notes, By: f.By, Reason: f.Reason}
	case verification.HitsFound:
		var names []string
		for _, h := range f.Hits {
			names = append(names, h.Name)
		}
		return TimelineEntry{Kind: TimelineHitsFound, Node: f.Node, Field: f.List, Text: strings.Join(names, ", ")}
	case verification.Completed:
		return TimelineEntry{Kind: TimelineCompleted, Text: f.Outcome}
	case verification.Failed:
		return TimelineEntry{Kind: TimelineFailed, Node: f.Node, Text: strings.TrimSuffix(f.Error.Message+" "+f.Cause, " ")}
	case verification.Expired:
		return TimelineEntry{Kind: TimelineExpired, Sentences: []verification.Sentence{f.Error.Sentence()}}
	case verification.Cancelled:
		return TimelineEntry{Kind: TimelineCancelled}
	}
	return TimelineEntry{}
}

// arrive counts a visit of a step. It returns the number of a later visit; 0 of the first.
func (t *timeline) arrive(node verification.NodeID) int {
	if t.visits[node]++; t.visits[node] == 1 {
		return 0
	}
	return t.visits[node]
}

// flags returns what the data of a visit flags, if the step was visited more than once;
// else its card says it.
func (t *timeline) flags(node verification.NodeID, d verification.Data) (all []verification.Sentence) {
	if t.steps[node].Visits < 2 {
		return nil
	}
	for _, c := range verification.CausesIn(d) {
		all = append(all, c.Sentence())
	}
	return all
}

// submission returns the kind of a customer's answer.
func (t *timeline) submission(f verification.CustomerSubmitted) TimelineKind {
	flags := verification.CausesIn(f.Data)
	switch {
	case t.steps[f.Node].Type == verification.NodeConsent && slices.Contains(flags, verification.CauseConsent):
		return TimelineDeclined
	case t.steps[f.Node].Type == verification.NodeConsent:
		return TimelineConsented
	case slices.Contains(flags, verification.CauseOptedOut):
		return TimelineOptedOut
	}
	return TimelineSubmitted
}
