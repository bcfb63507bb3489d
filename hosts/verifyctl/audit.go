// The commands about the audit trail.

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type auditCommands struct {
	List   auditList   `cmd:"" help:"List who read whose data, and who decided or changed what." see:"data-protection.md#audit-trail"`
	Export auditExport `cmd:"" help:"Print the audit trail as one JSON object a line." see:"data-protection.md#audit-trail"`
}

// auditFilter are the filters of the audit trail.
type auditFilter struct {
	From  timeFlag `placeholder:"TIME" help:"Only entries of this time or later, as 2026-03-01 or 2026-03-01T09:00:00Z."`
	Until timeFlag `placeholder:"TIME" help:"Only earlier entries."`
}

// timeFlag is a time, or a day in UTC.
type timeFlag struct{ time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *timeFlag) UnmarshalText(text []byte) (err error) {
	if f.Time, err = time.Parse(time.DateOnly, string(text)); err == nil {
		return nil
	}
	if f.Time, err = time.Parse(time.RFC3339, string(text)); err != nil {
		return fmt.Errorf("must be a day such as 2026-03-01, or a time such as 2026-03-01T09:00:00Z")
	}
	return nil
}

type auditList struct {
	tenantFlags
	auditFilter
	Actor  string `placeholder:"ID" help:"Only what this actor did: a client id, the identity of a reviewer, or the name of an operator."`
	Action string `placeholder:"ACTION" help:"Only this action, such as run.read."`
	RunID  runID  `name:"run" placeholder:"RUN_ID" help:"Only what was done with this run."`
	Limit  int    `default:"50" help:"Maximum number of entries, 1 to 1000 (default 50)."`
	Before string `placeholder:"ID" help:"Only entries before the one with this id: the last one of the page before."`
	jsonFlag
}

// auditLine is a line of the table.
type auditLine struct {
	store.AuditEntry
	By   verification.ActorKind `json:"by"`
	Name string                 `json:"name"`
	Who  string                 `json:"who"`
}

// Run prints entries, newest first.
func (c auditList) Run(ctx context.Context, s *session) error {
	q := store.AuditQuery{
		Limit: c.Limit, Before: c.Before, Actor: c.Actor, Action: store.AuditAction(c.Action), Run: c.RunID.RunID, From: c.From.Time, Until: c.Until.Time,
	}
	if q.Validate() != nil {
		return fmt.Errorf("--limit: must be 1 to %d", store.MaxAuditLimit)
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		entries, err := db.AuditEntries(ctx, t.ID, q)
		if err != nil {
			return err
		}
		if len(entries) == c.Limit {
			s.note("there may be more entries: give --before " + entries[len(entries)-1].ID)
		}
		if c.JSON {
			return printList(s, true, entries, "")
		}
		lines := mapSlice(entries, func(e store.AuditEntry) auditLine {
			return auditLine{AuditEntry: e, By: e.Actor.Kind, Who: e.Actor.ID, Name: e.Actor.Name}
		})
		return printList(s, false, lines, "AT BY WHO NAME ACTION RUN DOCUMENT SUBJECT DETAIL COUNT")
	})
}

type auditExport struct {
	tenantFlags
	auditFilter
}

// Run prints all entries, newest first, and adds an entry that says so.
func (c auditExport) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		q := store.AuditQuery{Limit: store.MaxAuditLimit, From: c.From.Time, Until: c.Until.Time}
		if err := s.audit(ctx, db, store.AuditEntry{Tenant: t.ID, Action: store.AuditExported}); err != nil {
			return err
		}
		out := json.NewEncoder(s.stdout)
		for {
			entries, err := db.AuditEntries(ctx, t.ID, q)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := out.Encode(e); err != nil {
					return err
				}
			}
			if len(entries) < q.Limit {
				return nil
			}
			q.Before = entries[len(entries)-1].ID
		}
	})
}

// audit adds an entry about the user of the command to the audit trail.
func (s *session) audit(ctx context.Context, db *database, e store.AuditEntry) error {
	e.Actor, e.At = operatorActor(s.operator), s.clock.Now().UTC().Truncate(time.Microsecond)
	e.ID = store.AuditID(e.At, rand.Text())
	if err := db.AppendAudit(ctx, []store.AuditEntry{e}); err != nil {
		return fmt.Errorf("add to the audit trail: %w", err)
	}
	return nil
}
