// The audit trail of a data folder whose host was killed.

package server

import (
	"context"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// noteKilled adds to the trail of each tenant that reads of accounts may be missing, if the host before was killed: one entry
// for a day.
func (h *host) noteKilled(ctx context.Context, now time.Time) error {
	f := h.storage.folder
	if f == nil || !f.journal.Recovery().Killed {
		return nil
	}
	tenants, err := f.journal.Tenants(ctx)
	if err != nil {
		return err
	}
	var entries []store.AuditEntry
	now = now.UTC().Truncate(time.Microsecond)
	for _, t := range tenants {
		entries = append(entries, store.AuditEntry{
			Tenant: t.ID, ID: store.AuditID(now.Truncate(24*time.Hour), "killed"), At: now, LastAt: now, Count: 1,
			Actor: verification.Actor{Kind: verification.ActorSystem}, Action: store.AuditReadsLost, Detail: "a host was killed",
		})
	}
	if len(entries) == 0 {
		return nil
	}
	h.log.Warn("the host before this one was killed: the audit trail may lack what accounts read first in its last second, and what its last minute added to counts")
	if err := f.journal.AppendAudit(ctx, entries); err != nil {
		return fmt.Errorf("add to the audit trail: %w", err)
	}
	return nil
}
