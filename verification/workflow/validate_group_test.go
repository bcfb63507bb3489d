package workflow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// grouped is the ladder with a group of two members in place of its check.
func grouped() workflow.Definition {
	d := flows.Ladder()
	d.Nodes["pan"] = workflow.Node{
		Type: workflow.NodeChecks, Label: "PAN", Next: "risk", OnNotMet: "review", OnUnavailable: workflow.TargetNext,
		Members: workflow.Members{{Name: "tax", Provider: "registry"}, {Name: "bureau", Provider: "registry", Fallback: "backup"}},
	}
	return d
}

func TestAGroupIsValid(t *testing.T) {
	if problems := problemsOf(t, grouped()); problems != nil {
		t.Errorf("problems = %+v, want none: the table below begins with it", problems)
	}
}

func TestEveryProblemOfAGroup(t *testing.T) {
	type node = workflow.Node
	type member = workflow.Member
	group := func(change func(n *node)) func(*workflow.Definition) {
		return func(d *workflow.Definition) {
			*d = grouped()
			flows.Edit("pan", change)(d)
		}
	}
	first := func(change func(m *member)) func(*workflow.Definition) {
		return group(func(n *node) { change(&n.Members[0]) })
	}
	const (
		at   = "nodes.pan"
		tax  = at + ".members.tax"
		name = "must be a lower-case letter followed by letters, digits or _"
	)
	eachProblem(t, []invalid{
		{"no members", group(func(n *node) { n.Members = nil }), at + ".members", "must be 1 to 16 members"},
		{"17 members", group(func(n *node) {
			n.Members = nil
			for i := range 17 {
				n.Members = append(n.Members, member{Name: fmt.Sprintf("m%d", i), Provider: "registry"})
			}
		}), at + ".members", "must be 1 to 16 members"},
		{"a name in capitals", first(func(m *member) { m.Name = "Tax" }), at + ".members.Tax", "a member's name " + name},
		{"a key in capitals", first(func(m *member) { m.Key = "Tax" }), tax + ".key", name},
		{"a long label", first(func(m *member) { m.Label = strings.Repeat("ä", 201) }), tax + ".label", "must be at most 200 characters"},
		{"a label in no language", first(func(m *member) { m.LabelIn = workflow.Translations{"e": "x"} }), tax + ".label.e", "a language must be a tag such as en or pt-BR"},
		{"no provider", first(func(m *member) { m.Provider = "" }), tax + ".provider", "is required"},
		{"a provider that is not there", first(func(m *member) { m.Provider = "regitry" }), tax + ".provider", `there is no provider "regitry"; did you mean registry?`},
		{"the fallback is the provider", first(func(m *member) { m.Fallback = "registry" }), tax + ".fallback", "must differ from the provider"},
		{"a long timeout", first(func(m *member) { m.TimeoutSeconds = 601 }), tax + ".timeout_seconds", "must be 0 to 600"},
		{"many dispatches", first(func(m *member) { m.Retry = &workflow.Retry{MaxDispatches: 101} }), tax + ".retry.max_dispatches", "must be 0 to 100"},
		{"a key twice", group(func(n *node) { n.Members[0].Key, n.Members[1].Key = "k", "k" }), at + ".members.bureau.key", `is "k", as that of the member tax: give each member a key of its own, or none`},
		{"a label twice", group(func(n *node) { n.Members[1].Label = "tax" }), at + ".members.bureau.label", `is "tax", as that of the member tax: give each member a label of its own`},
		{"a key with another label elsewhere", first(func(m *member) { m.Key = "face" }), tax + ".label", `the check key "face" is labelled "Face match" at node face`},
		{"more than there are", group(func(n *node) { n.Need = 3 }), at + ".need", "cannot be met: the group has 2 members, so write 1 to 2, any or all"},
		{"fewer than none", group(func(n *node) { n.Need = -1 }), at + ".need", "cannot be met: the group has 2 members, so write 1 to 2, any or all"},
		{"an order that there is not", group(func(n *node) { n.Order = "one-by-one" }), at + ".order", "must be one of together, one_by_one; did you mean one_by_one?"},
		{"a finish that there is not", group(func(n *node) { n.Finish = "never" }), at + ".finish", "must be one of decided, all"},
		{
			"all, one by one", group(func(n *node) { n.Order, n.Finish = workflow.OrderOneByOne, workflow.FinishAll }), at + ".finish",
			"is for order: together, because one_by_one calls the next member only while the group is not decided: leave it out",
		},
		{"a way out that leads nowhere", group(func(n *node) { n.OnNotMet = "reviw" }), at + ".on_not_met", `there is no node "reviw"; did you mean review?`},
		{"an unavailable that leads nowhere", group(func(n *node) { n.OnUnavailable = "lost" }), at + ".on_unavailable", `there is no node "lost"`},
		{"no next", group(func(n *node) { n.Next = "" }), at + ".next", "is required"},
		{"a condition of a member", first(func(m *member) { m.When = "odd" }), tax + ".when", `there is no function "odd"`},
		{"a template of a member", first(func(m *member) { m.With = verification.Data(`{"odd":1}`) }), tax + ".with", `there is no function "{\"odd\":1}"`},
		{"a condition that confirms nothing", group(func(n *node) { n.Until = "odd" }), at + ".until", `there is no function "odd"`},
	})
}

