// Tests of webhooks that are set while runs end.

package postgres_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ending is a way in which a run ends.
type ending struct {
	name   string
	change func(*workflow.Definition)
	// end ends the run. answer lets the provider answer.
	end func(ctx context.Context, e *engine.Engine, id verification.RunID, now *clock.Manual, answer chan<- struct{}) error
}

func endings() []ending {
	approve := func(ctx context.Context, e *engine.Engine, id verification.RunID, identity string) error {
		_, err := e.GiveVerdict(ctx, ours, id, rules.GiveVerdict{
			Decision: rules.DecisionApprove, By: identity, Identity: identity,
		}, "")
		return err
	}
	same := func(*workflow.Definition) {}
	return []ending{
		{"a verdict", same, func(ctx context.Context, e *engine.Engine, id verification.RunID, _ *clock.Manual, _ chan<- struct{}) error {
			return approve(ctx, e, id, "asha")
		}},
		{
			"the second of two verdicts", func(d *workflow.Definition) { d.FourEyes = true },
			func(ctx context.Context, e *engine.Engine, id verification.RunID, _ *clock.Manual, _ chan<- struct{}) error {
				return approve(ctx, e, id, "bela")
			},
		},
		{"a cancel", same, func(ctx context.Context, e *engine.Engine, id verification.RunID, _ *clock.Manual, _ chan<- struct{}) error {
			_, err := e.Cancel(ctx, ours, id)
			return err
		}},
		{
			"the deadline", func(d *workflow.Definition) { d.RunTTLSeconds = 60 },
			func(ctx context.Context, e *engine.Engine, id verification.RunID, now *clock.Manual, _ chan<- struct{}) error {
				if err := now.Advance(ctx, 61*time.Second); err != nil {
					return err
				}
				_, err := e.Run(ctx, ours, id)
				return err
			},
		},
		{
			"an answer", func(d *workflow.Definition) {
				d.Nodes["review"] = workflow.Node{Type: workflow.NodeCheck, Label: "PAN", Key: "late", Provider: "gate", Next: "done"}
			},
			func(_ context.Context, _ *engine.Engine, _ verification.RunID, _ *clock.Manual, answer chan<- struct{}) error {
				answer <- struct{}{}
				return nil
			},
		},
	}
}

// The client reads a run that is not over after its webhook was set: the run is announced.
func TestAWebhookSetWhileARunEndsIsInTheClientsOrder(t *testing.T) {
	for _, e := range endings() {
		t.Run(e.name, func(t *testing.T) { setWhileEnding(t, e) })
	}
}

func setWhileEnding(t *testing.T, way ending) {
	t.Helper()
	ctx, url := t.Context(), pgtest.Database(t)
	now, notices, answer := clock.NewManual(time.Now()), &enginetest.Notices{}, make(chan struct{})
	host := func() (*postgres.Store, *engine.Engine) {
		store := openAt(t, url, postgres.Options{})
		return store, notifying(t, store, now, notices, answer)
	}
	store, ends := host()
	_, sets := host()
	serveMember(t, store, ends)
	d := reviewed()
	pan := d.Nodes["pan"]
	pan.Provider = "gate"
	d.Nodes["pan"] = pan
	way.change(&d)
	applied, err := ends.Apply(ctx, ours, d)
	must(t, err)
	v, err := ends.Start(ctx, ours, applied.Workflow.ID, engine.StartRequest{ReferenceID: "customer"})
	must(t, err)
	answer <- struct{}{}
	read := func() rules.Run {
		events, err := store.Load(context.WithoutCancel(ctx), ours, v.ID, 0)
		must(t, err)
		return rules.Run{ID: v.ID}.EvolveAll(events)
	}
	eventually(t, "the run waits at its second step", func() bool {
		run := read()
		w := run.Wait()
		return w.Kind == rules.WaitReview || w.Node == "review"
	})
	if d.FourEyes {
		_, err := ends.GiveVerdict(ctx, ours, v.ID, rules.GiveVerdict{Decision: rules.DecisionApprove, By: "asha", Identity: "asha"}, "")
		must(t, err)
	}

	admin := connect(t, pgtest.Admin(t, url))
	tx, err := admin.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, "SELECT FROM verifyd.runs WHERE id = $1 FOR UPDATE", string(v.ID))
	must(t, err)
	ended, set := make(chan error, 1), make(chan error, 1)
	go func() { ended <- way.end(context.WithoutCancel(ctx), ends, v.ID, now, answer) }()
	eventually(t, "the end waits for the lock", func() (waits bool) {
		must(t, tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)").Scan(&waits))
		return waits
	})
	go func() {
		_, err := sets.SetWebhook(context.WithoutCancel(ctx), ours, applied.Workflow.ID, "https://app.example/hook")
		set <- err
	}()
	live := false
	select {
	case err := <-set:
		must(t, err)
		live = read().Ended == ""
		must(t, tx.Rollback(ctx))
	case <-time.After(300 * time.Millisecond): // SetWebhook waits, or is slow
		must(t, tx.Rollback(ctx))
		must(t, <-set)
		live = read().Ended == ""
	}
	if err := <-ended; errors.Is(err, verification.ErrUnavailable) { // it waited for the lock too long
		must(t, way.end(ctx, ends, v.ID, now, answer))
	} else {
		must(t, err)
	}
	eventually(t, "the run ends, and no notice is queued", func() (done bool) {
		must(t, admin.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM verifyd.work)").Scan(&done))
		return done && read().Ended != ""
	})
	announced := slices.ContainsFunc(notices.All(), func(n rules.Notice) bool { return n.Run.ID == v.ID })
	if live && !announced {
		t.Error("the run was not over when the webhook was set, and its end was not announced")
	}
}

// notifying returns an engine whose provider "gate" answers for each value of answer.
func notifying(t *testing.T, store *postgres.Store, now *clock.Manual, to rules.Notifier, answer <-chan struct{}) *engine.Engine {
	t.Helper()
	keys, err := token.NewKeys()
	must(t, err)
	e, err := engine.New(engine.Ports{
		Store: store,
		Providers: map[string]verification.Provider{"gate": &mock.ProviderMock{
			CheckFunc: func(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
				<-answer
				return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
			},
		}},
		Expressions: expression.New(), Links: token.NewLinks(keys), Clock: now, Notifier: to,
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	}, engine.Options{PublicURL: "https://verify.example", QueueInterval: time.Hour})
	must(t, err)
	return e
}
