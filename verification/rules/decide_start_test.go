package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestStartKeepsWhatTheRunBeganWith(t *testing.T) {
	j := unstarted(t, flows.DeskFlow())
	j.now = time.Date(2026, 3, 2, 17, 30, 0, 1234567, time.FixedZone("IST", 19800))
	j.do(rules.Start{
		ReferenceID: "customer-1", Input: flows.Data(t, `{"name":"Asha"}`), RedirectURI: "https://app.example/done", Zone: "Asia/Kolkata",
	})
	at := time.Date(2026, 3, 2, 12, 0, 0, 1234000, time.UTC)
	want := []rules.Event{
		{At: at, Fact: rules.Started{
			Workflow: flows.WorkflowID, WorkflowName: "Onboarding", Version: 3, VersionHash: flows.DeskFlow().VersionHash(),
			ReferenceID: "customer-1", Input: verification.Data(`{"name":"Asha"}`), RedirectURI: "https://app.example/done", Zone: "Asia/Kolkata",
			RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
		}},
		{At: at, Fact: rules.CustomerAwaited{
			Node: "consent", Type: workflow.NodeConsent, Label: "Consent", Signal: "consent_submitted",
		}},
	}
	if diff := cmp.Diff(want, j.history); diff != "" {
		t.Errorf("Decide(Start) (-want +got):\n%s", diff)
	}
	if got := j.history[0].At; got.Location() != time.UTC || got.Nanosecond() != 1234000 {
		t.Errorf("the event is of %v, want UTC to the microsecond", got)
	}
}

