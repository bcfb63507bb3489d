// Tests of the lifecycle webhooks of a file.

package bootstrap_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

const (
	oldHook = "https://old.example/hooks"
	newHook = "https://new.example/hooks"
)

// hooked returns the file with a lifecycle webhook.
func hooked(url string) string {
	return strings.Replace(simple, "name: Simple, start", "name: Simple, lifecycle_webhook_url: "+url+", start", 1)
}

func (b *bench) hook() string {
	b.t.Helper()
	w, err := b.store.Workflow(b.t.Context(), bank, workflow.DeriveWorkflowID(bank, "simple"))
	if err != nil {
		b.t.Fatal(err)
	}
	return w.LifecycleWebhookURL
}

func TestAFileReplacesTheWebhookOfAFile(t *testing.T) {
	b := newBench(t)
	same := []string{"tenant Bank unchanged", "account bank unchanged", "account reader unchanged"}
	if _, err := b.apply(hooked(oldHook)); err != nil {
		t.Fatal(err)
	}
	for n, d := range []rules.Delivery{
		{URL: oldHook, State: rules.DeliveryPending},
		{URL: oldHook, State: rules.DeliveryPending},
		{URL: oldHook, State: rules.DeliveryFailed},
		{URL: newHook, State: rules.DeliveryPending},
	} {
		d.Run, d.LastAt = verification.RunID("d0000000-0000-7000-8000-00000000000"+string(rune('0'+n))), time.Unix(int64(n), 0)
		if err := b.store.SaveDelivery(t.Context(), bank, d); err != nil {
			t.Fatal(err)
		}
	}
	b.mustApply(simple, append(same, "workflow simple unchanged")...)
	if got := b.hook(); got != oldHook {
		t.Errorf("after a file without a webhook it is %q, want %s", got, oldHook)
	}
	b.mustApply(hooked(newHook), append(same, "workflow simple changed")...)
	if got := b.hook(); got != newHook {
		t.Errorf("after another file the webhook is %q, want %s", got, newHook)
	}
	const warning = "bootstrap.yaml:9:42: tenants[0].workflows[0].lifecycle_webhook_url: notices that the earlier one has not accepted yet go to this one: 2"
	if got := strings.Join(b.warned, "\n"); got != warning {
		t.Errorf("warnings = %s\nwant %s", got, warning)
	}
	trail, err := b.store.AuditEntries(t.Context(), bank, store.AuditQuery{Action: store.AuditWorkflowSaved, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, e := range trail {
		if e.Detail == "lifecycle webhook replaced" && e.Subject == "simple" && e.Actor.ID == "root" {
			lines++
		}
	}
	if lines != 1 {
		t.Errorf("the audit trail has %d lines of the replaced webhook, want 1 in %+v", lines, trail)
	}
	b.mustApply(hooked(newHook), append(same, "workflow simple unchanged")...)
}

func TestAFileLeavesTheWebhookOfAClient(t *testing.T) {
	b := newBench(t)
	if _, err := b.apply(simple); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.SetWebhook(t.Context(), bank, workflow.DeriveWorkflowID(bank, "simple"), oldHook); err != nil {
		t.Fatal(err)
	}
	if _, err := b.apply(hooked(oldHook)); err != nil {
		t.Errorf("a file with the webhook of the client: %v, want no error", err)
	}
	_, err := b.apply(strings.Replace(hooked(newHook), "name: Bank", "name: Bench", 1))
	const want = "bootstrap.yaml:9:42: tenants[0].workflows[0].lifecycle_webhook_url: differs from the one that a client has set, which stays: " +
		"remove it here, or run verifyctl webhook clear simple first"
	var problems *definitions.Diagnostics
	if !errors.As(err, &problems) || err.Error() != want {
		t.Errorf("a file with another webhook: %v\nwant %s", err, want)
	}
	if got := b.hook(); got != oldHook || b.tenant().Name != "Bank" {
		t.Errorf("after the refusal the webhook is %s and the tenant %s, want %s and Bank", got, b.tenant().Name, oldHook)
	}
	if _, err := b.engine.ClearWebhook(t.Context(), bank, workflow.DeriveWorkflowID(bank, "simple")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.apply(hooked(newHook)); err != nil || b.hook() != newHook {
		t.Errorf("after webhook clear: %v, webhook %s, want %s", err, b.hook(), newHook)
	}
}
