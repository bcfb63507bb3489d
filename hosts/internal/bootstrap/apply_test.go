// Tests of what applying a file writes, keeps and returns.

package bootstrap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

const bank verification.TenantID = "0191f3c0-0000-7000-8000-00000000000b"

const simple = `
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts:
      - {client_id: bank, api_key: a-key-for-local-use-only}
      - {client_id: reader, api_key: another-key-for-local-use, surfaces: [runs]}
    workflows:
      - {workflow: simple, name: Simple, start: pan, nodes: {pan: {type: check, provider: sandbox, next: done}, done: {type: end}}}
`

// counting counts what is saved of tenants, accounts and workflows, and of the audit trail.
type counting struct {
	*memory.Store
	writes, audited int
}

func (c *counting) SaveSetup(ctx context.Context, s store.Setup) error {
	if !s.DryRun {
		c.writes += len(s.Tenants) + len(s.Accounts) + len(s.Workflows)
		c.audited += len(s.Audit)
	}
	return c.Store.SaveSetup(ctx, s)
}

// bench is a store, an engine on it, and the secrets that Apply generated.
type bench struct {
	t      *testing.T
	store  *counting
	engine *engine.Engine
	told   []string // generated secrets
	warned []string // by the last file
	dry    bool     // nothing is written
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, &counting{Store: memory.New()})
}

func newBenchOn(t *testing.T, store *counting) *bench {
	t.Helper()
	b := &bench{t: t, store: store}
	b.engine = newEngine(t, store)
	return b
}

