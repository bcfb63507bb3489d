// Tests of what expressions read as `clear`.

package rules_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// clearing is a workflow whose first step leads to a review, and behind the review to the end "yes" if something is clear.
func clearing(first workflow.Node, path string) workflow.Definition {
	first.Next, first.OnFailed, first.OnNotMet, first.OnUnavailable = "look", "", "look", "look"
	if first.Type == workflow.NodeCheck {
		first.OnFailed, first.OnNotMet = "look", ""
	}
	return flows.Define("s", flows.Nodes{
		"s": first, "look": flows.ReviewNode("Look", "gate"), "gate": flows.BranchNode("clear "+path, "yes", "no"), "yes": flows.EndNode(), "no": flows.EndNode(),
	})
}

func TestAStepIsClearIfNothingIsOpen(t *testing.T) {
	check := flows.CheckNode("Check", "")
	members := workflow.Members{
		{Name: "a", Provider: "registry", Retry: &workflow.Retry{MaxDispatches: 1}}, {Name: "b", Provider: "registry", Retry: &workflow.Retry{MaxDispatches: 1}},
	}
	group := func(need workflow.Need) workflow.Node {
		return workflow.Node{Type: workflow.NodeChecks, Label: "Group", Need: need, Finish: workflow.FinishAll, Members: members}
	}
	spare := group(1) // one source after the other; a and c screen, and one of the three is enough
	spare.Order, spare.Finish = workflow.OrderOneByOne, ""
	spare.Members = append(workflow.Members{}, members...)
	spare.Members = append(spare.Members, workflow.Member{Name: "c", Provider: flows.Screener})
	spare.Members[0].Provider = flows.Screener
	each := func(n workflow.Node) workflow.Node { n.ForEach = "input.list"; return n }
	pass, fail, none := verification.OutcomePassed, verification.OutcomeFailed, verification.OutcomeNoCoverage
	type answer struct {
		step    verification.NodeID
		outcome verification.CheckOutcome
		data    string
		found   *verification.ScreeningResult
	}
	type judgement struct {
		step  verification.NodeID
		match rules.HitMatch
	}
	listed := `{"hits":1}` // a provider that finds a hit, and says nothing of its analysis
	for _, c := range []struct {
		name    string
		node    workflow.Node
		path    string
		answers []answer
		judged  []judgement
		want    verification.NodeID
	}{
		{"it passed", check, "s", []answer{{"s", pass, "", nil}}, nil, "yes"},
		{"it passed without a hit", check, "s", []answer{{"s", pass, `{"analysis_ok":true,"source_ok":true}`, hits()}}, nil, "yes"},
		{"it failed", check, "s", []answer{{"s", fail, "", nil}}, nil, "no"},
		{"the source gave no answer", check, "s", []answer{{"s", none, "", nil}}, nil, "no"},
		{"source_ok is false", check, "s", []answer{{"s", pass, unvouched, nil}}, nil, "no"},
		{"analysis_ok is false", check, "s", []answer{{"s", pass, doubted, nil}}, nil, "no"},
		{"geo_ok is false", check, "s", []answer{{"s", pass, elsewhere, nil}}, nil, "no"},
		{"another flag", check, "s", []answer{{"s", pass, `{"opted_out":true}`, nil}}, nil, "yes"},
		{"a hit that nobody decided", check, "s", []answer{{"s", pass, listed, hits("a")}}, nil, "no"},
		{"not sure", check, "s", []answer{{"s", pass, listed, hits("a")}}, []judgement{{"s", rules.MatchUnsure}}, "no"},
		{"the same person", check, "s", []answer{{"s", pass, listed, hits("a")}}, []judgement{{"s", rules.MatchSame}}, "no"},
		{"another person", check, "s", []answer{{"s", pass, listed, hits("a")}}, []judgement{{"s", rules.MatchOther}}, "yes"},
		{"another person, and analysis_ok is false", check, "s", []answer{{"s", pass, doubted, hits("a")}}, []judgement{{"s", rules.MatchOther}}, "no"},

		{"a group", group(0), "s", []answer{{"s.a", pass, "", nil}, {"s.b", pass, "", nil}}, nil, "yes"},
		{"a group that is not met", group(0), "s", []answer{{"s.a", pass, "", nil}, {"s.b", fail, "", nil}}, nil, "no"},
		{"a member of a group that is not met", group(0), "s.a", []answer{{"s.a", pass, "", nil}, {"s.b", fail, "", nil}}, nil, "yes"},
		{"a member that failed and was not needed", group(1), "s", []answer{{"s.a", pass, "", nil}, {"s.b", fail, "", nil}}, nil, "yes"},
		{"a source that was not needed", group(1), "s", []answer{{"s.a", pass, "", nil}, {"s.b", none, "", nil}}, nil, "yes"},
		{"a hit of a member", group(0), "s", []answer{{"s.a", pass, "", nil}, {"s.b", pass, doubted, hits("a")}}, nil, "no"},
		{"the member beside it", group(0), "s.a", []answer{{"s.a", pass, "", nil}, {"s.b", pass, doubted, hits("a")}}, nil, "yes"},
		{"a hit of a member that was not needed", group(1), "s", []answer{{"s.a", pass, "", nil}, {"s.b", fail, listed, hits("a")}}, nil, "no"},
		{"source_ok of a member that was not needed", group(1), "s", []answer{{"s.a", pass, "", nil}, {"s.b", fail, unvouched, nil}}, nil, "no"},

		{"a screening that was not called, and another one met the group", spare, "s", []answer{{"s.a", pass, "", hits()}}, nil, "yes"},
		{"a screening that was not called", spare, "s", []answer{{"s.a", fail, "", hits()}, {"s.b", pass, "", nil}}, nil, "no"},
		{"a member beside a screening that was not called", spare, "s.b", []answer{{"s.a", fail, "", hits()}, {"s.b", pass, "", nil}}, nil, "yes"},
		{
			"a screening that was not called for an element", each(spare), "s",
			[]answer{{"s[1].a", pass, "", hits()}, {"s[2].a", fail, "", hits()}, {"s[2].b", pass, "", nil}},
			nil, "no",
		},

		{"elements", each(check), "s", []answer{{"s[1]", pass, "", nil}, {"s[2]", pass, "", nil}}, nil, "yes"},
		{"a hit of an element", each(check), "s", []answer{{"s[1]", pass, "", nil}, {"s[2]", pass, listed, hits("a")}}, nil, "no"},
		{"the element beside it", each(check), "s[1]", []answer{{"s[1]", pass, "", nil}, {"s[2]", pass, listed, hits("a")}}, nil, "yes"},
		{"the element with the hit", each(check), "s[2]", []answer{{"s[1]", pass, "", nil}, {"s[2]", pass, listed, hits("a")}}, nil, "no"},
		{"an element that failed", each(check), "s", []answer{{"s[1]", pass, "", nil}, {"s[2]", fail, "", nil}}, nil, "no"},
		{
			"a hit of a member of an element", each(group(0)), "s",
			[]answer{{"s[1].a", pass, "", nil}, {"s[1].b", pass, "", nil}, {"s[2].a", pass, doubted, hits("a")}, {"s[2].b", pass, "", nil}},
			nil, "no",
		},
		{
			"the group of another element", each(group(0)), "s[1]",
			[]answer{{"s[1].a", pass, "", nil}, {"s[1].b", pass, "", nil}, {"s[2].a", pass, doubted, hits("a")}, {"s[2].b", pass, "", nil}},
			nil, "yes",
		},
		{
			"the group of the element with the hit", each(group(0)), "s[2]",
			[]answer{{"s[1].a", pass, "", nil}, {"s[1].b", pass, "", nil}, {"s[2].a", pass, doubted, hits("a")}, {"s[2].b", pass, "", nil}},
			nil, "no",
		},
	} {
		j := begin(t, clearing(c.node, c.path), `{"list":["x","y"]}`).after(time.Second)
		for _, a := range c.answers {
			j.give(a.step, a.outcome, a.data, a.found)
		}
		for _, d := range c.judged {
			j.judge(d.step, "a", d.match)
		}
		if got := j.approve("").run.EndNode; got != c.want {
			t.Errorf("%s: clear is %q, want %q", c.name, got, c.want)
		}
	}
}

