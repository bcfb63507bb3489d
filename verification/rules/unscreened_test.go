package rules_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// screened is a group of checks with the members identity, lists and peps. The last two screen.
func screened(change func(*workflow.Node)) workflow.Definition {
	n := workflow.Node{Type: workflow.NodeChecks, Label: "Owner", Next: "review", OnNotMet: "review", OnUnavailable: "review"}
	for _, name := range []string{"identity", "lists", "peps"} {
		m := workflow.Member{Name: name, Label: strings.ToUpper(name[:1]) + name[1:], Provider: "registry", Retry: &workflow.Retry{MaxDispatches: 1}}
		if name != "identity" {
			m.Provider = flows.Screener
		}
		n.Members = append(n.Members, m)
	}
	if change != nil {
		change(&n)
	}
	d := flows.Define("details", flows.Nodes{
		"details": {Type: workflow.NodeCustomerInput, Label: "Form", Next: "owner", Optional: true, Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText}}},
		"owner":   n, "review": flows.ReviewNode("Review", "done"), "done": flows.EndNode(),
	})
	flows.Edit("review", func(n *workflow.Node) { n.OnReject = "details" })(&d)
	return d
}

// oneByOne asks one member after the other.
func oneByOne(need workflow.Need) func(*workflow.Node) {
	return func(n *workflow.Node) { n.Order, n.Need = workflow.OrderOneByOne, need }
}

// plays answers what each text says: "owner.lists passed", "outage of owner.lists", or "reject".
func (j *journey) plays(answers ...string) *journey {
	j.t.Helper()
	for _, a := range answers {
		what, answer, _ := strings.Cut(a, " ")
		switch step := verification.NodeID(what); {
		case what == "submits":
			j.submit(`{"pan":"ABCDE1234F"}`)
		case what == "reject":
			j.reject("again")
		case what == "cancel":
			j.cancel()
		case what == "asks":
			j.do(rules.AskAgain{Reasons: []string{"other"}, By: "asha", Identity: "asha"})
		case answer == "outage":
			w, _ := j.run.WaitAt(step)
			j.do(rules.RecordFailure{Node: step, Dispatch: w.Dispatch, Cause: "down"})
		default:
			w, waits := j.run.WaitAt(step)
			if !waits {
				j.t.Fatalf("the run does not wait for %s", step)
			}
			j.do(rules.RecordResult{Node: step, Dispatch: w.Dispatch, Outcome: verification.CheckOutcome(answer)})
		}
	}
	return j
}

// untold writes the unscreened checks of a run.
func untold(r rules.Run) string {
	var all []string
	for _, u := range r.Unscreened {
		all = append(all, fmt.Sprintf("%s %q %s", u.NodeID, u.Label, u.Why))
	}
	return strings.Join(all, ", ")
}

