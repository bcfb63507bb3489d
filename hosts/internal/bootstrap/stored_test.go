// Tests of files of before: what a newer rule refuses is stored already.

package bootstrap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// before is a file that was applied before its texts, its rounds, its lists and its reads were refused.
const before = `
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    workflows:
      - workflow: before
        name: Before
        input_schema: {type: object, required: [tier], properties: {tier: {type: string, enum: [basic, full]}}}
        start: details
        nodes:
          details:
            type: customer_input
            label: Details of ${input.name}
            max_rounds: 0
            fields: {name: {type: text, required: true}}
            next: tier
          tier: {type: branch, rules: [{when: input.tier == 'full', next: list}], else: done}
          list: {type: check, provider: sandbox, for_each: "[LIST]", on_failed: next, next: done}
          done: {type: end, text: "Bye ${steps.details.data.name}", data: {all: "${steps.list.passed}"}}
`

// savedBefore saves the workflows of a file as a host of before did, which refused nothing of it.
func savedBefore(t *testing.T, s store.Store, file definitions.Bootstrap) {
	t.Helper()
	for _, tenant := range file.Tenants {
		if err := (store.Tables{RowStore: s}).SaveTenant(t.Context(), tenant.Tenant); err != nil {
			t.Fatal(err)
		}
		for _, w := range tenant.Workflows {
			d := w.Definition
			d.ID = workflow.DeriveWorkflowID(tenant.Tenant.ID, d.Workflow)
			saved, added, _, err := workflow.Workflow{}.Apply(d, time.Now())
			if err == nil {
				err = s.SaveWorkflow(t.Context(), tenant.Tenant.ID, saved, added)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAnUnchangedFileOfBeforeIsApplied(t *testing.T) {
	text := strings.ReplaceAll(before, "LIST", strings.Repeat("'a', ", 64)+"'a'")
	file, err := definitions.ReadBootstrap("bootstrap.yaml", []byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, open := range map[string]func() store.Store{
		"memory": func() store.Store { return memory.New() },
		"a data folder": func() store.Store {
			for range 2 { // it is read again from the disk
				s, err := journal.Open(t.Context(), dir, journal.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if tenants, err := s.Tenants(t.Context()); err != nil || len(tenants) > 0 {
					t.Cleanup(func() { _ = s.Close() })
					return s
				}
				savedBefore(t, s, file)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			t.Fatal("the folder has no tenant")
			return nil
		},
	} {
		s := open()
		if name == "memory" {
			savedBefore(t, s, file)
		}
		apply := func(file definitions.Bootstrap) ([]bootstrap.Change, error) {
			ctx := verification.WithActor(t.Context(), verification.Actor{Kind: verification.ActorOperator, ID: "root"})
			return bootstrap.Apply(ctx, file, newEngine(t, s), s, bootstrap.Options{})
		}
		changes, err := apply(file)
		if err != nil {
			t.Fatalf("%s: the unchanged file: %v, want no error", name, err)
		}
		warned := ""
		for _, c := range changes {
			if c.Kind == bootstrap.KindWorkflow && c.Outcome != bootstrap.Unchanged {
				t.Errorf("%s: the workflow is %s, want it unchanged", name, c.Outcome)
			}
			for _, warning := range c.Warnings {
				warned += warning.String() + "\n"
			}
		}
		refused := []string{
			"nodes.details.label: ${...} is not filled in here", "nodes.details.max_rounds: must be 1 to 20", "nodes.done.text: ${...} is not filled in here",
			"nodes.done.data.all: the step list may not have run here", "nodes.list.for_each: the list has 65 elements, and the node can have at most 64",
		}
		for _, want := range refused {
			if !strings.Contains(warned, want) {
				t.Errorf("%s: the warnings are %s, want %s", name, warned, want)
			}
		}
		changed, err := definitions.ReadBootstrap("bootstrap.yaml", []byte(strings.ReplaceAll(text, "name: Before", "name: After")), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = apply(changed)
		for _, want := range refused {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the changed file: %v, want that it is refused: %s", name, err, want)
			}
		}
	}
}
