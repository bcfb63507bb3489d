package rules_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// memberAnswers are what a member of a group may come to. The last two are an outage, and a condition that is false.
var memberAnswers = []string{"passed", "failed", "no_coverage", "inconclusive", "outage", "left out"}

// group is a group of members with the answers that they will give.
type group struct {
	need    workflow.Need
	answers []string
	screens []bool // whether each member screens; nil for none
}

// awaits reports whether a member that screens was called and has no answer yet.
func (g group) awaits(order workflow.Order, known []bool, waits []rules.Wait) bool {
	if order != "" {
		return waits[0].Provider == flows.Screener
	}
	for i, screens := range g.screens {
		if screens && !known[i] {
			return true
		}
	}
	return false
}

// outcome is what a group comes to: it depends on nothing but its answers.
func (g group) outcome() string {
	confirmed, unknown, called := 0, 0, 0
	for _, a := range g.answers {
		switch a {
		case "left out":
			continue
		case "passed":
			confirmed++
		case "failed":
		default:
			unknown++
		}
		called++
	}
	need := int(g.need)
	if g.need == workflow.NeedAll {
		need = max(1, called)
	}
	switch {
	case called == 0:
		return "skipped"
	case confirmed >= need:
		return "met"
	case confirmed+unknown >= need:
		return "unavailable"
	}
	return "not met"
}

// decided reports whether every completion of the answers that are known comes to the same, by trying them all.
func (g group) decided(known []bool) bool {
	outcomes := map[string]bool{}
	var try func(i int, chosen []string)
	try = func(i int, chosen []string) {
		switch {
		case i == len(g.answers):
			outcomes[group{need: g.need, answers: chosen}.outcome()] = true
		case known[i]:
			try(i+1, append(slices.Clip(chosen), g.answers[i]))
		default:
			for _, a := range []string{"passed", "failed", "outage"} {
				try(i+1, append(slices.Clip(chosen), a))
			}
		}
	}
	try(0, nil)
	return len(outcomes) == 1
}

// definition makes a group, and three reviews of which each is behind one of the ways out of it.
func (g group) definition(order workflow.Order, finish workflow.Finish, each string) workflow.Definition {
	n := workflow.Node{
		Type: workflow.NodeChecks, Label: "Address", Order: order, Finish: finish, Need: g.need, ForEach: each,
		Next: "met", OnNotMet: "not_met", OnUnavailable: "unavailable",
	}
	for i, a := range g.answers {
		m := workflow.Member{Name: fmt.Sprintf("m%d", i), Provider: "registry", Retry: &workflow.Retry{MaxDispatches: 1}}
		if g.screens != nil && g.screens[i] {
			m.Provider = flows.Screener
		}
		if a == "left out" {
			m.When = "again wanted"
		}
		n.Members = append(n.Members, m)
	}
	nodes := flows.Nodes{"address": n, "done": flows.EndNode()}
	for _, way := range []verification.NodeID{"met", "not_met", "unavailable"} {
		nodes[way] = flows.ReviewNode(string(way), "done")
	}
	return flows.Define("address", nodes)
}

// answer has the provider of a step answer as its member will, and returns the number of the member.
func (g group) answer(j *journey, step verification.NodeID) (i int) {
	_, _, member := step.Parts()
	_, _ = fmt.Sscanf(member, "m%d", &i)
	w, waits := j.run.WaitAt(step)
	if !waits {
		j.t.Fatalf("the run does not wait for %s", step)
	}
	if a := g.answers[i]; a == "outage" {
		j.do(rules.RecordFailure{Node: step, Dispatch: w.Dispatch, Cause: "down"})
	} else {
		j.do(rules.RecordResult{Node: step, Dispatch: w.Dispatch, Outcome: verification.CheckOutcome(a)})
	}
	return i
}

func anyGroup(t *rapid.T, of []string) group {
	members := rapid.IntRange(1, 5).Draw(t, "members")
	g := group{answers: rapid.SliceOfN(rapid.SampledFrom(of), members, members).Draw(t, "answers")}
	g.need = workflow.Need(rapid.IntRange(0, members).Draw(t, "need"))
	g.screens = rapid.SliceOfN(rapid.Bool(), members, members).Draw(t, "screens")
	return g
}

