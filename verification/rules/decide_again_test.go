package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// rounds asks for consent and details, makes a check of the details and one of nothing, and asks for a review.
func rounds() workflow.Definition {
	pan, court := flows.CheckNode("PAN", "court"), flows.CheckNode("Court", "review")
	pan.When = "reads details"
	return flows.Define("consent", flows.Nodes{
		"consent": flows.ConsentNode("details"),
		"details": {
			Type: workflow.NodeCustomerInput, Label: "Your details", Next: "pan", MaxRounds: 2,
			Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}, {Name: "city", Type: workflow.FieldText}},
		},
		"pan": pan, "court": court, "review": flows.ReviewNode("Review", "done"), "done": flows.EndNode(),
	})
}

func atReview(t flows.Tester) *journey {
	t.Helper()
	return begin(t, rounds(), "").submit(`{"consent_status":"success"}`).submit(`{"name":"Asha"}`).pass().pass()
}

func askAgain(fields ...string) rules.AskAgain {
	return rules.AskAgain{Reasons: []string{"blurred"}, Fields: fields, Note: " Hold it straight. ", By: "asha", Identity: "asha"}
}

func TestACustomerIsAskedAgain(t *testing.T) {
	j := atReview(t)
	deadline, before := j.run.Deadline(), len(j.history)
	j.do(askAgain("name"))
	if got := flows.Kinds(j.history[before:]); got != "asked_again, customer_awaited" {
		t.Fatalf("the events are %s", got)
	}
	d := j.detail()
	if d.Decision != rules.DecisionNone || d.Action == nil || d.Action.SignalName != "details_submitted" || j.run.Deadline() != deadline {
		t.Errorf("the run has the decision %q, the action %v and the deadline %v", d.Decision, d.Action, j.run.Deadline())
	}
	if _, queued := j.run.InReview(); queued {
		t.Error("the run is in the review queue while it waits on its customer")
	}
	before = len(j.history)
	j.submit(`{"name":"Asha Rao"}`).pass()
	want := "customer_submitted, dispatched, result_recorded, skipped, review_asked" // what depends on the answer runs again
	if got := flows.Kinds(j.history[before:]); got != want {
		t.Errorf("after the answer: %s, want %s", got, want)
	}
	if kept, ok := j.history[len(j.history)-2].Fact.(rules.Skipped); !ok || kept.Node != "court" || kept.Next != "review" || !kept.Kept {
		t.Errorf("the event is %+v, want the court kept", j.history[len(j.history)-2].Fact)
	}
	if got := j.detail().Decision; got != rules.DecisionReview {
		t.Errorf("the decision is %q, want review", got)
	}
	var path []string
	for _, m := range rules.Transitions("", j.history) {
		path = append(path, string(m.To))
	}
	if got, want := strings.Join(path, " "), "consent details pan court review details pan court review"; got != want {
		t.Errorf("the path is %s, want %s", got, want)
	}
	equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
	step, _ := j.run.Step("details")
	if len(step.Rounds) != 1 || step.Rounds[0].Note != "Hold it straight." || step.Rounds[0].Visit != 1 || step.Visits != 2 {
		t.Errorf("the rounds of the step are %+v", step.Rounds)
	}
	j.do(askAgain()).submit(`{"name":"Asha"}`).pass()
	if _, err := j.try(askAgain()); !errors.Is(err, rules.ErrNoRounds) {
		t.Errorf("a third round: %v, want %v", err, rules.ErrNoRounds)
	}
	if d := j.approve("").detail(); d.Status != rules.StatusCompleted || d.Decision != rules.DecisionApprove {
		t.Errorf("the run is %s with the decision %q", d.Status, d.Decision)
	}
}

