package rules_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// consistent fails unless all views of a run at one time agree.
func consistent(t flows.Tester, j *journey) {
	t.Helper()
	statusesPartition(t, j)
	summaryAgrees(t, j)
	queueAgrees(t, j)
	flagsStay(t, j)
	reportAgrees(t, j)
	outcomeHolds(t, j)
	historyFolds(t, j)
	movesFollowRoutes(t, j)
	measuresAddUp(t, j)
	reasonsAreOfTheWorkflow(t, j)
	sentencesSayTheReason(t, j)
	redactionKeeps(t, j)
	restrictionHides(t, j)
	wordsSayWhatIsOpen(t, j)
}

// measuresAddUp: the measures of all commits are those of the whole history, and of a
// run at rest nothing is left to be measured.
func measuresAddUp(t flows.Tester, j *journey) {
	t.Helper()
	if j.program.Version.Definition.Nodes == nil {
		return // a recorded history
	}
	equal(t, "the measures of all commits", j.measured, measures(j.history))
	if w := j.run.Wait().Kind; j.run.Ended == "" && w != rules.WaitCustomer && w != rules.WaitReview {
		return
	}
	var moves []rules.Transition
	count := map[store.MeasureName]int{}
	for _, m := range j.measured {
		count[m.Name]++
		if m.Name == store.MeasureTransition {
			moves = append(moves, m.Parts().Transition)
		}
	}
	equal(t, "the measured transitions", moves, rules.Transitions("", j.history))
	facts, reasoned := map[string]int{}, 0
	groups, away, lost := 0, map[verification.NodeID]bool{}, 0 // lost are the answers about customers who did not come back
	for _, e := range j.history {
		facts[e.Kind()]++
		switch f := e.Fact.(type) {
		case rules.Redirected:
			away[f.Node] = true
		case rules.Returned:
			away[f.Node] = false
		case rules.Dispatched:
			away[f.Node] = false
		case rules.ResultRecorded:
			if away[f.Node] {
				lost++
			}
		case rules.NoAnswer:
			if away[f.Node] {
				lost++
			}
		case rules.GroupDecided:
			if g, _ := j.run.Group(f.Node); !g.Each {
				groups++
			}
		}
		if f, ok := e.Fact.(rules.VerdictRecorded); ok && f.Reason != "" {
			reasoned++
		}
	}
	decided := 0 // the times that the run ceased to wait for its completion or its verdict
	var run rules.Run
	for _, e := range j.history {
		open := run.Ended == "" || run.Decision() == rules.DecisionReview
		run = run.Evolve(e)
		if open && run.Ended == rules.StatusCompleted && run.Decision() != rules.DecisionReview {
			decided++
		}
	}
	for name, n := range map[store.MeasureName]int{
		store.MeasureStarted:        facts["started"],
		store.MeasureDispatchTime:   facts["result_recorded"] + facts["no_answer"] - lost,
		store.MeasureDispatchFailed: facts["dispatch_failed"],
		store.MeasureVerdict:        facts["verdict_recorded"],
		store.MeasureVerdictReason:  reasoned,
		store.MeasureVerdictBy:      facts["verdict_recorded"],
		store.MeasureChecked:        facts["result_recorded"] + groups,
		store.MeasureDecided:        decided,
		store.MeasureEnded:          facts["completed"] + facts["failed"] + facts["expired"] + facts["cancelled"],
	} {
		if count[name] != n {
			t.Errorf("%d measures %q, want %d", count[name], name, n)
		}
	}
}

