// The commands about the delivery ledger.

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

type webhookList struct {
	databaseFlag
	tenantFlag
	State string `placeholder:"STATE" help:"Only those that are pending, delivered or failed."`
	pageFlags
	jsonFlag
}

// Help is shown below the usage.
func (webhookList) Help() string {
	return `One line a run whose notice was tried, the newest try first. Pending is tried again at
NEXT_AT; failed has no try left, and rests until it is redelivered.

Examples:

    verifyctl webhook list --tenant Acme
    verifyctl webhook list --tenant Acme --state failed --json`
}

// Run prints one page of deliveries.
func (c webhookList) Run(ctx context.Context, s *session) error {
	q, err := c.page()
	if err != nil {
		return err
	}
	state := verification.DeliveryState(c.State)
	if state != "" {
		if _, err := verification.ParseDeliveryState(c.State); err != nil {
			return errors.New("--state: invalid state (supported: pending, delivered, failed)")
		}
	}
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
		found, err := db.Deliveries(ctx, t.ID, state, q)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.json(pageOf(found, deliveryOf))
		}
		more(s, found)
		names := []string{"RUN_ID", "STATE", "ATTEMPTS", "CLASS", "LAST_AT", "NEXT_AT", "URL"}
		return s.table(names, shapes(found.Data, func(d verification.Delivery) []string {
			return []string{
				string(d.Run), string(d.State), strconv.Itoa(d.Attempts), d.Class,
				moment(d.LastAt).String(), moment(d.NextAt).String(), d.URL,
			}
		}))
	})
}

type deliveryJSON struct {
	RunID    verification.RunID         `json:"run_id"`
	State    verification.DeliveryState `json:"state"`
	Attempts int                        `json:"attempts"`
	Class    string                     `json:"class"`
	FirstAt  moment                     `json:"first_at"`
	LastAt   moment                     `json:"last_at"`
	NextAt   moment                     `json:"next_at"`
	URL      string                     `json:"url"`
}

func deliveryOf(d verification.Delivery) deliveryJSON {
	return deliveryJSON{
		RunID: d.Run, State: d.State, Attempts: d.Attempts, Class: d.Class,
		FirstAt: moment(d.FirstAt), LastAt: moment(d.LastAt), NextAt: moment(d.NextAt), URL: d.URL,
	}
}

type webhookRedeliver struct {
	RunIDs []runID `arg:"" optional:"" name:"run-id" help:"The runs whose notices are sent."`
	databaseFlag
	tenantFlag
	AllFailed bool `help:"Send all that the ledger calls failed."`
	jsonFlag
}

// Help is shown below the usage.
func (webhookRedeliver) Help() string {
	return `The notices are put into the queue, under the ids that they had and with all tries of the
plan before them; the hosts send them.

Examples:

    verifyctl webhook redeliver --tenant Acme 0191f3c0-0000-7000-8000-00000000a001
    verifyctl webhook redeliver --tenant Acme --all-failed`
}

// queuedJSON is what became of one notice.
type queuedJSON struct {
	RunID  verification.RunID `json:"run_id"`
	Queued bool               `json:"queued"`
	Error  string             `json:"error,omitempty"`
}

// Run queues the notices, and prints what became of each.
func (c webhookRedeliver) Run(ctx context.Context, s *session) error {
	if (len(c.RunIDs) == 0) != c.AllFailed {
		return errors.New("one must be given: the ids of runs, or --all-failed")
	}
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
		e, err := s.engine(db)
		if err != nil {
			return err
		}
		runs := shapes(c.RunIDs, func(id runID) verification.RunID { return id.RunID })
		if c.AllFailed {
			if runs, err = failedNotices(ctx, db, t.ID); err != nil {
				return err
			}
		}
		done, err := redeliver(ctx, e, t.ID, runs)
		return errors.Join(s.queued(done, c.JSON), err)
	})
}

// failedNotices lists the runs whose notices have no attempt left.
func failedNotices(ctx context.Context, db *database, t verification.TenantID) ([]verification.RunID, error) {
	var runs []verification.RunID
	err := pages(func(q verification.PageQuery) (verification.Page[verification.Delivery], error) {
		return db.Deliveries(ctx, t, verification.DeliveryFailed, q)
	}, func(d verification.Delivery) { runs = append(runs, d.Run) })
	return runs, err
}

// redeliver queues the notices of runs. One that is refused stops no other.
func redeliver(ctx context.Context, e *engine.Engine, t verification.TenantID, runs []verification.RunID) ([]queuedJSON, error) {
	done, refused := []queuedJSON{}, 0
	for _, id := range runs {
		err := e.Redeliver(ctx, t, id)
		q := queuedJSON{RunID: id, Queued: err == nil}
		switch {
		case err == nil:
		case errors.Is(err, verification.ErrNotFound):
			q.Error = "the tenant has no such run"
		case errors.Is(err, verification.ErrConflict):
			q.Error = err.Error()
		default:
			return done, err
		}
		if !q.Queued {
			refused++
		}
		done = append(done, q)
	}
	if refused > 0 {
		return done, fmt.Errorf("%d of %d notices were not queued", refused, len(runs))
	}
	return done, nil
}

func (s *session) queued(done []queuedJSON, asJSON bool) error {
	if asJSON {
		return s.json(done)
	}
	return s.table([]string{"RUN_ID", "QUEUED", "ERROR"}, shapes(done, func(q queuedJSON) []string {
		return []string{string(q.RunID), yesNo(q.Queued), q.Error}
	}))
}
