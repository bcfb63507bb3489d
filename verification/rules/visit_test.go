package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

const hit = `{"analysis_ok":false,"hits":[{"id":"1"}]}`

// owners asks for an owner, screens the name, and begins again while there is another one.
func owners() workflow.Definition {
	list := flows.CheckNode("List", "more")
	list.OnFailed, list.OnUnavailable = workflow.TargetNext, workflow.TargetNext
	return flows.Define("owner", flows.Nodes{
		"owner": {
			Type: workflow.NodeCustomerInput, Label: "Owner", Next: "list", Optional: true,
			Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText},
				{Name: "more", Type: workflow.FieldCheckbox},
			},
		},
		"list": list,
		"more": flows.BranchNode("more at owner", "owner", "done"),
		"done": flows.EndNode(),
	})
}

// twoOwners is a run of owners whose first owner is on the list, and whose second is not.
func twoOwners(t flows.Tester) *journey {
	return begin(t, owners(), "").
		after(time.Minute).submit(`{"name":"A","more":true}`).after(time.Minute).result(verification.OutcomePassed, hit).
		after(time.Minute).submit(`{"name":"B"}`).after(time.Minute).result(verification.OutcomePassed, `{"analysis_ok":true}`)
}

func TestALoopDoesNotHideAHit(t *testing.T) {
	j := twoOwners(t)
	if j.status() != rules.StatusCompleted || j.decision() != rules.DecisionReview {
		t.Fatalf("the run is %s with the decision %q, want completed and review", j.status(), j.decision())
	}
	const reason = "On an earlier visit, the analysis could not be completed with confidence."
	want := []rules.Flag{{NodeID: "list", Label: "List", Reason: reason}}
	if diff := cmp.Diff(want, j.detail().Flags, reasonsOnly); diff != "" {
		t.Errorf("reviews (-want +got):\n%s", diff)
	}
	review, _ := j.run.Review()
	if diff := cmp.Diff([]rules.Cause{rules.CauseAnalysis}, review.Causes); diff != "" {
		t.Errorf("causes in the queue (-want +got):\n%s", diff)
	}
	checks := j.detail().Checks
	if len(checks) != 1 || checks[0].Data.String() != `{"analysis_ok":true}` {
		t.Errorf("checks = %+v, want one entry with the newest data", checks)
	}
	at := func(minutes int) time.Time { return flows.Noon().Add(time.Duration(minutes) * time.Minute) }
	card := rules.Card{
		NodeID: "list", Type: workflow.NodeCheck, Key: "list", Label: "List", Status: rules.CardNeedsReview, Reason: reason,
		Causes: []rules.Cause{rules.CauseAnalysis}, StartedAt: at(1), CompletedAt: at(4), Dispatches: 2, Data: verification.Data(`{"analysis_ok":true}`),
		Visits: []rules.CardVisit{{
			Number: 1, Status: rules.CardNeedsReview, Reason: "The analysis could not be completed with confidence.",
			Causes: []rules.Cause{rules.CauseAnalysis}, StartedAt: at(1), CompletedAt: at(2), Dispatches: 1, Data: verification.Data(hit),
		}},
	}
	if diff := cmp.Diff(card, j.card("list"), reasonsOnly, cmp.Transformer("", verification.Data.String)); diff != "" {
		t.Errorf("the card of the check (-want +got):\n%s", diff)
	}
	owner := j.card("owner")
	if owner.Status != rules.CardOK || owner.Data.String() != `{"name":"B"}` ||
		len(owner.Visits) != 1 || owner.Visits[0].Data.String() != `{"name":"A","more":true}` {
		t.Errorf("the card of the form = %+v, want both answers", owner)
	}
	j.approve("")
	if got := j.card("list"); got.Status != rules.CardOK || got.Reason != reason+" A reviewer approved the run." ||
		got.Visits[0].Status != rules.CardOK || got.Visits[0].Reason != card.Visits[0].Reason {
		t.Errorf("after the verdict the card is %+v", got)
	}
}