// movesFollowRoutes: a run moves from the start along routes of its definition.
func movesFollowRoutes(t flows.Tester, j *journey) {
	t.Helper()
	d := j.program.Version.Definition
	if d.Nodes == nil {
		return // a recorded history
	}
	var at verification.NodeID
	for i, m := range rules.Transitions("", j.history) {
		routes := d.Nodes[m.From].Routes()
		if i == 0 {
			routes = []workflow.Route{{To: d.Start}}
		}
		along := func(on string) bool { return slices.Contains(routes, workflow.Route{On: on, To: m.To}) }
		back := m.On == "ask again" && d.Nodes[m.From].Type == workflow.NodeReview && d.Nodes[m.To].Asks()
		if m.From != at || !along(m.On) && !along("next") && !back {
			t.Errorf("move %d from %q, which was at %q, is %+v; its routes are %v", i, m.From, at, m, routes)
		}
		at = m.To
	}
}

// statusesPartition: exactly one of the six statuses finds the run, and the
// fields that go with it are there and no others.
func statusesPartition(t flows.Tester, j *journey) {
	t.Helper()
	s, d := j.run.Summary(), j.detail()
	var found []rules.Status
	for _, status := range rules.Statuses() {
		if (store.RunQuery{Status: status, Now: j.now}).Matches(s) {
			found = append(found, status)
		}
	}
	if !slices.Equal(found, []rules.Status{d.Status}) {
		t.Errorf("the filters %v find a run that reads %s", found, d.Status)
	}
	if d.Status.Terminal() == d.CompletedAt.IsZero() {
		t.Errorf("a run that is %s was completed at %v", d.Status, d.CompletedAt)
	}
	if d.Action != nil && d.Status.Terminal() {
		t.Errorf("a run that is %s requires the action %+v", d.Status, d.Action)
	}
	halted := d.Status == rules.StatusFailed || d.Status == rules.StatusExpired
	if (d.Error != nil) != halted {
		t.Errorf("a run that is %s has the error %+v", d.Status, d.Error)
	}
}

// summaryAgrees: what a list says of the run is what the run says of itself.
func summaryAgrees(t flows.Tester, j *journey) {
	t.Helper()
	s, asOf := j.run.Summary(), j.run.AsOf(j.now)
	equal(t, "the view of the summary", s.View(j.now), j.detail().RunView)
	equal(t, "the view as of now", asOf.Summary().View(j.now), s.View(j.now))
	if got := s.DecisionAt(j.now); got != asOf.Decision() {
		t.Errorf("the list says the decision %q, the run %q", got, asOf.Decision())
	}
	if asOf.Ended != "" && asOf.Ended != s.StatusAt(j.now) {
		t.Errorf("the list says %s, the run %s", s.StatusAt(j.now), asOf.Ended)
	}
}

// queueAgrees: a run reads review if and only if the queue has it, and then it
// is in progress or completed.
func queueAgrees(t flows.Tester, j *journey) {
	t.Helper()
	d := j.detail()
	queued := (store.RunQuery{Decision: rules.DecisionReview, Now: j.now}).Matches(j.run.Summary())
	if queued != (d.Decision == rules.DecisionReview) {
		t.Errorf("the run reads %q, in the queue: %v", d.Decision, queued)
	}
	switch {
	case !queued:
	case d.Status == rules.StatusCompleted && len(d.Flags) > 0:
	case d.Status == rules.StatusInProgress && d.Action != nil && d.Action.Type == rules.ActionReview:
	default:
		t.Errorf("a run is queued that is %s, with the action %+v and %d flags", d.Status, d.Action, len(d.Flags))
	}
	if resolved := !d.ResolvedAt.IsZero(); resolved != d.Decision.Verdict() || d.Notes != "" && !resolved {
		t.Errorf("the decision is %q, resolved at %v with notes %q", d.Decision, d.ResolvedAt, d.Notes)
	}
}

