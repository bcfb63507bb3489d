// The timeline of a run: its history as lines in the language of the reader.

package runpage

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// timelineLine is one line of the timeline.
type timelineLine struct {
	Tone   web.Tone
	At     shell.Instant // of the first event of the line
	Text   string
	Detail string // what a person or a program wrote; may be empty
	Notes  []string
	Depth  int // 1 for a member or an element, 2 for a member of an element

	event rules.Event // the last one of the line
}

// branchView is where a branch led.
type branchView struct {
	At     shell.Instant
	Branch string
	To     string
	When   string // the condition that held; empty for else
	Values dataTable
}

// timelineOf returns the lines of the history of a run, oldest first, and where its branches led. Events that repeat the one before
// them, such as polls, are one line.
func timelineOf(s shell.Session, rec desk.RunRecord) (lines []timelineLine, branches []branchView) {
	t := teller{
		Session: s, rec: rec, steps: map[verification.NodeID]rules.Step{}, visits: map[verification.NodeID]int{},
		hits: map[verification.ClearedHit]string{}, asked: map[verification.NodeID]string{},
	}
	run := rules.Fold("", rec.History)
	for _, g := range run.Groups {
		t.steps[g.Node] = rules.Step{Node: g.Node, Label: g.Label}
	}
	for _, step := range run.Steps {
		t.steps[step.Node] = step
	}
	for from, to := 0, 0; from < len(rec.History); from = to {
		same := repeated(rec.History[from].Fact)
		for to++; to < len(rec.History) && same != nil && repeated(rec.History[to].Fact) == same; {
			to++
		}
		first, last := rec.History[from], rec.History[to-1]
		t.told = to
		for i := from; i < to; i++ {
			if then, ok := rec.ElementsThen[i]; ok {
				t.elements = then
			}
		}
		l := t.line(last)
		l.At, l.event = s.At(first.At), last
		if n := to - from; n > 1 {
			l.Notes = slices.Insert(l.Notes, 0, s.Say("timeline.times", n, s.At(last.At).Text))
		}
		lines = append(lines, l)
	}
	return lines, t.branches
}

// repeated returns what events have in common that are one line; nil for a fact that does not come many times in a row.
func repeated(f rules.Fact) rules.Fact {
	switch f := f.(type) { //nolint:gochecksumtype // no other fact comes many times in a row
	case rules.ResultPending:
		return rules.ResultPending{Node: f.Node}
	case rules.PollFailed:
		return rules.PollFailed{Node: f.Node, Cause: f.Cause}
	case rules.CallbackReceived:
		return rules.CallbackReceived{Node: f.Node}
	case rules.JourneyOpened:
		return f
	case rules.Redirected:
		return rules.Redirected{Node: f.Node, URL: hostOf(f.URL)}
	case rules.Returned:
		return rules.Returned{Node: f.Node}
	}
	return nil
}