// Where a group leads depends on the answers of its members and not on the order in which they come, and it is
// decided as soon as it can be and no sooner.
func TestAGroupIsDecidedByItsAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGroup(t, memberAnswers)
		order := rapid.SampledFrom([]workflow.Order{"", workflow.OrderOneByOne}).Draw(t, "order")
		finish := workflow.Finish("")
		if order == "" {
			finish = rapid.SampledFrom([]workflow.Finish{"", workflow.FinishAll}).Draw(t, "finish")
		}
		j := begin(t, g.definition(order, finish, ""), "")
		known := make([]bool, len(g.answers))
		for i, a := range g.answers {
			known[i] = a == "left out" && order == ""
		}
		for open := true; open; {
			waits := j.run.Waits
			if waits[0].Kind == rules.WaitReview {
				break
			}
			if order != "" && len(waits) != 1 {
				t.Fatalf("the run waits for %d members, want one after the other", len(waits))
			}
			step := rapid.SampledFrom(waits).Draw(t, "next").Node
			i := g.answer(j, step)
			known[i] = true
			if order != "" { // a member that was left out on the way is known, too
				for k := range i {
					known[k] = true
				}
			}
			open = j.run.Wait().Kind != rules.WaitReview
			all := !slices.Contains(known, false)
			decided := g.decided(known)
			for k := i + 1; !decided && order != "" && k < len(g.answers) && g.answers[k] == "left out"; k++ {
				known[k] = true
				decided = g.decided(known)
			}
			if want := decided && (finish == "" || all) && !g.awaits(order, known, j.run.Waits); want == open {
				t.Fatalf("after %v of %v the group is open: %t, want %t", known, g, open, !want)
			}
		}
		want := g.outcome()
		if want == "skipped" {
			want = "met"
		}
		if got := strings.ReplaceAll(string(j.run.Wait().Node), "_", " "); got != want {
			t.Fatalf("%v leads to %q, want %q", g, got, want)
		}
		equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
		if _, visited := j.run.Group("address"); g.outcome() == "skipped" {
			if visited {
				t.Errorf("%v, of which every member is left out, is visited", g)
			}
			return
		}
		status := rules.StepFailed
		if g.outcome() == "met" {
			status = rules.StepPassed
		}
		if got, _ := j.run.Group("address"); got.Status != status {
			t.Errorf("the group is %s, want %s", got.Status, status)
		}
	})
}

// If every member has its answer, flags, decision and report do not depend on the order in which the answers came.
func TestTheOrderOfAnswersDoesNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGroup(t, memberAnswers)
		ends := map[string]bool{}
		for range 3 {
			j := begin(t, g.definition("", workflow.FinishAll, ""), "")
			for {
				waits := j.run.Waits
				if waits[0].Kind == rules.WaitReview {
					break
				}
				g.answer(j, rapid.SampledFrom(waits).Draw(t, "next").Node)
			}
			j.approve("")
			d := j.detail()
			ends[fmt.Sprint(d.Status, d.Decision, d.Flags, d.Checks, j.run.Outcome, rules.Transitions("", j.history))] = true
		}
		if len(ends) != 1 {
			t.Errorf("%v ends in %d ways: %v", g, len(ends), slices.Collect(maps.Keys(ends)))
		}
	})
}

