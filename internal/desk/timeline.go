// The timeline of a run: its history as lines for a reader.

package desk

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
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
	Number   int    // of a dispatch; for possible matches, how many there are
	Visit    int    // of a line that begins a later visit of its step: 2 for the second visit; else 0
	Field    string // of an upload; for hits, the list
	Workflow string // of a start, with Version
	Version  int
	Entry    string // of a decision on a hit: the name of the entry
	// Text is what a person, a program or the workflow wrote: a cause, a reason, an outcome,
	// notes, an error, or the names of hits. It may be empty.
	Text string
	// Cleared are the hits that a screening left out, with the decisions that cleared them.
	Cleared []rules.Clearance
	// Sentences are fixed ones: what flags an answer or a result of a step that was visited
	// more than once, and why the run expired.
	Sentences []rules.Sentence
	By        string              // the reviewer; may be empty
	Assignee  string              // of an assignment: the name of the person or team
	Reason    string              // of a verdict or a returned proposal: the code of the reject reason; may be empty
	Reasons   []string            // of a customer who is asked again: codes, see workflow.Definition.ResubmitReason
	Fields    []string            // of a customer who is asked again: those of the form that it is about; none for all
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
	TimelineLedAway     TimelineKind = "led_away"    // the provider leads the customer away
	TimelineCameBack    TimelineKind = "came_back"   // the customer came back without a result yet
	TimelinePollFailed  TimelineKind = "poll_failed"
	TimelinePassed      TimelineKind = "passed"
	TimelineMatches     TimelineKind = "matches" // the check passed with possible matches on a list
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
	TimelineSkipped     TimelineKind = "skipped"  // the condition of a step or a member did not hold
	TimelineKept        TimelineKind = "kept"     // the answer of an earlier visit stays
	// The facts of a step that keeps its answer were compared anew.
	TimelineDiffers TimelineKind = "differs"
	TimelineAgrees  TimelineKind = "agrees"
	// Of a group of checks and of a node with for_each, whose number of elements is Number.
	TimelineGroup      TimelineKind = "group"
	TimelineEach       TimelineKind = "each"
	TimelineMet        TimelineKind = "met"
	TimelineNotMet     TimelineKind = "not_met"
	TimelineUnanswered TimelineKind = "unanswered"  // only sources without an answer kept it from being met
	TimelineCannotTell TimelineKind = "cannot_tell" // a source was reached and cannot tell
	TimelineAskedAgain TimelineKind = "asked_again" // the customer is asked again
	TimelineReview     TimelineKind = "review"      // a reviewer must give a verdict
	TimelineApproved   TimelineKind = "approved"
	TimelineRejected   TimelineKind = "rejected"
	// One of two reviewers proposed a verdict, or a proposal was sent back.
	TimelineProposedApproval  TimelineKind = "proposed_approval"
	TimelineProposedRejection TimelineKind = "proposed_rejection"
	TimelineSentBack          TimelineKind = "sent_back"
	TimelineHitsFound         TimelineKind = "hits_found" // a later version of a list has new hits
	// A reviewer decided a hit.
	TimelineHitSame   TimelineKind = "hit_same"
	TimelineHitOther  TimelineKind = "hit_other"
	TimelineHitUnsure TimelineKind = "hit_unsure"
	// Hits of a later version of a list were left out, see Cleared, or decisions that had cleared
	// hits no longer count.
	TimelineHitsCleared   TimelineKind = "hits_cleared"
	TimelineHitsOverruled TimelineKind = "hits_overruled"

	TimelineNote       TimelineKind = "note"
	TimelineCorrected  TimelineKind = "corrected" // a correction was recorded beside the value Field
	TimelineAssigned   TimelineKind = "assigned"
	TimelineUnassigned TimelineKind = "unassigned"
	TimelineEscalated  TimelineKind = "escalated"       // assigned to a team that was asked for help
	TimelineDueSoon    TimelineKind = "review_due_soon" // the verdict falls due soon
	// Rejections of other runs of the person or company were looked up, or not all of them.
	TimelineRejectedBefore TimelineKind = "rejected_before"
	TimelineNotLookedUp    TimelineKind = "not_looked_up"
	TimelineCompleted      TimelineKind = "completed"
	TimelineFailed         TimelineKind = "failed"
	TimelineExpired        TimelineKind = "expired"
	TimelineCancelled      TimelineKind = "cancelled"
	TimelineHeld           TimelineKind = "held" // under a hold
	TimelineHoldEnded      TimelineKind = "hold_ended"
	TimelineRedacted       TimelineKind = "redacted" // personal data was removed from the run
	TimelineErased         TimelineKind = "erased"   // that is complete
	// TimelineDocumentsRemoved says that the uploads were removed, because they were old.
	TimelineDocumentsRemoved  TimelineKind = "documents_removed"
	TimelineRestricted        TimelineKind = "restricted" // personal data is hidden from then on
	TimelineRestrictionLifted TimelineKind = "restriction_lifted"
)

