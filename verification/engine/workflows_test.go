// Tests of workflows whose providers describe themselves.

package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// described is a provider with a description.
type described struct {
	verification.Provider
	description verification.ProviderDescription
}

func (d *described) Describe() verification.ProviderDescription { return d.description }

// describe returns p with the description of a check of a number.
func describe(p verification.Provider) *described {
	return &described{p, verification.ProviderDescription{
		Summary: "Looks up a number.",
		With: verification.Data(`{"type":"object","additionalProperties":false,"required":["number"],
			"properties":{"number":{"type":"string"},"strict":{"type":"boolean"}}}`),
		Data: verification.Data(`{"type":"object","required":["score"],
			"properties":{"score":{"type":"number","title":"Score","x-unit":"%"},"name":{"type":"string"}}}`),
	}}
}

// scored returns a definition with a check of a number and a branch on its score.
func scored(when, with string) workflow.Definition {
	d := chain("pan")
	d.Nodes["pan"] = workflow.Node{
		Type: workflow.NodeCheck, Provider: "registry", With: verification.Data(with), Next: "risk",
	}
	d.Nodes["risk"] = workflow.Node{
		Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: when, Next: "review"}}, Else: "done",
	}
	d.Nodes["review"] = workflow.Node{Type: workflow.NodeReview, Label: "Review", Next: "done"}
	return d
}

func TestADefinitionMustMatchItsProviders(t *testing.T) {
	const good, number = `steps.pan.data.score < 80`, `{"number":"${input.pan}"}`
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Providers["registry"] = describe(p.Providers["script"])
		p.Providers["backup"] = &described{p.Providers["script"], verification.ProviderDescription{
			Data: verification.Data(`{"type":"object","properties":{"score":{"type":"number"}}}`),
		}}
	})
	for _, row := range []struct {
		when, with, fallback string
		want                 []verification.FieldError
	}{
		{when: good, with: number},
		{when: good, with: number, fallback: "backup"},
		{when: `steps.pan.?data.?name.orValue("") == "x"`, with: number},
		{when: `has(steps.pan.data.anything) && steps.pan.data.anything == "x"`, with: number, fallback: "script"}, // which does not describe itself
		{when: `steps.pan.data.name == "x"`, with: number, want: []verification.FieldError{{
			Name: "nodes.risk.rules[0].when", Character: 1,
			Message: "the check pan may pass without steps.pan.data.name: write steps.pan.?data.?name.orValue(...), or test has(steps.pan.data.name) first",
		}}},
		{when: good, with: `{"numbr":"x","strict":"yes"}`, want: []verification.FieldError{
			{Name: "nodes.pan.with.number", Message: "is required"},
			{Name: "nodes.pan.with.numbr", Message: "unknown field; did you mean number?"},
			{Name: "nodes.pan.with.strict", Message: "must be true or false"},
		}},
		{when: good, want: []verification.FieldError{{Name: "nodes.pan.with.number", Message: "is required"}}},
		{when: `steps.pan.data.scroe < 80`, with: number, want: []verification.FieldError{{
			Name: "nodes.risk.rules[0].when", Character: 15,
			Message: "steps.pan.data.scroe: undefined field 'scroe'; did you mean score?",
		}}},
		{when: `steps.pan.data.name == "x"`, with: number, fallback: "backup", want: []verification.FieldError{{
			Name: "nodes.risk.rules[0].when", Character: 15, Message: "steps.pan.data.name: undefined field 'name'",
		}}},
	} {
		d := scored(row.when, row.with)
		d = with(d, "pan", func(n *workflow.Node) { n.Fallback = row.fallback })
		_, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d)
		var refused *verification.Error
		if errors.As(err, &refused) != (row.want != nil) {
			t.Errorf("Apply with %q, %s, %q = %v, want problems %v", row.when, row.with, row.fallback, err, row.want)
			continue
		}
		if row.want != nil {
			if diff := cmp.Diff(row.want, refused.Fields); diff != "" {
				t.Errorf("Apply with %q, %s, %q (-want +got):\n%s", row.when, row.with, row.fallback, diff)
			}
		}
	}
}

