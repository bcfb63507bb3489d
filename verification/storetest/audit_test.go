package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification/store"
)

// auditing breaks the entries that are added.
func auditing(change func(e *store.AuditEntry)) breakage {
	return func(b *broken, sound stores) {
		b.AppendAuditFunc = func(ctx context.Context, entries []store.AuditEntry) error {
			changed := slices.Clone(entries)
			for i := range changed {
				change(&changed[i])
			}
			return sound.AppendAudit(ctx, changed)
		}
	}
}

// listingAudit breaks the query of the audit trail, and what it returns.
func listingAudit(query func(q *store.AuditQuery), found func(all []store.AuditEntry)) breakage {
	return func(b *broken, sound stores) {
		b.AuditEntriesFunc = func(ctx context.Context, t tenantID, q store.AuditQuery) ([]store.AuditEntry, error) {
			query(&q)
			all, err := sound.AuditEntries(ctx, t, q)
			found(all)
			return all, err
		}
	}
}

func auditBreaches() []breach {
	asIs := func([]store.AuditEntry) {}
	loses := func(field string, change func(e *store.AuditEntry)) breach {
		return breach{"an entry of the audit trail is returned as it was added", field + " is lost", auditing(change)}
	}
	ignores := func(filter string, query func(q *store.AuditQuery)) breach {
		return breach{"each filter of the audit trail selects entries", filter + " is ignored", listingAudit(query, asIs)}
	}
	appending := func(change func(c *store.Commit), always bool) breakage {
		return func(b *broken, sound stores) {
			b.AppendFunc = func(ctx context.Context, t tenantID, id runID, seq int, c store.Commit) error {
				entries := c.Audit
				change(&c)
				err := sound.Append(ctx, t, id, seq, c)
				if always {
					_ = sound.AppendAudit(ctx, entries)
				}
				return err
			}
		}
	}
	return []breach{
		loses("the actor's name", func(e *store.AuditEntry) { e.Actor.Name = "" }),
		loses("the document", func(e *store.AuditEntry) { e.Document = "" }),
		loses("the time", func(e *store.AuditEntry) { e.At = e.At.Truncate(1e9) }),
		{"a count of the audit trail grows", "a later count is not added", auditing(func(e *store.AuditEntry) { e.Count = 0 })},
		{"a count of the audit trail grows", "its last time stays", auditing(func(e *store.AuditEntry) { e.LastAt = time.Time{} })},
		{"a time selects counts by their last time", "by their first time", listingAudit(func(q *store.AuditQuery) {
			if !q.From.IsZero() && q.Until.IsZero() {
				q.From = q.From.Add(30 * time.Minute)
			}
		}, asIs)},
		{"the audit trail is listed newest first", "the oldest comes first", listingAudit(func(*store.AuditQuery) {}, slices.Reverse[[]store.AuditEntry])},
		ignores("Actor", func(q *store.AuditQuery) { q.Actor = "" }),
		ignores("Action", func(q *store.AuditQuery) { q.Action = "" }),
		ignores("Run", func(q *store.AuditQuery) { q.Run = "" }),
		ignores("From", func(q *store.AuditQuery) { q.From = q.From.Add(1e3) }),
		ignores("Until", func(q *store.AuditQuery) { q.Until = q.Until.Add(1e3) }),
		ignores("Limit", func(q *store.AuditQuery) { q.Limit = store.MaxAuditLimit }),
		{"a list of the audit trail is continued", "Before is ignored", listingAudit(func(q *store.AuditQuery) { q.Before = "" }, asIs)},
		{"two tenants have separate audit trails", "a tenant reads the entries of another one", func(b *broken, sound stores) {
			b.AuditEntriesFunc = func(ctx context.Context, t tenantID, q store.AuditQuery) ([]store.AuditEntry, error) {
				return sound.AuditEntries(ctx, "b0000000-0000-7000-8000-000000000001", q)
			}
		}},
		{"an append adds its entries to the audit trail", "Append ignores them", appending(func(c *store.Commit) { c.Audit = nil }, false)},
		{"a refused append adds nothing to the audit trail", "they are added first", appending(func(c *store.Commit) { c.Audit = nil }, true)},
		{"entries with a cancelled context are not added", "they are", func(b *broken, sound stores) {
			b.AppendAuditFunc = func(ctx context.Context, entries []store.AuditEntry) error {
				return sound.AppendAudit(context.WithoutCancel(ctx), entries)
			}
		}},
	}
}
