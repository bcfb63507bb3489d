// A data folder that this process holds.

package operator

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Held is the data of a folder that this process holds. It is safe for concurrent use.
type Held struct {
	*journal.Store
	keyFile
	backupFile
	ledger

	folder datadir.Folder
	host   Host
}

// Host is the host that holds a folder. The zero Host is none.
type Host struct {
	// Describe describes the host as it is now.
	Describe func(ctx context.Context) pgadmin.Host
	// Wake makes the host look for work, which an operator may have queued.
	Wake func()
}

// Hold returns the data of a folder. Close closes the journal.
func Hold(folder datadir.Folder, j *journal.Store, host Host) *Held {
	return &Held{Store: j, keyFile: keyFile{folder}, backupFile: backupFile{folder}, folder: folder, host: host, ledger: ledger{of: folder}}
}

// Append implements Ports.
func (h *Held) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	err := h.Store.Append(ctx, t, id, seq, c)
	h.wake()
	return err
}

// Postpone implements Ports.
func (h *Held) Postpone(ctx context.Context, w store.Work, at time.Time) error {
	err := h.Store.Postpone(ctx, w, at)
	h.wake()
	return err
}

// Release implements Ports.
func (h *Held) Release(ctx context.Context, work []store.Work, at time.Time) error {
	err := h.Store.Release(ctx, work, at)
	h.wake()
	return err
}

// HoldPass implements Ports.
func (h *Held) HoldPass(ctx context.Context, p store.RescreenPass, now time.Time) (store.RescreenPass, error) {
	held, err := h.Store.HoldPass(ctx, p, now)
	h.wake()
	return held, err
}

// SaveSetup implements Ports. It lists the file once the journal has its changes.
func (h *Held) SaveSetup(ctx context.Context, s store.Setup) error {
	err := h.Store.SaveSetup(ctx, s)
	if err != nil || s.DryRun || s.File == (store.AppliedFile{}) {
		return err
	}
	return h.SaveAppliedFile(ctx, pgadmin.AppliedFile{Hash: s.File.Hash, Names: s.File.Names})
}

func (h *Held) wake() {
	if h.host.Wake != nil {
		h.host.Wake()
	}
}

// Hosts implements Ports: it returns the host that holds the folder.
func (h *Held) Hosts(ctx context.Context) ([]pgadmin.Host, error) {
	if h.host.Describe == nil {
		return nil, ctx.Err()
	}
	return []pgadmin.Host{h.host.Describe(ctx)}, ctx.Err()
}

// Health implements Ports.
func (h *Held) Health(ctx context.Context, now time.Time) (pgadmin.Health, error) {
	b, err := h.Backlog(ctx, now, pgadmin.LateAfter)
	return pgadmin.Health{
		Level:    h.Level(),
		LateWork: int64(b.Late), OldestDue: b.Oldest, RepeatedlyLost: int64(b.RepeatedlyLost), OverdueRuns: int64(b.Overdue),
		PendingDeliveries: int64(b.Pending), FailedDeliveries: int64(b.Failed),
	}, err
}

// RunTenants implements Ports.
func (h *Held) RunTenants(ctx context.Context, id verification.RunID) (found []verification.TenantID, err error) {
	all, err := h.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		_, err := h.Load(ctx, t.ID, id, math.MaxInt)
		switch {
		case err == nil:
			found = append(found, t.ID)
		case !errors.Is(err, verification.ErrNotFound):
			return nil, err
		}
	}
	return found, nil
}
