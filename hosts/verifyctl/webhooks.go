// The commands about lifecycle webhooks and their deliveries.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

type webhookCommands struct {
	List      webhookList      `cmd:"" help:"List the delivery ledger." see:"webhooks.md#for-operators"`
	Redeliver webhookRedeliver `cmd:"" help:"Queue notices again." see:"webhooks.md#for-operators"`
	Secret    webhookSecret    `cmd:"" help:"Print or rotate the secret that signs webhooks." see:"webhooks.md#for-operators"`
	Clear     webhookClear     `cmd:"" help:"Remove the lifecycle webhook of a workflow." see:"webhooks.md#for-operators"`
}

type webhookSecret struct {
	tenantFlags
	Rotate      bool `xor:"rotation" help:"Create a new secret. The previous one keeps signing as well."`
	EndRotation bool `xor:"rotation" help:"Remove the previous secret."`
	jsonFlag
}

type secretJSON struct {
	TenantID      verification.TenantID `json:"tenant_id"`
	WebhookSecret string                `json:"webhook_secret"`
	Rotating      bool                  `json:"rotating"` // the previous secret signs as well
}

func (c webhookSecret) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) (err error) {
		if c.Rotate || c.EndRotation {
			if t, err = c.rotated(t); err != nil {
				return err
			}
			if err := db.tables().SaveTenant(ctx, t); err != nil {
				return err
			}
			if err := s.audit(ctx, db, store.AuditEntry{Tenant: t.ID, Action: store.AuditTenantSaved, Detail: "webhook secret"}); err != nil {
				return err
			}
			s.noteBootstrap("a webhook_secret of the tenant")
		}
		return s.say(c.JSON, secretJSON{TenantID: t.ID, WebhookSecret: t.WebhookSecret, Rotating: t.PreviousWebhookSecret != ""}, "%s", t.WebhookSecret)
	})
}

// rotated begins or ends a rotation. A second rotation must not begin before the first
// has ended: the secret of some receivers would be lost.
func (c webhookSecret) rotated(t verification.Tenant) (verification.Tenant, error) {
	rotating := t.PreviousWebhookSecret != ""
	switch {
	case c.Rotate && rotating:
		return t, verification.Conflict("webhook secret", "a rotation is in progress: end it with --end-rotation first")
	case c.EndRotation && !rotating:
		return t, verification.Conflict("webhook secret", "no rotation is in progress")
	case c.Rotate:
		t.PreviousWebhookSecret, t.WebhookSecret = t.WebhookSecret, webhook.NewSecret()
	default:
		t.PreviousWebhookSecret = ""
	}
	return t, nil
}

type webhookClear struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	tenantFlags
	jsonFlag
}

// Run removes the webhook and prints its URL.
func (c webhookClear) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		before, err := db.workflow(ctx, t.ID, c.Workflow)
		if err != nil {
			return err
		}
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		w, err := e.ClearWebhook(ctx, t.ID, before.ID)
		if err != nil {
			return err
		}
		s.noteBootstrap("a lifecycle_webhook_url of workflow " + w.Slug)
		return s.say(c.JSON, newWorkflowJSON(w), "%s: removed the webhook %s", oneLine(w.Slug), oneLine(before.LifecycleWebhookURL))
	})
}

type webhookList struct {
	tenantFlags
	State string `placeholder:"STATE" help:"Only notices that are pending, delivered or failed."`
	pageFlags
	jsonFlag
}

type deliveryJSON struct {
	WebhookID string               `json:"webhook_id"`
	RunID     verification.RunID   `json:"run_id"`
	Event     workflow.NoticeEvent `json:"event"`
	State     rules.DeliveryState  `json:"state"`
	Attempts  int                  `json:"attempts"`
	Class     string               `json:"class"`
	FirstAt   apitypes.Timestamp   `json:"first_at"`
	LastAt    apitypes.Timestamp   `json:"last_at"`
	NextAt    apitypes.Timestamp   `json:"next_at"`
	URL       string               `json:"url"`
}

