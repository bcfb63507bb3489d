// Kept runs: those under a hold, those that are restricted, and those whose personal data was removed.

package desk

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// KeptRun is a run that is held or restricted, or that was redacted or deleted.
type KeptRun struct {
	store.AuditEntry           // of what was done to it
	Run              rules.Run // as it is read without the rights of an auditor; the zero value for a deleted one
	Reason           string    // of a hold or a restriction; empty for a removal, and if it is hidden
}

// maxKeptEntries is the maximum number of entries that are read for a page.
const maxKeptEntries = 1000

// KeptRuns returns runs to which something was done, the last one first: they are under a hold (AuditRunHeld), restricted
// (AuditRunRestricted), redacted (AuditRunRedacted) or deleted (AuditRunDeleted). They are found in the audit trail: what is older than the trail is
// not found. before continues a list after an entry, and older is the entry after which the list goes on; empty for none.
func (d *Desk) KeptRuns(ctx context.Context, t verification.TenantID, action store.AuditAction, before string) (runs []KeptRun, older string, err error) {
	seen := map[verification.RunID]bool{}
	for range maxKeptEntries / store.DefaultLimit {
		entries, err := d.store.AuditEntries(ctx, t, store.AuditQuery{Action: action, Before: before, Limit: store.DefaultLimit})
		if err != nil {
			return nil, "", err
		}
		for _, e := range entries {
			before = e.ID
			if seen[e.Run] {
				continue
			}
			seen[e.Run] = true
			history, err := d.store.Load(ctx, t, e.Run, 0)
			if err != nil && !errors.Is(err, verification.ErrNotFound) {
				return nil, "", err
			}
			shown := rules.Shown(history)
			one, still := KeptRun{AuditEntry: e, Run: rules.Fold(e.Run, shown)}, true
			if at := e.Event(); at >= 0 && at < len(shown) {
				switch f := shown[at].Fact.(type) { //nolint:gochecksumtype // the others end nothing
				case rules.Held:
					one.Reason, still = f.Reason, one.Run.Hold != (rules.Hold{})
				case rules.Restricted:
					one.Reason, still = f.Reason, !one.Run.RestrictedAt.IsZero()
				}
			}
			if still {
				runs = append(runs, one)
			}
			if len(runs) == store.DefaultLimit {
				return runs, before, nil
			}
		}
		if len(entries) < store.DefaultLimit {
			return runs, "", nil
		}
	}
	return runs, before, nil
}
