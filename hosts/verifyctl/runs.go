// The commands about runs.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

type runCommands struct {
	List       runList       `cmd:"" help:"List the runs of a tenant."`
	Show       runShow       `cmd:"" help:"Show one run: its status, its cards and, with --events, its history."`
	Redact     runRedact     `cmd:"" help:"Remove the personal data of a run for good." see:"data-protection.md#redaction"`
	Correct    runCorrect    `cmd:"" help:"Record a correction beside a value of a run." see:"data-protection.md#corrections"`
	Hold       runHold       `cmd:"" help:"Put a run under a hold, so that nothing of it is removed." see:"data-protection.md#redaction"`
	Release    runRelease    `cmd:"" help:"End the hold of a run." see:"data-protection.md#redaction"`
	Restrict   runRestrict   `cmd:"" help:"Keep the personal data of a run, and hide it." see:"data-protection.md#restriction"`
	Unrestrict runUnrestrict `cmd:"" help:"Show the personal data of a restricted run again." see:"data-protection.md#restriction"`
}

type runList struct {
	tenantFlags
	Workflow      string  `placeholder:"WORKFLOW" help:"Only runs of this workflow: its stable name or its id."`
	Status        string  `placeholder:"STATUS" help:"Only runs that are completed, cancelled, expired, failed, in_progress or abandoned."`
	Decision      string  `placeholder:"DECISION" help:"Only runs whose decision is review, approve or reject."`
	ReferenceID   string  `placeholder:"ID" help:"Only runs with this reference id."`
	StartedAfter  instant `placeholder:"TIME" help:"Only runs that started later, such as 2026-01-31T18:30:00Z."`
	StartedBefore instant `placeholder:"TIME" help:"Only runs that started earlier."`
	pageFlags
	jsonFlag
}

// runJSON is a run as lists of the API show it, with its decision. It has no journey
// link: anyone with the link can act as the customer.
type runJSON struct {
	apitypes.Run
	Decision *rules.Decision `json:"decision"`
}

type runRow struct {
	runJSON
	WaitsFor string `json:"waits_for"`
	Error    string `json:"error"`
}

func (c runList) Run(ctx context.Context, s *session) error {
	q, err := c.query()
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		if c.Workflow != "" {
			w, err := db.workflow(ctx, t.ID, c.Workflow)
			if err != nil {
				return err
			}
			q.Workflow = w.ID
		}
		q.Now = s.clock.Now().UTC()
		if c.ReferenceID != "" {
			if err := s.audit(ctx, db, store.AuditEntry{Tenant: t.ID, Action: store.AuditPersonSearched}); err != nil {
				return err
			}
		}
		found, err := db.List(ctx, t.ID, q)
		if err != nil {
			return err
		}
		convert := func(r rules.Summary) runJSON {
			return runJSON{apitypes.NewRun(r.View(q.Now)), apitypes.NewDecision(r.DecisionAt(q.Now))}
		}
		if c.JSON {
			return printPage(s, true, found, convert, "")
		}
		return printPage(s, false, found, func(r rules.Summary) runRow {
			run := convert(r)
			return runRow{run, waitsFor(run.ActionRequired), errorText(run.Error)}
		}, "ID REFERENCE_ID STATUS DECISION STARTED_AT COMPLETED_AT WAITS_FOR ERROR")
	})
}

// query returns the filters. The errors have the texts of the API.
func (c runList) query() (q store.RunQuery, err error) {
	if q.PageQuery, err = c.page(); err != nil {
		return q, err
	}
	if c.Status != "" {
		if q.Status, err = rules.ParseStatus(c.Status); err != nil {
			return q, errors.New("--status: invalid status (supported: completed, cancelled, expired, failed, in_progress, abandoned)")
		}
	}
	if c.Decision != "" {
		if q.Decision, err = rules.ParseDecision(c.Decision); err != nil {
			return q, errors.New("--decision: invalid decision (supported: review, approve, reject)")
		}
	}
	if c.ReferenceID != "" {
		if rules.ValidateReferenceID(c.ReferenceID) != nil {
			return q, errors.New("--reference-id: must have 1 to 255 characters and no control characters")
		}
	}
	q.ReferenceID, q.StartedAfter, q.StartedBefore = c.ReferenceID, c.StartedAfter.Time, c.StartedBefore.Time
	return q, nil
}

func decisionText(d *rules.Decision) string {
	if d == nil {
		return ""
	}
	return string(*d)
}

func waitsFor(a *rules.Action) string {
	if a == nil {
		return ""
	}
	return string(a.Type)
}

// errorText returns code and check of a run error.
func errorText(e *rules.RunError) string {
	if e == nil {
		return ""
	}
	return strings.TrimSuffix(string(e.Code)+" "+e.Check, " ")
}

