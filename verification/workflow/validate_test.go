package workflow_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestLadderIsValid(t *testing.T) {
	if problems := problemsOf(t, flows.Ladder()); problems != nil {
		t.Errorf("problems = %+v, want none: the tables below begin with it", problems)
	}
}

func TestEveryProblemOfTheWorkflowItself(t *testing.T) {
	type def = workflow.Definition
	const slug = "must be 1 to 64 lower-case letters, digits, - or _, beginning with a letter or digit"
	const webhook = "must be an absolute http(s) URL without user information or fragment"
	eachProblem(t, []invalid{
		{"no workflow", func(d *def) { d.Workflow = "" }, "workflow", slug},
		{"capital letters", func(d *def) { d.Workflow = "Onboarding" }, "workflow", slug},
		{"begins with a dash", func(d *def) { d.Workflow = "-a" }, "workflow", slug},
		{"begins with an underscore", func(d *def) { d.Workflow = "_a" }, "workflow", slug},
		{"65 characters", func(d *def) { d.Workflow = strings.Repeat("a", 65) }, "workflow", slug},
		{"an id that is no UUID", func(d *def) { d.ID = "7" }, "id", "must be a UUID"},
		{"no name", func(d *def) { d.Name = "" }, "name", "is required"},
		{"a long name", func(d *def) { d.Name = strings.Repeat("ä", 201) }, "name", "must be at most 200 characters"},
		{"NUL in the name", func(d *def) { d.Name = "a\x00" }, "name", "must be valid UTF-8 without a NUL character"},
		{"broken UTF-8 in the name", func(d *def) { d.Name = "a\xff" }, "name", "must be valid UTF-8 without a NUL character"},
		{"a long description", func(d *def) { d.Description = strings.Repeat("x", 20001) }, "description", "must be at most 20000 characters"},
		{"a life below zero", func(d *def) { d.RunTTLSeconds = -1 }, "run_ttl_seconds", "must be 0 to 316224000"},
		{"a life above ten years", func(d *def) { d.RunTTLSeconds = 316224001 }, "run_ttl_seconds", "must be 0 to 316224000"},
		{"idle below zero", func(d *def) { d.AbandonTimeoutSeconds = -1 }, "abandon_timeout_seconds", "must be 0 to 316224000"},
		{"an event that there is not", func(d *def) { d.Notify = []workflow.NoticeEvent{"run.reviewd"} }, "notify[0]", `there is no event "run.reviewd"; did you mean run.reviewed?`},
		{"an event of every run", func(d *def) { d.Notify = []workflow.NoticeEvent{"run.flagged", "run.ended"} }, "notify[1]", `there is no event "run.ended" (supported: run.reviewed, run.flagged, run.review_due_soon, run.asked_again, run.redacted, run.review_needed, run.returned_to_customer)`},
		{"a retention below the minimum", func(d *def) { d.Retention.KeepDays, d.Retention.RedactAfterDays = 1825, 30 }, "retention.redact_after_days", "is 30, below the minimum: keep_days is 1825"},
		{"an event twice", func(d *def) { d.Notify = []workflow.NoticeEvent{"run.flagged", "run.flagged"} }, "notify[1]", "is there twice"},
		{"a webhook that is no URL", func(d *def) { d.LifecycleWebhookURL = "app.example" }, "lifecycle_webhook_url", webhook},
		{"no start", func(d *def) { d.Start = "" }, "start", "is required"},
		{"a start that is not there", func(d *def) { d.Start = "elsewhere" }, "start", `there is no node "elsewhere"`},
		{"a misspelt start", func(d *def) { d.Start = "cosnent" }, "start", `there is no node "cosnent"; did you mean consent?`},
		{"a start with a reserved name", func(d *def) { d.Start = "next" }, "start", `must be a node: next is for on_declined, on_failed and on_unavailable`},
	})
}

func TestDefinitionHasOneToFiveHundredNodes(t *testing.T) {
	const message = "must have 1 to 500 nodes"
	want := []verification.FieldError{{Name: "nodes", Message: message}, {Name: "start", Message: `there is no node "consent"`}}
	if diff := cmp.Diff(want, problemsOf(t, flows.Define("consent", nil))); diff != "" {
		t.Errorf("no nodes (-want +got):\n%s", diff)
	}
	many := flows.Nodes{}
	for i := range 501 {
		many[verification.NodeID(fmt.Sprintf("n%d", i))] = flows.EndNode()
	}
	want = []verification.FieldError{{Name: "nodes", Message: message}}
	if diff := cmp.Diff(want, problemsOf(t, flows.Define("n0", many))); diff != "" {
		t.Errorf("501 nodes (-want +got):\n%s", diff)
	}
}

