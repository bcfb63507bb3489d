// Histories in the database and their problems.

package soak_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// history is all stored data of a run.
type history struct {
	run     string
	appends []appended
	marks   []mark
}

// appended is the events of one append.
type appended struct {
	seq, upto int
	raw       string
	events    []rules.Event
}

// readHistories returns all runs with their marks.
func readHistories(ctx context.Context, c *pgx.Conn) (map[string]*history, error) {
	rows, err := readAppends(ctx, c, "true")
	if err != nil {
		return nil, err
	}
	marks, err := readMarks(ctx, c)
	if err != nil {
		return nil, err
	}
	all := map[string]*history{}
	for _, r := range rows {
		a := appended{seq: r.Seq, upto: r.Upto, raw: r.Raw}
		if a.events, err = rules.DecodeEvents([]byte(a.raw)); err != nil {
			return nil, fmt.Errorf("run %s, after %d events: %w", r.Run, a.seq, err)
		}
		if all[r.Run] == nil {
			all[r.Run] = &history{run: r.Run, marks: marks[r.Run]}
		}
		all[r.Run].appends = append(all[r.Run].appends, a)
	}
	return all, nil
}

// row is a row of the events table.
type row struct {
	Run       string
	Seq, Upto int
	Raw       string
}

// readAppends returns the rows that a condition selects, in order.
func readAppends(ctx context.Context, c *pgx.Conn, condition string, args ...any) ([]row, error) {
	statement := "SELECT run_id::text AS run, seq, next_seq AS upto, events AS raw FROM verifyd.run_events WHERE " + condition + " ORDER BY run_id, seq"
	rows, err := c.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[row])
}

// events returns all events, oldest first.
func (h *history) events() (all []rules.Event) {
	for _, a := range h.appends {
		all = append(all, a.events...)
	}
	return all
}

// fold returns the run.
func (h *history) fold() rules.Run {
	return rules.Fold(verification.RunID(h.run), h.events())
}

// problems returns the problems of a history: a gap, an answer without a dispatch, a
// second answer to one dispatch, an event after the end.
func (h *history) problems() (problems []string) {
	problem := func(format string, args ...any) {
		problems = append(problems, "run "+h.run+": "+fmt.Sprintf(format, args...))
	}
	upto := 0
	for _, a := range h.appends {
		if a.seq != upto || a.upto != a.seq+len(a.events) || len(a.events) == 0 {
			problem("the history ends at %d, and goes on at %d with %d events up to %d", upto, a.seq, len(a.events), a.upto)
		}
		upto = a.upto
	}
	run := rules.Run{ID: verification.RunID(h.run)}
	var last rules.Event
	for i, e := range h.events() {
		if _, first := e.Fact.(rules.Started); first != (i == 0) {
			problem("event %d is %s", i+1, e.Kind())
		}
		if _, late := e.Fact.(rules.Expired); !late && e.At.Before(last.At) {
			problem("event %d (%s) is older than the one before", i+1, e.Kind())
		}
		if err := follows(run, e); err != nil {
			problem("event %d: %v", i+1, err)
		}
		run, last = run.Evolve(e), e
	}
	return problems
}

// follows reports whether an event may be next.
func follows(run rules.Run, e rules.Event) error {
	if run.Ended == rules.StatusCompleted {
		switch e.Fact.(type) {
		case rules.HitsFound:
			return nil
		case rules.RejectedBefore: // of a run that needs a verdict, also where they could not be looked up
			if _, needs := run.InReview(); needs {
				return nil
			}
		}
	}
	if _, verdict := e.Fact.(rules.VerdictRecorded); run.Ended != "" && !verdict {
		return fmt.Errorf("%s after the end", e.Kind())
	}
	w := run.Wait()
	on := func(node verification.NodeID, kinds ...rules.WaitKind) error {
		for _, k := range kinds {
			if w.Kind == k && w.Node == node {
				return nil
			}
		}
		return fmt.Errorf("%s of %s while the run waits for %q of %s", e.Kind(), node, w.Kind, w.Node)
	}
	switch f := e.Fact.(type) {
	case rules.ResultRecorded:
		return on(f.Node, rules.WaitResult, rules.WaitPoll)
	case rules.ResultPending:
		return on(f.Node, rules.WaitResult, rules.WaitPoll)
	case rules.DispatchFailed:
		return on(f.Node, rules.WaitResult, rules.WaitPoll)
	case rules.CustomerSubmitted:
		return on(f.Node, rules.WaitCustomer)
	case rules.Dispatched:
		step, _ := run.Step(f.Node)
		if f.Dispatch != step.Dispatches+1 {
			return fmt.Errorf("dispatch %d of %s after %d", f.Dispatch, f.Node, step.Dispatches)
		}
		if w.Kind == rules.WaitResult || w.Kind == rules.WaitPoll {
			return fmt.Errorf("dispatch of %s while the result of %s is awaited", f.Node, w.Node)
		}
	case rules.VerdictRecorded:
		if f.Node != "" {
			return on(f.Node, rules.WaitReview)
		}
	}
	return nil
}

// missed compares a run with the end in its order.
func (e end) missed(r rules.Run) string {
	got := end{Status: r.Ended, Decision: r.Decision()}
	if r.Error != nil {
		got.Code, got.Check = r.Error.Code, r.Error.Check
	}
	if got == e {
		return ""
	}
	return fmt.Sprintf("run %s (%s) ended as %+v, want %+v", r.ID, r.Started.ReferenceID, got, e)
}