type runShow struct {
	RunID runID `arg:"" help:"The run."`
	tenantFlags
	Events bool `help:"Show the history as well: each event and its time."`
	jsonFlag
}

// shownRun is the report of the API, and what only operators see.
type shownRun struct {
	apitypes.Report
	ActionRequired *rules.Action     `json:"action_required"`
	DecidedBy      string            `json:"decided_by,omitempty"`
	Hits           []shownHit        `json:"hits,omitempty"`
	Events         []json.RawMessage `json:"events,omitempty"`
}

func (c runShow) Run(ctx context.Context, s *session) error {
	return c.databaseFlag.with(ctx, s, func(db *database) error {
		id := c.RunID.RunID
		tenant, err := db.tenantOf(ctx, c.tenantFlag, id)
		if err != nil {
			return err
		}
		history, err := db.Load(ctx, tenant, id, 0)
		if err == nil {
			err = s.audit(ctx, db, store.AuditEntry{Tenant: tenant, Action: store.AuditRunRead, Run: id})
		}
		if err != nil {
			return runError(err)
		}
		history = rules.Shown(history)
		now := s.clock.Now().UTC()
		run := rules.Fold(id, history).AsOf(now)
		report := rules.MakeReport(id, history, now)
		shown := shownRun{
			Report: apitypes.NewReport(report), Hits: hitsOf(report),
			ActionRequired: run.Summary().View(now).Action,
		}
		if shown.Decision != nil && shown.Decision.Verdict() {
			shown.DecidedBy = run.Verdict.By
		}
		if !c.JSON {
			return shown.print(s, history, c.Events)
		}
		if c.Events {
			shown.Events = mapSlice(history, eventOf)
		}
		return s.json(shown)
	})
}

// runError names the run in an error of a store.
func runError(err error) error {
	if errors.Is(err, verification.ErrNotFound) {
		return notFound("run", "the tenant has no run with this id")
	}
	return err
}

func (r shownRun) print(s *session, history []rules.Event, events bool) error {
	waits, failure := "", ""
	if a := r.ActionRequired; a != nil {
		waits = fmt.Sprintf("%s, signal %s", a.Type, a.SignalName)
	}
	if r.Error != nil {
		failure = errorText(r.Error) + ": " + r.Error.Message
	}
	err := s.attributes([][2]string{
		{"id", string(r.Run.ID)},
		{"reference_id", r.Run.ReferenceID},
		{"workflow", fmt.Sprintf("%s, version %d", r.Workflow.Name, r.Workflow.Version)},
		{"workflow_id", string(r.Workflow.ID)},
		{"version_hash", short(r.Workflow.VersionHash)},
		{"status", string(r.Run.Status)},
		{"outcome", r.Run.Outcome},
		{"data", r.Run.Data.String()},
		{"waits_for", waits},
		{"error", failure},
		{"decision", decisionText(r.Decision)},
		{"decided_by", r.DecidedBy},
		{"resolved_at", r.ResolvedAt.String()},
		{"notes", r.Notes},
		{"started_at", r.Run.StartedAt.String()},
		{"completed_at", r.Run.CompletedAt.String()},
		{"redacted_at", r.Run.RedactedAt.String()},
		{"erased_at", r.Run.ErasedAt.String()},
		{"documents_removed_at", r.Run.DocumentsRemovedAt.String()},
		{"restricted_at", r.Run.RestrictedAt.String()},
		{"digest", r.Digest},
	}...)
	if err != nil {
		return err
	}
	if len(r.Cards) > 0 {
		fmt.Fprintln(s.stdout)
		names := []string{"CARD", "TYPE", "STATUS", "DISPATCHES", "STARTED_AT", "COMPLETED_AT", "REASON"}
		err = s.table(names, slices.Concat(mapSlice(r.Cards, cardRows)...))
	}
	if err == nil && len(r.Unscreened) > 0 {
		fmt.Fprintln(s.stdout)
		err = s.table([]string{"UNSCREENED", "LABEL", "REASON"}, mapSlice(r.Unscreened, func(u rules.Unscreened) []string {
			return []string{string(u.NodeID), u.Label, u.Reason()}
		}))
	}
	if err == nil && len(r.Hits) > 0 {
		fmt.Fprintln(s.stdout)
		err = s.table([]string{"CARD", "LIST", "ENTRY", "HIT", "BY"}, mapSlice(r.Hits, shownHit.row))
	}
	if err != nil || !events {
		return err
	}
	fmt.Fprintln(s.stdout)
	return s.table([]string{"AT", "EVENT", "DESCRIPTION"}, mapSlice(history, func(e rules.Event) []string {
		return []string{e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Kind(), describe(e)}
	}))
}