// reportAgrees fails the test unless the report and the detail of a run agree, and each
// card that needs review is a flagged step.
func reportAgrees(t flows.Tester, j *journey) {
	t.Helper()
	d, r := j.detail(), j.report()
	equal(t, "the reviews of the report", r.Flags, d.Flags)
	if r.Decision != d.Decision || r.Notes != d.Notes || !r.ResolvedAt.Equal(d.ResolvedAt) {
		t.Errorf("the report says %q, %q, %v; the run %q, %q, %v",
			r.Decision, r.Notes, r.ResolvedAt, d.Decision, d.Notes, d.ResolvedAt)
	}
	if r.Run.Status != d.Status || !r.Run.CompletedAt.Equal(d.CompletedAt) {
		t.Errorf("the report says %s at %v, the run %s at %v", r.Run.Status, r.Run.CompletedAt, d.Status, d.CompletedAt)
	}
	equal(t, "the error of the report", r.Error, d.Error)
	flagged := map[verification.NodeID]bool{}
	for _, f := range d.Flags {
		flagged[f.NodeID] = true
	}
	needing, carded := 0, map[verification.NodeID]bool{}
	for _, c := range r.Cards {
		carded[c.NodeID] = true
		if c.Status == rules.CardOK && c.CompletedAt.IsZero() && (!flagged[c.NodeID] || j.run.Verdict.Node != "") {
			t.Errorf("the card of the unfinished step %s is ok", c.NodeID)
		}
		if c.Status != rules.CardNeedsReview {
			continue
		}
		needing++
		if open := !d.Status.Terminal() && c.CompletedAt.IsZero(); !flagged[c.NodeID] || d.Decision.Verdict() && !open {
			t.Errorf("the card %s needs review; flagged: %v, decision: %q", c.NodeID, flagged[c.NodeID], d.Decision)
		}
	}
	if needing != r.Summary.NeedsReview || needing+r.Summary.OK+r.Summary.Failed != len(r.Cards) {
		t.Errorf("%d cards count as %+v", len(r.Cards), r.Summary)
	}
	stepsHaveCards(t, j, carded)
	if d.Status.Terminal() {
		printTellsNoVerdict(t, j)
		later := rules.MakeReport(j.run.ID, j.history, j.now.Add(1000*time.Hour))
		equal(t, "the report in later times", later, r)
	}
}

// outcomeHolds: every view has the same outcome, which is that of the end unless a verdict is
// needed or the newest verdict is a rejection after the end. The notice of the end is what it
// was right after the end.
func outcomeHolds(t flows.Tester, j *journey) {
	t.Helper()
	want, over, rejected := "", 0, false
	for i, e := range j.history {
		switch f := e.Fact.(type) {
		case rules.Completed:
			want, over = f.Outcome, i+1
		case rules.Failed, rules.Expired, rules.Cancelled:
			over = i + 1
		case rules.VerdictRecorded:
			rejected = over > 0 && f.Decision == rules.DecisionReject
		case rules.HitsFound:
			rejected = false
		}
	}
	if rejected || j.decision() == rules.DecisionReview {
		want = ""
	}
	listed, detail, report := j.run.Summary().View(j.now), j.detail(), j.report()
	equal(t, "the outcomes", []string{listed.Outcome, detail.Outcome, report.Run.Outcome}, []string{want, want, want})
	if over > 0 {
		then := rules.Fold(j.run.ID, j.history[:over])
		n := rules.EndNotice(j.run)
		equal(t, "the notice of the end", n, rules.EndNotice(then))
		equal(t, "the run of the notice", n.Run, then.Summary().View(then.CompletedAt))
		equal(t, "the decision of the notice", n.Decision, then.Decision())
	}
}

// stepsHaveCards: a run that is over has a card for every step that it reached
// and no check that is outstanding; a live one has a card for every step that it has
// finished once, for each flagged one, and for the review step that it is parked on.
func stepsHaveCards(t flows.Tester, j *journey, carded map[verification.NodeID]bool) {
	t.Helper()
	d, live := j.detail(), j.run.AsOf(j.now)
	for _, s := range live.Steps {
		flagged := slices.ContainsFunc(d.Flags, func(f rules.Flag) bool { return f.NodeID == s.Node })
		waits := slices.ContainsFunc(live.Waits, func(w rules.Wait) bool { return w.Node == s.Node })
		want := !waits || live.Wait().Kind == rules.WaitReview || flagged || s.Visits > 1
		if carded[s.Node] != want {
			t.Errorf("the step %s has a card: %t, want %t in a run that is %s", s.Node, carded[s.Node], want, d.Status)
		}
	}
	for _, c := range d.Checks {
		if d.Status.Terminal() && c.Status != rules.StepPassed && c.Status != rules.StepFailed {
			t.Errorf("the run is %s and its check %s is %s", d.Status, c.Key, c.Status)
		}
	}
}