func TestAnEarlierVisitSaysWhyASourceFailed(t *testing.T) {
	again := func(j *journey) *journey { return j.submit(`{"name":"B"}`).pass() }
	first := func(o verification.CheckOutcome) *journey {
		return begin(t, owners(), "").submit(`{"more":true}`).result(o, "")
	}
	for want, j := range map[string]*journey{
		"On an earlier visit, the source did not cover this person or company.": again(first(verification.OutcomeNoCoverage)),
		"On an earlier visit, what the source found decided nothing.":           again(first(verification.OutcomeInconclusive)),
		"The source does not cover this person or company.":                     first(verification.OutcomeNoCoverage).submit(`{"name":"B"}`), // while it is visited again
		"On an earlier visit, the source gave no answer.":                       again(begin(t, owners(), "").submit(`{"more":true}`).noResult(true)),
		"On an earlier visit, the source could not vouch for the answer.": again(begin(t, owners(), "").submit(`{"more":true}`).
			result(verification.OutcomePassed, `{"source_ok":false}`)),
	} {
		if got := j.detail().Flags[0].Sentences[0].Words(); got != want {
			t.Errorf("the flag says %q, want %q", got, want)
		}
	}
}

func TestEveryCauseOfAnEarlierVisitStays(t *testing.T) {
	const clean = `{"name":"B"}`
	list := func(j *journey) *journey { return j.submit(clean).pass() }
	for _, c := range []struct {
		name string
		j    *journey
		want string
	}{
		{"source", list(begin(t, owners(), "").submit(`{"more":true}`).result(verification.OutcomePassed, `{"source_ok":false}`)), "list: On an earlier visit, the source could not vouch for the answer."},
		{"unavailable", list(begin(t, owners(), "").submit(`{"more":true}`).noResult(true)), "list: On an earlier visit, the source could not vouch for the answer. The step recovered from a failure."},
		{"recovered", list(begin(t, owners(), "").submit(`{"more":true}`).noResult(false).redispatch().pass()), "list: On an earlier visit, the step recovered from a failure. The step was dispatched three or more times."},
		{"passed after it failed", list(begin(t, owners(), "").submit(`{"more":true}`).fail().submit(`{"more":true}`).pass()), "list: On an earlier visit, the step recovered from a failure. The step was dispatched three or more times."},
		{"failed alone is no flag", begin(t, owners(), "").submit(`{"more":true}`).fail().submit(clean).fail(), ""},
		{"the same again", begin(t, owners(), "").submit(`{"more":true}`).result(verification.OutcomePassed, hit).submit(clean).result(verification.OutcomePassed, hit), "list: The analysis could not be completed with confidence."},
		{"another one", begin(t, owners(), "").submit(`{"more":true}`).result(verification.OutcomePassed, hit).submit(clean).result(verification.OutcomePassed, `{"geo_ok":false}`), "list: On an earlier visit, the analysis could not be completed with confidence. The customer's location was not shared or lies outside the allowed area."},
		{"consent", begin(t, flows.Refusal(), "").submit(`{"consent_status":"declined"}`).reject("once more").submit(consents).pass(), "consent: On an earlier visit, the customer did not give consent.; review: The workflow asks for a manual review."},
		{"two nodes with one key", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).result(verification.OutcomePassed, hit).fail().submit(`{"pan":"y"}`).pass().fail(), "pan: On an earlier visit, the analysis could not be completed with confidence."},
		{"while it is visited again", begin(t, owners(), "").submit(`{"more":true}`).result(verification.OutcomePassed, hit).submit(clean), "list: The analysis could not be completed with confidence."},
		{"cancelled while it is visited again", begin(t, owners(), "").submit(`{"more":true}`).result(verification.OutcomePassed, hit).submit(clean).cancel(), "list: On an earlier visit, the analysis could not be completed with confidence."},
	} {
		var got []string
		for _, f := range c.j.detail().Flags {
			got = append(got, string(f.NodeID)+": "+f.Reason)
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s: reviews = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAVerdictGivenInALoopStands(t *testing.T) {
	j := begin(t, flows.Refusal(), "").submit(`{"consent_status":"declined"}`).reject("once more").submit(consents).pass().approve("fine")
	if j.status() != rules.StatusCompleted || j.decision() != rules.DecisionApprove {
		t.Fatalf("the run is %s with the decision %q, want the newest verdict", j.status(), j.decision())
	}
	review := j.card("review")
	if review.Status != rules.CardOK || len(review.Visits) != 1 || review.Visits[0].Data != nil {
		t.Errorf("the card of the review = %+v, want two visits without data", review)
	}
}

// A live run keeps the card of a step that it visits again: it shows the last visit that is
// finished.
func TestAStepThatIsVisitedAgainKeepsItsCard(t *testing.T) {
	again := begin(t, owners(), "").submit(`{"name":"A","more":true}`).result(verification.OutcomePassed, hit).submit(`{"name":"B","more":true}`)
	card := again.card("list")
	if card.Status != rules.CardNeedsReview || card.Data.String() != hit || card.CompletedAt.IsZero() || card.Visits != nil {
		t.Errorf("the card of the check that is out = %+v, want its first visit", card)
	}
	again.pass()
	card = again.card("owner")
	if card.Status != rules.CardOK || card.Data.String() != `{"name":"B","more":true}` || len(card.Visits) != 1 {
		t.Errorf("the card of the form that is open for the third time = %+v, want its second answer", card)
	}
	again.cancel()
	card = again.card("owner")
	if card.Status != rules.CardFailed || card.Data != nil || len(card.Visits) != 2 || !card.CompletedAt.IsZero() {
		t.Errorf("the card of the form at which the run was cancelled = %+v, want an unfinished visit after two", card)
	}
}

func TestALongLoopTakesNoMoreMemory(t *testing.T) {
	j := begin(t, owners(), "")
	j.program.Version.Definition.RunTTLSeconds = 0
	around := func(data string) { j.submit(`{"more":true}`).result(verification.OutcomePassed, data) }
	for range 3 {
		around(hit)
	}
	size, fields := j.run.Size(), len(picture(j.run))
	for range 300 {
		around(`{"analysis_ok":true}`)
	}
	if got := j.run.Size(); got > size+100 || len(picture(j.run)) > fields+300 {
		t.Errorf("after 300 more visits the run has %d bytes, %s; before %d", got, picture(j.run), size)
	}
	card := j.card("list")
	if len(card.Visits) != 100 || card.VisitsOmitted != 202 {
		t.Fatalf("the card has %d visits and leaves out %d, want 100 and 202", len(card.Visits), card.VisitsOmitted)
	}
	var numbers []int
	for _, v := range card.Visits {
		numbers = append(numbers, v.Number)
	}
	if !slices.IsSorted(numbers) || !slices.Equal(numbers[:4], []int{1, 2, 3, 206}) || numbers[99] != 302 {
		t.Errorf("the visits are %v, want those with a hit, and the newest", numbers)
	}
	if card.Status != rules.CardNeedsReview {
		t.Errorf("the card is %s, want needs_review", card.Status)
	}
}

// printTellsNoVerdict: with other verdicts, and without any after the end, the printed
// report of the same history is the same, except for its digest.
func printTellsNoVerdict(t flows.Tester, j *journey) {
	t.Helper()
	printed := func(history []rules.Event) rules.Report {
		r := rules.MakePrint(j.run.ID, history, j.now)
		r.Digest = ""
		return r
	}
	got := printed(j.history)
	var without []rules.Event
	over := false
	for _, e := range j.history {
		switch f := e.Fact.(type) {
		case rules.Completed, rules.Failed, rules.Expired, rules.Cancelled:
			over = true
		case rules.VerdictRecorded:
			if f.Decision = rules.DecisionApprove; f.Notes == "" {
				f.Decision, f.Notes = rules.DecisionReject, "private"
			}
			if f.By, e.Fact = "someone", f; over {
				continue
			}
		case rules.VerdictProposed, rules.ProposalReturned:
			if over {
				continue
			}
		}
		without = append(without, e)
	}
	equal(t, "the printed report with other verdicts", got, printed(without))
}

// flagged is an oracle for the steps that a history flags, from its events alone.
func flagged(history []rules.Event) map[verification.NodeID]bool {
	flags := map[verification.NodeID]bool{}
	dispatches, failures, notPassed := map[verification.NodeID]int{}, map[verification.NodeID]bool{}, map[verification.NodeID]bool{}
	data := func(node verification.NodeID, d verification.Data) {
		var fields map[string]any
		_ = json.Unmarshal(d, &fields) // data without fields flags nothing
		consent, asked := fields["consent_status"]
		if fields["source_ok"] == false || fields["analysis_ok"] == false || fields["geo_ok"] == false ||
			fields["opted_out"] == true || asked && consent != "success" {
			flags[node] = true
		}
	}
	for _, e := range history {
		switch f := e.Fact.(type) {
		case rules.Dispatched:
			if dispatches[f.Node]++; dispatches[f.Node] == 3 {
				flags[f.Node] = true
			}
		case rules.DispatchFailed:
			failures[f.Node] = true
		case rules.PollFailed:
			failures[f.Node] = true
		case rules.ResultRecorded:
			data(f.Node, f.Data)
			if failures[f.Node] || f.Passed && notPassed[f.Node] {
				flags[f.Node] = true
			}
			notPassed[f.Node] = notPassed[f.Node] || !f.Passed
		case rules.ResultUnavailable:
			data(f.Node, f.Data)
			notPassed[f.Node] = true
		case rules.GroupDecided:
			data(f.Node, f.Data)
			for _, id := range f.Lacking {
				flags[id] = true
			}
		case rules.CustomerSubmitted:
			data(f.Node, f.Data)
		case rules.Compared:
			if len(f.Differs) > 0 {
				flags[f.Node] = true
			}
		case rules.ReviewAsked:
			flags[f.Node] = true
		case rules.HitsFound:
			flags[f.Node] = true
		}
	}
	return flags
}

// flagsStay: a step is flagged if and only if an event flags it, whatever came later, and a
// completed run with a flag has the decision review until there is a verdict.
func flagsStay(t flows.Tester, j *journey) {
	t.Helper()
	d, flags := j.detail(), flagged(j.history)
	var verdict rules.Decision
	for _, e := range j.history {
		switch f := e.Fact.(type) {
		case rules.VerdictRecorded:
			verdict = f.Decision
		case rules.HitsFound:
			verdict = rules.DecisionNone
		}
	}
	want := verdict
	parked := d.Action != nil && d.Action.Type == rules.ActionReview
	if parked || verdict == rules.DecisionNone && d.Status == rules.StatusCompleted && len(flags) > 0 {
		want = rules.DecisionReview
	}
	if d.Decision != want {
		t.Errorf("a run that is %s with the flags %v and the verdict %q has the decision %q, want %q", d.Status, flags, verdict, d.Decision, want)
	}
	found := map[verification.NodeID]bool{}
	for _, f := range d.Flags {
		found[f.NodeID] = true
	}
	equal(t, "the flagged steps", found, flags)
	if j.run.Summary().Flagged != (len(flags) > 0) {
		t.Errorf("the summary says flagged: %t, the history %v", j.run.Summary().Flagged, flags)
	}
	visitsAddUp(t, j)
}

// visitsAddUp: a card has each answer and each result of its step, and all dispatches.
func visitsAddUp(t flows.Tester, j *journey) {
	t.Helper()
	answers := map[verification.NodeID][]string{}
	dispatches, open := map[verification.NodeID]int{}, map[verification.NodeID]bool{}
	compared := map[verification.NodeID]bool{} // anew, so that what the data says about differences has changed
	for _, e := range j.history {
		switch f := e.Fact.(type) {
		case rules.Compared:
			compared[f.Node] = true
		case rules.Dispatched:
			dispatches[f.Node]++
			open[f.Node] = true
		case rules.ResultRecorded:
			answers[f.Node] = append(answers[f.Node], f.Data.String())
			open[f.Node] = false
		case rules.ResultUnavailable:
			answers[f.Node] = append(answers[f.Node], f.Data.String())
			open[f.Node] = false
		case rules.GroupDecided:
			for id, waits := range open { // its answer was not needed
				if waits && strings.HasPrefix(string(id), string(f.Node)+".") {
					answers[id], open[id] = append(answers[id], ""), false
				}
			}
			for _, id := range f.Lacking {
				answers[id][len(answers[id])-1] = `{"source_ok":false}`
			}
			if f.Data != nil {
				answers[f.Node] = append(answers[f.Node], f.Data.String())
			}
		case rules.CustomerSubmitted:
			answers[f.Node] = append(answers[f.Node], f.Data.String())
		}
	}
	for _, c := range j.report().Cards {
		if c.VisitsOmitted > 0 || c.Type == workflow.NodeReview {
			continue
		}
		var shown []string
		sum := 0
		for i, v := range c.Visits {
			if shown, sum = append(shown, v.Data.String()), sum+v.Dispatches; v.Number != i+1 || v.CompletedAt.IsZero() {
				t.Errorf("visit %d of %s is %+v", i+1, c.NodeID, v)
			}
		}
		if !c.CompletedAt.IsZero() {
			shown = append(shown, c.Data.String())
		}
		if compared[c.NodeID] {
			withoutDifferences(shown)
			withoutDifferences(answers[c.NodeID])
		}
		if !slices.Equal(shown, answers[c.NodeID]) {
			t.Errorf("the card of %s shows %q, the history has %q", c.NodeID, shown, answers[c.NodeID])
		}
		if c.Dispatches != dispatches[c.NodeID] || sum > c.Dispatches {
			t.Errorf("the card of %s has %d dispatches, and %d on earlier visits; the history has %d", c.NodeID, c.Dispatches, sum, dispatches[c.NodeID])
		}
	}
}

// withoutDifferences removes from data what it says about differences.
func withoutDifferences(data []string) {
	for i, d := range data {
		fields := verification.Data(d).Map()
		delete(fields, "analysis_ok")
		delete(fields, "differs")
		data[i] = verification.DataOf(fields).String()
	}
}

// randomLoops draws a definition in which steps lead back to steps before them, each a step
// of a person, as a loop must have one.
func randomLoops(t *rapid.T) workflow.Definition {
	all := flows.Nodes{"done": flows.EndNode()}
	count := rapid.IntRange(1, 4).Draw(t, "steps")
	node := func(i int) verification.NodeID {
		if i == count {
			return "done"
		}
		return verification.NodeID(fmt.Sprintf("n%d", i))
	}
	types := []workflow.NodeType{
		workflow.NodeCustomerInput, workflow.NodeConsent, workflow.NodeReview, workflow.NodeCheck, workflow.NodeCheck,
	}
	var people []verification.NodeID // the steps of people so far
	back := func(name string) verification.NodeID { return rapid.SampledFrom(people).Draw(t, name) }
	for i := range count {
		id, next := node(i), node(i+1)
		kind := rapid.SampledFrom(types[:3+2*min(i, 1)]).Draw(t, "type")
		if kind != workflow.NodeCheck {
			people = append(people, id)
		}
		if rapid.IntRange(0, 3).Draw(t, "loop") > 0 { // back while the data says so
			branch := id + "_more"
			all[branch] = flows.BranchNode("more at "+string(id), back("to"), next)
			next = branch
		}
		var n workflow.Node
		switch kind { //nolint:exhaustive // the others are customer input
		case workflow.NodeCheck:
			n = flows.CheckNode("Check", next)
			n.Key = rapid.SampledFrom([]string{"", "shared"}).Draw(t, "key")
			n.OnFailed, n.OnUnavailable = back("on failed"), workflow.TargetNext
			if rapid.Bool().Draw(t, "fallback") {
				n.Fallback = "backup"
			}
		case workflow.NodeConsent:
			n = flows.ConsentNode(next)
			n.OnDeclined = back("on declined")
		case workflow.NodeReview:
			n = flows.ReviewNode("Review", next)
			n.OnReject = back("on reject")
		default:
			n = owners().Nodes["owner"]
			n.Next = next
		}
		all[id] = n
	}
	return flows.Define("n0", all)
}

// loopCommand returns a command that takes a run of randomLoops further.
func loopCommand(t *rapid.T, j *journey) rules.Command {
	w := j.run.Wait()
	switch w.Kind {
	case rules.WaitResult, rules.WaitPoll:
		if rapid.IntRange(0, 4).Draw(t, "no result") == 0 {
			return rules.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: rapid.Bool().Draw(t, "permanent")}
		}
		return rules.RecordResult{
			Node: w.Node, Dispatch: w.Dispatch,
			Outcome: rapid.SampledFrom([]verification.CheckOutcome{
				verification.OutcomePassed, verification.OutcomePassed, verification.OutcomePassed, verification.OutcomeFailed, verification.OutcomePending,
			}).Draw(t, "outcome"),
			Handle: "ticket",
			Data: flows.Data(t, rapid.SampledFrom([]string{
				"", `{"more":true}`, `{"more":true}`, hit, `{"more":true,"source_ok":false}`, `{"opted_out":true,"more":true}`,
			}).Draw(t, "data")),
		}
	case rules.WaitRetry:
		return rules.Redispatch{}
	case rules.WaitCustomer:
		payload := rapid.SampledFrom([]string{`{}`, `{"more":true}`, `{"opted_out":true}`}).Draw(t, "answer")
		if step, _ := j.run.Step(w.Node); step.Type == workflow.NodeConsent {
			payload = rapid.SampledFrom([]string{consents, `{"consent_status":"declined"}`}).Draw(t, "consent")
		}
		return rules.Submit{Signal: w.Signal, Payload: flows.Data(t, payload)}
	case rules.WaitReview, rules.WaitNothing:
	}
	return rules.GiveVerdict{Decision: rapid.SampledFrom([]rules.Decision{
		rules.DecisionApprove, rules.DecisionReject,
	}).Draw(t, "verdict")}
}

func TestNoPathThroughALoopHidesAFlag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := begin(t, randomLoops(t), "")
		for range rapid.IntRange(0, 30).Draw(t, "commands") {
			if consistent(t, j); j.run.Ended != "" {
				break
			}
			if j.run.Wait().Kind == rules.WaitRetry {
				j.now = j.run.Wait().At
			}
			j.do(loopCommand(t, j))
		}
		if consistent(t, j); j.run.Ended == "" && rapid.Bool().Draw(t, "cancel") {
			j.cancel()
			consistent(t, j)
		}
		if j.run.Ended != "" {
			j.approve("")
			consistent(t, j)
		}
	})
}