// Timeline returns the lines of a history, oldest first.
func Timeline(history []rules.Event) []TimelineEntry {
	t := timeline{
		steps: map[verification.NodeID]rules.Step{}, visits: map[verification.NodeID]int{}, hits: map[verification.ClearedHit]string{},
	}
	run := rules.Fold("", history)
	for _, g := range run.Groups {
		t.steps[g.Node] = rules.Step{Node: g.Node, Label: g.Label}
	}
	for _, s := range run.Steps {
		t.steps[s.Node] = s
	}
	for _, e := range history {
		t.add(e)
	}
	return t.entries
}

type timeline struct {
	steps   map[verification.NodeID]rules.Step
	visits  map[verification.NodeID]int        // so far
	hits    map[verification.ClearedHit]string // the names of the entries found so far
	entries []TimelineEntry
}

// add adds the line of an event, or counts the event in the line before it.
func (t *timeline) add(e rules.Event) {
	switch f := e.Fact.(type) { //nolint:gochecksumtype // only these have a label, and a later visit may have another one
	case rules.Dispatched:
		t.relabel(f.Node, f.Label)
	case rules.CustomerAwaited:
		t.relabel(f.Node, f.Label)
	case rules.GroupBegan:
		t.relabel(f.Node, f.Label)
	}
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
	case TimelinePending, TimelinePollFailed, TimelineCalledBack, TimelineOpened, TimelineLedAway, TimelineCameBack:
		return e.Kind == last.Kind && e.Node == last.Node && e.Text == last.Text
	}
	return false
}

func (t *timeline) relabel(id verification.NodeID, label string) {
	s := t.steps[id]
	s.Label = label
	t.steps[id] = s
}

func (t *timeline) label(id verification.NodeID) string {
	if s, ok := t.steps[id]; ok && s.Label != "" {
		return s.Label
	}
	return string(id)
}