// The customer is asked again for one element of a form, and what depends on the form runs again for all of them.
func TestACustomerIsAskedAgainForAnElement(t *testing.T) {
	d := rounds()
	details, pan := d.Nodes["details"], d.Nodes["pan"]
	details.ForEach, pan.ForEach, pan.With = "input.list", "input.list", verification.Data(`{"of":"${item}"}`)
	d.Nodes["details"], d.Nodes["pan"] = details, pan
	j := begin(t, d, `{"list":["a","b","c"]}`).submit(`{"consent_status":"success"}`).submit(`{"name":"A"}`).submit(`{"name":"B"}`).submit(`{"name":"C"}`)
	all := func() {
		t.Helper()
		for n := range 3 {
			step, _ := j.run.Step(verification.NodeID("pan").Element(n + 1))
			j.do(rules.RecordResult{Node: step.Node, Dispatch: step.Dispatches, Outcome: verification.OutcomePassed})
		}
	}
	all()
	j.pass()
	ask := askAgain("name")
	ask.Step = "details[2]"
	j.do(ask)
	if got := fmt.Sprint(j.run.Wait().Node, " ", j.detail().Action.SignalName, " ", j.detail().Decision); got != "details[2] details_2_submitted " {
		t.Errorf("the run waits for %s, want the second element", got)
	}
	before := len(j.history)
	j.submit(`{"name":"Bea"}`)
	if got, want := flows.Kinds(j.history[before:]), "customer_submitted, group_decided, group_began, dispatched, dispatched, dispatched"; got != want {
		t.Errorf("after the answer: %s, want %s", got, want)
	}
	all()
	if got := fmt.Sprint(j.run.Wait().Kind, " ", j.detail().Decision); got != "review review" {
		t.Errorf("the run waits for %s, want a review", got)
	}
	for n, want := range []string{`{"name":"A"}`, `{"name":"Bea"}`, `{"name":"C"}`} {
		if step, _ := j.run.Step(verification.NodeID("details").Element(n + 1)); step.Data.String() != want {
			t.Errorf("the answer of element %d is %s, want %s", n+1, step.Data, want)
		}
	}
	equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
	ask.Step = "details"
	if _, err := j.try(ask); len(flows.FieldsOf(t, err)) != 1 || flows.FieldsOf(t, err)[0].Name != "payload.step" {
		t.Errorf("asking again for all elements at once: %v, want that the step is refused", err)
	}
	if d := j.approve("").detail(); d.Status != rules.StatusCompleted || d.Decision != rules.DecisionApprove {
		t.Errorf("the run is %s with the decision %q", d.Status, d.Decision)
	}
}

// A proposed verdict is dropped, and a later verdict of before counts while the customer is asked.
func TestAskingAgainDropsAProposal(t *testing.T) {
	d := rounds()
	d.FourEyes = true
	j := begin(t, d, "").submit(`{"consent_status":"success"}`).submit(`{"name":"Asha"}`).pass().pass().do(verdictBy("asha", rules.DecisionApprove))
	if j.do(askAgain()); j.run.Proposal.Decision != rules.DecisionNone {
		t.Errorf("the proposal is %+v, want none", j.run.Proposal)
	}
}