func TestForEachIsOnlyForSomeNodes(t *testing.T) {
	const message = "is for check, checks and customer_input"
	for id, want := range map[verification.NodeID]string{"consent": message, "risk": message, "review": message, "done": message} {
		d := flows.Ladder()
		flows.Edit(id, func(n *workflow.Node) { n.ForEach = "steps.details.data.owners" })(&d)
		found := problemsOf(t, d)
		if len(found) == 0 || found[0] != (verification.FieldError{Name: "nodes." + string(id) + ".for_each", Message: want}) {
			t.Errorf("for_each on %s: %+v, want %s", id, found, want)
		}
	}
}

// TestLoopsNeedAStepThatIsNotLeftOut holds that a customer step that a run may pass without waiting ends no loop.
func TestEachElementHasASignalOfItsOwn(t *testing.T) {
	form := workflow.Node{Type: workflow.NodeCustomerInput}
	for step, want := range map[verification.NodeID]string{
		"owners": "owners_submitted", "owners[1]": "owners_1_submitted", "owners[12]": "owners_12_submitted",
	} {
		if got := form.SignalName(step); got != want {
			t.Errorf("%s waits for %s, want %s", step, got, want)
		}
	}
	form.Signal = "owner_details"
	for step, want := range map[verification.NodeID]string{"owners": "owner_details", "owners[1]": "owner_details_1", "owners[64]": "owner_details_64"} {
		if got := form.SignalName(step); got != want {
			t.Errorf("%s waits for %s, want %s", step, got, want)
		}
	}
}

func TestNoOtherStepHasTheSignalOfAnElement(t *testing.T) {
	form := func(each, signal string) workflow.Node {
		return workflow.Node{
			Type: workflow.NodeCustomerInput, ForEach: each, Signal: signal, Fields: workflow.InputFields{{Name: "a", Type: workflow.FieldText}},
		}
	}
	consent := workflow.Node{Type: workflow.NodeConsent, Text: "May we?", OnDeclined: workflow.TargetNext}
	for _, c := range []struct {
		name  string
		nodes flows.Nodes
		want  []string
	}{
		{"the name of a form", flows.Nodes{"owners": form("input.list", ""), "owners_2": form("", "")}, []string{
			"nodes.owners_2.signal: owners_2_submitted is the signal of owners[2]: give this step another signal",
		}},
		{"the name of a consent", flows.Nodes{"owners": form("input.list", ""), "owners_64": consent}, []string{
			"nodes.owners_64.signal: owners_64_submitted is the signal of owners[64]: give this step another signal",
		}},
		{"the signal of a form", flows.Nodes{"a": form("", "owners_1_submitted"), "owners": form("input.list", "")}, []string{
			"nodes.a.signal: owners_1_submitted is the signal of owners[1]: give this step another signal",
		}},
		{"two lists with one signal", flows.Nodes{"a": form("input.list", "owner"), "b": form("input.list", "owner")}, []string{
			"nodes.b.signal: owner_1 is the signal of a[1]: give this step another signal",
		}},
		{"more elements than a node may have", flows.Nodes{"owners": form("input.list", ""), "owners_65": form("", "")}, nil},
		{"no list", flows.Nodes{"owners": form("", ""), "owners_2": form("", "")}, nil},
		{"a signal of its own", flows.Nodes{"owners": form("input.list", ""), "owners_2": form("", "second")}, nil},
	} {
		names := slices.Sorted(maps.Keys(c.nodes))
		for i, name := range names {
			n := c.nodes[name]
			n.Next = append(names, "done")[i+1]
			c.nodes[name] = n
		}
		c.nodes["done"] = flows.EndNode()
		d := flows.Define(names[0], c.nodes)
		for _, stored := range []bool{false, true} {
			v := workflow.Version{Definition: d}
			if stored {
				v.Hash = d.VersionHash()
			}
			p, err := workflow.Compile(t.Context(), flows.WorkflowID, v, flows.NewLanguage(), nil, nil)
			got := map[bool][]verification.FieldError{true: p.Warnings()}[stored]
			if err != nil {
				got = flows.FieldsOf(t, err)
			}
			if stored && err != nil {
				t.Errorf("%s: a version that is stored is refused: %v", c.name, err)
			}
			var texts []string
			for _, f := range got {
				texts = append(texts, f.Name+": "+f.Message)
			}
			if !slices.Equal(texts, c.want) {
				t.Errorf("%s, stored: %t: %q, want %q", c.name, stored, texts, c.want)
			}
		}
	}
}