func TestAStoredVersionRunsWhateverItsProviderDescribes(t *testing.T) {
	printer := &mock.ReportPrinterMock{
		PrintReportFunc: func(context.Context, verification.TenantID, report.Print) ([]byte, error) { return nil, nil },
	}
	var provider *described
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		provider = describe(p.Providers["script"])
		p.Providers["registry"], p.Printer = provider, printer
	})
	k.Provider.On("pan", enginetest.Pass(map[string]any{"score": 70}))
	w := k.Apply(scored(`steps.pan.data.score + 1 < 80`, `{"number":"${input.pan}"}`))

	// As after a start with another version of the provider.
	other := verification.Data(`{"type":"object","properties":{"points":{"type":"number"}},"additionalProperties":false}`)
	provider.description = verification.ProviderDescription{With: other, Data: other}
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "person-1", Input: verification.Data(`{"pan":"ABCDE1234F"}`)})
	if run.Status != rules.StatusInProgress || run.Decision != rules.DecisionReview {
		t.Fatalf("run = %s, %s, %+v; want a review", run.Status, run.Decision, run.Error)
	}
	k.GiveVerdict(run.ID, rules.DecisionApprove)
	if _, err := k.Engine.PrintReport(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	cards := printer.PrintReportCalls()[0].P.Cards
	if diff := cmp.Diff(workflow.MergeSchemas(other.Map()), cards[0].DataSchema); diff != "" {
		t.Errorf("the schema of the printed card (-want +got):\n%s", diff)
	}
	if cards[1].DataSchema != nil {
		t.Errorf("the review has the schema %v", cards[1].DataSchema)
	}
}

func TestAPrintedFormHasItsLabels(t *testing.T) {
	printer := &mock.ReportPrinterMock{
		PrintReportFunc: func(context.Context, verification.TenantID, report.Print) ([]byte, error) { return nil, nil },
	}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Printer = printer })
	w := k.Apply(workflow.Definition{Workflow: "form", Name: "Form", Start: "details", Nodes: map[verification.NodeID]workflow.Node{
		"details": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
			{Name: "dob", Type: workflow.FieldDate, Label: "Date of birth"},
			{Name: "town", Type: workflow.FieldText, Label: "Town"},
		}},
		"done": {Type: workflow.NodeEnd},
	}})
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"})
	k.Submit(run.ID, "details_submitted", map[string]any{"dob": "1990-02-01", "town": "Pune"})
	if _, err := k.Engine.PrintReport(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	printed := printer.PrintReportCalls()[0].P.Cards[0].DataSchema
	if dob, town := printed.Field("dob").Title(), printed.Field("town").Title(); dob != "Date of birth" || town != "Town" {
		t.Errorf("the printed labels are %q and %q", dob, town)
	}
}

func TestATenantIDThatIsNoUUIDIsInvalid(t *testing.T) {
	k := enginetest.New(t)
	const acme verification.TenantID = "acme"
	w := k.Apply(onboarding())
	_, applied := k.Engine.Apply(t.Context(), acme, onboarding())
	_, started := k.Engine.Start(t.Context(), acme, w.ID, engine.StartRequest{ReferenceID: "person-1"})
	for name, err := range map[string]error{"Apply": applied, "Start": started, "SaveTenant": k.Store.SaveTenant(t.Context(), verification.Tenant{ID: acme})} {
		if !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("%s = %v, want ErrInvalid", name, err)
		}
	}
}