func TestWhatWasNotScreenedIsTold(t *testing.T) {
	each := func(change func(*workflow.Node)) func(*workflow.Node) {
		return func(n *workflow.Node) {
			n.ForEach = "input.list"
			if change != nil {
				change(n)
			}
		}
	}
	tooMany := `{"list":[` + strings.TrimSuffix(strings.Repeat("1,", 65), ",") + `]}`
	lists, peps := `owner.lists "Owner: Lists" decided`, `owner.peps "Owner: Peps" decided`
	for name, c := range map[string]struct {
		change func(*workflow.Node)
		input  string
		plays  string
		want   string
	}{
		"all answered":                   {nil, "", "submits, owner.identity passed, owner.lists passed, owner.peps passed", ""},
		"one fails first":                {nil, "", "submits, owner.identity failed, owner.lists passed, owner.peps passed", ""},
		"one fails first of a waterfall": {oneByOne(0), "", "submits, owner.identity failed", lists + ", " + peps},
		"met without a screening":        {oneByOne(1), "", "submits, owner.identity passed", lists + ", " + peps},
		"met by another screening":       {oneByOne(1), "", "submits, owner.identity failed, owner.lists passed", ""},
		"another screening did not confirm": {
			func(n *workflow.Node) { oneByOne(1)(n); n.Members[0], n.Members[1] = n.Members[1], n.Members[0] }, "",
			"submits, owner.lists failed, owner.identity passed", peps,
		},
		"another screening gave no answer": {oneByOne(0), "", "submits, owner.identity passed, owner.lists outage, owner.peps passed", ""},
		"left out":                         {func(n *workflow.Node) { oneByOne(0)(n); n.Members[1].When = "again wanted" }, "", "submits, owner.identity failed", peps},
		"the fallback of one was not called": {
			func(n *workflow.Node) {
				oneByOne(0)(n)
				n.Members[0].Fallback, n.Members = flows.Screener, n.Members[:1]
			}, "", "submits, owner.identity passed", "",
		},
		"the run was cancelled before":                 {oneByOne(0), "", "submits, cancel", strings.ReplaceAll(lists+", "+peps, "decided", "ended")},
		"the run was cancelled while they were called": {nil, "", "submits, owner.identity passed, cancel", ""},
		"not yet":                     {oneByOne(0), "", "submits", ""},
		"a later visit screens":       {oneByOne(0), "", "submits, owner.identity failed, reject, submits, owner.identity passed, owner.lists passed, owner.peps passed", ""},
		"a later visit screens one":   {oneByOne(0), "", "submits, owner.identity failed, reject, submits, owner.identity passed, owner.lists failed", peps},
		"a later round screens":       {func(n *workflow.Node) { oneByOne(0)(n); n.When = "reads details" }, "", "submits, owner.identity failed, asks, submits, owner.identity passed, owner.lists passed, owner.peps passed", ""},
		"a round that the step keeps": {oneByOne(0), "", "submits, owner.identity failed, asks, submits", lists + ", " + peps},
		"a later visit is met by another screening": {
			oneByOne(2), "", "submits, owner.identity failed, owner.lists failed, reject, submits, owner.identity passed, owner.lists passed", "",
		},
		"elements": {
			each(oneByOne(0)), `{"list":[1,2]}`, "submits, owner[2].identity failed, owner[1].identity failed",
			`owner[1].lists "Owner 1 of 2: Lists" decided, owner[1].peps "Owner 1 of 2: Peps" decided, ` +
				`owner[2].lists "Owner 2 of 2: Lists" decided, owner[2].peps "Owner 2 of 2: Peps" decided`,
		},
		"one element": {
			each(oneByOne(0)), `{"list":[1,2]}`, "submits, owner[2].identity passed, owner[1].identity failed, owner[2].lists passed, owner[2].peps passed",
			`owner[1].lists "Owner 1 of 2: Lists" decided, owner[1].peps "Owner 1 of 2: Peps" decided`,
		},
		"a list that is too long": {each(nil), tooMany, "submits", `owner.lists "Owner: Lists" too_long, owner.peps "Owner: Peps" too_long`},
		"a list that is too long for a check": {
			func(n *workflow.Node) {
				*n = workflow.Node{
					Type: workflow.NodeCheck, Label: "Lists", Provider: flows.Screener, ForEach: "input.list", Next: "review", OnFailed: "review", OnUnavailable: "review",
				}
			}, tooMany, "submits", `owner "Lists" too_long`,
		},
		"no element": {each(nil), `{"list":[]}`, "submits", ""},
		"elements that the run never began": {
			func(n *workflow.Node) { each(nil)(n); n.Members[0].When = "breaks" }, `{"list":[1,2]}`, "submits",
			`owner[1].lists "Owner 1 of 2: Lists" ended, owner[1].peps "Owner 1 of 2: Peps" ended, ` +
				`owner[2].lists "Owner 2 of 2: Lists" ended, owner[2].peps "Owner 2 of 2: Peps" ended`,
		},
	} {
		d := screened(c.change)
		j := begin(t, d, c.input).plays(strings.Split(c.plays, ", ")...)
		if got := untold(j.run); got != c.want {
			t.Errorf("%s: not screened are\n%s, want\n%s", name, got, c.want)
		}
		everyScreeningIsAnsweredOrTold(t, j)
		equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
	}
}

func TestAScreeningIsNotCancelledByItsGroup(t *testing.T) {
	j := begin(t, screened(nil), "").plays("submits", "owner.identity failed")
	if waits := j.run.Waits; len(waits) != 2 {
		t.Errorf("after a member failed the run waits for %d checks, want both screenings", len(waits))
	}
	j.plays("owner.lists passed", "owner.peps outage")
	peps, _ := j.run.Step("owner.peps")
	if g, _ := j.run.Group("owner"); g.Status != rules.StepFailed || peps.Data.String() != `{"source_ok":false}` {
		t.Errorf("the group is %s and the screening without an answer has %s", g.Status, peps.Data)
	}
	any1 := begin(t, screened(func(n *workflow.Node) { n.Need = 1 }), "").plays("submits", "owner.identity passed", "owner.lists no_coverage", "owner.peps passed")
	if d := any1.detail(); len(d.Flags) != 2 || d.Flags[0].NodeID != "owner.lists" {
		t.Errorf("the group is met without the answer of a screening, and the flags are %v, want that one and the review", d.Flags)
	}
	all := begin(t, screened(func(n *workflow.Node) { n.Need = 1; n.Members[0], n.Members[2] = n.Members[2], n.Members[0] }), "").
		plays("submits", "owner.peps passed", "owner.lists passed")
	if s, _ := all.run.Step("owner.identity"); all.run.Wait().Node != "review" || s.Status != rules.StepFailed {
		t.Errorf("once its screenings have answered, the run waits at %s and the other member is %s, want the review and failed", all.run.Wait().Node, s.Status)
	}
}

