// Tests of elements that a later visit of their node does not have.

package rules_test

import (
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

// perOwner is a form with a list of owners, and after it something for each of them. A review sends the run back or ends it.
func perOwner(each workflow.Node) workflow.Definition {
	each.Label, each.ForEach, each.Next = "Owner", "steps.details.data.owners", "review"
	return flows.Define("details", flows.Nodes{
		"details": {Type: workflow.NodeCustomerInput, Next: "owners", MaxRounds: 20, Fields: workflow.InputFields{{
			Name: "owners", Type: workflow.FieldGroup, Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}},
		}, {Name: "more", Type: workflow.FieldCheckbox}}},
		"owners": each,
		"review": flows.ReviewNode("Review", "done"),
		"done":   flows.EndNode(),
	})
}

// identity is a group of two checks.
func identity() workflow.Node {
	lists := flows.CheckNode("Lists", "")
	return workflow.Node{
		Type: workflow.NodeChecks, OnNotMet: "review", OnUnavailable: "review", Finish: workflow.FinishAll, Members: workflow.Members{
			{Name: "identity", Label: "Identity", Provider: "registry"}, {Name: "lists", Label: "Lists", Provider: lists.Provider},
		},
	}
}

// named answers the form with n owners.
func named(j *journey, n int) *journey {
	rows := slices.Repeat([]string{`{"name":"x"}`}, n)
	return j.submit(`{"owners":[` + strings.Join(rows, ",") + `]}`)
}

// listedAs answers a screening with a hit.
func listedAs(j *journey, step verification.NodeID) *journey {
	w, _ := j.run.WaitAt(step)
	return j.do(rules.RecordResult{
		Node: step, Dispatch: w.Dispatch, Outcome: verification.OutcomePassed, Data: verification.Data(`{"analysis_ok":false}`), Asked: "asked",
		Screening: &verification.ScreeningResult{List: "sanctions", Hits: []verification.Hit{{ID: "e-1", Name: "Zamoyskov", Score: 1}}},
	})
}

// allAnswer passes all checks that are open.
func allAnswer(j *journey) *journey {
	for j.run.Wait().Kind == rules.WaitResult {
		j.answer(j.run.Wait().Node, verification.OutcomePassed)
	}
	return j
}