func TestARetiredWorkflowTakesNoRunsAndItsRunsGoOn(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(onboarding())
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"})
	start := func() error {
		_, err := k.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "person-2"})
		return err
	}
	if _, err := k.Engine.Retire(t.Context(), enginetest.Tenant, w.ID, true); err != nil {
		t.Fatal(err)
	}
	if err := start(); !errors.Is(err, workflow.ErrRetired) || !errors.Is(err, verification.ErrConflict) {
		t.Errorf("a start = %v, want ErrRetired, which is an ErrConflict", err)
	}
	if v, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil || v.Status != rules.StatusCancelled {
		t.Errorf("cancel of its run = %+v, %v", v, err)
	}
	if _, err := k.Engine.Retire(t.Context(), enginetest.Tenant, w.ID, false); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Errorf("a start after the retirement ended = %v", err)
	}
}

// TestATenantTakesSoManyWorkflowsAndVersions has a store that counts more than it keeps.
func TestATenantTakesSoManyWorkflowsAndVersions(t *testing.T) {
	var versions, workflows int
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		own := p.Store
		p.Store = replace(own, func(s *ports) {
			s.WorkflowStore = &mock.WorkflowStoreMock{
				VersionFunc: own.Version, SaveWorkflowFunc: own.SaveWorkflow,
				WorkflowFunc: func(ctx context.Context, t verification.TenantID, id verification.WorkflowID) (workflow.Workflow, error) {
					w, err := own.Workflow(ctx, t, id)
					w.Versions += versions
					return w, err
				},
				WorkflowsFunc: func(ctx context.Context, t verification.TenantID, q store.PageQuery) (store.Page[workflow.Workflow], error) {
					page, err := own.Workflows(ctx, t, q)
					page.Total += workflows
					return page, err
				},
			}
		})
	})
	first := chain("pan")
	second := chain("pan", "gst")
	apply := func(d workflow.Definition, want string) {
		t.Helper()
		_, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d)
		if want == "" && err != nil || want != "" && (!errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), want)) {
			t.Errorf("Apply = %v, want %q", err, want)
		}
	}
	apply(first, "")
	versions = workflow.MaxVersions - 1
	apply(second, "the workflow has 10000 versions, and takes no more")
	apply(first, "")
	versions--
	apply(second, "")
	versions++
	apply(first, "") // an earlier version is not another one
	other := chain("gst")
	other.Workflow = "other"
	workflows = workflow.MaxWorkflows - 1
	apply(other, "the tenant has 10000 workflows, and takes no more")
	workflows--
	apply(other, "")
}

// A file whose version was stored before a rule came is accepted as it is, and no other file is.
func TestAStoredVersionIsOnlyWarnedOfNewRules(t *testing.T) {
	form := func(each string, next verification.NodeID) workflow.Node {
		return workflow.Node{
			Type: workflow.NodeCustomerInput, ForEach: each, Next: next, Fields: workflow.InputFields{{Name: "name", Type: workflow.FieldText}},
		}
	}
	d := chain("pan")
	d.Nodes["owners"], d.Nodes["owners_2"] = form("input.owners", "owners_2"), form("", d.Start)
	d.Start = "owners"
	d.ID = workflow.DeriveWorkflowID(enginetest.Tenant, d.Workflow)
	k := enginetest.New(t)
	if _, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d); !errors.Is(err, verification.ErrInvalid) {
		t.Fatalf("a new file: %v, want that it is refused", err)
	}
	w, added, _, err := workflow.Workflow{}.Apply(d, k.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Store.SaveWorkflow(t.Context(), enginetest.Tenant, w, added); err != nil {
		t.Fatal(err)
	}
	const want = "owners_2_submitted is the signal of owners[2]: give this step another signal"
	applied, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d)
	if err != nil || applied.Changed || len(applied.Warnings) != 1 || applied.Warnings[0].Message != want {
		t.Errorf("the same file: %+v, %v, want a warning alone", applied, err)
	}
	d.Retention.KeepDays = -1
	if _, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("another problem beside the version: %v, want that it is refused", err)
	}
	d.Retention.KeepDays, d.Description = 0, "Another text."
	if _, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a changed file: %v, want that it is refused", err)
	}
}