// An older host did not say which checks screen: the program does.
func TestACallOfBeforeIsAwaitedIfItScreens(t *testing.T) {
	j := begin(t, screened(nil), "").plays("submits")
	for i, e := range j.history {
		switch f := e.Fact.(type) {
		case rules.Dispatched:
			f.Screens = false
			j.history[i].Fact = f
		case rules.GroupBegan:
			f.Screens = nil
			j.history[i].Fact = f
		}
	}
	j.run = rules.Fold(flows.RunID, j.history)
	j.plays("owner.identity failed", "owner.lists passed", "owner.peps outage")
	if peps, _ := j.run.Step("owner.peps"); peps.Data.String() != `{"source_ok":false}` {
		t.Errorf("the screening without an answer has %s", peps.Data)
	}
}

// A host of before has cancelled a screening of which only the list says that it is one.
func TestACancelledScreeningOfBeforeIsTold(t *testing.T) {
	d := grouped("", 0)
	flows.Edit("pan", searching)(&d)
	for name, c := range map[string]struct {
		passed bool
		want   string
	}{
		"not met": {false, `pan.bureau "PAN: bureau" cancelled`}, "met by the other screening": {true, ""},
	} {
		confirms := c.passed
		run := begin(t, d, "").submit(consents).run.EvolveAll([]rules.Event{
			{Fact: rules.ResultRecorded{Node: "pan.register", Passed: c.passed, Confirms: &confirms}, At: flows.Noon()},
			{Fact: rules.GroupDecided{Node: "pan", Type: workflow.NodeChecks, Passed: c.passed}, At: flows.Noon()},
		})
		if got := untold(run); got != c.want {
			t.Errorf("%s: not screened is %s, want %s", name, got, c.want)
		}
	}
}

// What was not screened is in every report, and is no flag. Nothing personal is in it.
func TestTheReportSaysWhatWasNotScreened(t *testing.T) {
	j := begin(t, screened(oneByOne(0)), "").plays("submits", "owner.identity failed")
	r := j.report()
	want := []rules.Unscreened{
		{NodeID: "owner.lists", Label: "Owner: Lists", Why: "decided"}, {NodeID: "owner.peps", Label: "Owner: Peps", Why: "decided"},
	}
	equal(t, "the report", r.Unscreened, want)
	if len(r.Flags) != 1 || r.Flags[0].NodeID != "review" {
		t.Errorf("the flags are %v, want the review alone", r.Flags)
	}
	if said := want[0].Reason(); said != "Nobody was screened: the group was decided before this check was called." {
		t.Errorf("the reason is %q", said)
	}
	equal(t, "the printed report", rules.MakePrint(flows.RunID, j.history, j.now).Unscreened, want)
	j.approve("")
	var err error
	if j.history, err = rules.Redact(flows.RunID, j.history, "", verification.Person{Name: "root"}, j.now); err != nil {
		t.Fatal(err)
	}
	equal(t, "the report of a redacted run", j.report().Unscreened, want)
}

// However many hits there are, the queue says that somebody was not screened.
func TestTheQueueSaysWhatWasNotScreened(t *testing.T) {
	d := screened(oneByOne(0))
	j := begin(t, d, "").plays("submits", "owner.identity failed")
	history := j.history
	for i := range 6 {
		node := verification.NodeID(fmt.Sprint("list", i))
		history = append(history,
			rules.Event{At: j.now, Fact: rules.Dispatched{Node: node, Key: string(node), Label: "List", Dispatch: 1, Visit: 1}},
			rules.Event{At: j.now, Fact: rules.ResultRecorded{Node: node, Passed: true, Data: verification.Data(`{"analysis_ok":false}`), Screening: &rules.Screening{
				List: "sanctions", Hits: []verification.Hit{{ID: "a", Name: "Ivan Testov", Score: 0.9}},
			}}})
	}
	history = append(history, rules.Event{At: j.now, Fact: rules.ReviewAsked{Node: "review", Label: "Review"}})
	review, _ := rules.Fold(flows.RunID, history).Review()
	var kinds []rules.ConcernKind
	for _, c := range review.Concerns {
		kinds = append(kinds, c.Kind)
	}
	want := []rules.ConcernKind{rules.ConcernHit, rules.ConcernHit, rules.ConcernHit, rules.ConcernHit, rules.ConcernUnscreened}
	if !slices.Equal(kinds, want) {
		t.Errorf("the row has %v, want %v", kinds, want)
	}
}

