// The command that shows one run.

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/verifyd/verifyd/verification"
)

type runShow struct {
	RunID runID `arg:"" help:"The run."`
	databaseFlag
	tenantFlag
	Events bool `help:"Show the history, too: what happened, and when."`
	jsonFlag
}

// Help is shown below the usage.
func (runShow) Help() string {
	return `What customers and sources answered stands in the JSON alone: it is personal data. The
customer's link is never shown. Who gave a verdict is. The tenant need not be named: it is
found by the run.

Examples:

    verifyctl run show 0191f3c0-0000-7000-8000-00000000a001 --events
    verifyctl run show 0191f3c0-0000-7000-8000-00000000a001 --json`
}

// shown is all that is shown of a run, out of one reading of its history.
type shown struct {
	report  verification.Report
	run     verification.Run // as of now
	action  *verification.Action
	history []verification.Event
}

// Run prints the run.
func (c runShow) Run(ctx context.Context, s *session) error {
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		tenant, err := db.tenantOf(ctx, c.tenantFlag, c.RunID.RunID)
		if err != nil {
			return err
		}
		history, err := db.Load(ctx, tenant, c.RunID.RunID, 0)
		if errors.Is(err, verification.ErrNotFound) {
			return notFound("run", "the tenant has none of this id")
		}
		if err != nil {
			return err
		}
		now := s.clock.Now().UTC()
		run := verification.Fold(c.RunID.RunID, history).AsOf(now)
		r := shown{
			report: verification.MakeReport(c.RunID.RunID, history, now), run: run,
			action: run.Summary().View(now).Action, history: history,
		}
		if c.JSON {
			return s.json(r.json(c.Events))
		}
		return r.print(s, c.Events)
	})
}

func (r shown) print(s *session, events bool) error {
	report, by := r.report, ""
	if report.Decision.Verdict() {
		by = r.run.Verdict.By
	}
	waits, fault := "", ""
	if r.action != nil {
		waits = fmt.Sprintf("%s, signal %s", r.action.Type, r.action.SignalName)
	}
	if e := report.Error; e != nil {
		fault = faultOf(e) + ": " + e.Message
	}
	err := s.facts([][2]string{
		{"id", string(report.Run.ID)},
		{"reference_id", report.Run.ReferenceID},
		{"workflow", fmt.Sprintf("%s, version %d", report.Workflow.Name, report.Workflow.Version)},
		{"workflow_id", string(report.Workflow.ID)},
		{"version_hash", short(report.Workflow.VersionHash)},
		{"status", string(report.Run.Status)},
		{"waits_for", waits},
		{"error", fault},
		{"decision", string(report.Decision)},
		{"decided_by", by},
		{"resolved_at", moment(report.ResolvedAt).String()},
		{"notes", report.Notes},
		{"started_at", moment(report.Run.StartedAt).String()},
		{"completed_at", moment(report.Run.CompletedAt).String()},
		{"digest", report.Digest},
	}...)
	if err != nil {
		return err
	}
	if err := s.cards(report.Cards); err != nil || !events {
		return err
	}
	fmt.Fprintln(s.stdout)
	return s.table([]string{"AT", "EVENT", "WHAT"}, shapes(r.history, func(e verification.Event) []string {
		return []string{e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Kind(), told(e.Fact)}
	}))
}

func (s *session) cards(cards []verification.Card) error {
	if len(cards) == 0 {
		return nil
	}
	fmt.Fprintln(s.stdout)
	names := []string{"CARD", "TYPE", "STATUS", "DISPATCHES", "STARTED_AT", "COMPLETED_AT", "REASON"}
	return s.table(names, shapes(cards, func(c verification.Card) []string {
		return []string{
			string(c.NodeID), string(c.Type), string(c.Status), strconv.Itoa(c.Dispatches),
			moment(c.StartedAt).String(), moment(c.CompletedAt).String(), c.Reason,
		}
	}))
}
