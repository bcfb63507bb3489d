package workflow_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestVersionHashNamesTheContent(t *testing.T) {
	no := false
	base := flows.Ladder().VersionHash()
	if len(base) != 64 || base != flows.Ladder().VersionHash() {
		t.Fatalf("VersionHash = %s, then %s", base, flows.Ladder().VersionHash())
	}
	for _, c := range []struct {
		name   string
		change func(*workflow.Definition)
		same   bool
	}{
		{"publish", func(d *workflow.Definition) { d.Publish = &no }, true},
		{"retirement", func(d *workflow.Definition) { d.Retired = true }, true},
		{"retention", func(d *workflow.Definition) { d.Retention.KeepDays = 1825 }, true},
		{"webhook", func(d *workflow.Definition) { d.LifecycleWebhookURL = "https://app.example/hooks" }, true},
		{"name", func(d *workflow.Definition) { d.Name = "Other" }, false},
		{"id", func(d *workflow.Definition) { d.ID = flows.WorkflowID }, true},
		{"limits", func(d *workflow.Definition) { d.RunTTLSeconds++ }, false},
		{"input schema", func(d *workflow.Definition) { d.InputSchema = verification.Data(`{"type":"object"}`) }, false},
		{"a node", func(d *workflow.Definition) {
			d.Nodes["done"] = workflow.Node{Type: workflow.NodeEnd, Label: "End"}
		}, false},
		{"four eyes at a review", func(d *workflow.Definition) {
			flows.Edit("review", func(n *workflow.Node) { n.FourEyes = true })(d)
		}, false},
		{"a subject that is a person", func(d *workflow.Definition) { d.Subject = &workflow.SubjectFields{Kind: workflow.FactPerson} }, false},
		{"the order of fields", func(d *workflow.Definition) {
			n := d.Nodes["details"]
			n.Fields = workflow.InputFields{n.Fields[1], n.Fields[0]}
			d.Nodes["details"] = n
		}, false},
		{"data that is not JSON", func(d *workflow.Definition) { d.InputSchema = verification.Data(`{`) }, false},
	} {
		d := flows.Ladder()
		c.change(&d)
		if got := d.VersionHash(); (got == base) != c.same || len(got) != 64 {
			t.Errorf("with another %s the hash is %s, want the same: %v", c.name, got, c.same)
		}
	}
}

func TestVersionHashSurvivesJSON(t *testing.T) {
	for _, d := range []workflow.Definition{flows.DeskFlow(), flows.Ladder(), flows.Loop(), flows.Refusal()} {
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back workflow.Definition
		if err := json.Unmarshal(raw, &back); err != nil || back.VersionHash() != d.VersionHash() {
			t.Errorf("%s came back as %s, %v", d.VersionHash(), back.VersionHash(), err)
		}
		if diff := cmp.Diff(d, back); diff != "" {
			t.Errorf("the definition changed in JSON (-want +got):\n%s", diff)
		}
	}
}

func TestDerivedWorkflowIDsStayWhatTheyAre(t *testing.T) {
	got := workflow.DeriveWorkflowID(flows.TenantID, "onboarding")
	if want := verification.WorkflowID("1937f1d5-173c-850e-8edf-cb76565148d6"); got != want {
		t.Errorf("DeriveWorkflowID = %s, want %s: clients keep these ids", got, want)
	}
	if parsed, err := verification.ParseWorkflowID(string(got)); err != nil || parsed != got || got[14] != '8' {
		t.Errorf("%s is not a version 8 UUID in lower case: %v", got, err)
	}
	others := map[verification.WorkflowID]bool{got: true}
	for _, c := range []struct {
		tenant verification.TenantID
		name   string
	}{{flows.TenantID, "onboardin"}, {flows.TenantID[:35] + "b", "onboarding"}, {"", string(flows.TenantID) + "onboarding"}, {flows.TenantID, ""}} {
		id := workflow.DeriveWorkflowID(c.tenant, c.name)
		if others[id] {
			t.Errorf("%q of %q has the id of another", c.name, c.tenant)
		}
		others[id] = true
	}
}