func newEngine(t *testing.T, store store.Store) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Ports{
		Store:       store,
		Providers:   map[string]verification.Provider{"sandbox": sandbox.New(clock.System{}.Sleep), "sandbox_2": sandbox.New(clock.System{}.Sleep)},
		Expressions: expression.New(), Links: enginetest.Links(), Clock: clock.System{}, NewID: enginetest.SeededIDs(1),
	}, engine.Options{Passive: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// apply applies a file and returns a line for each change.
func (b *bench) apply(text string) ([]string, error) {
	b.t.Helper()
	b.store.writes, b.told = 0, nil
	return applyTo(b, b.store, text)
}

// applyTo applies a file to a store.
func applyTo(b *bench, to store.Store, text string) ([]string, error) {
	b.t.Helper()
	read, err := definitions.ReadBootstrap("bootstrap.yaml", []byte(text), nil, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	by := verification.Actor{Kind: verification.ActorOperator, ID: "root"}
	changes, err := bootstrap.Apply(verification.WithActor(b.t.Context(), by), read, b.engine, to, bootstrap.Options{
		DryRun: b.dry, By: by, Now: time.Now, Made: func(t verification.Tenant) { b.told = append(b.told, t.WebhookSecret) },
	})
	lines := make([]string, 0, len(changes))
	b.warned = nil
	for _, c := range changes {
		for _, w := range c.Warnings {
			b.warned = append(b.warned, w.String())
		}
		lines = append(lines, strings.Join([]string{string(c.Kind), c.Name, string(c.Outcome)}, " "))
	}
	return lines, err
}

// unchanged reports changes after a file that was refused.
func (b *bench) unchanged(done []string) {
	b.t.Helper()
	if tenants, err := b.store.Tenants(b.t.Context()); err != nil || len(done)+len(tenants)+b.store.writes > 0 {
		b.t.Errorf("a refused file has the changes %q, %d writes and %d tenants (%v), want none", done, b.store.writes, len(tenants), err)
	}
}

// mustApply applies a correct file and compares the changes.
func (b *bench) mustApply(text string, want ...string) {
	b.t.Helper()
	got, err := b.apply(text)
	if err != nil {
		b.t.Fatalf("apply: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("changes differ (-want +got):\n%s", diff)
	}
}

func (b *bench) tenant() verification.Tenant {
	b.t.Helper()
	t, err := b.store.Tenant(b.t.Context(), bank)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

func TestAFileThatSaysNothingNewWritesNothing(t *testing.T) {
	b := newBench(t)
	b.mustApply(simple, "tenant Bank created", "account bank created", "account reader created", "workflow simple created")
	if secret := b.tenant().WebhookSecret; secret == "" || len(b.told) != 1 || b.told[0] != secret {
		t.Errorf("made was called with the secrets %q, want %q once", b.told, secret)
	}
	before, err := b.store.Workflows(t.Context(), bank, store.PageQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	b.mustApply(simple, "tenant Bank unchanged", "account bank unchanged", "account reader unchanged", "workflow simple unchanged")
	after, err := b.store.Workflows(t.Context(), bank, store.PageQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if b.store.writes != 0 || len(b.told) != 0 {
		t.Errorf("the same file again wrote %d times and told %q, want nothing", b.store.writes, b.told)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("workflows differ (-before +after):\n%s", diff)
	}
}

func TestOnlyWhatTheFileChangesIsWritten(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string
		want           []string
	}{
		{"a name", "name: Bank", "name: Bench", []string{"tenant Bench changed", "account bank unchanged", "account reader unchanged", "workflow simple unchanged"}},
		{"an allowlist", "name: Bank", "name: Bank\n    redirect_allowlist: [\"https://bank.example\"]", []string{"tenant Bank changed", "account bank unchanged", "account reader unchanged", "workflow simple unchanged"}},
		{"a retention", "name: Bank", "name: Bank\n    retention: {keep_days: 1825, delete_after_days: 3650}", []string{"tenant Bank changed", "account bank unchanged", "account reader unchanged", "workflow simple unchanged"}},
		{"a time zone", "name: Bank", "name: Bank\n    time_zone: Asia/Kolkata", []string{"tenant Bank changed", "account bank unchanged", "account reader unchanged", "workflow simple unchanged"}},
		{"a colour", "name: Bank", "name: Bank\n    colour: \"#102030\"", []string{"tenant Bank changed", "account bank unchanged", "account reader unchanged", "workflow simple unchanged"}},
		{"a link", "name: Bank", "name: Bank\n    links: {phone: \"+91 22 98765432\"}", []string{"tenant Bank changed", "account bank unchanged", "account reader unchanged", "workflow simple unchanged"}},
		{"a key", "a-key-for", "one-key-for", []string{"tenant Bank unchanged", "account bank changed", "account reader unchanged", "workflow simple unchanged"}},
		{"a disabled account", "only}", "only, disabled: true}", []string{"tenant Bank unchanged", "account bank changed", "account reader unchanged", "workflow simple unchanged"}},
		{"surfaces", "[runs]", "[runs, signals]", []string{"tenant Bank unchanged", "account bank unchanged", "account reader changed", "workflow simple unchanged"}},
		{"a workflow", "name: Simple", "name: Simpler", []string{"tenant Bank unchanged", "account bank unchanged", "account reader unchanged", "workflow simple changed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			if _, err := b.apply(simple); err != nil {
				t.Fatal(err)
			}
			b.mustApply(strings.Replace(simple, tt.from, tt.to, 1), tt.want...)
		})
	}
}

func TestAFileWithoutASecretLeavesARotationAlone(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(simple); err != nil {
		t.Fatal(err)
	}
	rotating := b.tenant()
	rotating.PreviousWebhookSecret, rotating.WebhookSecret = rotating.WebhookSecret, "whsec_bmV3LXNlY3JldC1uZXctc2VjcmV0LW5ldw=="
	if err := b.store.Store.SaveTenant(t.Context(), rotating); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{simple, strings.Replace(simple, "name: Bank", "name: Bench", 1)} {
		if _, err := b.apply(text); err != nil {
			t.Fatal(err)
		}
		if got := b.tenant(); got.WebhookSecret != rotating.WebhookSecret || got.PreviousWebhookSecret != rotating.PreviousWebhookSecret {
			t.Errorf("secrets = %s, %s; want those of the rotation", got.WebhookSecret, got.PreviousWebhookSecret)
		}
	}
	named := strings.Replace(simple, "name: Bank", "name: Bank\n    webhook_secret: whsec_b25lLW9uZS1vbmUtb25lLW9uZS1vbmUt", 1)
	b.mustApply(named, "tenant Bank changed", "account bank unchanged", "account reader unchanged", "workflow simple unchanged")
	if got := b.tenant(); got.WebhookSecret != "whsec_b25lLW9uZS1vbmUtb25lLW9uZS1vbmUt" || got.PreviousWebhookSecret != "" || len(b.told) != 0 {
		t.Errorf("tenant = %+v, told %q; want the secret of the file alone, untold", got, b.told)
	}
}

func TestTheProblemsOfAllWorkflowsAreReportedTogether(t *testing.T) {
	b := newBench(t)
	text := simple + `      - {workflow: second, name: Second, start: gst, nodes: {gst: {type: check, provider: bureau, next: done}, done: {type: end}}}
      - {workflow: third, name: Third, start: gst, nodes: {gst: {type: check, provider: nobody, next: done}, done: {type: end}}}
`
	done, err := b.apply(text)
	var problems *definitions.Diagnostics
	if !errors.As(err, &problems) || !strings.Contains(err.Error(), `"bureau"`) || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("apply = %v, want the problems of both workflows", err)
	}
	b.unchanged(done)
}

func TestAnAccountOfAnotherTenantIsAConflict(t *testing.T) {
	b := newBench(t)
	theirs := verification.Account{ClientID: "reader", Tenant: "0191f3c0-0000-7000-8000-00000000000c"}
	if err := b.store.Store.SaveAccount(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	done, err := b.apply(simple)
	if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "reader") {
		t.Errorf("apply = %v, want a conflict that names the account", err)
	}
	b.unchanged(done)
}

func TestATenantTakesSoManyAccounts(t *testing.T) {
	b := newBench(t)
	for n := range verification.MaxAccounts - 1 {
		if err := b.store.Store.SaveAccount(t.Context(), verification.Account{ClientID: fmt.Sprint("by-hand-", n), Tenant: bank}); err != nil {
			t.Fatal(err)
		}
	}
	done, err := b.apply(simple)
	if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "the tenant would have 1001 accounts, and takes 1000") {
		t.Errorf("apply = %v, want a conflict that says how many accounts a tenant takes", err)
	}
	b.unchanged(done)
	b.mustApply(strings.Replace(simple, readerLine, "", 1), "tenant Bank created", "account bank created", "workflow simple created")
}

func (b *bench) account(client string) verification.Account {
	b.t.Helper()
	a, err := b.store.Account(b.t.Context(), client)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

const readerLine = "      - {client_id: reader, api_key: another-key-for-local-use, surfaces: [runs]}\n"

func TestAnAccountThatLeavesTheFileIsDisabled(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(simple); err != nil {
		t.Fatal(err)
	}
	byHand := verification.Account{ClientID: "by-hand", Tenant: bank, Surfaces: verification.Surfaces()}
	if err := b.store.Store.SaveAccount(t.Context(), byHand); err != nil {
		t.Fatal(err)
	}
	less := strings.Replace(simple, readerLine, "", 1)
	b.mustApply(less, "tenant Bank unchanged", "account bank unchanged", "account reader disabled", "workflow simple unchanged")
	if !b.account("reader").Disabled || b.account("bank").Disabled || b.account("by-hand").Disabled {
		t.Error("want reader disabled, and neither bank nor the account that no file made")
	}
	b.mustApply(less, "tenant Bank unchanged", "account bank unchanged", "workflow simple unchanged")
	b.mustApply(simple, "tenant Bank unchanged", "account bank unchanged", "account reader changed", "workflow simple unchanged")
	if b.account("reader").Disabled {
		t.Error("the account is in the file again and stays disabled")
	}
}

func TestATenantWithoutAccountsInTheFileHasNone(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(simple); err != nil {
		t.Fatal(err)
	}
	none := "tenants:\n  - {id: 0191f3c0-0000-7000-8000-00000000000b, name: Bank}\n"
	b.mustApply(none, "tenant Bank unchanged", "account bank disabled", "account reader disabled")
}

func TestATenantThatLeavesTheFileKeepsItsAccounts(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(simple); err != nil {
		t.Fatal(err)
	}
	b.mustApply("tenants:\n  - {id: 0191f3c0-0000-7000-8000-00000000000c, name: Bench}\n", "tenant Bench created")
	if b.account("reader").Disabled {
		t.Error("the account of a tenant that the file does not list is disabled")
	}
}

func TestAFileAdoptsAnAccountThatItLists(t *testing.T) {
	b := newBench(t)
	byHand := verification.Account{
		ClientID: "reader", Tenant: bank, KeyHash: verification.HashAPIKey("another-key-for-local-use"), Surfaces: []verification.Surface{verification.SurfaceRuns},
	}
	if err := b.store.Store.SaveAccount(t.Context(), byHand); err != nil {
		t.Fatal(err)
	}
	b.mustApply(simple, "tenant Bank created", "account bank created", "account reader changed", "workflow simple created")
	b.mustApply(strings.Replace(simple, readerLine, "", 1), "tenant Bank unchanged", "account bank unchanged", "account reader disabled", "workflow simple unchanged")
}

func TestADryRunReturnsTheChangesAndWritesNothing(t *testing.T) {
	b := newBench(t)
	changed := strings.Replace(strings.Replace(simple, readerLine, "", 1), "name: Simple", "name: Simpler", 1)
	for _, step := range []struct {
		text string
		want []string
	}{
		{simple, []string{"tenant Bank created", "account bank created", "account reader created", "workflow simple created"}},
		{changed, []string{"tenant Bank unchanged", "account bank unchanged", "account reader disabled", "workflow simple changed"}},
	} {
		dry := newBenchOn(t, &counting{Store: b.store.Store})
		dry.dry = true
		dry.mustApply(step.text, step.want...)
		if dry.store.writes != 0 {
			t.Errorf("a dry run wrote %d times", dry.store.writes)
		}
		if dry.store.audited != 0 {
			t.Errorf("a dry run added %d entries to the audit trail", dry.store.audited)
		}
		b.mustApply(step.text, step.want...)
	}
}

func TestAFileMayNotAddTooManyWorkflows(t *testing.T) {
	b := newBench(t)
	var full store.Setup
	for n := range workflow.MaxWorkflows - 1 {
		w := workflow.Workflow{Slug: fmt.Sprint("stored-", n), Revision: 1}
		w.ID = workflow.DeriveWorkflowID(bank, w.Slug)
		full.Workflows = append(full.Workflows, store.WorkflowChange{Tenant: bank, Workflow: w})
	}
	if err := b.store.Store.SaveSetup(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	done, err := b.apply(simple + asking)
	if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "bootstrap.yaml:10:9: tenants[0].workflows[1]") {
		t.Errorf("apply = %v, want a conflict at the second new workflow", err)
	}
	b.unchanged(done)
	b.mustApply(simple, "tenant Bank created", "account bank created", "account reader created", "workflow simple created")
}