func TestLoopsNeedAStepThatIsNotLeftOut(t *testing.T) {
	for name, change := range map[string]func(*workflow.Node){
		"when":     func(n *workflow.Node) { n.When = "pan failed" },
		"for_each": func(n *workflow.Node) { n.ForEach = "steps.details.data.owners" },
	} {
		d := flows.Loop()
		form := d.Start
		if found := problemsOf(t, d); found != nil {
			t.Fatalf("the loop itself: %+v", found)
		}
		flows.Edit(form, change)(&d)
		found := problemsOf(t, d)
		if !strings.Contains(fmt.Sprint(found), "a loop must have a customer or review step on it") {
			t.Errorf("with %s: %+v, want a loop without a step that waits", name, found)
		}
	}
}

// TestARoundIsNoLoop holds that a branch may ask again for a step that has a condition: in a round the run always waits there.
func TestARoundIsNoLoop(t *testing.T) {
	d := flows.Company()
	flows.Edit("details", func(n *workflow.Node) { n.When = "review wanted" })(&d)
	flows.Edit("homes", func(n *workflow.Node) { n.When = "review wanted" })(&d)
	if found := problemsOf(t, d); found != nil {
		t.Errorf("problems: %+v, want none", found)
	}
}

func TestMembersAreChecksOfAWorkflow(t *testing.T) {
	want := []workflow.CheckInfo{{Key: "pan.tax", Label: "PAN: Tax office"}, {Key: "bureau", Label: "PAN: bureau"}, {Key: "face", Label: "Face match"}}
	d := grouped()
	flows.Edit("pan", func(n *workflow.Node) { n.Members[0].Label, n.Members[1].Key = "Tax office", "bureau" })(&d)
	if diff := cmp.Diff(want, d.Checks()); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

// pathLanguage is a language whose texts are the paths that they read.
type pathLanguage struct {
	flows.Language
	seen map[string][]workflow.Declarations
}

type paths []string

func (p paths) Holds(workflow.Scope) (bool, map[string]any, error) { return false, nil, nil }
func (p paths) Render(workflow.Scope) (map[string]any, error)      { return nil, nil }
func (p paths) ReadPaths() []string                                { return p }
func (p paths) StepsRead(string) (steps []verification.NodeID)     { return nil }

func (l pathLanguage) Condition(text string, d workflow.Declarations) (workflow.Condition, error) {
	l.seen[text] = append(l.seen[text], d)
	if d.Member != nil && strings.Contains(text, "member.data.score") && d.Member.Data.String() == `{"lacks":"score"}` {
		return nil, &verification.TextError{Message: "undefined field 'score'", Character: 13}
	}
	return paths(strings.Fields(text)), nil
}

func (l pathLanguage) Template(object verification.Data, d workflow.Declarations) (workflow.Template, error) {
	text := fmt.Sprint(object.Map()["of"])
	l.seen[text] = append(l.seen[text], d)
	return paths(strings.Fields(text)), nil
}

func (pathLanguage) Schema(verification.Data) (workflow.Schema, error) { return nil, nil }

// compiled returns the problems and the warnings of a definition whose texts are paths.
func compiledPaths(t *testing.T, d workflow.Definition, described map[string]verification.ProviderDescription) (all []string, seen map[string][]workflow.Declarations) {
	t.Helper()
	l := pathLanguage{flows.NewLanguage(), map[string][]workflow.Declarations{}}
	p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, l, nil, described)
	found := p.Warnings()
	if err != nil {
		found = append(flows.FieldsOf(t, err), found...)
	}
	for _, f := range found {
		all = append(all, f.Name+": "+f.Message)
	}
	return all, l.seen
}