// historyFolds: the fold of the history, before and after it was saved as
// JSON, is the run that grew event by event.
func historyFolds(t flows.Tester, j *journey) {
	t.Helper()
	equal(t, "the fold of the history", rules.Fold(j.run.ID, j.history), j.run)
	raw, err := json.Marshal(j.history)
	if err != nil {
		t.Fatalf("Marshal: %v", err)
	}
	var saved []rules.Event
	if err := json.Unmarshal(raw, &saved); err != nil {
		t.Fatalf("Unmarshal: %v", err)
	}
	if diff := cmp.Diff(j.history, saved, cmp.Transformer("", verification.Data.String)); diff != "" {
		t.Errorf("the history changed in JSON (-want +got):\n%s", diff)
	}
	equal(t, "the fold of the saved history", rules.Fold(j.run.ID, saved), j.run)
	if got, want := rules.MakeReport(j.run.ID, saved, j.now).Digest, j.report().Digest; got != want {
		t.Errorf("the digest of the saved history is %s, want %s", got, want)
	}
}

// picture returns everything of a run as text, to detect changes of shared values.
func picture(r rules.Run) string { return fmt.Sprintf("%+v %+v", r, r.Error) }

// pictures returns the events as text.
func pictures(history []rules.Event) string { return fmt.Sprintf("%+v", history) }

func TestRandomRunsKeepEveryPromise(t *testing.T) {
	definitions := []workflow.Definition{
		flows.DeskFlow(), flows.FourEyes(), flows.Single(nil), flows.Ladder(), flows.Loop(), flows.Refusal(), flows.Company(), flows.Company(),
	}
	for _, d := range definitions {
		flows.Edit("done", func(n *workflow.Node) { n.Outcome = "ended" })(&d)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(definitions).Draw(t, "definition")
		input := rapid.SampledFrom([]string{"", wantsOne, wantsTwo, `{"a":"<b>&\u2028"}`, `{"list":[],"review":true}`, `{"list":[1,2],"review":true}`, `{"list":["x"],"again":true}`}).Draw(t, "input")
		if rapid.Bool().Draw(t, "any definition") {
			d, input = flows.AnyDefinition(t), string(flows.AnyInput(t))
		}
		j := begin(t, d, input)
		if somewhere := situations()[1:]; rapid.Bool().Draw(t, "further on") {
			j = somewhere[rapid.IntRange(0, len(somewhere)-1).Draw(t, "situation")].reach(t)
		}
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			j.after(flows.NextWait(t, j.run, j.now))
			c := flows.NextCommand(t, j.program, j.run)
			before, was, history := picture(j.run), j.detail(), pictures(j.history)
			old, oldHistory := j.run, slices.Clip(j.history)
			events, err := j.try(c)
			again, againErr := j.try(c)
			equal(t, "the same decision twice", again, events)
			if flows.Outcome(events, err) != flows.Outcome(again, againErr) {
				t.Errorf("%T came to %v and then to %v", c, err, againErr)
			}
			if err == nil {
				j.do(c)
				moves := append(rules.Transitions("", oldHistory), rules.Transitions(old.Wait().Node, events)...)
				equal(t, "the moves so far and those of the decision", moves, rules.Transitions("", j.history))
			}
			if picture(old) != before || pictures(oldHistory) != history {
				t.Fatalf("%T wrote into the run before it", c)
			}
			if flows.Kinds(events) == "hits_found" {
				hitsReopen(t, was, j)
			} else {
				terminalStays(t, was, j)
			}
			if strings.HasSuffix(flows.Kinds(events), "verdict_recorded") && was.Status.Terminal() {
				verdictSettles(t, j)
			}
			noticesAgree(t, old, events, j)
			twoReviewersAgreed(t, j.history)
			consistent(t, j)
			checksAreDeclared(t, j)
			everyScreeningIsAnsweredOrTold(t, j)
		}
	})
}

