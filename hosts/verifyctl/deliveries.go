// The commands about the delivery ledger.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

type webhookList struct {
	tenantFlags
	State string `placeholder:"STATE" help:"Only notices that are pending, delivered or failed."`
	pageFlags
	jsonFlag
}

type deliveryJSON struct {
	RunID    verification.RunID         `json:"run_id"`
	State    verification.DeliveryState `json:"state"`
	Attempts int                        `json:"attempts"`
	Class    string                     `json:"class"`
	FirstAt  apitypes.Timestamp         `json:"first_at"`
	LastAt   apitypes.Timestamp         `json:"last_at"`
	NextAt   apitypes.Timestamp         `json:"next_at"`
	URL      string                     `json:"url"`
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
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		found, err := db.Deliveries(ctx, t.ID, state, q)
		if err != nil {
			return err
		}
		convert := func(d verification.Delivery) deliveryJSON {
			return deliveryJSON{
				RunID: d.Run, State: d.State, Attempts: d.Attempts, Class: d.Class, URL: d.URL,
				FirstAt: apitypes.Timestamp{Time: d.FirstAt}, LastAt: apitypes.Timestamp{Time: d.LastAt}, NextAt: apitypes.Timestamp{Time: d.NextAt},
			}
		}
		return printPage(s, c.JSON, found, convert, "RUN_ID STATE ATTEMPTS CLASS LAST_AT NEXT_AT URL", func(d deliveryJSON) []string {
			return []string{string(d.RunID), string(d.State), strconv.Itoa(d.Attempts), d.Class, d.LastAt.String(), d.NextAt.String(), d.URL}
		})
	})
}

type webhookRedeliver struct {
	RunIDs []runID `arg:"" optional:"" name:"run-id" help:"The runs whose notices are queued."`
	tenantFlags
	AllFailed bool `help:"Queue all notices that have failed."`
	jsonFlag
}

// Run queues notices and prints the result of each.
func (c webhookRedeliver) Run(ctx context.Context, s *session) error {
	if (len(c.RunIDs) == 0) != c.AllFailed {
		return errors.New("give either the ids of runs or --all-failed")
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		e, err := s.engine(db)
		if err != nil {
			return err
		}
		q := &redelivery{out: s.stdout, asJSON: c.JSON, engine: e, tenant: t.ID}
		if c.AllFailed {
			err = q.allFailed(ctx, db, s.clock)
		} else {
			for _, id := range c.RunIDs {
				if _, err = q.add(ctx, id.RunID); err != nil {
					break
				}
			}
		}
		q.end()
		if err == nil && q.refused > 0 {
			err = fmt.Errorf("%d of %d notices were not queued", q.refused, q.count)
		}
		return err
	})
}

// redelivery queues notices and prints each result at once, so that its memory does
// not grow with their number.
type redelivery struct {
	out            io.Writer
	asJSON         bool
	engine         *engine.Engine
	tenant         verification.TenantID
	count, refused int
}

type redeliveryJSON struct {
	RunID  verification.RunID `json:"run_id"`
	Queued bool               `json:"queued"`
	Error  string             `json:"error,omitempty"`
}

// allFailed queues the notices that had failed when it began, the oldest attempt
// first. It reads the ledger from its end: a queued notice leaves the list of failed
// ones, a refused one stays at the end, and one that fails again moves to the front.
func (q *redelivery) allFailed(ctx context.Context, db *database, clock verification.Clock) error {
	began := clock.Now()
	page, err := db.Deliveries(ctx, q.tenant, verification.DeliveryFailed, verification.PageQuery{Limit: 1})
	for err == nil && page.Total > q.refused {
		next := verification.PageQuery{Limit: min(verification.MaxLimit, page.Total-q.refused)}
		next.Offset = page.Total - q.refused - next.Limit
		if page, err = db.Deliveries(ctx, q.tenant, verification.DeliveryFailed, next); err != nil || len(page.Data) == 0 {
			return err
		}
		for _, d := range slices.Backward(page.Data) {
			if d.LastAt.After(began) {
				return nil
			}
			queued, err := q.add(ctx, d.Run)
			if err != nil {
				return err
			}
			if queued {
				page.Total--
			}
		}
	}
	return err
}

// add queues the notice of a run. A notice that is refused does not stop the others.
func (q *redelivery) add(ctx context.Context, run verification.RunID) (queued bool, err error) {
	result := redeliveryJSON{RunID: run}
	switch err := q.engine.Redeliver(ctx, q.tenant, run); {
	case err == nil:
		result.Queued = true
	case errors.Is(err, verification.ErrNotFound):
		result.Error = "the tenant has no run with this id"
	case errors.Is(err, verification.ErrConflict):
		result.Error = err.Error()
	default:
		return false, err
	}
	if !result.Queued {
		q.refused++
	}
	q.print(result)
	q.count++
	return result.Queued, nil
}

const redeliveryRow = "%-36s  %-6s  %s\n"

func (q *redelivery) print(r redeliveryJSON) {
	if !q.asJSON {
		if q.count == 0 {
			fmt.Fprintf(q.out, redeliveryRow, "RUN_ID", "QUEUED", "ERROR")
		}
		fmt.Fprintf(q.out, redeliveryRow, r.RunID, yesNo(r.Queued), oneLine(r.Error))
		return
	}
	separator := ",\n  "
	if q.count == 0 {
		separator = "[\n  "
	}
	raw, _ := json.MarshalIndent(r, "  ", "  ") // strings and a bool always encode
	fmt.Fprintf(q.out, "%s%s", separator, raw)
}

// end prints what follows the last result.
func (q *redelivery) end() {
	switch {
	case q.asJSON && q.count == 0:
		fmt.Fprintln(q.out, "[]")
	case q.asJSON:
		fmt.Fprintln(q.out, "\n]")
	case q.count == 0:
		fmt.Fprintf(q.out, redeliveryRow, "RUN_ID", "QUEUED", "ERROR")
	}
}