func TestDefinitionHasAtMostAThousandExpressions(t *testing.T) {
	with := func(count int) workflow.Definition {
		d := flows.Ladder()
		flows.Edit("pan", func(n *workflow.Node) {
			n.With = verification.Data(`{"x":"` + strings.Repeat("${input.a}", count) + `"}`)
		})(&d)
		return d
	}
	others := 0
	for _, n := range flows.Ladder().Nodes {
		others += len(n.Rules)
	}
	for _, f := range problemsOf(t, with(1000-others)) {
		if f.Name == "nodes" {
			t.Errorf("1,000 expressions: %s, want no such problem", f.Message)
		}
	}
	want := []verification.FieldError{{Name: "nodes", Message: "must have at most 1000 conditions and ${...} together"}}
	if diff := cmp.Diff(want, problemsOf(t, with(1001-others))); diff != "" {
		t.Errorf("1,001 expressions (-want +got):\n%s", diff)
	}
}

func TestEveryProblemOfANode(t *testing.T) {
	type node = workflow.Node
	const name = "a node's name must be a lower-case letter followed by letters, digits or _, and not fail or next"
	const key = "must be a lower-case letter followed by letters, digits or _"
	const outcomeName = key + ", at most 64 characters"
	const signal = "must be 1 to 64 lower-case letters, digits, - or _, and not human_review_decision or human_review_resubmit"
	rename := func(to verification.NodeID) func(*workflow.Definition) {
		return func(d *workflow.Definition) {
			d.Nodes[to] = d.Nodes["face"]
			delete(d.Nodes, "face")
			for _, id := range []verification.NodeID{"risk", "review"} {
				flows.Edit(id, func(n *node) {
					if n.Else == "face" {
						n.Else = to
					} else {
						n.Next = to
					}
				})(d)
			}
		}
	}
	rows := []invalid{
		{"a name in capitals", rename("Face"), "nodes.Face", name},
		{"a name that begins with a digit", rename("1face"), "nodes.1face", name},
		{"a name with a dash", rename("face-match"), "nodes.face-match", name},
		{"a name of 65 characters", rename(verification.NodeID(strings.Repeat("f", 65))), "nodes." + strings.Repeat("f", 65), name},
		{"no type", flows.Edit("face", func(n *node) { n.Type = "" }), "nodes.face.type", "is required"},
		{
			"a type that is not there", flows.Edit("face", func(n *node) { *n = node{Type: "dance"} }), "nodes.face.type",
			`there is no type "dance" (supported: consent, customer_input, check, checks, branch, review, end)`,
		},
		{"a long label", flows.Edit("face", func(n *node) { n.Label = strings.Repeat("x", 201) }), "nodes.face.label", "must be at most 200 characters"},
		{"no next", flows.Edit("face", func(n *node) { n.Next = "" }), "nodes.face.next", "is required"},
		{"a next that is not there", flows.Edit("face", func(n *node) { n.Next = "end" }), "nodes.face.next", `there is no node "end"`},
		{
			"a next with a reserved name", flows.Edit("face", func(n *node) { n.Next = "fail" }), "nodes.face.next",
			`must be a node: fail is for on_failed and on_unavailable`,
		},
		{"a consent without text", flows.Edit("consent", func(n *node) { n.Text = "" }), "nodes.consent.text", "is required"},
		{"a long text", flows.Edit("details", func(n *node) { n.Text = strings.Repeat("x", 20001) }), "nodes.details.text", "must be at most 20000 characters"},
		{"a signal in capitals", flows.Edit("consent", func(n *node) { n.Signal = "Given" }), "nodes.consent.signal", signal},
		{"the review signal", flows.Edit("details", func(n *node) { n.Signal = "human_review_decision" }), "nodes.details.signal", signal},
		{"on_declined that is not there", flows.Edit("consent", func(n *node) { n.OnDeclined = "end" }), "nodes.consent.on_declined", `there is no node "end"`},
		{
			"no on_declined", flows.Edit("consent", func(n *node) { n.OnDeclined = "" }), "nodes.consent.on_declined",
			"is required: name the node that a declined consent leads to, or next to continue anyway",
		},
		{
			"on_declined that fails the run", flows.Edit("consent", func(n *node) { n.OnDeclined = "fail" }), "nodes.consent.on_declined",
			"must be a node: fail is for on_failed and on_unavailable",
		},
		{
			"on_declined that is misspelt", flows.Edit("consent", func(n *node) { n.OnDeclined = "nxt" }), "nodes.consent.on_declined",
			`there is no node "nxt"; did you mean next?`,
		},
		{"an outcome in capitals", flows.Edit("done", func(n *node) { n.Outcome = "Declined" }), "nodes.done.outcome", outcomeName},
		{"a long outcome", flows.Edit("done", func(n *node) { n.Outcome = strings.Repeat("o", 65) }), "nodes.done.outcome", outcomeName},
		{"a key in capitals", flows.Edit("pan", func(n *node) { n.Key = "PAN" }), "nodes.pan.key", key},
		{"no provider", flows.Edit("pan", func(n *node) { n.Provider = "" }), "nodes.pan.provider", "is required"},
		{"a provider that is not there", flows.Edit("pan", func(n *node) { n.Provider = "sandbax" }), "nodes.pan.provider", `there is no provider "sandbax" (supported: backup, registry)`},
		{"a fallback that is not there", flows.Edit("pan", func(n *node) { n.Fallback = "bakcup" }), "nodes.pan.fallback", `there is no provider "bakcup"; did you mean backup?`},
		{"a fallback to itself", flows.Edit("pan", func(n *node) { n.Fallback = "registry" }), "nodes.pan.fallback", "must differ from the provider"},
		{"a timeout below zero", flows.Edit("pan", func(n *node) { n.TimeoutSeconds = -1 }), "nodes.pan.timeout_seconds", "must be 0 to 600"},
		{"a timeout above ten minutes", flows.Edit("pan", func(n *node) { n.TimeoutSeconds = 600.5 }), "nodes.pan.timeout_seconds", "must be 0 to 600"},
		{"a timeout that is no number", flows.Edit("pan", func(n *node) { n.TimeoutSeconds = math.NaN() }), "nodes.pan.timeout_seconds", "must be 0 to 600"},
		{"101 dispatches", flows.Edit("pan", func(n *node) { n.Retry = &workflow.Retry{MaxDispatches: 101} }), "nodes.pan.retry.max_dispatches", "must be 0 to 100"},
		{
			"a backoff below zero", flows.Edit("pan", func(n *node) { n.Retry = &workflow.Retry{BackoffSeconds: -1} }),
			"nodes.pan.retry.backoff_seconds", "must be 0 to 316224000",
		},
		{
			"a bound of the backoff below zero", flows.Edit("pan", func(n *node) { n.Retry = &workflow.Retry{MaxBackoffSeconds: -1} }),
			"nodes.pan.retry.max_backoff_seconds", "must be 0 to 316224000",
		},
		{
			"an interval without end", flows.Edit("pan", func(n *node) { n.Poll = &workflow.Poll{IntervalSeconds: math.Inf(1)} }),
			"nodes.pan.poll.interval_seconds", "must be 0 to 316224000",
		},
		{
			"a poll timeout below zero", flows.Edit("pan", func(n *node) { n.Poll = &workflow.Poll{TimeoutSeconds: -1} }),
			"nodes.pan.poll.timeout_seconds", "must be 0 to 316224000",
		},
		{"on_failed that is not there", flows.Edit("pan", func(n *node) { n.OnFailed = "end" }), "nodes.pan.on_failed", `there is no node "end"`},
		{"on_unavailable that is not there", flows.Edit("pan", func(n *node) { n.OnUnavailable = "end" }), "nodes.pan.on_unavailable", `there is no node "end"`},
		{"51 rules", flows.Edit("risk", func(n *node) {
			for range 50 {
				n.Rules = append(n.Rules, n.Rules[0])
			}
		}), "nodes.risk.rules", "must have 1 to 50 rules"},
		{"no else", flows.Edit("risk", func(n *node) { n.Else = "" }), "nodes.risk.else", "is required"},
		{"a rule without a condition", flows.Edit("risk", func(n *node) { n.Rules[0].When = "" }), "nodes.risk.rules[0].when", "is required"},
		{"a rule that leads nowhere", flows.Edit("risk", func(n *node) { n.Rules[0].Next = "" }), "nodes.risk.rules[0].next", "is required"},
		{"a rule to what is not there", flows.Edit("risk", func(n *node) { n.Rules[0].Next = "end" }), "nodes.risk.rules[0].next", `there is no node "end"`},
		{"a long reason", flows.Edit("review", func(n *node) { n.Reason = strings.Repeat("x", 20001) }), "nodes.review.reason", "must be at most 20000 characters"},
		{"on_reject that is not there", flows.Edit("review", func(n *node) { n.OnReject = "end" }), "nodes.review.on_reject", `there is no node "end"`},
		{
			"one key with two labels", flows.Edit("face", func(n *node) { n.Key = "pan_verification" }), "nodes.pan.label",
			`the check key "pan_verification" is labelled "Face match" at node face`,
		},
	}
	eachProblem(t, rows)
}