// noticesAgree: a command after which a run needs a verdict that it did not need before sends one notice that says so, and no other
// command does. Each notice can be made from the history.
func noticesAgree(t flows.Tester, was rules.Run, events []rules.Event, j *journey) {
	t.Helper()
	count := map[workflow.NoticeEvent]int{}
	for _, seq := range rules.NoticesOf(workflow.Definition{Notify: workflow.NoticeEvents()}, was, events) {
		n, err := rules.NewNotice(rules.NoticeRef{Run: j.run.ID, Seq: seq}, j.history)
		if err != nil {
			t.Errorf("the notice of event %d of %s: %v", seq, flows.Kinds(j.history), err)
		}
		if count[n.Event]++; n.Event == workflow.NoticeReviewNeeded && (n.Decision != rules.DecisionReview || n.Run.Outcome != "") {
			t.Errorf("a run that needs a verdict is told with the decision %q and the outcome %q", n.Decision, n.Run.Outcome)
		}
	}
	needed := was.Decision() != rules.DecisionReview && j.run.Decision() == rules.DecisionReview
	if got := count[workflow.NoticeReviewNeeded]+count[workflow.NoticeFlagged] > 0; got != (needed || count[workflow.NoticeFlagged] > 0) ||
		count[workflow.NoticeReviewNeeded]+count[workflow.NoticeFlagged] > 1 {
		t.Errorf("after %s from %q to %q the notices are %v", flows.Kinds(events), was.Decision(), j.run.Decision(), count)
	}
	asked := strings.Contains(flows.Kinds(j.history), "asked_again")
	for _, e := range events {
		f, ok := e.Fact.(rules.CustomerAwaited)
		if !ok {
			continue
		}
		_, before := was.Step(f.Node)
		_, element, _ := f.Node.Parts()
		if got := count[workflow.NoticeReturned] > 0; got && !before || !got && before && !asked && element == 0 {
			t.Errorf("%s, which was visited before: %t, is told of: %t", f.Node, before, got)
		}
	}
}

// twoReviewersAgreed: where two people must agree, each verdict follows a proposal of the
// same decision for the same step by another person, however the two signed in, which was
// not sent back and did not outlive the wait that it was for.
func twoReviewersAgreed(t flows.Tester, history []rules.Event) {
	t.Helper()
	started, _ := history[0].Fact.(rules.Started)
	var proposed rules.VerdictProposed
	steps, waits := map[verification.NodeID]bool{}, verification.NodeID("") // the review steps that need two people; waits is empty once the run is over
	needsTwo := func() bool {
		return started.FourEyes || steps[waits] || waits == "" && slices.Contains(slices.Collect(maps.Values(steps)), true)
	}
	for i, e := range history {
		switch f := e.Fact.(type) {
		case rules.ReviewAsked:
			steps[f.Node], waits = f.FourEyes, f.Node
		case rules.AskedAgain:
			if f.From == waits && needsTwo() && f.Identity == "" {
				t.Errorf("event %d asks again without a person: %+v", i, f)
			}
		case rules.Completed, rules.Failed, rules.Expired, rules.Cancelled:
			waits = ""
		}
		switch f := e.Fact.(type) {
		case rules.VerdictProposed:
			if !needsTwo() || f.Identity == "" || proposed.Decision != "" {
				t.Errorf("event %d proposes %+v after %+v; four_eyes: %t", i, f, proposed, needsTwo())
			}
			proposed = f
		case rules.ProposalReturned:
			if proposed.Decision == "" || f.Identity == "" {
				t.Errorf("event %d sends %+v back by %q", i, proposed, f.Identity)
			}
			proposed = rules.VerdictProposed{}
		case rules.VerdictRecorded:
			first, second := humanOf(proposed.Identity, proposed.By), humanOf(f.Identity, f.By)
			agreed := first != "" && second != "" && first != second &&
				f.Decision == proposed.Decision && f.Node == proposed.Node
			if needsTwo() && !agreed {
				t.Errorf("event %d records %+v after the proposal %+v", i, f, proposed)
			}
			proposed = rules.VerdictProposed{}
		case rules.AskedAgain, rules.HitsFound, rules.Completed, rules.Failed, rules.Expired, rules.Cancelled:
			proposed = rules.VerdictProposed{}
		}
	}
}