// Each element is a group of its own: it has the outcome that it would have alone, and the worst of them is that of the node.
func TestEachElementIsDecidedByItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := anyGroup(t, memberAnswers[:5])
		elements := []group{first}
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			elements = append(elements, group{need: first.need, answers: rapid.SliceOfN(rapid.SampledFrom(memberAnswers[:5]), len(first.answers), len(first.answers)).Draw(t, "answers"), screens: first.screens})
		}
		list := strings.TrimSuffix(strings.Repeat("{},", len(elements)), ",")
		j := begin(t, first.definition(rapid.SampledFrom([]workflow.Order{"", workflow.OrderOneByOne}).Draw(t, "order"), "", "input.list"), `{"list":[`+list+`]}`)
		for j.run.Wait().Kind != rules.WaitReview {
			step := rapid.SampledFrom(j.run.Waits).Draw(t, "next").Node
			_, n, _ := step.Parts()
			elements[n-1].answer(j, step)
		}
		want, skipped := "met", 0
		for i, g := range elements {
			o := g.outcome()
			if got, visited := j.run.Group(verification.NodeID("address").Element(i + 1)); o == "skipped" {
				if skipped++; visited {
					t.Errorf("element %d of %v, of which every member is left out, is visited: %+v", i+1, elements, got)
				}
				continue
			}
			if o == "not met" || o == "unavailable" && want == "met" {
				want = o
			}
			status := map[string]rules.StepStatus{"met": rules.StepPassed}[o]
			if status == "" {
				status = rules.StepFailed
			}
			if got, _ := j.run.Group(verification.NodeID("address").Element(i + 1)); got.Status != status {
				t.Errorf("element %d of %v is %s, want %s", i+1, elements, got.Status, status)
			}
		}
		if got := strings.ReplaceAll(string(j.run.Wait().Node), "_", " "); got != want {
			t.Errorf("%v leads to %q, want %q", elements, got, want)
		}
		if _, visited := j.run.Group("address"); visited == (skipped == len(elements)) {
			t.Errorf("the node of %v is visited: %t, want it skipped only if all elements are", elements, visited)
		}
		equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
	})
}

// A group of which every member is left out is passed by, as by a condition of its own.
func TestAGroupWithoutMembersIsSkipped(t *testing.T) {
	left := group{answers: []string{"left out", "left out"}, screens: []bool{true, false}}
	own := flows.Define("address", flows.Nodes{"address": flows.CheckNode("Address", "met"), "met": flows.ReviewNode("met", "done"), "done": flows.EndNode()})
	flows.Edit("address", func(n *workflow.Node) { n.When = "again wanted" })(&own)
	for name, d := range map[string]workflow.Definition{
		"together":   left.definition("", "", ""),
		"all":        left.definition("", workflow.FinishAll, ""),
		"one by one": left.definition(workflow.OrderOneByOne, "", ""),
		"each":       left.definition("", "", "input.list"),
		"own":        own,
	} {
		j := begin(t, d, `{"list":[{},{}]}`)
		got := fmt.Sprint(rules.Transitions("", j.history), len(j.history), j.run.Groups, j.run.Unscreened, j.detail().Checks)
		if want := "[{ address } {address met next}] 3 [] [] []"; got != want {
			t.Errorf("%s: the run is %s, want %s", name, got, want)
		}
		r := rules.MakeReport(flows.RunID, j.history, j.now)
		if len(r.Cards) != 1 || len(r.Groups) != 0 {
			t.Errorf("%s: the report has the cards %+v and the groups %+v, want the card of the review alone", name, r.Cards, r.Groups)
		}
		equal(t, name, rules.Fold(flows.RunID, j.history), j.run)
	}
}

// A history of a release before has a visit of a group without members, and folds as it did.
func TestAVisitWithoutMembersFoldsAsBefore(t *testing.T) {
	d := group{answers: []string{"left out"}}.definition("", "", "")
	j := begin(t, d, "")
	at := j.history[0].At
	before := append(slices.Clone(j.history[:1]), rules.Event{At: at, Fact: rules.GroupBegan{Node: "address", Type: workflow.NodeChecks, Label: "Address", Visit: 1}},
		rules.Event{At: at, Fact: rules.Skipped{Node: "address.m0"}}, rules.Event{At: at, Fact: rules.GroupDecided{Node: "address", Type: workflow.NodeChecks}},
		rules.Event{At: at, Fact: rules.ReviewAsked{Node: "not_met", Label: "not met"}})
	run := rules.Fold(flows.RunID, before)
	groups := run.ReportGroups(d)
	if len(groups) != 1 || groups[0].Status != rules.GroupNotMet || groups[0].Members[0].Answer != rules.AnswerLeftOut || run.Wait().Node != "not_met" {
		t.Errorf("the groups are %+v at %s, want one that is not met, without its member", groups, run.Wait().Node)
	}
}