func TestAMemberDoesNotReadItsOwnGroup(t *testing.T) {
	const message = ", and a member cannot read its own group: make the check that it needs a node before pan, or test member in until"
	for _, c := range []struct {
		name   string
		change func(n *workflow.Node)
		want   []string
	}{
		{"other steps", func(n *workflow.Node) {
			n.Until, n.Members[0].When = "member.passed", "steps.details.data.a input.b"
			n.Members[1].With = verification.Data(`{"of":"steps.details.data.a"}`)
		}, nil},
		{"when", func(n *workflow.Node) { n.Members[0].When = "input.a steps.pan.members.bureau.passed" }, []string{
			"nodes.pan.members.tax.when: reads steps.pan.members.bureau.passed" + message,
		}},
		{"with", func(n *workflow.Node) { n.Members[1].With = verification.Data(`{"of":"steps.pan.members.tax.data.a"}`) }, []string{
			"nodes.pan.members.bureau.with: reads steps.pan.members.tax.data.a" + message,
		}},
		{"until", func(n *workflow.Node) { n.Until = "member.passed steps.pan.passed" }, []string{"nodes.pan.until: reads steps.pan.passed" + message}},
		{"the condition of the group itself, in a loop", func(n *workflow.Node) { n.When = "steps.pan.passed" }, nil},
	} {
		d := grouped()
		flows.Edit("pan", c.change)(&d)
		got, _ := compiledPaths(t, d, nil)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestMembersAreCheckedAgainstTheirProviders(t *testing.T) {
	d := grouped()
	flows.Edit("pan", func(n *workflow.Node) {
		n.Need, n.Until = 1, "member.data.score"
		n.Members[0].When, n.Members[1].With = "input.a", verification.Data(`{"of":"input.b"}`)
	})(&d)
	described := map[string]verification.ProviderDescription{
		"registry": {With: verification.Data(`{"with":1}`), Data: verification.Data(`{"lacks":"score"}`)},
		"backup":   {With: verification.Data(`{"with":2}`), Data: verification.Data(`{"data":2}`)},
	}
	got, seen := compiledPaths(t, d, described)
	// The fallback of the bureau has the field, but its provider has not.
	if diff := cmp.Diff([]string{"nodes.pan.until: undefined field 'score'"}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	type declared struct {
		with, tax, bureau string
	}
	var all []declared
	for _, d := range seen["input.b"] {
		members := d.Steps["pan"].Members
		all = append(all, declared{asText(d.With), asText(members["tax"].Data), asText(members["bureau"].Data)})
	}
	want := []declared{
		{"null", "null", "null"},
		{`{"with":1}`, `{"lacks":"score"}`, `{"lacks":"score"}`},
		{`{"with":2}`, `{"lacks":"score"}`, `{"data":2}`},
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(declared{})); diff != "" {
		t.Errorf("declarations (-want +got):\n%s", diff)
	}
	described["other"] = verification.ProviderDescription{Data: verification.Data(`{"data":3}`)}
	flows.Edit("pan", func(n *workflow.Node) { n.Members[0].Provider = "other" })(&d)
	got, _ = compiledPaths(t, d, described)
	if diff := cmp.Diff([]string{"nodes.pan.until: undefined field 'score' (of the member bureau)"}, got); diff != "" {
		t.Errorf("problems of one member (-want +got):\n%s", diff)
	}
}

func TestTheElementsOfAListHaveItsSchema(t *testing.T) {
	company := verification.Data(`{"properties":{"owners":{"type":"array","items":{"title":"Owner"}},"tree":{"type":"array","items":{"$ref":"#/$defs/t"}}}}`)
	for text, want := range map[string]string{
		"steps.company.data.owners":                                        `{"title":"Owner"}`,
		"steps.company.?data.?owners.orValue([])":                          `{"title":"Owner"}`,
		"steps.company.?data.?owners.orValue([]).filter(o, (o.a + 1) > 2)": `{"title":"Owner"}`,
		"steps.company.data.owners.filter(o, o.a).map(o, o.b)":             "null",
		"steps.company.data.owners.filter(o, o.a == ')')":                  "null",
		"steps.company.data.owners.map(o, o.b)":                            "null",
		"steps.company.data.owners[0].list":                                "null",
		"steps.company.data.tree":                                          "null",
		"steps.company.data.name":                                          "null",
		"steps.lost.data.owners":                                           "null",
		"input.people":                                                     `{"title":"Person"}`,
	} {
		check := flows.CheckNode("Owner", "done")
		check.ForEach, check.With = text, verification.Data(`{"of":"item"}`)
		company2 := flows.CheckNode("Company", "owners")
		company2.Provider = "company"
		d := flows.Define("company", flows.Nodes{"company": company2, "lost": flows.CheckNode("Lost", "owners"), "owners": check, "done": flows.EndNode()})
		d.InputSchema = verification.Data(`{"properties":{"people":{"type":"array","items":{"title":"Person"}}}}`)
		_, seen := compiledPaths(t, d, map[string]verification.ProviderDescription{"company": {Data: company}})
		all := seen["item"]
		if len(all) == 0 {
			t.Fatalf("%s: the with was not compiled", text)
		}
		for i, d := range all {
			if got := asText(d.Item); !d.Each || got != want && (i > 0 || want == `{"title":"Person"}`) {
				t.Errorf("%s: elements %s in declarations %d, want %s", text, got, i, want)
			}
		}
	}
}

func TestAScreeningInAGroupIsRead(t *testing.T) {
	approved := workflow.Node{Type: workflow.NodeEnd, Outcome: "approved"}
	for _, c := range []struct {
		name        string
		change      func(n *workflow.Node)
		when, where string // of the branch that follows, and of the review
		want        string
	}{
		{"nothing reads it", func(*workflow.Node) {}, "input.a", "", "the screening pan.lists leads here whatever it finds: test steps.pan.clear in a branch, or add a review step"},
		{"a branch", func(*workflow.Node) {}, "steps.pan.members.lists.data.analysis_ok", "", ""},
		{"a branch on the other member", func(*workflow.Node) {}, "steps.pan.members.tax.data.analysis_ok", "", "the screening pan.lists leads here whatever it finds: test steps.pan.clear in a branch, or add a review step"},
		{"until", func(n *workflow.Node) { n.Until = "member.data.analysis_ok" }, "input.a", "", ""},
		{"each element, and nothing reads it", func(n *workflow.Node) { n.ForEach = "input.people" }, "input.a", "", "the screening pan.lists leads here whatever it finds: test steps.pan.clear in a branch, or add a review step"},
		{"each element", func(n *workflow.Node) { n.ForEach = "input.people" }, "steps.pan.items", "", ""},
	} {
		group := workflow.Node{
			Type: workflow.NodeChecks, Next: "b", OnNotMet: "refused",
			Members: workflow.Members{{Name: "tax", Provider: "registry"}, {Name: "lists", Provider: "list"}},
		}
		c.change(&group)
		d := flows.Define("pan", flows.Nodes{
			"pan": group, "b": flows.BranchNode(c.when, "review", "done"), "review": flows.ReviewNode("Review", "refused"), "done": approved,
			"refused": {Type: workflow.NodeEnd},
		})
		got, _ := compiledPaths(t, d, map[string]verification.ProviderDescription{"list": {Rescreens: true}})
		var want []string
		if c.want != "" {
			want = []string{"nodes.done.outcome: " + c.want}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestAValueOfAnElementIsTheCustomers holds that item is the customer's word if the list is.
func TestAValueOfAnElementIsTheCustomers(t *testing.T) {
	described := map[string]verification.ProviderDescription{"registry": {With: verification.Data(`{"x-vouched":{"fields":"names","unless":"unvouched"}}`)}}
	const message = "nodes.pan.with.of: is what the customer says in the step details, and no source vouches for it: " +
		"take it from a check or from the input of the run, remove it from names, or set unvouched to true"
	for list, want := range map[string][]string{"steps.details.data.owners": {message}, "input.owners": nil} {
		d := flows.Ladder()
		flows.Edit("pan", func(n *workflow.Node) {
			n.ForEach, n.Fallback, n.With = list, "", verification.Data(`{"names":["of"],"of":"${item.name}"}`)
		})(&d)
		got, _ := compiledPaths(t, d, described)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", list, diff)
		}
	}
}

func TestAListThatMayBeTooLongIsNoted(t *testing.T) {
	members := func(n int) (all workflow.Members) {
		for i := range n {
			all = append(all, workflow.Member{Name: fmt.Sprintf("m%d", i), Provider: "registry"})
		}
		return all
	}
	limit := func(n float64) *float64 { return &n }
	for _, c := range []struct {
		name, list string
		members    int
		rows       *float64
		want       []string
	}{
		{"a form with the default", "steps.details.data.owners", 4, nil, nil},
		{"a form with too many", "steps.details.data.owners", 5, nil, []string{
			"nodes.each.for_each: the list may have 64 elements, and the node at most 51, because 5 members of 64 elements are more than 256 checks: set max: 51 at the field",
		}},
		{"a form with a maximum", "steps.details.data.owners", 16, limit(16), nil},
		{"a form that is filtered", "steps.details.data.owners.filter(o, o.a)", 16, nil, nil},
		{"an input", "input.owners", 1, nil, []string{"nodes.each.for_each: the list may have 100 elements, and the node at most 64: a longer list fails the step"}},
		{"an input without a maximum", "input.others", 16, nil, nil},
	} {
		d := flows.Define("details", flows.Nodes{
			"details": {Type: workflow.NodeCustomerInput, Next: "each", Fields: workflow.InputFields{{
				Name: "owners", Type: workflow.FieldGroup, Max: c.rows, Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}},
			}}},
			"each": {Type: workflow.NodeChecks, ForEach: c.list, Members: members(c.members), Next: "done"}, "done": flows.EndNode(),
		})
		d.InputSchema = verification.Data(`{"properties":{"owners":{"type":"array","maxItems":100},"others":{"type":"array"}}}`)
		got, _ := compiledPaths(t, d, nil)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAGroupThatMayBeSkippedIsNoted(t *testing.T) {
	for _, c := range []struct {
		name  string
		whens []string
		want  bool
	}{
		{"one value", []string{"input.country == 'IN'", "input.country == 'IN'"}, true},
		{"every value of an enum", []string{"input.country == 'IN'", "input.country == 'GB'"}, false},
		{"a condition and its opposite", []string{"input.amount > 5", "!(input.amount > 5)"}, false},
		{"what is not understood", []string{"input.name.startsWith('A')", "size(input.name) > 3"}, true},
		{"one without a condition", []string{"input.country == 'IN'", ""}, false},
	} {
		n := workflow.Node{Type: workflow.NodeChecks, Label: "Address", Next: "done"}
		for i, when := range c.whens {
			n.Members = append(n.Members, workflow.Member{Name: fmt.Sprintf("m%d", i), Label: fmt.Sprintf("M%d", i), When: when, Provider: "sandbox"})
		}
		d := flows.Define("address", flows.Nodes{"address": n, "done": flows.EndNode()})
		d.InputSchema = verification.Data(`{"type":"object","required":["country","amount","name"],"properties":{
			"country":{"type":"string","enum":["IN","GB"]},"amount":{"type":"integer"},"name":{"type":"string","maxLength":20}}}`)
		p, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, expression.New(), nil, nil)
		if err != nil {
			t.Fatal(c.name, err)
		}
		var got []string
		for _, f := range p.Warnings() {
			if f.Name == "nodes.address.members" {
				got = append(got, f.Message)
			}
		}
		if (len(got) == 1) != c.want || len(got) > 1 {
			t.Errorf("%s: the warnings are %q, want one: %t", c.name, got, c.want)
		}
	}
}