// checksAreDeclared: the steps of the definition list every check of the run.
func checksAreDeclared(t flows.Tester, j *journey) {
	t.Helper()
	steps := j.program.Version.Definition.Checks()
	for _, c := range j.detail().Checks {
		if !slices.Contains(steps, workflow.CheckInfo{Key: c.Key, Label: c.Label}) {
			t.Errorf("the run has the check %s, %q; the definition lists %+v", c.Key, c.Label, steps)
		}
	}
}

// terminalStays: a run that was over is over, in the same way.
func terminalStays(t flows.Tester, was rules.RunDetail, j *journey) {
	t.Helper()
	if is := j.detail(); was.Status.Terminal() {
		is.Outcome, was.Outcome = "", "" // outcomeHolds
		equal(t, "a run that was over", is.RunView, was.RunView)
		equal(t, "its checks", is.Checks, was.Checks)
		equal(t, "its flags", is.Flags, was.Flags)
	}
}

// hitsReopen: a completed run with hits of a later list needs a verdict, and is otherwise
// as it was.
func hitsReopen(t flows.Tester, was rules.RunDetail, j *journey) {
	t.Helper()
	is := j.detail()
	is.Outcome, was.Outcome = "", "" // outcomeHolds
	equal(t, "a run with new hits", is.RunView, was.RunView)
	equal(t, "its checks", is.Checks, was.Checks)
	if was.Status != rules.StatusCompleted || is.Decision != rules.DecisionReview || is.Proposal.Decision != "" {
		t.Errorf("a run that was %s with hits has the decision %q and the proposal %+v", was.Status, is.Decision, is.Proposal)
	}
}

// verdictSettles: after a verdict on a finished run no card needs review.
func verdictSettles(t flows.Tester, j *journey) {
	t.Helper()
	r := j.report()
	if !r.Decision.Verdict() || r.Summary.NeedsReview != 0 {
		t.Errorf("after a verdict the decision is %q and %d cards need review", r.Decision, r.Summary.NeedsReview)
	}
}

func TestDigestDiffersForDifferentHistories(t *testing.T) {
	j := begin(t, flows.DeskFlow(), wantsTwo).submit(consents).noResult(false).redispatch().pass().approve("seen").reject("")
	seen := map[string]string{}
	add := func(what string, history []rules.Event) {
		t.Helper()
		digest := rules.MakeReport(flows.RunID, history, flows.Noon()).Digest
		if other, ok := seen[digest]; ok {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[digest] = what
	}
	for i := range j.history {
		add(fmt.Sprintf("the first %d events", i+1), j.history[:i+1])
		if i > 0 && i < len(j.history)-1 {
			add(fmt.Sprintf("all but event %d", i), slices.Delete(slices.Clone(j.history), i, i+1))
		}
		moved := slices.Clone(j.history)
		moved[i].At = moved[i].At.Add(time.Microsecond)
		add(fmt.Sprintf("event %d a microsecond later", i), moved)
	}
}

// humanOf returns who gave a verdict of a history; empty for a program.
func humanOf(identity, name string) string {
	for p, human := range flows.Reviewers() {
		if strings.ReplaceAll(p.Identity, "\x00", "") == identity && p.Name == name {
			return human
		}
	}
	return ""
}