// line returns the line of an event.
func (t *teller) line(e rules.Event) timelineLine {
	switch f := e.Fact.(type) {
	case rules.Started:
		return t.run(web.Neutral, "started", shell.Isolate(f.WorkflowName), f.Version)
	case rules.Dispatched:
		t.relabel(f.Node, f.Label)
		t.asked[f.Node] = f.Provider
		if f.Visit > t.visits[f.Node] {
			return t.arrived(f.Node, t.step(f.Node, web.Neutral, "dispatched", shell.Isolate(f.Provider)))
		}
		return t.step(f.Node, web.Neutral, "retried", shell.Isolate(f.Provider), f.Dispatch)
	case rules.ResultPending:
		return t.next(f.PollAt, t.step(f.Node, web.Neutral, "pending"))
	case rules.CallbackReceived:
		return t.step(f.Node, web.Neutral, "called_back")
	case rules.Redirected:
		return t.next(f.PollAt, t.step(f.Node, web.Neutral, "led_away").saying(hostOf(f.URL)))
	case rules.Returned:
		return t.step(f.Node, web.Neutral, "came_back")
	case rules.PollFailed:
		return t.next(f.PollAt, t.step(f.Node, web.Warning, "poll_failed").saying(f.Cause))
	case rules.ResultRecorded:
		return t.result(f)
	case rules.DispatchFailed:
		return t.next(f.RetryAt, t.step(f.Node, web.Warning, "no_result").saying(f.Cause))
	case rules.ResultUnavailable:
		return t.step(f.Node, web.Bad, "unavailable").saying(t.flags(f.Node, f.Data, nil))
	case rules.CustomerAwaited:
		t.relabel(f.Node, f.Label)
		return t.arrived(f.Node, t.step(f.Node, web.Neutral, "awaited"))
	case rules.JourneyOpened:
		return t.step(f.Node, web.Neutral, "opened")
	case rules.DocumentUploaded:
		return t.step(f.Node, web.Neutral, "uploaded", shell.Isolate(t.field(f.Node, f.Field)))
	case rules.CustomerSubmitted:
		return t.submission(f)
	case rules.BranchTaken:
		key := "branched"
		if f.When == "" {
			key = "else"
		}
		to := t.label(f.Next)
		t.branches = append(t.branches, branchView{
			At: t.At(e.At), Branch: t.label(f.Node), To: to, When: f.When, Values: tableOf(f.Values, pathTitles(f.Values), nil, t.Message),
		})
		return t.step(f.Node, web.Neutral, key, shell.Isolate(to))
	case rules.Skipped:
		if f.Kept {
			return t.step(f.Node, web.Neutral, "kept")
		}
		return t.step(f.Node, web.Neutral, "skipped")
	case rules.Compared:
		if len(f.Differs) == 0 {
			return t.step(f.Node, web.Neutral, "agrees")
		}
		return t.step(f.Node, web.Warning, "differs").saying(strings.Join(f.Differs, ", "))
	case rules.GroupBegan:
		t.relabel(f.Node, f.Label)
		if f.Each {
			return t.count(f.Node, web.Neutral, "each", f.Elements)
		}
		return t.step(f.Node, web.Neutral, "group")
	case rules.GroupDecided:
		return t.decided(f, e.At)
	case rules.NoAnswer:
		return t.step(f.Node, web.Warning, "cannot_tell").saying(t.Sentences([]rules.Sentence{rules.AnswerSentence(f.Outcome, t.asked[f.Node], nil)}))
	case rules.AskedAgain:
		l := t.step(f.Node, web.Warning, "asked_again_by_workflow")
		if f.By != "" {
			l = t.step(f.Node, web.Warning, "asked_again", shell.Isolate(f.By))
		}
		return l.saying(f.Note).noting(askedFor(t.Session, t.rec, f.Node, f.Reasons, f.Fields)...)
	case rules.ReviewAsked:
		return t.arrived(f.Node, t.step(f.Node, web.Warning, "review").saying(f.Reason))
	case rules.VerdictRecorded:
		if f.Decision == rules.DecisionReject {
			return t.because(f.Reason, t.person(f.By, web.Bad, "rejected").saying(f.Notes))
		}
		return t.because(f.Reason, t.person(f.By, web.Good, "approved").saying(f.Notes))
	case rules.VerdictProposed:
		if f.Decision == rules.DecisionReject {
			return t.because(f.Reason, t.person(f.By, web.Bad, "proposed_rejection").saying(f.Notes))
		}
		return t.because(f.Reason, t.person(f.By, web.Good, "proposed_approval").saying(f.Notes))
	case rules.ProposalReturned:
		return t.because(f.Reason, t.person(f.By, web.Warning, "sent_back").saying(f.Notes))
	case rules.HitsFound:
		key := "hits_found"
		if f.Overruled {
			key = "hits_overruled"
		}
		return t.step(f.Node, web.Warning, key, shell.Isolate(f.List)).saying(t.found(f.List, f.Hits))
	case rules.HitsCleared:
		return t.cleared(f.Cleared, t.step(f.Node, web.Neutral, "hits_cleared"))
	case rules.HitDecided:
		return t.hit(f)
	case rules.NoteAdded:
		return t.person(f.By, web.Neutral, "note").saying(f.Notes)
	case rules.Corrected:
		of := strings.TrimPrefix(t.label(f.Node)+": "+t.field(f.Node, f.Field), ": ")
		return t.person(f.By, web.Neutral, "corrected", shell.Isolate(of)).saying(f.Correction)
	case rules.Assigned:
		switch {
		case f.Escalated:
			return t.person(f.By, web.Warning, "escalated", shell.Isolate(f.To.Name())).saying(f.Notes)
		case f.To.Key() == "":
			return t.person(f.By, web.Neutral, "unassigned").saying(f.Notes)
		}
		return t.person(f.By, web.Neutral, "assigned", shell.Isolate(f.To.Name())).saying(f.Notes)
	case rules.ReviewDueSoon:
		return t.run(web.Warning, "review_due_soon")
	case rules.RejectedBefore:
		if f.Unknown {
			return t.run(web.Warning, "not_looked_up")
		}
		return t.run(web.Neutral, "rejected_before")
	case rules.Completed:
		l := t.run(web.Good, "completed").saying(f.Outcome)
		if b, _ := shell.OutcomeBadge(f.Outcome); b.Tone == web.Bad {
			l.Tone = web.Bad
		}
		return l
	case rules.Failed:
		return t.step(f.Node, web.Bad, "failed").saying(strings.TrimSuffix(f.Error.Message+" "+f.Cause, " "))
	case rules.Expired:
		return t.run(web.Bad, "expired").saying(t.Sentences([]rules.Sentence{f.Error.Sentence()}))
	case rules.Cancelled:
		return t.run(web.Bad, "cancelled")
	case rules.Held:
		return t.person(f.By, web.Neutral, "held").saying(f.Reason)
	case rules.HoldEnded:
		return t.person(f.By, web.Neutral, "hold_ended")
	case rules.Redacted:
		l := t.person(f.By, web.Neutral, "redacted")
		if f.Reason != "" {
			l = l.saying(t.Say("redact.reason." + string(f.Reason)))
		}
		return l
	case rules.Erased:
		return t.run(web.Neutral, "erased")
	case rules.DocumentsRemoved:
		return t.run(web.Neutral, "documents_removed")
	case rules.Restricted:
		return t.person(f.By, web.Neutral, "restricted").saying(f.Reason)
	case rules.RestrictionLifted:
		return t.person(f.By, web.Neutral, "restriction_lifted").saying(f.Reason)
	}
	return timelineLine{}
}
