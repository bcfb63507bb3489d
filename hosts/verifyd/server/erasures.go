// The ledger of erasures: a host looks at it before it is ready, and keeps it up to date.

package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	ledgerEvery   = 10 * time.Second // how often a host writes what the ledger is owed
	ledgerTimeout = time.Minute
	ledgerChecks  = time.Hour // how often it checks the whole ledger
	ledgerLines   = 10 * time.Minute
	ledgerCount   = 1000 // owed entries that are counted
)

// ledgerState is what a host has found since it started.
type ledgerState struct {
	problem atomic.Pointer[string]
	owed    atomic.Int64
}

func (l *ledgerState) found() string {
	if p := l.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// applyErasures does again what the ledger says, in a store that was restored from before.
func (h *host) applyErasures(ctx context.Context) error {
	applied, err := h.engine.ApplyErasures(ctx, h.settings.AcceptLedger)
	if damaged := (*engine.LedgerError)(nil); errors.As(err, &damaged) {
		return fmt.Errorf("%w: look for the whole ledger (verifyctl store check shows what a folder has); to go on without what is missing, start once with --accept-ledger %s",
			err, damaged.Name)
	}
	if err != nil {
		return fmt.Errorf("the ledger of erasures cannot be applied to the store, which may have data again that was removed: %w", err)
	}
	h.erased.Store(int64(applied.Failed))
	switch {
	case applied.Failed > 0:
		h.log.Error("the store was restored from before, and what the ledger of erasures says of some runs cannot be done now: do it by hand",
			"redacted", applied.Redacted, "deleted", applied.Deleted, "kept", applied.Kept, "failed", applied.Failed)
	case applied.Redacted+applied.Deleted+applied.Kept > 0:
		h.log.Warn("the store was restored from before; what was erased since was erased again",
			"redacted", applied.Redacted, "deleted", applied.Deleted, "kept", applied.Kept)
	}
	return nil
}

// keepLedger writes what the ledger is owed and checks the ledger, until ctx ends. When the store may have lost changes, it
// first does again what the ledger says.
func (h *host) keepLedger(ctx context.Context) {
	tick := time.NewTicker(ledgerEvery)
	defer tick.Stop()
	checked, logged, again := time.Now(), time.Time{}, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.storage.moved:
			again = true
		case <-tick.C:
		}
		var err error
		if again {
			err = h.applyErasures(ctx)
			again = err != nil
		}
		if err == nil {
			err = h.noteErasures(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil && time.Since(checked) >= ledgerChecks {
			checked = time.Now()
			err = h.checkLedger(ctx)
		}
		if err != nil && time.Since(logged) >= ledgerLines {
			logged = time.Now()
			h.log.Error("the ledger of erasures is not up to date", "error", err)
		}
	}
}

func (h *host) noteErasures(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	err := h.engine.NoteErasures(ctx)
	owed, counted := store.Tables{RowStore: h.storage}.OwedErasures(ctx, ledgerCount)
	if counted == nil {
		h.ledger.owed.Store(int64(len(owed)))
	}
	return errors.Join(err, counted)
}

// checkLedger notes what is wrong with the ledger for the doctor.
func (h *host) checkLedger(ctx context.Context) error {
	_, err := engine.CheckLedger(ctx, store.Tables{RowStore: h.storage}, h.opened.ledger)
	text := ""
	if damaged := (*engine.LedgerError)(nil); errors.As(err, &damaged) {
		text = damaged.Problem
	}
	h.ledger.problem.Store(&text)
	return err
}

// ledgerGauges reads what the host has found.
func (h *host) ledgerGauges() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "verifyd_ledger_owed_entries", Help: "Entries that the ledger of erasures does not have yet, at most 1000.",
		}, func() float64 { return float64(h.ledger.owed.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "verifyd_ledger_damaged", Help: "1 if the ledger of erasures was found damaged since the host started; 0 otherwise.",
		}, func() float64 {
			if h.ledger.found() != "" {
				return 1
			}
			return 0
		}),
	}
}
