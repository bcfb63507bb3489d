package verification_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestStartKeepsWhatTheRunBeganWith(t *testing.T) {
	j := unstarted(t, deskFlow())
	j.now = time.Date(2026, 3, 2, 17, 30, 0, 1234567, time.FixedZone("IST", 19800))
	j.do(verification.Start{
		ReferenceID: "customer-1", Input: data(t, `{"name":"Asha"}`), RedirectURI: "https://app.example/done", Zone: "Asia/Kolkata",
	})
	at := time.Date(2026, 3, 2, 12, 0, 0, 1234000, time.UTC)
	want := []verification.Event{
		{At: at, Fact: verification.Started{
			Workflow: workflowID, WorkflowName: "Onboarding", Version: 3, VersionHash: deskFlow().VersionHash(),
			ReferenceID: "customer-1", Input: verification.Data(`{"name":"Asha"}`), RedirectURI: "https://app.example/done", Zone: "Asia/Kolkata",
			RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
		}},
		{At: at, Fact: verification.CustomerAwaited{
			Node: "consent", Type: verification.NodeConsent, Label: "Consent", Signal: "consent_submitted",
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
			_, err := unstarted(t, deskFlow()).try(verification.Start{ReferenceID: c.id})
			if c.want == "" {
				if err != nil {
					t.Errorf("Start = %v, want no error", err)
				}
				return
			}
			want := []verification.FieldError{{Name: "reference_id", Message: c.want}}
			if diff := cmp.Diff(want, fieldsOf(t, err)); diff != "" {
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
			d := deskFlow()
			d.InputSchema = verification.Data(c.schema)
			_, err := unstarted(t, d).try(verification.Start{ReferenceID: "x", Input: data(t, c.input)})
			if c.want == nil {
				if err != nil {
					t.Errorf("Start = %v, want no error", err)
				}
				return
			}
			if diff := cmp.Diff(c.want, fieldsOf(t, err)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			_, err = unstarted(t, d).try(verification.Start{Input: data(t, c.input)})
			want := append([]verification.FieldError{{Name: "reference_id", Message: "is required"}}, c.want...)
			if diff := cmp.Diff(want, fieldsOf(t, err)); diff != "" {
				t.Errorf("fields with a reference missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStartLeadsToTheFirstStep(t *testing.T) {
	for _, c := range []struct {
		name string
		d    verification.Definition
		want string
	}{
		{"customer", deskFlow(), "started, customer_awaited"},
		{"check", single(nil), "started, dispatched"},
		{"branch", define("gate", nodes{
			"gate": branchNode("review wanted", "review", "done"), "review": reviewNode("Review", "done"), "done": endNode(),
		}), "started, branch_taken, completed"},
		{"review", define("review", nodes{"review": reviewNode("Review", "done"), "done": endNode()}), "started, review_asked"},
		{"end", define("done", nodes{"done": endNode()}), "started, completed"},
	} {
		if got := kinds(begin(t, c.d, "").history); got != c.want {
			t.Errorf("a workflow that begins with %s: Start = %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBranchTakesTheFirstRuleThatHolds(t *testing.T) {
	d := define("gate", nodes{
		"gate": {Type: verification.NodeBranch, Else: "none", Rules: []verification.Rule{
			{When: "review wanted", Next: "first"}, {When: "again wanted", Next: "second"},
		}},
		"first": endNode(), "second": endNode(), "none": endNode(),
	})
	for _, c := range []struct {
		input string
		want  verification.BranchTaken
	}{
		{wantsTwo, verification.BranchTaken{
			Node: "gate", When: "review wanted", Next: "first", Values: verification.Data(`{"input.review":true}`),
		}},
		{`{"again":true}`, verification.BranchTaken{
			Node: "gate", When: "again wanted", Next: "second",
			Values: verification.Data(`{"input.again":true,"input.review":null}`),
		}},
		{``, verification.BranchTaken{
			Node: "gate", Next: "none", Values: verification.Data(`{"input.again":null,"input.review":null}`),
		}},
	} {
		j := begin(t, d, c.input)
		if diff := cmp.Diff(c.want, j.history[1].Fact); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", c.input, diff)
		}
		if got := j.history[2].Fact; !cmp.Equal(got, verification.Fact(verification.Completed{Node: c.want.Next})) {
			t.Errorf("with %s the run ends by %+v, want at %s", c.input, got, c.want.Next)
		}
	}
}

func TestBranchContinuesIfItsValuesCannotBeStored(t *testing.T) {
	d := define("gate", nodes{"gate": branchNode("seen too deep", "done", "done"), "done": endNode()})
	j := begin(t, d, "")
	if got, _ := j.history[1].Fact.(verification.BranchTaken); got.Values != nil || got.When != "seen too deep" {
		t.Errorf("BranchTaken = %+v, want the rule without values", got)
	}
	if got := j.status(); got != verification.StatusCompleted {
		t.Errorf("status = %s, want completed", got)
	}
}

// A restored version is not validated again, so Decide may get a damaged one. It ends
// the run and must not panic.
func TestDamagedVersionsEndTheRun(t *testing.T) {
	for _, c := range []struct {
		name, cause string
		nodes       nodes
	}{
		{"a missing node", "the workflow has no such node", nodes{"gate": branchNode("review wanted", "lost", "lost")}},
		{"an unknown type", `the node has the unknown type "dance"`, nodes{"gate": {Type: "dance"}}},
		{"a loop of branches", "the workflow does not reach a step", nodes{"gate": branchNode("review wanted", "gate", "gate")}},
		{"a condition that fails", "rules[0].when: the value is not there", nodes{"gate": branchNode("breaks", "gate", "gate")}},
		{"an empty condition", "the condition was not compiled", nodes{"gate": branchNode("", "gate", "gate")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := verification.Restore(workflowID, verification.Version{Definition: define("gate", c.nodes)}, newLanguage())
			if err != nil {
				t.Fatal(err)
			}
			j := &journey{t: t, program: p, run: verification.Run{ID: runID}, now: noon()}
			j.do(verification.Start{ReferenceID: "customer-1"})
			failed, ok := j.history[len(j.history)-1].Fact.(verification.Failed)
			if !ok || failed.Cause != c.cause || failed.Error.Code != verification.CodeInternalError || failed.Error.Check != "" {
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