func TestBranchWithoutRulesLeadsToItsElse(t *testing.T) {
	d := flows.Ladder()
	flows.Edit("risk", func(n *workflow.Node) { n.Rules = nil })(&d)
	flows.Edit("consent", func(n *workflow.Node) { n.OnDeclined = "review" })(&d) // so that review can be reached
	want := []verification.FieldError{{Name: "nodes.risk.rules", Message: "must have 1 to 50 rules"}}
	if diff := cmp.Diff(want, problemsOf(t, d)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestFieldsOfAnotherTypeHaveNoEffect(t *testing.T) {
	full := workflow.Node{
		Label: "Label", Next: "done", Signal: "sig", Text: "Text", OnDeclined: "done", Optional: true,
		Fields: workflow.InputFields{{Name: "a", Type: workflow.FieldText}}, Key: "key", Provider: "registry",
		With: verification.Data(`{"number":"${pan}"}`), TimeoutSeconds: 1, Retry: &workflow.Retry{}, Poll: &workflow.Poll{},
		Fallback: "backup", OnFailed: "done", OnUnavailable: "done",
		Rescreen: &workflow.Rescreen{List: "sanctions", Every: "change"},
		Rules:    []workflow.Rule{{When: "pan failed", Next: "done"}}, Else: "done", Reason: "Reason", OnReject: "done", Outcome: "approved",
		Members: workflow.Members{{Name: "tax", Provider: "registry"}}, Order: workflow.OrderOneByOne, Need: 1, Until: "pan failed", OnNotMet: "done",
	}
	for _, kind := range []workflow.NodeType{
		workflow.NodeConsent, workflow.NodeCustomerInput, workflow.NodeCheck, workflow.NodeChecks,
		workflow.NodeBranch, workflow.NodeReview, workflow.NodeEnd,
	} {
		full.Type = kind
		all := flows.Nodes{"start": full, "done": flows.EndNode()}
		if kind == workflow.NodeEnd {
			delete(all, "done")
		}
		if problems := problemsOf(t, flows.Define("start", all)); problems != nil {
			t.Errorf("%s: %+v, want no problem", kind, problems)
		}
	}
}

func TestAllProblemsAreReportedAtOnceSortedByPath(t *testing.T) {
	d := flows.Ladder()
	d.Name, d.RunTTLSeconds, d.InputSchema = "", -1, verification.Data(`{"type":"odd"}`)
	flows.Edit("face", func(n *workflow.Node) { n.Provider, n.TimeoutSeconds = "lost", 601 })(&d)
	flows.Edit("risk", func(n *workflow.Node) { n.Rules[0].When = "odd" })(&d)
	d.Nodes["island"] = flows.CheckNode("Island", "done")
	want := []verification.FieldError{
		{Name: "input_schema", Message: `there is no function "{\"type\":\"odd\"}"`},
		{Name: "name", Message: "is required"},
		{Name: "nodes.face.provider", Message: `there is no provider "lost" (supported: backup, registry)`},
		{Name: "nodes.face.timeout_seconds", Message: "must be 0 to 600"},
		{Name: "nodes.island", Message: "no path leads here from the start"},
		{Name: "nodes.risk.rules[0].when", Message: `there is no function "odd"`},
		{Name: "run_ttl_seconds", Message: "must be 0 to 316224000"},
	}
	if diff := cmp.Diff(want, problemsOf(t, d)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestADefinitionIsAtMostFourMiBOfJSON(t *testing.T) {
	d := flows.DeskFlow()
	d.Description = strings.Repeat("x", workflow.MaxDefinitionBytes)
	want := []verification.FieldError{{Message: "the workflow must be at most 4 MiB as JSON: shorten its texts and options"}}
	if diff := cmp.Diff(want, problemsOf(t, d)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// invalid is one row of the tables of problems: a change of a valid definition,
// and the problem that is then reported, with its path.
type invalid struct {
	name          string
	change        func(d *workflow.Definition)
	path, message string
}

// problemsOf compiles a definition with the providers registry and backup.
func problemsOf(t testing.TB, d workflow.Definition) []verification.FieldError {
	t.Helper()
	_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), []string{"backup", "registry"}, nil)
	if err == nil {
		return nil
	}
	if flows.Outcome(nil, err) != "invalid" || !strings.HasPrefix(err.Error(), "workflow: the definition is not valid: ") {
		t.Errorf("Compile = %v, want an invalid workflow", err)
	}
	return flows.FieldsOf(t, err)
}

// eachProblem tries every row on its own definition.
func eachProblem(t *testing.T, rows []invalid) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d := flows.Ladder()
			row.change(&d)
			want := []verification.FieldError{{Name: row.path, Message: row.message}}
			if diff := cmp.Diff(want, problemsOf(t, d)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