// everyScreeningIsAnsweredOrTold: of each check that screens and that the run came to, the history has the answer, or says that the
// source gave none, or that the run ended first; or it left the check out, or another screening has met the group. Every other
// one is told, and nothing else is.
func everyScreeningIsAnsweredOrTold(t flows.Tester, j *journey) {
	t.Helper()
	def := j.program.Version.Definition
	screeners := func(node verification.NodeID) (all []string) {
		n := def.Nodes[node]
		if n.Type == workflow.NodeCheck && n.Provider == flows.Screener {
			all = append(all, "")
		}
		for _, m := range n.Members {
			if m.Provider == flows.Screener {
				all = append(all, "."+m.Name)
			}
		}
		return all
	}
	open, told := map[verification.NodeID]string{}, map[verification.NodeID]bool{} // what became of each on the last visit
	under := func(group verification.NodeID, f func(id verification.NodeID)) {
		for id := range maps.Clone(open) {
			node, element, member := id.Parts()
			if member != "" && (group == node && element == 0 || element > 0 && group == node.Element(element)) {
				f(id)
			}
		}
	}
	settle := func(id verification.NodeID, spare bool) {
		if open[id] == "called" && j.run.Ended == "" {
			t.Errorf("%s was called, and its group was decided without it", id)
		}
		if open[id] == "entered" {
			told[id] = !spare
		}
		delete(open, id)
	}
	confirmed := map[verification.NodeID]bool{}
	for _, e := range j.history {
		switch f := e.Fact.(type) {
		case rules.GroupBegan:
			for _, m := range screeners(node(f.Node)) {
				if member := f.Node + verification.NodeID(m); !f.Each {
					open[member] = "entered"
					delete(confirmed, member)
					continue
				}
				delete(told, f.Node+verification.NodeID(m))
				for i := range f.Elements {
					open[f.Node.Element(i+1)+verification.NodeID(m)] = "entered"
				}
			}
		case rules.Dispatched:
			if open[f.Node] == "entered" {
				open[f.Node] = "called"
			}
		case rules.Skipped:
			delete(open, f.Node)
		case rules.ResultRecorded:
			delete(open, f.Node)
			delete(told, f.Node)
			confirmed[f.Node] = f.Confirms != nil && *f.Confirms
		case rules.ResultUnavailable:
			if _, screens := open[f.Node]; screens && f.Data.Map()["source_ok"] != false {
				t.Errorf("%s has no answer, and its data is %s", f.Node, f.Data)
			}
			delete(open, f.Node)
		case rules.GroupDecided:
			spare := false
			for _, m := range screeners(node(f.Node)) {
				spare = spare || f.Passed && confirmed[f.Node+verification.NodeID(m)]
			}
			if f.Data != nil { // the list is too long
				for _, m := range screeners(f.Node) {
					told[f.Node+verification.NodeID(m)] = true
				}
				maps.DeleteFunc(open, func(id verification.NodeID, _ string) bool { return node(id) == f.Node })
			}
			for _, m := range screeners(node(f.Node)) {
				if spare {
					delete(told, f.Node+verification.NodeID(m))
				}
			}
			under(f.Node, func(id verification.NodeID) { settle(id, spare) })
		}
	}
	if j.run.Ended != "" {
		for id := range maps.Clone(open) {
			settle(id, false)
		}
	}
	maps.DeleteFunc(told, func(_ verification.NodeID, yes bool) bool { return !yes })
	var got []verification.NodeID
	for _, u := range j.run.Unscreened {
		got = append(got, u.NodeID)
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(told)); !slices.Equal(got, want) {
		t.Errorf("told are %v, want %v\n%s", got, want, pictures(j.history))
	}
}

func node(id verification.NodeID) verification.NodeID {
	of, _, _ := id.Parts()
	return of
}
