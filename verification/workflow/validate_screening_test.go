package workflow_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// asks is a group that asks one member after the other: each is a word, and "lists" and "peps" screen.
func asks(need workflow.Need, members string, change func(*workflow.Definition)) workflow.Definition {
	n := workflow.Node{
		Type: workflow.NodeChecks, Label: "Owner", Order: workflow.OrderOneByOne, Need: need,
		Next: "done", OnNotMet: "review", OnUnavailable: "review",
	}
	for _, name := range strings.Fields(members) {
		m := workflow.Member{Name: name, Provider: "registry"}
		if name == "lists" || name == "peps" {
			m.Provider = flows.Screener
		}
		n.Members = append(n.Members, m)
	}
	d := flows.Define("owner", flows.Nodes{
		"owner": n, "review": flows.ReviewNode("Review", "done"), "done": flows.EndNode(),
	})
	if change != nil {
		change(&d)
	}
	return d
}

// Of a definition that a run may leave towards an end without a screening, and without a review, validate says so.
func TestALeftOutScreeningBeforeAnEndIsAWarning(t *testing.T) {
	owner := func(change func(*workflow.Node)) func(*workflow.Definition) { return flows.Edit("owner", change) }
	fails := func(d *workflow.Definition) {
		owner(func(n *workflow.Node) { n.OnNotMet, n.OnUnavailable = "", "" })(d)
		delete(d.Nodes, "review")
	}
	ends := owner(func(n *workflow.Node) { n.OnNotMet = "done" })
	for name, c := range map[string]struct {
		d    workflow.Definition
		want string // the members that are warned of, with the way out
	}{
		"all, and a review if one fails":       {asks(0, "identity lists", nil), ""},
		"all, and the run fails if one fails":  {asks(0, "identity lists", fails), ""},
		"all, and an end if one fails":         {asks(0, "identity lists peps", ends), "lists on_not_met, peps on_not_met"},
		"the screening is first":               {asks(0, "lists identity", ends), ""},
		"any":                                  {asks(1, "identity lists", nil), "lists next"},
		"any, of screenings":                   {asks(1, "lists peps", nil), ""},
		"any, and one of them does not screen": {asks(1, "lists identity peps", nil), "peps next"},
		"two of three":                         {asks(2, "identity lists peps", nil), ""},
		"two of three, two do not screen":      {asks(2, "identity bureau lists", nil), "lists next"},
		"two of three, an end if two fail": {asks(2, "identity bureau lists", func(d *workflow.Definition) {
			ends(d)
			flows.Edit("owner", func(n *workflow.Node) { n.Next = "review" })(d)
		}), "lists on_not_met"},
		"one of three, an end if all fail": {asks(1, "lists identity peps", func(d *workflow.Definition) {
			ends(d)
			flows.Edit("owner", func(n *workflow.Node) { n.Next = "review" })(d)
		}), ""},
		"called together": {asks(0, "identity lists", func(d *workflow.Definition) { ends(d); flows.Edit("owner", func(n *workflow.Node) { n.Order = "" })(d) }), ""},
		"an element":      {asks(1, "identity lists", owner(func(n *workflow.Node) { n.ForEach = "input.list" })), "lists next"},
		"by way of a check": {asks(1, "identity lists", func(d *workflow.Definition) {
			owner(func(n *workflow.Node) { n.Next = "pan" })(d)
			d.Nodes["pan"] = flows.CheckNode("PAN", "done")
		}), "lists next"},
		"by way of a review": {asks(1, "identity lists", owner(func(n *workflow.Node) { n.Next = "review" })), ""},
		"by way of a review that may be skipped": {asks(1, "identity lists", func(d *workflow.Definition) {
			owner(func(n *workflow.Node) { n.Next = "review" })(d)
			flows.Edit("review", func(n *workflow.Node) { n.When = "review wanted" })(d)
		}), "lists next"},
		"no source answers":           {asks(1, "identity lists", owner(func(n *workflow.Node) { n.Next, n.OnUnavailable = "review", "done" })), ""},
		"most sources have no answer": {asks(2, "identity bureau lists", owner(func(n *workflow.Node) { n.Next, n.OnUnavailable = "review", "done" })), "lists on_unavailable"},
	} {
		p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: c.d}, flows.NewLanguage(), nil, flows.Providers())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, w := range p.Warnings() {
			member, found := strings.CutSuffix(strings.TrimPrefix(w.Name, "nodes.owner.members."), ".provider")
			if _, rest, _ := strings.Cut(w.Message, "without this screening: "); found {
				way, _, _ := strings.Cut(rest, " ")
				got = append(got, member+" "+way)
			}
		}
		if said := strings.Join(got, ", "); said != c.want {
			t.Errorf("%s: warned of %q, want %q", name, said, c.want)
		}
	}
}

func TestAProgramKnowsWhichProvidersScreen(t *testing.T) {
	d := asks(0, "identity lists", nil)
	describe := func(name string) verification.ProviderDescription { return flows.Providers()[name] }
	compiled, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil, flows.Providers())
	if err != nil {
		t.Fatal(err)
	}
	restored, err := workflow.Restore(flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), describe)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []workflow.Program{compiled, restored} {
		if !p.Screens(flows.Screener) || p.Screens("registry") || p.Screens("") {
			t.Error("the program does not tell the provider that screens from the others")
		}
	}
}