// eachOwner checks each owner of a list.
func eachOwner() workflow.Definition {
	n := flows.CheckNode("Owner", "done")
	n.ForEach, n.With, n.OnFailed, n.OnUnavailable = "input.list", verification.Data(`{"of":"${item}"}`), workflow.TargetNext, workflow.TargetNext
	return flows.Define("owners", flows.Nodes{"owners": n, "done": flows.EndNode()})
}

func TestEachOwnerIsAStepOfItsOwn(t *testing.T) {
	j := begin(t, eachOwner(), `{"list":["Asha","Ravi","Mira"]}`)
	third, _ := j.run.WaitAt("owners[3]")
	request, err := j.run.Request(j.program, flows.TenantID, third)
	if err != nil || fmt.Sprint(request.With) != "map[at:3 of:Mira]" || request.IdempotencyKey != string(flows.RunID)+"/owners[3]/1" {
		t.Errorf("the third owner is asked for with %v as %s, %v", request.With, request.IdempotencyKey, err)
	}
	checks := func() string { return fmt.Sprint(j.detail().Checks) }
	for _, answer := range []string{"owners[2]", "owners[3]", "owners[1]"} {
		if want := "running"; j.detail().Checks[0].Status != rules.StepStatus(want) {
			t.Errorf("before %s the checks are %s, want %s", answer, checks(), want)
		}
		j.do(rules.RecordResult{Node: verification.NodeID(answer), Dispatch: 1, Outcome: verification.OutcomePassed, Data: verification.Data(`{"found":true}`)})
	}
	want := `[{owners Owner passed {"items":[{"node_id":"owners[1]","status":"passed","data":{"found":true}},` +
		`{"node_id":"owners[2]","status":"passed","data":{"found":true}},{"node_id":"owners[3]","status":"passed","data":{"found":true}}]}}]`
	if got := checks(); got != want {
		t.Errorf("the checks are\n%s, want\n%s", got, want)
	}
	d := j.detail()
	if d.Status != rules.StatusCompleted || d.Decision != rules.DecisionNone || len(d.Flags) != 0 {
		t.Errorf("three clean owners end %s with the decision %q and the flags %v, want completed and none", d.Status, d.Decision, d.Flags)
	}
	var labels []string
	for _, c := range rules.MakeReport(flows.RunID, j.history, j.now).Cards {
		labels = append(labels, string(c.NodeID)+" "+c.Label)
	}
	if got, want := strings.Join(labels, ", "), "owners[1] Owner 1 of 3, owners[2] Owner 2 of 3, owners[3] Owner 3 of 3"; got != want {
		t.Errorf("the cards are %s, want %s", got, want)
	}
}

func TestAListOfOwnersThatIsTooLongIsNotCut(t *testing.T) {
	j := begin(t, eachOwner(), `{"list":[`+strings.TrimSuffix(strings.Repeat("1,", 65), ",")+`]}`)
	d := j.detail()
	if d.Status != rules.StatusCompleted || d.Decision != rules.DecisionReview || len(d.Flags) != 1 || d.Flags[0].NodeID != "owners" {
		t.Errorf("the run is %s with the decision %q and the flags %v, want a review of the step", d.Status, d.Decision, d.Flags)
	}
	if got, want := fmt.Sprint(d.Checks), `[{owners Owner failed {"analysis_ok":false,"elements":65}}]`; got != want {
		t.Errorf("the checks are %s, want %s", got, want)
	}
	if none := begin(t, eachOwner(), `{"list":[]}`).detail(); none.Status != rules.StatusCompleted || none.Decision != rules.DecisionNone {
		t.Errorf("a run without owners is %s with the decision %q, want completed without one", none.Status, none.Decision)
	}
}

// fates are what providers, customers and reviewers do, drawn when they are asked first. They do the same in every order.
type fates struct {
	t     *rapid.T
	drawn map[string]string
}

func (f fates) of(what string, among ...string) string {
	if _, known := f.drawn[what]; !known {
		f.drawn[what] = rapid.SampledFrom(among).Draw(f.t, what)
	}
	return f.drawn[what]
}