// cardRows returns the row of a card, and below it a row of each earlier visit of its step.
func cardRows(c apitypes.Card) [][]string {
	row := func(name string, status rules.CardStatus, dispatches int, from, to apitypes.Timestamp, reason string) []string {
		return []string{name, string(c.Type), string(status), strconv.Itoa(dispatches), from.String(), to.String(), reason}
	}
	rows := [][]string{row(string(c.NodeID), c.Status, c.Dispatches, c.StartedAt, c.CompletedAt, c.Reason)}
	for _, v := range c.Visits {
		rows = append(rows, row(fmt.Sprintf("%s, visit %d", c.NodeID, v.Visit), v.Status, v.Dispatches, v.StartedAt, v.CompletedAt, v.Reason))
	}
	if c.VisitsOmitted > 0 {
		rows = append(rows, []string{fmt.Sprintf("%s, visits left out: %d", c.NodeID, c.VisitsOmitted), string(c.Type), "", "", "", "", ""})
	}
	return rows
}

// change calls f with an engine and the tenant of a run.
func (c tenantFlags) change(
	ctx context.Context, s *session, run runID, f func(*engine.Engine, verification.TenantID, verification.RunID) error,
) error {
	return c.databaseFlag.with(ctx, s, func(db *database) error {
		tenant, err := db.tenantOf(ctx, c.tenantFlag, run.RunID)
		if err != nil {
			return err
		}
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		return runError(f(e, tenant, run.RunID))
	})
}

type runCorrect struct {
	RunID runID  `arg:"" help:"The run."`
	Node  string `placeholder:"NODE" help:"The step whose data has the value; the input of the start without it."`
	Field string `required:"" placeholder:"PATH" help:"The value, such as name or owners[0].name."`
	Value string `required:"" placeholder:"TEXT" help:"The correction, at most 1,000 characters."`
	tenantFlags
}

// Run records the correction.
func (c runCorrect) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, c.RunID, func(e *engine.Engine, t verification.TenantID, id verification.RunID) error {
		err := e.Correct(ctx, t, id, rules.Correct{
			Node: verification.NodeID(c.Node), Field: c.Field, Correction: c.Value, By: s.operator.Name, Identity: s.operator.Identity,
		})
		if err != nil {
			return err
		}
		return s.say(false, nil, "run %s: %s has a correction", id, oneLine(c.Field))
	})
}

type runHold struct {
	RunID  runID  `arg:"" help:"The run."`
	Reason string `required:"" placeholder:"TEXT" help:"Why nothing of the run may be removed."`
	tenantFlags
}

// Run puts the run under a hold.
func (c runHold) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, c.RunID, func(e *engine.Engine, t verification.TenantID, id verification.RunID) error {
		hold := rules.HoldRun{Reason: c.Reason, By: s.operator.Name, Identity: s.operator.Identity}
		if err := e.HoldRun(ctx, t, id, hold); err != nil {
			return err
		}
		return s.say(false, nil, "run %s: under a hold of %s", id, hold.By)
	})
}

type runRelease struct {
	RunID runID `arg:"" help:"The run."`
	tenantFlags
}

// Run ends the hold of the run.
func (c runRelease) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, c.RunID, func(e *engine.Engine, t verification.TenantID, id verification.RunID) error {
		if err := e.EndHold(ctx, t, id, rules.EndHold{By: s.operator.Name, Identity: s.operator.Identity}); err != nil {
			return err
		}
		return s.say(false, nil, "run %s: under no hold", id)
	})
}

type runRestrict struct {
	RunID  runID  `arg:"" help:"The run."`
	Reason string `required:"" placeholder:"TEXT" help:"Why the run may not be used."`
	tenantFlags
}

// Run restricts the run.
func (c runRestrict) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, c.RunID, func(e *engine.Engine, t verification.TenantID, id verification.RunID) error {
		shown, err := e.Restrict(ctx, t, id, c.Reason, s.operator)
		if err != nil {
			return err
		}
		return s.say(false, nil, "run %s: restricted since %s", id, apitypes.NewRunDetail(shown).RestrictedAt)
	})
}

type runUnrestrict struct {
	RunID  runID  `arg:"" help:"The run."`
	Reason string `required:"" placeholder:"TEXT" help:"Why the run may be used again."`
	tenantFlags
}

// Run lifts the restriction of the run. A host makes it known to searches for a person.
func (c runUnrestrict) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, c.RunID, func(e *engine.Engine, t verification.TenantID, id verification.RunID) error {
		if _, err := e.LiftRestriction(ctx, t, id, c.Reason, s.operator); err != nil {
			return err
		}
		return s.say(false, nil, "run %s: not restricted", id)
	})
}