// A later visit counts, and not the hit of an earlier one.
func TestClearIsOfTheLastVisit(t *testing.T) {
	loop := flows.Define("s", flows.Nodes{
		"s":    {Type: workflow.NodeCheck, Label: "Check", Provider: "registry", OnFailed: "look", OnUnavailable: "look", Next: "look"},
		"look": flows.ReviewNode("Look", "gate"), "gate": flows.BranchNode("clear s", "done", "s"), "done": flows.EndNode(),
	})
	j := begin(t, loop, "").after(time.Second).give("s", verification.OutcomePassed, doubted, hits("a")).approve("")
	if j.run.Wait().Node != "s" {
		t.Fatalf("after a hit the run waits for %q, want the check again", j.run.Wait().Node)
	}
	if j.give("s", verification.OutcomePassed, `{"analysis_ok":true}`, hits()).approve(""); j.run.EndNode != "done" {
		t.Errorf("after a visit without a hit the run is at %q, want its end", j.run.Wait().Node)
	}
}

func TestAMemberConfirmsIfItIsClear(t *testing.T) {
	for want, c := range map[rules.GroupStatus]struct {
		data  string
		found *verification.ScreeningResult
	}{rules.GroupMet: {"", hits()}, rules.GroupNotMet: {"", hits("a")}} {
		n := workflow.Node{
			Type: workflow.NodeChecks, Label: "Group", Until: "clear member", Members: workflow.Members{{Name: "a", Provider: "registry"}},
		}
		j := begin(t, clearing(n, "s"), "").after(time.Second).give("s.a", verification.OutcomePassed, c.data, c.found)
		if got := j.run.ReportGroups(j.program.Version.Definition)[0].Status; got != want {
			t.Errorf("a group whose member has %d hits is %s, want %s", len(c.found.Hits), got, want)
		}
	}
}