// Run prints one page of deliveries.
func (c webhookList) Run(ctx context.Context, s *session) error {
	q, err := c.page()
	if err != nil {
		return err
	}
	state := rules.DeliveryState(c.State)
	if state != "" {
		if _, err := rules.ParseDeliveryState(c.State); err != nil {
			return errors.New("--state: invalid state (supported: pending, delivered, failed)")
		}
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		found, err := db.tables().Deliveries(ctx, t.ID, state, q)
		if err != nil {
			return err
		}
		convert := func(d rules.Delivery) deliveryJSON {
			return deliveryJSON{
				WebhookID: d.Ref().ID(), RunID: d.Run, Event: d.Event, State: d.State, Attempts: d.Attempts, Class: d.Class, URL: d.URL,
				FirstAt: apitypes.Timestamp{Time: d.FirstAt}, LastAt: apitypes.Timestamp{Time: d.LastAt}, NextAt: apitypes.Timestamp{Time: d.NextAt},
			}
		}
		return printPage(s, c.JSON, found, convert, "WEBHOOK_ID EVENT STATE ATTEMPTS CLASS LAST_AT NEXT_AT URL")
	})
}

type webhookRedeliver struct {
	Notices []noticeRef `arg:"" optional:"" name:"notice" help:"The notices to queue: the webhook-id of each, or the id of a run for the notice of its end."`
	tenantFlags
	AllFailed bool `help:"Queue all notices that have failed."`
	jsonFlag
}

type redeliveryJSON struct {
	WebhookID string             `json:"webhook_id"`
	RunID     verification.RunID `json:"run_id"`
	Queued    bool               `json:"queued"`
	Error     string             `json:"error,omitempty"`
}

// Run queues notices and prints the result of each.
func (c webhookRedeliver) Run(ctx context.Context, s *session) error {
	if (len(c.Notices) == 0) != c.AllFailed {
		return errors.New("give either notices or --all-failed")
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		notices := mapSlice(c.Notices, func(n noticeRef) rules.NoticeRef { return n.NoticeRef })
		if c.AllFailed {
			if notices, err = db.failedNotices(ctx, t.ID); err != nil {
				return err
			}
		}
		results, err := redeliver(ctx, e, t.ID, notices)
		err = errors.Join(err, printList(s, c.JSON, results, "WEBHOOK_ID QUEUED ERROR"))
		refused := len(slices.DeleteFunc(results, func(r redeliveryJSON) bool { return r.Queued }))
		if err == nil && refused > 0 {
			err = fmt.Errorf("%d of %d notices were not queued", refused, len(notices))
		}
		return err
	})
}

// failedNotices returns the notices that have failed, the oldest attempt first.
func (d *database) failedNotices(ctx context.Context, t verification.TenantID) ([]rules.NoticeRef, error) {
	listed := map[rules.NoticeRef]bool{} // a notice that fails meanwhile shifts the pages
	failed, err := all(func(q store.PageQuery) (store.Page[rules.Delivery], error) {
		return d.tables().Deliveries(ctx, t, rules.DeliveryFailed, q)
	}, func(one rules.Delivery) bool {
		again := listed[one.Ref()]
		listed[one.Ref()] = true
		return !again
	})
	slices.Reverse(failed)
	return mapSlice(failed, rules.Delivery.Ref), err
}

// redeliver queues notices. A notice that is refused does not stop the
// others; after another error redeliver returns the results until then.
func redeliver(ctx context.Context, e *engine.Engine, t verification.TenantID, notices []rules.NoticeRef) (results []redeliveryJSON, _ error) {
	for _, n := range notices {
		result := redeliveryJSON{WebhookID: n.ID(), RunID: n.Run}
		switch err := e.Redeliver(ctx, t, n); {
		case err == nil:
			result.Queued = true
		case errors.Is(err, verification.ErrNotFound):
			result.Error = "the tenant has no run with this id"
		case errors.Is(err, verification.ErrConflict):
			result.Error = err.Error()
		default:
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}
