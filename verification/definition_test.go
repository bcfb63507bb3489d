package verification_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestVersionHashNamesTheContent(t *testing.T) {
	no := false
	base := ladder().VersionHash()
	if len(base) != 64 || base != ladder().VersionHash() {
		t.Fatalf("VersionHash = %s, then %s", base, ladder().VersionHash())
	}
	for _, c := range []struct {
		name   string
		change func(*verification.Definition)
		same   bool
	}{
		{"publish", func(d *verification.Definition) { d.Publish = &no }, true},
		{"retirement", func(d *verification.Definition) { d.Retired = true }, true},
		{"webhook", func(d *verification.Definition) { d.LifecycleWebhookURL = "https://app.example/hooks" }, true},
		{"name", func(d *verification.Definition) { d.Name = "Other" }, false},
		{"id", func(d *verification.Definition) { d.ID = workflowID }, true},
		{"limits", func(d *verification.Definition) { d.RunTTLSeconds++ }, false},
		{"input schema", func(d *verification.Definition) { d.InputSchema = verification.Data(`{"type":"object"}`) }, false},
		{"a node", func(d *verification.Definition) {
			d.Nodes["done"] = verification.Node{Type: verification.NodeEnd, Label: "End"}
		}, false},
		{"the order of fields", func(d *verification.Definition) {
			n := d.Nodes["details"]
			n.Fields = verification.InputFields{n.Fields[1], n.Fields[0]}
			d.Nodes["details"] = n
		}, false},
		{"data that is not JSON", func(d *verification.Definition) { d.InputSchema = verification.Data(`{`) }, false},
	} {
		d := ladder()
		c.change(&d)
		if got := d.VersionHash(); (got == base) != c.same || len(got) != 64 {
			t.Errorf("with another %s the hash is %s, want the same: %v", c.name, got, c.same)
		}
	}
}

func TestVersionHashSurvivesJSON(t *testing.T) {
	for _, d := range []verification.Definition{deskFlow(), ladder(), loop(), refusal()} {
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back verification.Definition
		if err := json.Unmarshal(raw, &back); err != nil || back.VersionHash() != d.VersionHash() {
			t.Errorf("%s came back as %s, %v", d.VersionHash(), back.VersionHash(), err)
		}
		if diff := cmp.Diff(d, back); diff != "" {
			t.Errorf("the definition changed in JSON (-want +got):\n%s", diff)
		}
	}
}

func TestDerivedWorkflowIDsStayWhatTheyAre(t *testing.T) {
	got := verification.DeriveWorkflowID(tenantID, "onboarding")
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
	}{{tenantID, "onboardin"}, {tenantID[:35] + "b", "onboarding"}, {"", string(tenantID) + "onboarding"}, {tenantID, ""}} {
		id := verification.DeriveWorkflowID(c.tenant, c.name)
		if others[id] {
			t.Errorf("%q of %q has the id of another", c.name, c.tenant)
		}
		others[id] = true
	}
}

