// Tests of files that are applied while a client changes the same workflow.

package bootstrap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// meanwhile is a store in which something else happens right before a save.
type meanwhile struct {
	*memory.Store
	beforeSetup, beforeWorkflow func()
}

func (m *meanwhile) SaveSetup(ctx context.Context, s store.Setup) error {
	if m.beforeSetup != nil {
		m.beforeSetup()
	}
	return m.Store.SaveSetup(ctx, s)
}

func (m *meanwhile) SaveWorkflow(ctx context.Context, t verification.TenantID, w workflow.Workflow, added *workflow.Version) error {
	if m.beforeWorkflow != nil {
		m.beforeWorkflow()
	}
	return m.Store.SaveWorkflow(ctx, t, w, added)
}

// once returns a function that calls f the first time.
func once(f func()) func() {
	return func() {
		if g := f; g != nil {
			f = nil
			g()
		}
	}
}

// TestAFileAndAClientChangeOneWorkflow has a client change a workflow while a file that changes it, its tenant and another workflow
// is applied, and the file while the client's change is decided. The later save is then decided again on what the earlier one left.
func TestAFileAndAClientChangeOneWorkflow(t *testing.T) {
	id := workflow.DeriveWorkflowID(bank, "simple")
	const other = "      - {workflow: other, name: Other, start: pan, nodes: {pan: {type: check, provider: sandbox, next: done}, done: {type: end}}}\n"
	file := strings.NewReplacer("name: Bank", "name: Bench", "name: Simple", "name: Simpler", "next: done}, done", "label: PAN, next: done}, done").Replace(simple) +
		strings.Replace(other, "name: Other", "name: Another", 1)
	withHook := strings.Replace(file, "name: Simpler, start", "name: Simpler, lifecycle_webhook_url: "+newHook+", start", 1)
	clients := map[string]func(e *engine.Engine) error{
		"a webhook": func(e *engine.Engine) error {
			_, err := e.SetWebhook(t.Context(), bank, id, oldHook)
			return err
		},
		"its end": func(e *engine.Engine) error {
			_, err := e.Retire(t.Context(), bank, id, true)
			return err
		},
		"a definition": func(e *engine.Engine) error {
			_, err := e.Apply(t.Context(), bank, workflow.Definition{
				Workflow: "simple", Name: "Mine", Start: "done", Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd, Outcome: "mine"}},
			})
			return err
		},
	}
	// state returns what the store has of the tenant and its workflows, but for times.
	state := func(s store.Store) string {
		of, err := store.Tables{RowStore: s}.Tenant(t.Context(), bank)
		if err != nil {
			t.Fatal(err)
		}
		text := of.Name
		for _, slug := range []string{"simple", "other"} {
			w, err := s.Workflow(t.Context(), bank, workflow.DeriveWorkflowID(bank, slug))
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.Version(t.Context(), bank, w.ID, w.LatestHash)
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprintln("\n", w.Name, w.Revision, w.Versions, w.LatestHash, w.LifecycleWebhookURL, w.Retired, v.Definition.Name)
		}
		return text
	}
	for name, client := range clients {
		for with, text := range map[string]string{"a file": file, "a file with a webhook": withHook} {
			// run brings both changes into an order, and returns their errors and the state.
			run := func(order func(m *meanwhile, apply, change func())) string {
				m := &meanwhile{Store: memory.New()}
				b := &bench{t: t, store: &counting{Store: m.Store}, engine: newEngine(t, m)}
				if _, err := b.apply(simple + other); err != nil {
					t.Fatal(err)
				}
				var applied, changed error
				order(m, func() { _, applied = applyTo(b, m, text) }, func() { changed = client(b.engine) })
				if applied != nil && !strings.Contains(applied.Error(), "differs from the one that a client has set") {
					t.Errorf("%s, %s: the file is refused with %v", name, with, applied)
				}
				if changed != nil && !errors.Is(changed, verification.ErrConflict) {
					t.Errorf("%s, %s: the client is refused with %v", name, with, changed)
				}
				return fmt.Sprintf("file: %v\nclient: %v\n%s", applied, changed, state(m))
			}
			clientFirst := run(func(_ *meanwhile, apply, change func()) { change(); apply() })
			fileFirst := run(func(_ *meanwhile, apply, change func()) { apply(); change() })
			got := run(func(m *meanwhile, apply, change func()) { m.beforeSetup = once(change); apply() })
			if got != clientFirst {
				t.Errorf("%s while %s is applied:\n%s\nwant, as before it:\n%s", name, with, got, clientFirst)
			}
			got = run(func(m *meanwhile, apply, change func()) { m.beforeWorkflow = once(apply); change() })
			if got != fileFirst {
				t.Errorf("%s is applied while a client asks for %s:\n%s\nwant, as before it:\n%s", with, name, got, fileFirst)
			}
		}
	}
}

// TestAFileThatClientsKeepOvertakingIsRefused has a client change a workflow before each attempt to save a file.
func TestAFileThatClientsKeepOvertakingIsRefused(t *testing.T) {
	m := &meanwhile{Store: memory.New()}
	b := &bench{t: t, store: &counting{Store: m.Store}, engine: newEngine(t, m)}
	if _, err := b.apply(simple); err != nil {
		t.Fatal(err)
	}
	n := 0
	m.beforeSetup = func() {
		n++
		if _, err := b.engine.Apply(t.Context(), bank, workflow.Definition{
			Workflow: "simple", Name: "Mine", Start: "done",
			Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd, Outcome: fmt.Sprint("mine_", n)}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := applyTo(b, m, strings.NewReplacer("name: Bank", "name: Bench", "name: Simple", "name: Simpler").Replace(simple))
	const want = "others kept changing what the file changes, and nothing of it was saved; apply it again: workflow: another request has changed the workflow"
	if !errors.Is(err, verification.ErrConflict) || err.Error() != want {
		t.Errorf("a file that is overtaken each time: %v, want %s", err, want)
	}
	if n != 10 || b.tenant().Name != "Bank" {
		t.Errorf("after %d attempts the tenant is %s, want 10 and Bank", n, b.tenant().Name)
	}
}