func TestStartRefusesReferenceIDsOutOfBounds(t *testing.T) {
	long, control := "must be at most 255 characters", "must not contain control characters"
	for _, c := range []struct{ name, id, want string }{
		{"none", "", "is required"},
		{"one character", "x", ""},
		{"255 characters of two bytes", strings.Repeat("ä", 255), ""},
		{"256 characters", strings.Repeat("x", 256), long},
		{"a space and an accent", "Zoë 1", ""},
		{"a line break", "a\nb", control},
		{"NUL", "a\x00", control},
		{"the last C0 control", "a\x1f", control},
		{"delete", "a\x7f", control},
		{"the last C1 control", "a\u009f", control},
		{"the character after it", "a\u00a0", ""},
		{"broken UTF-8", "a\xff", control},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := unstarted(t, flows.DeskFlow()).try(rules.Start{ReferenceID: c.id})
			if c.want == "" {
				if err != nil {
					t.Errorf("Start = %v, want no error", err)
				}
				return
			}
			want := []verification.FieldError{{Name: "reference_id", Message: c.want}}
			if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStartReportsEveryProblemOfItsInput(t *testing.T) {
	for _, c := range []struct {
		name, schema, input string
		want                []verification.FieldError
	}{
		{"right", `{"required":["name"]}`, `{"name":"Asha"}`, nil},
		{"a field is missing", `{"required":["name"]}`, `{"other":1}`, []verification.FieldError{
			{Name: "input.name", Message: "is required"},
		}},
		{"none", `{"required":["name"]}`, ``, []verification.FieldError{
			{Name: "input.name", Message: "is required"},
		}},
		{"the object itself", `{"type":"object"}`, `{"a":1,"b":2,"c":3,"d":4}`, []verification.FieldError{
			{Name: "input", Message: "has too many fields"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := flows.DeskFlow()
			d.InputSchema = verification.Data(c.schema)
			_, err := unstarted(t, d).try(rules.Start{ReferenceID: "x", Input: flows.Data(t, c.input)})
			if c.want == nil {
				if err != nil {
					t.Errorf("Start = %v, want no error", err)
				}
				return
			}
			if diff := cmp.Diff(c.want, flows.FieldsOf(t, err)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			_, err = unstarted(t, d).try(rules.Start{Input: flows.Data(t, c.input)})
			want := append([]verification.FieldError{{Name: "reference_id", Message: "is required"}}, c.want...)
			if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
				t.Errorf("fields with a reference missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStartLeadsToTheFirstStep(t *testing.T) {
	for _, c := range []struct {
		name string
		d    workflow.Definition
		want string
	}{
		{"customer", flows.DeskFlow(), "started, customer_awaited"},
		{"check", flows.Single(nil), "started, dispatched"},
		{"branch", flows.Define("gate", flows.Nodes{
			"gate": flows.BranchNode("review wanted", "review", "done"), "review": flows.ReviewNode("Review", "done"), "done": flows.EndNode(),
		}), "started, branch_taken, completed"},
		{"review", flows.Define("review", flows.Nodes{"review": flows.ReviewNode("Review", "done"), "done": flows.EndNode()}), "started, review_asked"},
		{"end", flows.Define("done", flows.Nodes{"done": flows.EndNode()}), "started, completed"},
	} {
		if got := flows.Kinds(begin(t, c.d, "").history); got != c.want {
			t.Errorf("a workflow that begins with %s: Start = %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBranchTakesTheFirstRuleThatHolds(t *testing.T) {
	d := flows.Define("gate", flows.Nodes{
		"gate": {Type: workflow.NodeBranch, Else: "none", Rules: []workflow.Rule{
			{When: "review wanted", Next: "first"}, {When: "again wanted", Next: "second"},
		}},
		"first": flows.EndNode(), "second": flows.EndNode(), "none": flows.EndNode(),
	})
	for _, c := range []struct {
		input string
		want  rules.BranchTaken
	}{
		{wantsTwo, rules.BranchTaken{
			Node: "gate", When: "review wanted", Next: "first", Values: verification.Data(`{"input.review":true}`),
		}},
		{`{"again":true}`, rules.BranchTaken{
			Node: "gate", When: "again wanted", Next: "second",
			Values: verification.Data(`{"input.again":true,"input.review":null}`),
		}},
		{``, rules.BranchTaken{
			Node: "gate", Next: "none", Values: verification.Data(`{"input.again":null,"input.review":null}`),
		}},
	} {
		j := begin(t, d, c.input)
		if diff := cmp.Diff(c.want, j.history[1].Fact); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", c.input, diff)
		}
		if got := j.history[2].Fact; !cmp.Equal(got, rules.Fact(rules.Completed{Node: c.want.Next})) {
			t.Errorf("with %s the run ends by %+v, want at %s", c.input, got, c.want.Next)
		}
	}
}

func TestBranchContinuesIfItsValuesCannotBeStored(t *testing.T) {
	d := flows.Define("gate", flows.Nodes{"gate": flows.BranchNode("seen too deep", "done", "done"), "done": flows.EndNode()})
	j := begin(t, d, "")
	if got, _ := j.history[1].Fact.(rules.BranchTaken); got.Values != nil || got.When != "seen too deep" {
		t.Errorf("BranchTaken = %+v, want the rule without values", got)
	}
	if got := j.status(); got != rules.StatusCompleted {
		t.Errorf("status = %s, want completed", got)
	}
}

// A restored version is not validated again, so Decide may get a damaged one. It ends
// the run and must not panic.
func TestDamagedVersionsEndTheRun(t *testing.T) {
	for _, c := range []struct {
		name, cause string
		nodes       flows.Nodes
	}{
		{"a missing node", "the workflow has no such node", flows.Nodes{"gate": flows.BranchNode("review wanted", "lost", "lost")}},
		{"an unknown type", `the node has the unknown type "dance"`, flows.Nodes{"gate": {Type: "dance"}}},
		{"a loop of branches", "the workflow does not reach a step", flows.Nodes{"gate": flows.BranchNode("review wanted", "gate", "gate")}},
		{"a condition that fails", "rules[0].when: the value is not there", flows.Nodes{"gate": flows.BranchNode("breaks", "gate", "gate")}},
		{"an empty condition", "the condition was not compiled", flows.Nodes{"gate": flows.BranchNode("", "gate", "gate")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := workflow.Restore(flows.WorkflowID, workflow.Version{Definition: flows.Define("gate", c.nodes)}, flows.NewLanguage(), nil)
			if err != nil {
				t.Fatal(err)
			}
			j := &journey{t: t, program: p, run: rules.Run{ID: flows.RunID}, now: flows.Noon()}
			j.do(rules.Start{ReferenceID: "customer-1"})
			failed, ok := j.history[len(j.history)-1].Fact.(rules.Failed)
			if !ok || failed.Cause != c.cause || failed.Error.Code != rules.CodeInternalError || failed.Error.Check != "" {
				t.Errorf("the run ends by %+v, want INTERNAL_ERROR because %s", failed, c.cause)
			}
			want := "The workflow could not go on at the node " + string(failed.Node) + "."
			if failed.Error.Message != want {
				t.Errorf("message = %s, want %s", failed.Error.Message, want)
			}
			consistent(t, j)
		})
	}
}