// next returns what is done about a wait of a run.
func (f fates) next(r rules.Run, w rules.Wait) rules.Command {
	s, _ := r.Step(w.Node)
	visit := fmt.Sprint(w.Node, " visit ", s.Visits)
	switch w.Kind {
	case rules.WaitRetry:
		return rules.Redispatch{}
	case rules.WaitCustomer:
		payload := `{"pan":"ABCDE1234F"}`
		if s.Type == workflow.NodeConsent {
			payload = consents
		}
		return rules.Submit{Signal: w.Signal, Payload: verification.Data(payload)}
	case rules.WaitReview:
		if f.of(visit, "approve", "reject", "ask again") == "ask again" {
			return rules.AskAgain{Reasons: []string{"other"}, By: "asha", Identity: "asha"}
		}
		return rules.GiveVerdict{Decision: rules.Decision(f.drawn[visit])}
	case rules.WaitResult, rules.WaitPoll, rules.WaitNothing:
	}
	call := fmt.Sprintf("%s, %s %d, %s", visit, w.Provider, w.ProviderDispatches, w.Kind)
	outcome := f.of(call, "passed", "passed", "failed", "no_coverage", "inconclusive", "outage", "refused", "pending")
	if outcome == "outage" || outcome == "refused" {
		return rules.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Cause: "down", Permanent: outcome == "refused"}
	}
	if outcome == "pending" && w.Kind == rules.WaitPoll {
		outcome = "passed"
	}
	data := f.of(call+" data", "", `{"score":1}`, `{"source_ok":false}`)
	return rules.RecordResult{Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.CheckOutcome(outcome), Data: verification.Data(data), Handle: "ticket"}
}

// The path and the end of a run do not depend on the order in which its checks answer, whatever its definition and history. If no
// group is decided before all of its members have answered, nothing that a person or a client is told of the run does: else an error
// names a member that had its answer.
func TestNoOrderOfAnswersChangesARun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, input, f := flows.AnyDefinition(t), string(flows.AnyInput(t)), fates{t, map[string]string{}}
		d.FourEyes = false
		cancels := false
		for id, n := range d.Nodes {
			n.FourEyes = false
			d.Nodes[id] = n
			cancels = cancels || n.Type == workflow.NodeChecks && n.Order == "" && n.Finish == ""
		}
		ends, told := map[string]bool{}, map[string]bool{}
		for range 3 {
			j := begin(t, d, input)
			for i := 0; j.run.Ended == "" && i < 100; i++ {
				w := rapid.SampledFrom(j.run.Waits).Draw(t, "next")
				if w.Kind == rules.WaitRetry && j.now.Before(w.At) {
					j.now = w.At
				}
				c := f.next(j.run, w)
				if _, err := j.try(c); err != nil {
					c = rules.GiveVerdict{Decision: rules.DecisionApprove} // there is no round left, or no form
				}
				j.do(c)
			}
			equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
			everyScreeningIsAnsweredOrTold(t, j)
			if j.run.Ended == "" {
				return // in a loop of reviews
			}
			detail, report := j.detail(), j.report()
			failure := rules.RunError{}
			if detail.Error != nil {
				failure = *detail.Error
			}
			ends[fmt.Sprint(detail.Status, j.run.EndNode, failure.Code, rules.Transitions("", j.history), j.run.Unscreened)] = true
			slices.SortStableFunc(detail.Flags, func(a, b rules.Flag) int { return strings.Compare(string(a.NodeID), string(b.NodeID)) })
			said := fmt.Sprint(failure, detail.Decision, detail.Flags, detail.Checks)
			slices.SortStableFunc(report.Cards, func(a, b rules.Card) int { return strings.Compare(string(a.NodeID), string(b.NodeID)) })
			for _, c := range report.Cards {
				said += fmt.Sprint("\n", c.NodeID, c.Label, c.Status, c.Reason, c.Dispatches, c.Data, len(c.Visits))
			}
			told[said] = true
		}
		if len(ends) != 1 {
			t.Errorf("the run ends in %d ways: %s", len(ends), strings.Join(slices.Collect(maps.Keys(ends)), "\n"))
		}
		if len(told) != 1 && !cancels {
			t.Errorf("%d things are told of the run: %s", len(told), strings.Join(slices.Collect(maps.Keys(told)), "\n---\n"))
		}
	})
}