// entry returns the line of a fact without its label and times.
func (t *timeline) entry(f rules.Fact) TimelineEntry {
	switch f := f.(type) {
	case rules.Started:
		return TimelineEntry{Kind: TimelineStarted, Workflow: f.WorkflowName, Version: f.Version}
	case rules.Dispatched:
		if f.Visit > t.visits[f.Node] {
			return TimelineEntry{Kind: TimelineDispatched, Node: f.Node, Provider: f.Provider, Number: f.Dispatch, Visit: t.arrive(f.Node)}
		}
		return TimelineEntry{Kind: TimelineRetried, Node: f.Node, Provider: f.Provider, Number: f.Dispatch}
	case rules.ResultPending:
		return TimelineEntry{Kind: TimelinePending, Node: f.Node, Next: f.PollAt}
	case rules.CallbackReceived:
		return TimelineEntry{Kind: TimelineCalledBack, Node: f.Node}
	case rules.Redirected:
		return TimelineEntry{Kind: TimelineLedAway, Node: f.Node, Text: hostOf(f.URL), Next: f.PollAt}
	case rules.Returned:
		return TimelineEntry{Kind: TimelineCameBack, Node: f.Node}
	case rules.PollFailed:
		return TimelineEntry{Kind: TimelinePollFailed, Node: f.Node, Text: f.Cause, Next: f.PollAt}
	case rules.ResultRecorded:
		return t.result(f)
	case rules.DispatchFailed:
		return TimelineEntry{Kind: TimelineNoResult, Node: f.Node, Text: f.Cause, Next: f.RetryAt}
	case rules.ResultUnavailable:
		return TimelineEntry{Kind: TimelineUnavailable, Node: f.Node, Sentences: t.flags(f.Node, f.Data, nil)}
	case rules.CustomerAwaited:
		return TimelineEntry{Kind: TimelineAwaited, Node: f.Node, Visit: t.arrive(f.Node)}
	case rules.JourneyOpened:
		return TimelineEntry{Kind: TimelineOpened, Node: f.Node}
	case rules.DocumentUploaded:
		return TimelineEntry{Kind: TimelineUploaded, Node: f.Node, Field: f.Field}
	case rules.CustomerSubmitted:
		return TimelineEntry{Kind: t.submission(f), Node: f.Node, Sentences: t.flags(f.Node, f.Data, nil)}
	case rules.BranchTaken:
		kind := TimelineBranched
		if f.When == "" {
			kind = TimelineElse
		}
		return TimelineEntry{Kind: kind, Node: f.Node, When: f.When, To: f.Next, ToLabel: t.label(f.Next), Values: f.Values}
	case rules.Skipped:
		kind := TimelineSkipped
		if f.Kept {
			kind = TimelineKept
		}
		return TimelineEntry{Kind: kind, Node: f.Node, To: f.Next, ToLabel: t.label(f.Next), Values: f.Values}
	case rules.Compared:
		kind := TimelineAgrees
		if len(f.Differs) > 0 {
			kind = TimelineDiffers
		}
		return TimelineEntry{Kind: kind, Node: f.Node, Text: strings.Join(f.Differs, ", ")}
	case rules.GroupBegan:
		kind := TimelineGroup
		if f.Each {
			kind = TimelineEach
		}
		return TimelineEntry{Kind: kind, Node: f.Node, Number: f.Elements}
	case rules.GroupDecided:
		kind := TimelineNotMet
		switch {
		case f.Passed:
			kind = TimelineMet
		case f.Unavailable:
			kind = TimelineUnanswered
		}
		return TimelineEntry{Kind: kind, Node: f.Node}
	case rules.NoAnswer:
		return TimelineEntry{Kind: TimelineCannotTell, Node: f.Node, Sentences: []rules.Sentence{{Key: string(f.Outcome)}}}
	case rules.AskedAgain:
		return TimelineEntry{Kind: TimelineAskedAgain, Node: f.Node, Number: f.Round, Text: f.Note, Reasons: f.Reasons, Fields: f.Fields, By: f.By}
	case rules.ReviewAsked:
		return TimelineEntry{Kind: TimelineReview, Node: f.Node, Text: f.Reason, Visit: t.arrive(f.Node)}
	case rules.VerdictRecorded:
		kind := TimelineApproved
		if f.Decision == rules.DecisionReject {
			kind = TimelineRejected
		}
		return TimelineEntry{Kind: kind, Node: f.Node, Text: f.Notes, By: f.By, Reason: f.Reason}
	case rules.VerdictProposed:
		kind := TimelineProposedApproval
		if f.Decision == rules.DecisionReject {
			kind = TimelineProposedRejection
		}
		return TimelineEntry{Kind: kind, Node: f.Node, Text: f.Notes, By: f.By, Reason: f.Reason}
	case rules.ProposalReturned:
		return TimelineEntry{Kind: TimelineSentBack, Node: f.Node, Text: f.Notes, By: f.By, Reason: f.Reason}
	case rules.HitsFound:
		kind := TimelineHitsFound
		if f.Overruled {
			kind = TimelineHitsOverruled
		}
		return TimelineEntry{Kind: kind, Node: f.Node, Field: f.List, Text: t.found(f.List, f.Hits)}
	case rules.HitsCleared:
		return TimelineEntry{Kind: TimelineHitsCleared, Node: f.Node, Cleared: f.Cleared}
	case rules.HitDecided:
		kind := TimelineHitUnsure
		switch f.Match {
		case rules.MatchSame:
			kind = TimelineHitSame
		case rules.MatchOther:
			kind = TimelineHitOther
		case rules.MatchUnsure:
		}
		entry := cmp.Or(t.hits[verification.ClearedHit{List: f.List, Entry: f.Entry, Digest: f.Digest}], f.Entry)
		return TimelineEntry{Kind: kind, Node: f.Node, Field: f.List, Entry: entry, Text: f.Reason, By: f.By}
	case rules.NoteAdded:
		return TimelineEntry{Kind: TimelineNote, Text: f.Notes, By: f.By}
	case rules.Corrected:
		return TimelineEntry{Kind: TimelineCorrected, Node: f.Node, Field: f.Field, Text: f.Correction, By: f.By}
	case rules.Assigned:
		kind := TimelineAssigned
		switch {
		case f.Escalated:
			kind = TimelineEscalated
		case f.To.Key() == "":
			kind = TimelineUnassigned
		}
		return TimelineEntry{Kind: kind, Text: f.Notes, By: f.By, Assignee: f.To.Name()}
	case rules.ReviewDueSoon:
		return TimelineEntry{Kind: TimelineDueSoon}
	case rules.RejectedBefore:
		kind := TimelineRejectedBefore
		if f.Unknown {
			kind = TimelineNotLookedUp
		}
		return TimelineEntry{Kind: kind}
	case rules.Completed:
		return TimelineEntry{Kind: TimelineCompleted, Text: f.Outcome}
	case rules.Failed:
		return TimelineEntry{Kind: TimelineFailed, Node: f.Node, Text: strings.TrimSuffix(f.Error.Message+" "+f.Cause, " ")}
	case rules.Expired:
		return TimelineEntry{Kind: TimelineExpired, Sentences: []rules.Sentence{f.Error.Sentence()}}
	case rules.Cancelled:
		return TimelineEntry{Kind: TimelineCancelled}
	case rules.Held:
		return TimelineEntry{Kind: TimelineHeld, Text: f.Reason, By: f.By}
	case rules.HoldEnded:
		return TimelineEntry{Kind: TimelineHoldEnded, By: f.By}
	case rules.Redacted:
		return TimelineEntry{Kind: TimelineRedacted, By: f.By}
	case rules.Erased:
		return TimelineEntry{Kind: TimelineErased}
	case rules.DocumentsRemoved:
		return TimelineEntry{Kind: TimelineDocumentsRemoved}
	case rules.Restricted:
		return TimelineEntry{Kind: TimelineRestricted, Text: f.Reason, By: f.By}
	case rules.RestrictionLifted:
		return TimelineEntry{Kind: TimelineRestrictionLifted, Text: f.Reason, By: f.By}
	}
	return TimelineEntry{}
}