func TestElementsThatAreGoneAreEarlierVisits(t *testing.T) {
	j := named(begin(t, perOwner(identity()), ""), 3)
	listedAs(j, "owners[2].lists")
	j.answer("owners[3].identity", verification.OutcomeFailed)
	allAnswer(j).after(time.Hour)
	first := j.report()
	j.do(askAgain("owners"))
	named(j, 1)
	allAnswer(j)

	const earlier = "On an earlier visit, a possible match on a list was found."
	var flags []string
	for _, f := range j.detail().Flags {
		flags = append(flags, f.Label+": "+f.Reason)
	}
	if diff := cmp.Diff([]string{"Owner 2 of 3: Lists: " + earlier, "Review: The workflow asks for a manual review."}, flags); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	equal(t, "the flags of the report", j.report().Flags, j.detail().Flags)
	checks := []rules.Check{
		{Key: "owners.identity", Label: "Owner: Identity", Status: rules.StepPassed, Data: verification.Data(`{"items":[{"node_id":"owners[1].identity","status":"passed"}]}`)},
		{Key: "owners.lists", Label: "Owner: Lists", Status: rules.StepPassed, Data: verification.Data(`{"items":[{"node_id":"owners[1].lists","status":"passed"}]}`)},
	}
	if diff := cmp.Diff(checks, j.detail().Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	var cards []string
	for _, c := range j.report().Cards {
		before := ""
		for _, v := range c.Visits {
			before += fmt.Sprintf(" [%d %s %q %d]", v.Number, v.Status, v.Reason, len(v.Hits()))
		}
		cards = append(cards, fmt.Sprintf("%s, %s: %s %t %d hits%s", c.NodeID, c.Label, c.Status, c.Gone, len(c.Hits()), before))
		if was := first.Cards; c.Gone && (c.Data != nil || !c.CompletedAt.IsZero() || len(c.Visits) != 1) {
			t.Errorf("%s is gone, and has %s at %s after %d visits", c.NodeID, c.Data, c.CompletedAt, len(c.Visits))
		} else if i := slices.IndexFunc(was, func(w rules.Card) bool { return w.NodeID == c.NodeID }); c.Gone {
			visit := c.Visits[0]
			if visit.Data.String() != was[i].Data.String() || !visit.CompletedAt.Equal(was[i].CompletedAt) || visit.Status != was[i].Status {
				t.Errorf("%s was %s at %s with %s, and its visit is %+v", c.NodeID, was[i].Status, was[i].CompletedAt, was[i].Data, visit)
			}
		}
	}
	if diff := cmp.Diff([]string{
		`details, details: ok false 0 hits [1 ok "" 0]`,
		`owners[1].identity, Owner 1 of 1: Identity: ok false 0 hits [1 ok "" 0]`,
		`owners[1].lists, Owner 1 of 1: Lists: ok false 0 hits [1 ok "" 0]`,
		`owners[2].identity, Owner 2 of 3: Identity: ok true 0 hits [1 ok "" 0]`,
		`owners[2].lists, Owner 2 of 3: Lists: needs_review true 0 hits [1 needs_review "A possible match on a list was found." 1]`,
		`owners[3].identity, Owner 3 of 3: Identity: ok true 0 hits [1 failed "The check did not pass." 0]`,
		`owners[3].lists, Owner 3 of 3: Lists: ok true 0 hits [1 ok "" 0]`,
		`review, Review: needs_review false 0 hits [1 needs_review "The workflow asks for a manual review." 0]`,
	}, cards); diff != "" {
		t.Errorf("cards (-want +got):\n%s", diff)
	}
	var groups []string
	for _, g := range j.run.ReportGroups(j.program.Version.Definition) {
		groups = append(groups, fmt.Sprintf("%s %s %d", g.NodeID, g.Status, len(g.Members)))
	}
	if diff := cmp.Diff([]string{"owners met 1", "owners[1] met 2"}, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for _, c := range j.report().Concerns {
		if c.NodeID == "owners[3].identity" || c.NodeID == "owners[2].lists" && c.Sentences[0].Key != "earlier.hit" {
			t.Errorf("a reviewer is told of %s: %+v", c.NodeID, c)
		}
	}
	historyFolds(t, j)

	// Its hit is decided as that of an earlier visit, for what was asked then.
	j.do(rules.DecideHit{Node: "owners[2].lists", Visit: 1, List: "sanctions", Entry: "e-1", Match: rules.MatchOther, Identity: "asha"})
	step, _ := j.run.Step("owners[2].lists")
	if d := step.HitDecisions[0]; d.Visit != 1 || d.Asked != "asked" {
		t.Errorf("the decision is on visit %d, for %q", d.Visit, d.Asked)
	}

	// An element that comes back is current again, and keeps its earlier visit.
	j.do(askAgain("owners"))
	named(j, 2)
	allAnswer(j)
	c := j.card("owners[2].lists")
	if c.Gone || c.Label != "Owner 2 of 2: Lists" || len(c.Visits) != 1 || !strings.HasPrefix(c.Reason, earlier) {
		t.Errorf("the element that came back: %+v", c)
	}
	if c := j.card("owners[3].lists"); !c.Gone || c.Label != "Owner 3 of 3: Lists" {
		t.Errorf("the element that did not: %+v", c)
	}
	historyFolds(t, j)
}

func TestAMemberThatAnElementNoLongerCallsIsGone(t *testing.T) {
	group := identity()
	group.Members[1].When = "more at details"
	j := begin(t, perOwner(group), "").submit(`{"owners":[{"name":"x"}],"more":true}`)
	listedAs(j, "owners[1].lists")
	allAnswer(j).do(askAgain("owners"))
	if c := j.card("owners[1].lists"); c.Gone {
		t.Errorf("while the customer answers it is gone: %+v", c)
	}
	j.submit(`{"owners":[{"name":"x"}],"more":false}`)
	if c := j.card("owners[1].lists"); c.Gone {
		t.Errorf("while the group is open it is gone: %+v", c)
	}
	allAnswer(j)
	if c := j.card("owners[1].lists"); !c.Gone || c.Reason != "On an earlier visit, a possible match on a list was found." || len(c.Visits) != 1 {
		t.Errorf("after the group is decided: %+v", c)
	}
	if c := j.card("owners[1].identity"); c.Gone {
		t.Errorf("the other member is gone: %+v", c)
	}
	historyFolds(t, j)
}

func TestAListThatIsTooLongHasTheKeysOfItsChecks(t *testing.T) {
	check := flows.CheckNode("", "")
	check.OnFailed = "review"
	form := workflow.Node{Type: workflow.NodeCustomerInput, Fields: workflow.InputFields{{Name: "a", Type: workflow.FieldText}}}
	for name, c := range map[string]struct {
		each workflow.Node
		want []string
	}{
		"a group": {identity(), []string{"owners.identity: Owner: Identity", "owners.lists: Owner: Lists", "second.identity: Second: Identity", "second.lists: Second: Lists"}},
		"a check": {check, []string{"owners: Owner", "second: Second"}},
		"a form":  {form, nil},
	} {
		d := perOwner(c.each)
		first, second := d.Nodes["owners"], d.Nodes["owners"]
		first.ForEach, second.ForEach, second.Label, first.Next = "input.list", "input.list", "Second", "second"
		if first.OnNotMet, first.OnFailed = "", ""; c.each.Type == workflow.NodeChecks {
			first.OnNotMet = "second"
		} else if c.each.Type == workflow.NodeCheck {
			first.OnFailed = "second"
		}
		d.Nodes["owners"], d.Nodes["second"] = first, second
		d.Start = "owners"
		delete(d.Nodes, "details")
		list := `{"list":[` + strings.TrimSuffix(strings.Repeat("1,", 65), ",") + `]}`
		j := begin(t, d, list)
		var got []string
		for _, check := range j.detail().Checks {
			got = append(got, check.Key+": "+check.Label)
			if check.Status != rules.StepFailed || check.Data.String() != `{"analysis_ok":false,"elements":65}` {
				t.Errorf("%s: %s is %s with %s", name, check.Key, check.Status, check.Data)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		checksAreDeclared(t, j)
		for i, e := range j.history { // as histories were before they had the checks
			if f, ok := e.Fact.(rules.GroupDecided); ok {
				f.Checks = nil
				j.history[i].Fact = f
			}
		}
		for _, check := range rules.Fold(flows.RunID, j.history).Detail(j.now).Checks {
			if check.Key != "owners" && check.Key != "second" || c.want == nil {
				t.Errorf("%s, an old history: %+v", name, check)
			}
		}
	}
}

func TestSixtyTwoOwnersThatAreGone(t *testing.T) {
	check := flows.CheckNode("", "")
	check.OnFailed = "review"
	j := named(begin(t, perOwner(check), ""), 64)
	allAnswer(j)
	j.do(askAgain("owners"))
	named(j, 2)
	allAnswer(j)
	if n := len(j.detail().Checks); n != 1 {
		t.Errorf("there are %d checks", n)
	}
	gone := 0
	for _, c := range j.report().Cards {
		if c.Gone {
			gone++
		}
	}
	if gone != 62 {
		t.Errorf("%d elements are gone, want 62", gone)
	}
}

func TestTheErrorNamesTheFirstMemberThatFailed(t *testing.T) {
	members := func(need workflow.Need, until string, names ...string) workflow.Definition {
		n := workflow.Node{Type: workflow.NodeChecks, Label: "Address", Need: need, Until: until, Finish: workflow.FinishAll, Next: "done"}
		for _, name := range names {
			n.Members = append(n.Members, workflow.Member{Name: name, Label: name, Provider: "registry", Key: map[string]string{"c": "own_key"}[name]})
		}
		return flows.Define("address", flows.Nodes{"address": n, "done": flows.EndNode()})
	}
	const pass, fail, none = verification.OutcomePassed, verification.OutcomeFailed, verification.OutcomeNoCoverage
	for _, c := range []struct {
		name    string
		need    workflow.Need
		answers map[verification.NodeID]verification.CheckOutcome
		want    string
	}{
		{"the first", workflow.NeedAll, map[verification.NodeID]verification.CheckOutcome{"a": fail, "b": fail, "c": pass}, "CHECK_FAILED address.a"},
		{"not the one that passed", workflow.NeedAll, map[verification.NodeID]verification.CheckOutcome{"a": pass, "b": fail, "c": fail}, "CHECK_FAILED address.b"},
		{"its own key", workflow.NeedAll, map[verification.NodeID]verification.CheckOutcome{"a": pass, "b": pass, "c": fail}, "CHECK_FAILED own_key"},
		{"failed before unanswered", 3, map[verification.NodeID]verification.CheckOutcome{"a": none, "b": fail, "c": fail}, "CHECK_FAILED address.b"},
		{"only no answer", workflow.NeedAll, map[verification.NodeID]verification.CheckOutcome{"a": pass, "b": none, "c": none}, "CHECK_UNAVAILABLE address.b"},
		{"the one without an answer, after one that failed", 1, map[verification.NodeID]verification.CheckOutcome{"a": fail, "b": fail, "c": none}, "CHECK_UNAVAILABLE own_key"},
	} {
		for _, order := range [][]verification.NodeID{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
			j := begin(t, members(c.need, "", "a", "b", "c"), "")
			for _, member := range order {
				j.answer("address."+member, c.answers[member])
			}
			got := j.detail().Error
			if got == nil || fmt.Sprintf("%s %s", got.Code, got.Check) != c.want || !strings.Contains(got.Message, " "+got.Check+" ") {
				t.Errorf("%s, answers in the order %v: %+v, want %s", c.name, order, got, c.want)
			}
			if !slices.ContainsFunc(j.detail().Checks, func(check rules.Check) bool { return got != nil && check.Key == got.Check }) {
				t.Errorf("%s: no check has the key of %+v", c.name, got)
			}
		}
	}
}

// Whatever the list of each round is, the checks, the cards and the groups are of the newest one, and nothing of the earlier ones is lost.
func TestEachRoundShowsTheNewestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.SampledFrom([]workflow.Node{identity(), flows.CheckNode("", "")}).Draw(t, "each")
		if each.Type == workflow.NodeCheck {
			each.OnFailed, each.OnUnavailable = "review", "review"
		}
		j := begin(t, perOwner(each), "")
		visits := map[verification.NodeID]int{}
		n := 0
		for round := range rapid.IntRange(1, 4).Draw(t, "rounds") {
			if round > 0 {
				j.do(askAgain("owners"))
			}
			n = rapid.IntRange(0, 3).Draw(t, "owners")
			named(j, n)
			for j.run.Wait().Kind == rules.WaitResult {
				step := rapid.SampledFrom(j.run.Waits).Draw(t, "next").Node
				visits[step]++
				if rapid.Bool().Draw(t, "hit") {
					listedAs(j, step)
				} else {
					j.answer(step, rapid.SampledFrom([]verification.CheckOutcome{verification.OutcomePassed, verification.OutcomeFailed}).Draw(t, "answer"))
				}
			}
		}
		for _, c := range j.report().Cards {
			_, element, _ := c.NodeID.Parts()
			if element == 0 {
				continue
			}
			if c.Gone != (element > n) || len(c.Visits)+map[bool]int{false: 1}[c.Gone] != visits[c.NodeID] {
				t.Errorf("%s of %d: gone %t, %d earlier visits of %d", c.NodeID, n, c.Gone, len(c.Visits), visits[c.NodeID])
			}
			if of := fmt.Sprintf(" of %d", n); !c.Gone && !strings.Contains(c.Label, of) {
				t.Errorf("%s of %d is labelled %s", c.NodeID, n, c.Label)
			}
			delete(visits, c.NodeID)
		}
		if len(visits) > 0 {
			t.Errorf("%v have no card", visits)
		}
		for _, c := range j.detail().Checks {
			items, _ := c.Data.Map()["items"].([]any)
			if c.Key == "" || len(items) != n || strings.Contains(c.Label, " of ") {
				t.Errorf("%+v, want %d items", c, n)
			}
		}
		for _, g := range j.run.ReportGroups(j.program.Version.Definition) {
			if _, element, _ := g.NodeID.Parts(); element > n {
				t.Errorf("the report has the group %s of %d", g.NodeID, n)
			}
		}
		equal(t, "the flags of the report", j.report().Flags, j.detail().Flags)
		equal(t, "the fold", rules.Fold(flows.RunID, j.history), j.run)
	})
}
