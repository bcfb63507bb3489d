package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// screenedThen is a workflow whose first node screens and leads to a branch. when is the condition of the branch, as paths: it leads to
// "review" if it holds, and else to "done". data is what the end says, as paths.
func screenedThen(n workflow.Node, when, data string) workflow.Definition {
	n.Next = "gate"
	if n.Type == workflow.NodeCheck {
		n.OnFailed, n.OnUnavailable = "review", "review"
	} else {
		n.OnNotMet, n.OnUnavailable = "review", "review"
	}
	done := workflow.Node{Type: workflow.NodeEnd, Outcome: "approved"}
	if data != "" {
		done.Data = verification.DataOf(map[string]any{"of": data})
	}
	return flows.Define("s", flows.Nodes{"s": n, "gate": flows.BranchNode(when, "review", "done"), "review": flows.ReviewNode("Review", "done"), "done": done})
}

func TestAPassThatSaysNothingOfHitsIsNoted(t *testing.T) {
	check := workflow.Node{Type: workflow.NodeCheck, Label: "Lists", Provider: "list"}
	vendor := check
	vendor.Provider = "vendor"
	group := func(until string) workflow.Node {
		return workflow.Node{Type: workflow.NodeChecks, Label: "Lists", Until: until, Members: workflow.Members{
			{Name: "identity", Provider: "registry"}, {Name: "lists", Provider: "vendor"},
		}}
	}
	each := func(n workflow.Node) workflow.Node { n.ForEach = "input.owners"; return n }
	const outcome, data = "nodes.done.outcome: the screening ", "nodes.done.data: "
	whatever := func(step string) string {
		return outcome + step + " leads here whatever it finds: test steps.s.clear in a branch, or add a review step"
	}
	passes := func(step, read string) string {
		return outcome + step + " leads here with a hit, too, because " + read + " says nothing of hits: test steps.s.clear, or add a review step"
	}
	says := func(step, read string) string {
		return data + read + " says nothing of the hits of the screening " + step + ": write steps.s.clear"
	}
	for _, c := range []struct {
		name string
		n    workflow.Node
		when string
		data string
		want []string
	}{
		{"nothing reads it", check, "input.a", "", []string{whatever("s")}},
		{"passed", check, "steps.s.passed", "", []string{passes("s", "steps.s.passed")}},
		{"passed of a declared vendor that screens", vendor, "steps.s.passed", "", []string{passes("s", "steps.s.passed")}},
		{"status", check, "steps.s.status", "", []string{passes("s", "steps.s.status")}},
		{"dispatches and source_ok", check, "steps.s.dispatches steps.s.data.source_ok", "", []string{whatever("s")}},
		{"clear", check, "steps.s.clear", "", nil},
		{"analysis_ok", check, "steps.s.data.analysis_ok", "", nil},
		{"a hit", check, "steps.s.passed steps.s.data.hits", "", nil},
		{"all of its data", check, "steps.s.data", "", nil},
		{"another step with such a name", check, "steps.s2.clear", "", []string{whatever("s")}},
		{"a group", group(""), "steps.s.passed", "", []string{passes("s.lists", "steps.s.passed")}},
		{"a member", group(""), "steps.s.members.lists.passed", "", []string{passes("s.lists", "steps.s.members.lists.passed")}},
		{"a member that is clear", group(""), "steps.s.members.lists.clear", "", nil},
		{"another member that is clear", group(""), "steps.s.members.identity.clear", "", []string{whatever("s.lists")}},
		{"a group that is clear", group(""), "steps.s.clear", "", nil},
		{"until of the pass", group("member.passed"), "steps.s.passed", "", []string{passes("s.lists", "steps.s.passed")}},
		{"until of what is clear", group("member.clear"), "steps.s.passed", "", nil},
		{"until of the data", group("member.passed member.data.score"), "steps.s.passed", "", nil},
		{"elements", each(check), "steps.s.passed", "", []string{passes("s", "steps.s.passed")}},
		{"each element that passed", each(check), "steps.s.items steps.s.items[].passed", "", []string{passes("s", "steps.s.items[].passed")}},
		{"each element that is clear", each(check), "steps.s.items steps.s.items[].clear", "", nil},
		{"elements that are clear", each(check), "steps.s.clear", "", nil},
		{"the elements as a whole", each(check), "steps.s.items", "", nil},
		{"members of elements that passed", each(group("")), "steps.s.items steps.s.items[].members.lists.passed", "", []string{passes("s.lists", "steps.s.items[].members.lists.passed")}},
		{"members of elements that are clear", each(group("")), "steps.s.items steps.s.items[].members.lists.clear", "", nil},
		{"the data of members of elements", each(group("")), "steps.s.items steps.s.items[].members.lists.data.analysis_ok", "", nil},

		{"the data of the end", check, "steps.s.clear", "steps.s.passed", nil}, // a review step stands before it, or it is clear
		{"the data of the end alone", check, "input.a", "steps.s.passed", []string{says("s", "steps.s.passed"), whatever("s")}},
		{"the data of the end says what is clear", check, "input.a", "steps.s.clear", []string{whatever("s")}},
		{"the data of the end says both", check, "input.a", "steps.s.passed steps.s.data.hits", []string{whatever("s")}},
		{"the data of the end, of a group", group(""), "input.a", "steps.s.passed", []string{says("s.lists", "steps.s.passed"), whatever("s.lists")}},
		{"the data of the end, of elements", each(check), "input.a", "steps.s.items steps.s.items[].passed", []string{says("s", "steps.s.items[].passed"), whatever("s")}},
	} {
		l := pathLanguage{flows.NewLanguage(), map[string][]workflow.Declarations{}}
		p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: screenedThen(c.n, c.when, c.data)}, l, nil,
			map[string]verification.ProviderDescription{"list": {Rescreens: true, Screens: true}, "vendor": {Screens: true}, "registry": {}})
		if err != nil {
			t.Errorf("%s: %+v", c.name, flows.FieldsOf(t, err))
			continue
		}
		var got []string
		for _, f := range p.Warnings() {
			if strings.HasPrefix(f.Name, "nodes.done") {
				got = append(got, f.Name+": "+f.Message)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A review decides, and the data of the end says the same as before.
func TestAPassInTheDataBehindAReviewIsNoted(t *testing.T) {
	d := screenedThen(workflow.Node{Type: workflow.NodeCheck, Label: "Lists", Provider: "list"}, "input.a", "steps.s.passed")
	flows.Edit("gate", func(n *workflow.Node) { n.Else = "review" })(&d)
	l := pathLanguage{flows.NewLanguage(), map[string][]workflow.Declarations{}}
	p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, l, nil, map[string]verification.ProviderDescription{"list": {Screens: true}})
	if err != nil {
		t.Fatal(err)
	}
	want := []verification.FieldError{{Name: "nodes.done.data", Message: "steps.s.passed says nothing of the hits of the screening s: write steps.s.clear"}}
	if diff := cmp.Diff(want, p.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