func TestStepsListTheChecksBreadthFirst(t *testing.T) {
	label := func(l string) verification.Node {
		return verification.Node{Type: verification.NodeCheck, Label: l, Provider: "p"}
	}
	check := func(l, key string, next, failed, unavailable verification.NodeID) verification.Node {
		n := label(l)
		n.Key, n.Next, n.OnFailed, n.OnUnavailable = key, next, failed, unavailable
		return n
	}
	for _, c := range []struct {
		name string
		d    verification.Definition
		want []verification.CheckInfo
	}{
		{"none", define("done", nodes{"done": endNode()}), []verification.CheckInfo{}},
		{"no nodes at all", verification.Definition{Start: "lost"}, []verification.CheckInfo{}},
		{"one entry a key", loop(), []verification.CheckInfo{{Key: "pan_verification", Label: "PAN"}}},
		{"only checks", ladder(), []verification.CheckInfo{{Key: "pan_verification", Label: "PAN"}, {Key: "face", Label: "Face match"}}},
		{
			"label and key by default the node's name", define("pan", nodes{"pan": check("", "", "done", "", ""), "done": endNode()}),
			[]verification.CheckInfo{{Key: "pan", Label: "pan"}},
		},
		{"near before far, next before the routes on failure", define("a", nodes{
			"a": check("A", "", "b", "c", verification.TargetNext), "b": check("B", "", "d", verification.TargetFail, ""),
			"c": check("C", "", "d", "", ""), "d": check("D", "", "done", "", ""), "done": endNode(),
		}), []verification.CheckInfo{{Key: "a", Label: "A"}, {Key: "b", Label: "B"}, {Key: "c", Label: "C"}, {Key: "d", Label: "D"}}},
	} {
		if diff := cmp.Diff(c.want, c.d.Checks()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestTargetsAreInTheOrderOfTheDefinition(t *testing.T) {
	n := verification.Node{
		Rules: []verification.Rule{{Next: "rule1"}, {Next: "rule2"}}, Else: "else", Next: "next_one", OnDeclined: "declined",
		OnFailed: verification.TargetFail, OnUnavailable: verification.TargetNext, OnReject: "rejected",
	}
	for kind, want := range map[verification.NodeType][]verification.NodeID{
		verification.NodeConsent: {"next_one", "declined"}, verification.NodeCustomerInput: {"next_one"},
		verification.NodeCheck: {"next_one", "next_one"}, verification.NodeBranch: {"rule1", "rule2", "else"},
		verification.NodeReview: {"next_one", "rejected"}, verification.NodeEnd: nil,
	} {
		n.Type = kind
		if diff := cmp.Diff(want, n.Targets()); diff != "" {
			t.Errorf("targets of %s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestNodesHaveDefaults(t *testing.T) {
	n := verification.Node{}
	if n.Timeout() != 30*time.Second || n.MaxDispatches() != 4 || n.PollInterval() != 200*time.Millisecond || n.PollTimeout() != 24*time.Hour {
		t.Errorf("defaults: %v, %d, %v, %v", n.Timeout(), n.MaxDispatches(), n.PollInterval(), n.PollTimeout())
	}
	n = verification.Node{Retry: &verification.Retry{}, Poll: &verification.Poll{}}
	if n.MaxDispatches() != 4 || n.PollInterval() != 200*time.Millisecond || n.PollTimeout() != 24*time.Hour || n.Backoff(1) != time.Second {
		t.Errorf("defaults of empty groups: %d, %v, %v, %v", n.MaxDispatches(), n.PollInterval(), n.PollTimeout(), n.Backoff(1))
	}
	n = verification.Node{
		TimeoutSeconds: 0.5, Retry: &verification.Retry{MaxDispatches: 7}, Poll: &verification.Poll{IntervalSeconds: 2, TimeoutSeconds: 3},
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
		if got := (verification.Definition{Publish: c.publish}).Published(); got != c.want {
			t.Errorf("Published = %v, want %v", got, c.want)
		}
	}
	for name, want := range map[string]bool{"desk": true, "loop": true, "single": false} {
		d := map[string]verification.Definition{"desk": deskFlow(), "loop": loop(), "single": single(nil)}[name]
		if got := d.Interactive(); got != want {
			t.Errorf("%s.Interactive = %v, want %v", name, got, want)
		}
	}
}

func TestANodeMayHaveTextsInSeveralLanguages(t *testing.T) {
	const raw = `{"type":"consent","next":"done","on_declined":"done","label":{"hi":"सहमति","mr":"संमती"},"text":{"en":"We check.","hi":"हम जाँचते हैं।"}}`
	var n verification.Node
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
	var same verification.Node
	if err := json.Unmarshal(again, &same); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(n, same); diff != "" {
		t.Errorf("the node after JSON (-want +got):\n%s", diff)
	}
	bad := edit("consent", func(n *verification.Node) {
		n.TextIn = verification.Translations{"english-language": "x", "en-": "x", "h1": "x", "hi": "", "muchlonger": "x"}
		n.LabelIn = verification.Translations{}
	})
	d := deskFlow()
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