func TestStepsListTheChecksBreadthFirst(t *testing.T) {
	label := func(l string) workflow.Node {
		return workflow.Node{Type: workflow.NodeCheck, Label: l, Provider: "p"}
	}
	check := func(l, key string, next, failed, unavailable verification.NodeID) workflow.Node {
		n := label(l)
		n.Key, n.Next, n.OnFailed, n.OnUnavailable = key, next, failed, unavailable
		return n
	}
	for _, c := range []struct {
		name string
		d    workflow.Definition
		want []workflow.CheckInfo
	}{
		{"none", flows.Define("done", flows.Nodes{"done": flows.EndNode()}), []workflow.CheckInfo{}},
		{"no nodes at all", workflow.Definition{Start: "lost"}, []workflow.CheckInfo{}},
		{"one entry a key", flows.Loop(), []workflow.CheckInfo{{Key: "pan_verification", Label: "PAN"}}},
		{"only checks", flows.Ladder(), []workflow.CheckInfo{{Key: "pan_verification", Label: "PAN"}, {Key: "face", Label: "Face match"}}},
		{
			"label and key by default the node's name", flows.Define("pan", flows.Nodes{"pan": check("", "", "done", "", ""), "done": flows.EndNode()}),
			[]workflow.CheckInfo{{Key: "pan", Label: "pan"}},
		},
		{"near before far, next before the routes on failure", flows.Define("a", flows.Nodes{
			"a": check("A", "", "b", "c", workflow.TargetNext), "b": check("B", "", "d", workflow.TargetFail, ""),
			"c": check("C", "", "d", "", ""), "d": check("D", "", "done", "", ""), "done": flows.EndNode(),
		}), []workflow.CheckInfo{{Key: "a", Label: "A"}, {Key: "b", Label: "B"}, {Key: "c", Label: "C"}, {Key: "d", Label: "D"}}},
	} {
		if diff := cmp.Diff(c.want, c.d.Checks()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestTargetsAreInTheOrderOfTheDefinition(t *testing.T) {
	n := workflow.Node{
		Rules: []workflow.Rule{{Next: "rule1"}, {Next: "rule2"}}, Else: "else", Next: "next_one", OnDeclined: "declined",
		OnFailed: workflow.TargetFail, OnUnavailable: workflow.TargetNext, OnReject: "rejected",
	}
	for kind, want := range map[workflow.NodeType][]verification.NodeID{
		workflow.NodeConsent: {"next_one", "declined"}, workflow.NodeCustomerInput: {"next_one"},
		workflow.NodeCheck: {"next_one", "next_one"}, workflow.NodeBranch: {"rule1", "rule2", "else"},
		workflow.NodeReview: {"next_one", "rejected"}, workflow.NodeEnd: nil,
	} {
		n.Type = kind
		if diff := cmp.Diff(want, n.Targets()); diff != "" {
			t.Errorf("targets of %s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestNodesHaveDefaults(t *testing.T) {
	n := workflow.Node{}
	if n.Timeout() != 30*time.Second || n.MaxDispatches() != 4 || n.PollInterval() != 200*time.Millisecond || n.PollTimeout() != 24*time.Hour {
		t.Errorf("defaults: %v, %d, %v, %v", n.Timeout(), n.MaxDispatches(), n.PollInterval(), n.PollTimeout())
	}
	n = workflow.Node{Retry: &workflow.Retry{}, Poll: &workflow.Poll{}}
	if n.MaxDispatches() != 4 || n.PollInterval() != 200*time.Millisecond || n.PollTimeout() != 24*time.Hour || n.Backoff(1) != time.Second {
		t.Errorf("defaults of empty groups: %d, %v, %v, %v", n.MaxDispatches(), n.PollInterval(), n.PollTimeout(), n.Backoff(1))
	}
	n = workflow.Node{
		TimeoutSeconds: 0.5, Retry: &workflow.Retry{MaxDispatches: 7}, Poll: &workflow.Poll{IntervalSeconds: 2, TimeoutSeconds: 3},
	}
	if n.Timeout() != time.Second/2 || n.MaxDispatches() != 7 || n.PollInterval() != 2*time.Second || n.PollTimeout() != 3*time.Second {
		t.Errorf("as set: %v, %d, %v, %v", n.Timeout(), n.MaxDispatches(), n.PollInterval(), n.PollTimeout())
	}
}

func TestDefinitionSaysHowItRuns(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		publish *bool
		want    bool
	}{{nil, true}, {&yes, true}, {&no, false}} {
		if got := (workflow.Definition{Publish: c.publish}).Published(); got != c.want {
			t.Errorf("Published = %v, want %v", got, c.want)
		}
	}
	for name, want := range map[string]bool{"desk": true, "loop": true, "single": false} {
		d := map[string]workflow.Definition{"desk": flows.DeskFlow(), "loop": flows.Loop(), "single": flows.Single(nil)}[name]
		if got := d.Interactive(); got != want {
			t.Errorf("%s.Interactive = %v, want %v", name, got, want)
		}
	}
}

func TestANodeMayHaveTextsInSeveralLanguages(t *testing.T) {
	const raw = `{"type":"consent","next":"done","on_declined":"done","label":{"hi":"सहमति","mr":"संमती"},"text":{"en":"We check.","hi":"हम जाँचते हैं।"}}`
	var n workflow.Node
	if err := json.Unmarshal([]byte(raw), &n); err != nil {
		t.Fatal(err)
	}
	if n.Label != "सहमति" || n.Text != "We check." {
		t.Errorf("the default texts are %q and %q, want the first one and the English one", n.Label, n.Text)
	}
	if got := n.TextIn.In("hi", n.Text); got != "हम जाँचते हैं।" {
		t.Errorf("the text in Hindi = %q", got)
	}
	if got := n.TextIn.In("ta", n.Text); got != n.Text {
		t.Errorf("the text in Tamil = %q, want the default", got)
	}
	again, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var same workflow.Node
	if err := json.Unmarshal(again, &same); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(n, same); diff != "" {
		t.Errorf("the node after JSON (-want +got):\n%s", diff)
	}
	bad := flows.Edit("consent", func(n *workflow.Node) {
		n.TextIn = workflow.Translations{"english-language": "x", "en-": "x", "h1": "x", "hi": "", "muchlonger": "x"}
		n.LabelIn = workflow.Translations{}
	})
	d := flows.DeskFlow()
	bad(&d)
	want := []verification.FieldError{
		{Name: "nodes.consent.label", Message: "must have 1 to 50 languages"},
		{Name: "nodes.consent.text.en-", Message: "a language must be a tag such as en or pt-BR"},
		{Name: "nodes.consent.text.h1", Message: "a language must be a tag such as en or pt-BR"},
		{Name: "nodes.consent.text.hi", Message: "is required"},
		{Name: "nodes.consent.text.muchlonger", Message: "a language must be a tag such as en or pt-BR"},
	}
	if diff := cmp.Diff(want, problemsOf(t, d)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
