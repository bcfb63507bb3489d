// The timeline of a run: its history as lines in the language of the reader.

package runpage

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
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

// teller makes lines of events.
type teller struct {
	shell.Session
	rec desk.RunRecord

	steps    map[verification.NodeID]rules.Step // of the whole history, with the labels so far
	visits   map[verification.NodeID]int        // so far
	hits     map[verification.ClearedHit]string // the names of the entries found so far
	branches []branchView
}

// timelineOf returns the lines of the history of a run, oldest first, and where its branches led. Events that repeat the one before
// them, such as polls, are one line.
func timelineOf(s shell.Session, rec desk.RunRecord) (lines []timelineLine, branches []branchView) {
	t := teller{
		Session: s, rec: rec, steps: map[verification.NodeID]rules.Step{}, visits: map[verification.NodeID]int{},
		hits: map[verification.ClearedHit]string{},
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
		return t.step(f.Node, web.Warning, "cannot_tell").saying(t.Sentences([]rules.Sentence{{Key: string(f.Outcome)}}))
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
		return t.run(web.Good, "completed").saying(f.Outcome)
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
		return t.person(f.By, web.Neutral, "redacted")
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

// run returns a line about the run.
func (t *teller) run(tone web.Tone, key string, args ...any) timelineLine {
	return timelineLine{Tone: tone, Text: t.Say("timeline."+key, args...)}
}

// person returns a line about what a person did, or a program without a name.
func (t *teller) person(by string, tone web.Tone, key string, args ...any) timelineLine {
	return t.run(tone, key, append([]any{shell.Isolate(personName(t.Session, by))}, args...)...)
}

// step returns a line about a step, whose label comes first in the message.
func (t *teller) step(id verification.NodeID, tone web.Tone, key string, args ...any) timelineLine {
	l := t.run(tone, key, append([]any{shell.Isolate(t.label(id))}, args...)...)
	l.Depth = depthOf(id)
	return l
}

// count returns a line about a number of things at a step.
func (t *teller) count(id verification.NodeID, tone web.Tone, key string, n int) timelineLine {
	return timelineLine{Tone: tone, Text: t.Count("timeline."+key, n, shell.Isolate(t.label(id))), Depth: depthOf(id)}
}

// depthOf returns how deep the lines of a step are.
func depthOf(id verification.NodeID) (depth int) {
	_, element, member := id.Parts()
	if element > 0 {
		depth++
	}
	if member != "" {
		depth++
	}
	return depth
}

func (l timelineLine) saying(detail string) timelineLine {
	l.Detail = detail
	return l
}

func (l timelineLine) noting(notes ...string) timelineLine {
	l.Notes = append(l.Notes, notes...)
	return l
}

// arrived counts a visit of a step, and notes the number of a later visit.
func (t *teller) arrived(id verification.NodeID, l timelineLine) timelineLine {
	if t.visits[id]++; t.visits[id] > 1 {
		return l.noting(t.Say("timeline.visit", t.visits[id]))
	}
	return l
}

// next notes when the provider is called or polled next; zero for not at all.
func (t *teller) next(at time.Time, l timelineLine) timelineLine {
	if at.IsZero() {
		return l
	}
	return l.noting(t.Say("timeline.next", t.At(at).Text))
}

// because notes the reason of a verdict by its code, which may be empty.
func (t *teller) because(code string, l timelineLine) timelineLine {
	if reason := reasonOf(t.Session, t.rec.Definition, code); reason != "" {
		return l.noting(t.Say("timeline.reason", shell.Isolate(reason)))
	}
	return l
}

// cleared notes the hits that a screening left out.
func (t *teller) cleared(all []rules.Clearance, l timelineLine) timelineLine {
	for _, c := range all {
		l = l.noting(clearedBy(t.Session, c))
	}
	return l
}

// result returns the line of a result. A check that passed with hits has not cleared anybody.
func (t *teller) result(f rules.ResultRecorded) timelineLine {
	flags := t.flags(f.Node, f.Data, f.Screening)
	l := t.step(f.Node, web.Bad, "not_passed")
	if f.Passed {
		l = t.step(f.Node, web.Good, "passed")
		if flags != "" {
			l.Tone = web.Warning
		}
	}
	l.Detail = flags
	if f.Screening == nil {
		return l
	}
	found := t.found(f.Screening.List, f.Screening.Hits)
	if n := len(f.Screening.Hits); f.Passed && n > 0 {
		l = t.count(f.Node, web.Warning, "matches", n).saying(cmp.Or(flags, found))
	}
	return t.cleared(f.Screening.Cleared, l)
}

// submission returns the line of a customer's answer.
func (t *teller) submission(f rules.CustomerSubmitted) timelineLine {
	causes, consent := rules.CausesIn(f.Data, nil), t.steps[f.Node].Type == workflow.NodeConsent
	l := t.step(f.Node, web.Neutral, "submitted")
	switch {
	case consent && slices.Contains(causes, rules.CauseConsent):
		l = t.step(f.Node, web.Warning, "declined")
	case consent:
		l = t.step(f.Node, web.Good, "consented")
	case slices.Contains(causes, rules.CauseOptedOut):
		l = t.step(f.Node, web.Warning, "opted_out")
	}
	return l.saying(t.flags(f.Node, f.Data, nil))
}

// decided returns the line of a group that was decided.
func (t *teller) decided(f rules.GroupDecided, at time.Time) timelineLine {
	switch {
	case f.Passed:
		flagged := slices.ContainsFunc(t.rec.Report.Groups, func(g rules.ReportGroup) bool {
			return g.NodeID == f.Node && g.Status == rules.GroupFlagged && g.DecidedAt.Equal(at)
		})
		if flagged {
			return t.step(f.Node, web.Warning, "met")
		}
		return t.step(f.Node, web.Good, "met")
	case f.Unavailable:
		return t.step(f.Node, web.Bad, "unanswered")
	}
	return t.step(f.Node, web.Bad, "not_met")
}

// hit returns the line of a decision on a hit.
func (t *teller) hit(f rules.HitDecided) timelineLine {
	tone, key := web.Neutral, "hit_unsure"
	switch f.Match {
	case rules.MatchSame:
		tone, key = web.Bad, "hit_same"
	case rules.MatchOther:
		key = "hit_other"
	case rules.MatchUnsure:
	}
	entry := cmp.Or(t.hits[verification.ClearedHit{List: f.List, Entry: f.Entry, Digest: f.Digest}], f.Entry)
	return t.step(f.Node, tone, key, shell.Isolate(personName(t.Session, f.By)), shell.Isolate(entryName(t.Session, entry))).saying(f.Reason)
}

// found keeps the names of hits, and returns them as one text.
func (t *teller) found(list string, hits []verification.Hit) string {
	var names []string
	for _, h := range hits {
		if h.Name != "" { // a redacted hit has none
			names = append(names, h.Name)
		}
		t.hits[verification.ClearedHit{List: list, Entry: h.ID, Digest: h.Digest}] = h.Name
	}
	return strings.Join(names, ", ")
}

// flags returns what the data of a visit flags, if the step was visited more than once, or only on earlier visits of its node;
// else its card says it.
func (t *teller) flags(id verification.NodeID, d verification.Data, s *rules.Screening) string {
	if t.steps[id].Visits < 2 && !t.steps[id].Gone {
		return ""
	}
	var all []rules.Sentence
	for _, c := range rules.CausesIn(d, s) {
		all = append(all, c.Sentence())
	}
	return t.Sentences(all)
}

// relabel keeps the label that a step has from a visit on.
func (t *teller) relabel(id verification.NodeID, label string) {
	s := t.steps[id]
	s.Label = label
	t.steps[id] = s
}

// label returns the label of a step: in the history, or else in the definition, or else its node.
func (t *teller) label(id verification.NodeID) string {
	n, _ := t.rec.Definition.Node(id)
	of, element, member := id.Parts()
	switch label := t.steps[id].Label; {
	case label != "" && label != string(id):
		return label
	case n.Label == "":
		return string(id)
	case member == "":
		return n.Label
	case element > 0:
		return t.label(of.Element(element)) + ": " + n.Label
	}
	return t.rec.Definition.Label(id)
}

// field returns the label of a field of a step, or else its name.
func (t *teller) field(id verification.NodeID, name string) string {
	n, _ := t.rec.Definition.Node(id)
	return cmp.Or(n.Fields.LabelAt(name, ""), name)
}

// hostOf returns the host of a URL, which alone is shown: the rest may be the customer's.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// personName returns the name of a reviewer, or words for a verdict of a program.
func personName(s shell.Session, name string) string {
	return cmp.Or(name, s.Say("verdict.program"))
}