// hostOf returns the host of a URL, which alone is shown: the rest may be the customer's.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// result returns the line of a result. A check that passed with hits has not cleared anybody.
func (t *timeline) result(f rules.ResultRecorded) TimelineEntry {
	e := TimelineEntry{Kind: TimelineNotPassed, Node: f.Node, Sentences: t.flags(f.Node, f.Data, f.Screening)}
	if f.Passed {
		e.Kind = TimelinePassed
	}
	if f.Screening == nil {
		return e
	}
	if e.Cleared = f.Screening.Cleared; len(f.Screening.Hits) == 0 {
		return e
	}
	found := t.found(f.Screening.List, f.Screening.Hits)
	if f.Passed {
		e.Kind, e.Field, e.Number, e.Text = TimelineMatches, f.Screening.List, len(f.Screening.Hits), found
	}
	return e
}

// found keeps the names of hits, and returns them as one text.
func (t *timeline) found(list string, hits []verification.Hit) string {
	var names []string
	for _, h := range hits {
		if h.Name != "" { // a redacted hit has none
			names = append(names, h.Name)
		}
		t.hits[verification.ClearedHit{List: list, Entry: h.ID, Digest: h.Digest}] = h.Name
	}
	return strings.Join(names, ", ")
}

// arrive counts a visit of a step. It returns the number of a later visit; 0 of the first.
func (t *timeline) arrive(node verification.NodeID) int {
	if t.visits[node]++; t.visits[node] == 1 {
		return 0
	}
	return t.visits[node]
}

// flags returns what the data of a visit flags, if the step was visited more than once, or only on earlier visits of its node;
// else its card says it.
func (t *timeline) flags(node verification.NodeID, d verification.Data, s *rules.Screening) (all []rules.Sentence) {
	if t.steps[node].Visits < 2 && !t.steps[node].Gone {
		return nil
	}
	for _, c := range rules.CausesIn(d, s) {
		all = append(all, c.Sentence())
	}
	return all
}

// submission returns the kind of a customer's answer.
func (t *timeline) submission(f rules.CustomerSubmitted) TimelineKind {
	flags := rules.CausesIn(f.Data, nil)
	switch {
	case t.steps[f.Node].Type == workflow.NodeConsent && slices.Contains(flags, rules.CauseConsent):
		return TimelineDeclined
	case t.steps[f.Node].Type == workflow.NodeConsent:
		return TimelineConsented
	case slices.Contains(flags, rules.CauseOptedOut):
		return TimelineOptedOut
	}
	return TimelineSubmitted
}

// labelled gives entries the labels of a definition where their history has none.
func labelled(entries []TimelineEntry, d workflow.Definition) []TimelineEntry {
	groups := map[verification.NodeID]string{}
	label := func(node verification.NodeID, to *string) {
		of, element, member := node.Parts()
		switch n, _ := d.Node(node); {
		case *to != string(node) || n.Label == "":
		case member == "":
			*to = n.Label
		case element > 0:
			*to = groups[of.Element(element)] + ": " + n.Label
		default:
			*to = d.Label(node)
		}
	}
	for i := range entries {
		label(entries[i].Node, &entries[i].Label)
		groups[entries[i].Node] = entries[i].Label
		label(entries[i].To, &entries[i].ToLabel)
		n, _ := d.Node(entries[i].Node)
		if label := n.Fields.LabelAt(entries[i].Field, ""); label != "" {
			entries[i].Field = label
		}
	}
	return entries
}