func TestWhatIsWrongWithAskingAgain(t *testing.T) {
	for name, c := range map[string]struct {
		ask  rules.AskAgain
		want string
	}{
		"no reason":        {rules.AskAgain{}, "payload.reasons is required"},
		"an unknown one":   {rules.AskAgain{Reasons: []string{"ugly"}}, "payload.reasons[0] must be one of blurred, glare, "},
		"a reason twice":   {rules.AskAgain{Reasons: []string{"other", "other"}}, "payload.reasons[1] is there twice"},
		"an unknown field": {rules.AskAgain{Reasons: []string{"other"}, Fields: []string{"age"}}, "payload.fields no form that the customer has answered has these fields"},
		"a field of none":  {rules.AskAgain{Step: "details", Reasons: []string{"other"}, Fields: []string{"age"}}, `payload.fields[0] the form details has no field "age"`},
		"a check":          {rules.AskAgain{Step: "pan", Reasons: []string{"other"}}, "payload.step must be a form or a consent that the customer has answered"},
		"a long note":      {rules.AskAgain{Reasons: []string{"other"}, Note: strings.Repeat("x", 1001)}, "payload.note_to_customer must be at most 1000 characters"},
	} {
		_, err := atReview(t).try(c.ask)
		got := ""
		for _, f := range flows.FieldsOf(t, err) {
			got += f.Name + " " + f.Message
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	j := begin(t, rounds(), "")
	if _, err := j.try(askAgain()); !errors.Is(err, verification.ErrNotOpen) || !strings.Contains(fmt.Sprint(err), workflow.ResubmitSignal) {
		t.Errorf("without a review: %v, want that the signal is not open", err)
	}
}

func TestABranchAsksAgainWhileThereAreRounds(t *testing.T) {
	d := rounds()
	d.Nodes["review"] = workflow.Node{Type: workflow.NodeBranch, Else: "done", Rules: []workflow.Rule{
		{When: "reads pan", AskAgain: &workflow.AskAgain{Step: "details", Reasons: []string{"blurred"}, Fields: []string{"name"}}},
	}}
	j := begin(t, d, "").submit(`{"consent_status":"success"}`).submit(`{}`)
	for range 2 {
		j.pass()
		if j.run.Wait().Kind == rules.WaitResult { // the first time, the court is checked
			j.pass()
		}
		if j.run.Wait().Node != "details" {
			t.Fatalf("the run is at %q, want details", j.run.Wait().Node)
		}
		j.submit(`{}`)
	}
	j.pass()
	if d := j.detail(); d.Status != rules.StatusCompleted {
		t.Errorf("the run is %s at %q, want completed", d.Status, j.run.Wait().Node)
	}
	equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
}

// The second blurred passport leads where the rule says, and without the key to what follows the rule.
func TestARuleLeadsOnOnceItsRoundsAreUsedUp(t *testing.T) {
	for usedUp, want := range map[verification.NodeID]string{
		"look": "photo gate photo gate look", "": "photo gate photo gate done",
	} {
		d := flows.Define("photo", flows.Nodes{
			"photo": {Type: workflow.NodeCustomerInput, MaxRounds: 1, Next: "gate", Fields: workflow.InputFields{{Name: "n", Type: workflow.FieldText}}},
			"gate": {Type: workflow.NodeBranch, Else: "done", Rules: []workflow.Rule{
				{When: "again wanted", AskAgain: &workflow.AskAgain{Step: "photo", Reasons: []string{"blurred"}}, WhenUsedUp: usedUp},
			}},
			"look": flows.ReviewNode("Look", "done"), "done": flows.EndNode(),
		})
		if usedUp == "" {
			delete(d.Nodes, "look")
		}
		j := begin(t, d, `{"again":true}`).submit(`{"n":"a"}`).submit(`{"n":"b"}`)
		var path []string
		for _, m := range rules.Transitions("", j.history) {
			path = append(path, string(m.To))
		}
		if got := strings.Join(path, " "); got != want {
			t.Errorf("when_used_up %q: the path is %s, want %s", usedUp, got, want)
		}
		last := rules.BranchTaken{}
		for _, e := range j.history {
			if f, ok := e.Fact.(rules.BranchTaken); ok {
				last = f
			}
		}
		if when := map[bool]string{true: "again wanted"}[usedUp != ""]; last.When != when {
			t.Errorf("when_used_up %q: the branch was taken because of %q, want %q", usedUp, last.When, when)
		}
		if got := begin(t, d, `{"again":false}`).submit(`{"n":"a"}`).status(); got != rules.StatusCompleted {
			t.Errorf("when_used_up %q: a run whose condition does not hold is %s, want completed", usedUp, got)
		}
		historyFolds(t, j)
	}
}

func TestAStepIsSkippedIfItsConditionDoesNotHold(t *testing.T) {
	for _, wanted := range []string{`{"review":true}`, `{"review":false}`} {
		d := rounds()
		for id, n := range d.Nodes {
			if n.IsStep() {
				n.When = "review wanted"
				d.Nodes[id] = n
			}
		}
		j := begin(t, d, wanted)
		if !strings.Contains(wanted, "true") {
			if got := j.detail(); got.Status != rules.StatusCompleted || len(got.Checks) != 0 {
				t.Errorf("the run is %s with the checks %v, want completed without any", got.Status, got.Checks)
			}
			skipped := slices.DeleteFunc(slices.Clone(j.history), func(e rules.Event) bool { _, is := e.Fact.(rules.Skipped); return !is })
			if len(skipped) != 5 || skipped[0].Fact.(rules.Skipped).Values.String() != `{"input.review":false}` { //nolint:errcheck,forcetypeassert // they are Skipped
				t.Errorf("the run skipped %v", skipped)
			}
			continue
		}
		if j.run.Wait().Node != "consent" {
			t.Errorf("the run is at %q, want consent", j.run.Wait().Node)
		}
	}
}

// A customer who was told a name keeps it; the next element has its own.
func TestAnOpenWaitKeepsTheSignalThatItWasTold(t *testing.T) {
	d := rounds()
	flows.Edit("details", func(n *workflow.Node) { n.ForEach = "input.list" })(&d)
	j := begin(t, d, `{"list":["a","b","c"]}`).submit(`{"consent_status":"success"}`)
	last := len(j.history) - 1
	awaited, ok := j.history[last].Fact.(rules.CustomerAwaited)
	if !ok {
		t.Fatalf("the last event is %T", j.history[last].Fact)
	}
	awaited.Signal = "details_submitted" // as before elements had names of their own
	j.history[last].Fact = awaited
	j.run = rules.Fold(flows.RunID, j.history)
	for _, signal := range []string{"details_1_submitted", "details_2_submitted"} {
		if _, err := j.try(rules.Submit{Signal: signal, Payload: verification.Data(`{"name":"A"}`)}); !errors.Is(err, verification.ErrNotOpen) {
			t.Errorf("%s: %v, want that it is not open", signal, err)
		}
	}
	for _, signal := range []string{"details_submitted", "details_2_submitted", "details_3_submitted"} {
		answer := rules.Submit{Signal: signal, Payload: verification.Data(`{"name":"A"}`)}
		if got := j.detail().Action.SignalName; got != signal {
			t.Fatalf("the run waits for %s, want %s", got, signal)
		}
		j.do(answer)
		if _, err := j.try(answer); !errors.Is(err, verification.ErrNotOpen) {
			t.Errorf("%s again: %v, want that it is not open", signal, err)
		}
	}
}

// A run that comes back has the place of its first wait, goes to who asked, and its due time has stood still meanwhile.
func TestARunComesBackToItsPlaceInTheQueue(t *testing.T) {
	d := rounds()
	d.ReviewDueMinutes, d.RunTTLSeconds = 100, 0
	j := begin(t, d, "").submit(`{"consent_status":"success"}`).submit(`{"name":"Asha"}`).pass().pass()
	first := j.now
	review := func(what string, since, due time.Duration, round int, to string) {
		t.Helper()
		v, ok := j.run.Review()
		if !ok || !v.Since.Equal(first.Add(since)) || !v.DueAt.Equal(first.Add(since+due)) || v.Round != round || v.Assignment.To.Person.Identity != to {
			t.Errorf("%s: since %s, due %s, round %d, assigned to %v; want since %s, due %s, round %d, assigned to %q",
				what, v.Since.Sub(first), v.DueAt.Sub(v.Since), v.Round, v.Assignment.To, since, due, round, to)
		}
		if soon := v.DueAt.Add(-25 * time.Minute); !v.DueSoonAt().Equal(soon) {
			t.Errorf("%s: due soon at %s, want %s", what, v.DueSoonAt(), soon)
		}
	}
	review("before", 0, 100*time.Minute, 0, "")
	j.after(30 * time.Minute).do(askAgain("name"))
	if _, ok := j.run.Review(); ok || j.run.Assignment != (rules.Assignment{}) {
		t.Errorf("while the customer is asked, the run is in the queue, or assigned to %v", j.run.Assignment)
	}
	j.after(50 * time.Hour).submit(`{"name":"Asha Rao"}`).pass()
	review("after a round", time.Microsecond, 50*time.Hour+100*time.Minute, 1, "asha")
	second := askAgain()
	second.By, second.Identity = "ravi", "ravi"
	j.after(time.Hour).do(second).after(2 * time.Hour).submit(`{"name":"Asha"}`).pass()
	review("after two", 2*time.Microsecond, 52*time.Hour+100*time.Minute, 2, "ravi")
	equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
	j.after(10 * time.Minute).approve("")
	for _, m := range j.measured {
		if took := m.Parts().Duration; m.Name == store.MeasureVerdictTime && (took < 100*time.Minute || took > 2*time.Hour) {
			t.Errorf("the verdict took %s, want the 100 minutes in which it was awaited", took)
		}
	}
}

// TestEachReturnHasItsPlaceDueTimeAndReminder takes one run through two rounds and its verdict, and others to their deadline.
func TestEachReturnHasItsPlaceDueTimeAndReminder(t *testing.T) {
	const due, us = 100 * time.Minute, time.Microsecond
	by := func(who string) rules.AskAgain {
		c := askAgain("name")
		c.By, c.Identity = who, who
		return c
	}
	type act func(j *journey)
	ask := func(who string) act { return func(j *journey) { j.do(by(who)) } }
	refused := func(c rules.Command, want error) act {
		return func(j *journey) {
			if _, err := j.try(c); !errors.Is(err, want) {
				t.Errorf("%T = %v, want %v", c, err, want)
			}
		}
	}
	answer := act(func(j *journey) { j.submit(`{"name":"Asha Rao"}`).pass() })
	remind := func(dueAt time.Duration) act {
		return func(j *journey) {
			first, _ := j.run.InReview()
			first = first.Truncate(time.Millisecond) // without the microseconds of the rounds
			j.do(rules.Remind{})
			if f, ok := j.history[len(j.history)-1].Fact.(rules.ReviewDueSoon); !ok || !f.DueAt.Equal(first.Add(dueAt)) {
				t.Errorf("the reminder is %+v, want one of %s", j.history[len(j.history)-1].Fact, dueAt)
			}
		}
	}
	nothing := act(func(j *journey) {
		if events, err := j.try(rules.Remind{}); err != nil || len(events) > 0 {
			t.Errorf("a reminder too early or too much: %s, %v", flows.Kinds(events), err)
		}
	})
	type step struct {
		after  time.Duration // since the step before
		do     act
		since  time.Duration // of the place in the queue, since the first one; -1 for none
		due    time.Duration
		round  int
		to     string
		remind time.Duration // 0 for never
	}
	const none = -1
	before := []step{
		{0, nothing, 0, due, 0, "", 75 * time.Minute},
		{30 * time.Minute, ask("asha"), none, 0, 0, "", 0},
		{time.Hour, nothing, none, 0, 0, "", 0},
		{time.Hour, answer, us, due + 2*time.Hour + us, 1, "asha", 195*time.Minute + us},
		{45*time.Minute + us, remind(due + 2*time.Hour + us), us, due + 2*time.Hour + us, 1, "asha", 0},
		{0, nothing, us, due + 2*time.Hour + us, 1, "asha", 0},
		{5 * time.Minute, ask("ravi"), none, 0, 0, "", 0},
	}
	for name, more := range map[string][]step{
		"answered and decided": {
			// 20 of the 100 minutes are left: the reminder of the new due time is due at once, and once.
			{time.Hour, answer, 2 * us, due + 3*time.Hour + 2*us, 2, "ravi", 255*time.Minute + 2*us},
			{0, remind(due + 3*time.Hour + 2*us), 2 * us, due + 3*time.Hour + 2*us, 2, "ravi", 0},
			{time.Minute, refused(by("asha"), rules.ErrNoRounds), 2 * us, due + 3*time.Hour + 2*us, 2, "ravi", 0},
			{time.Minute, func(j *journey) { j.approve("") }, none, 0, 0, "", 0},
			{0, refused(by("asha"), verification.ErrNotOpen), none, 0, 0, "", 0},
		},
		"the deadline passes, and the link with it": {
			{0, refused(by("asha"), verification.ErrNotOpen), none, 0, 0, "", 0},
			{72 * time.Hour, func(j *journey) { j.do(rules.Expire{}) }, none, 0, 0, "", 0},
			{0, refused(by("asha"), verification.ErrNotOpen), none, 0, 0, "", 0},
			{0, nothing, none, 0, 0, "", 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := rounds()
			d.ReviewDueMinutes, d.RunTTLSeconds = 100, int64((72 * time.Hour).Seconds())
			d.LifecycleWebhookURL, d.Notify = "https://client.example/hook", []workflow.NoticeEvent{workflow.NoticeReviewDueSoon}
			j := begin(t, d, "").submit(`{"consent_status":"success"}`).submit(`{"name":"Asha"}`).pass().pass()
			first := j.now
			for i, s := range append(slices.Clone(before), more...) {
				s.do(j.after(s.after))
				v, ok := j.run.Review()
				if ok != (s.since != none) {
					t.Fatalf("step %d: in the queue = %t", i, ok)
				}
				if ok && (v.Since.Sub(first) != s.since || v.DueAt.Sub(first) != s.due || v.Round != s.round || v.Assignment.To.Person.Identity != s.to) {
					t.Errorf("step %d: since %s, due %s, round %d, assigned to %v; want %+v", i, v.Since.Sub(first), v.DueAt.Sub(first), v.Round, v.Assignment.To, s)
				}
				want := time.Time{}
				if s.remind > 0 {
					want = first.Add(s.remind)
				} else if deadline := j.run.Deadline(); j.run.Ended == "" {
					want = deadline.Add(us)
				}
				if got := j.run.NextDue(); !got.Equal(want) {
					t.Errorf("step %d: the next reminder or expiry is at %s, want %s", i, got.Sub(first), want.Sub(first))
				}
				equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
			}
		})
	}
}

// A question without a reviewer, and one that a version of before has recorded, bring the run to the end of the queue.
func TestARoundOfNobodyBeginsTheWaitAnew(t *testing.T) {
	for name, change := range map[string]func(*rules.AskedAgain){
		"a question of before": func(f *rules.AskedAgain) { f.Since = time.Time{} },
		"an API client":        func(f *rules.AskedAgain) { f.By, f.Identity = "", "" },
	} {
		j := atReview(t)
		first := j.now
		j.do(askAgain("name")).after(time.Hour).submit(`{"name":"Asha Rao"}`).pass()
		history := slices.Clone(j.history)
		for i, e := range history {
			if f, ok := e.Fact.(rules.AskedAgain); ok {
				change(&f)
				history[i].Fact = f
			}
		}
		v, _ := rules.Fold(flows.RunID, history).Review()
		since := first.Add(time.Microsecond)
		if name == "a question of before" {
			since = j.now
		}
		if !v.Since.Equal(since) || v.Assignment.To.Key() != "" {
			t.Errorf("%s: the run waits since %s and is assigned to %v, want since %s, and nobody", name, v.Since, v.Assignment.To, since)
		}
	}
}

// A later question of a branch in the same round keeps the place, and a hit of a later list begins a wait of its own.
func TestAPlaceInTheQueueEndsWithItsVerdict(t *testing.T) {
	j := atReview(t)
	j.do(askAgain("name")).after(time.Hour).submit(`{"name":"Asha Rao"}`).pass().approve("")
	if v, ok := j.run.Review(); ok {
		t.Fatalf("the run has the review %+v after its verdict", v)
	}
	j.after(time.Hour).found("e-1")
	if v, ok := j.run.Review(); !ok || !v.Since.Equal(j.now) || v.Round != 0 || !v.From().Equal(j.now) {
		t.Errorf("after a new hit the review is %+v, want one since %s", v, j.now)
	}
}
