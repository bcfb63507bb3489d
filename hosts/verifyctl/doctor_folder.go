// The doctor of a data folder.

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
)

// examineFolder returns the findings so far when the folder cannot be examined further.
func (s *session) examineFolder(ctx context.Context, folder datadir.Folder) []finding {
	const check, advice = "folder", "read the log of the host"
	db, err := s.openFolder(ctx, folder)
	switch {
	case errors.Is(err, journal.ErrHeld): // a host has it, and does not answer
		return []finding{failed(check, pgerror.Explain(err).Error(), advice)}
	case err != nil: // it says what to do
		return []finding{failed(check, pgerror.Explain(err).Error(), "")}
	}
	defer func() { _ = db.close() }() // it was only read
	st, err := s.state(ctx, db)
	if err != nil {
		return []finding{failed(check, pgerror.Explain(err).Error(), advice)}
	}
	found := []finding{ok(check, "the data can be read"), holding(folder, st.hosts), size(folder), room(st.hosts), disk(st.hosts)}
	if _, err := checkLedger(ctx, folder, db.tables()); err != nil {
		found = append(found, failed("ledger of erasures", err.Error(), "look for the whole ledger before the host starts again, or before the store is restored"))
	}
	return append(found, s.judge(ctx, db, st)...)
}

// holding reports which host has the folder.
func holding(folder datadir.Folder, hosts []pgadmin.Host) finding {
	const check = "hosts"
	if len(hosts) == 0 {
		return failed(check, "no host has the folder", fmt.Sprintf("start one with verifyd serve --data-dir %s", folder))
	}
	if f := alive(hosts); f.Status != healthOK {
		return f
	}
	message := labelOf(hosts[0]) + " has the folder"
	if h, err := journal.ReadHolder(folder.Journal()); err == nil {
		message += fmt.Sprintf(" in process %d since %s", h.PID, h.Since.UTC().Format(time.RFC3339))
	}
	return ok(check, message)
}

// size reports how large the journal is.
func size(folder datadir.Folder) finding {
	u, err := journal.ReadUsage(folder.Journal())
	if err != nil {
		return failed("journal", err.Error(), "check the disk")
	}
	snapshot := "no snapshot yet"
	if !u.SnapshotAt.IsZero() {
		snapshot = "the last snapshot was taken at " + u.SnapshotAt.Format(time.RFC3339)
	}
	message := fmt.Sprintf("%s on disk, segments that a start reads: %d, %s", mebibytes(u.Bytes), u.Segments, snapshot)
	if len(u.Torn) == 0 {
		return ok("journal", message)
	}
	var torn []string
	for _, name := range slices.Sorted(maps.Keys(u.Torn)) {
		torn = append(torn, fmt.Sprintf("%s (%s)", name, mebibytes(u.Torn[name])))
	}
	return warning("journal", message+"; ends that a start could not read are kept: "+strings.Join(torn, ", "),
		"if the disk was damaged, they may have records that callers were told of; otherwise remove them from "+folder.Journal())
}

// room reports how much of the memory that runs may need is left.
func room(hosts []pgadmin.Host) finding {
	const check, advice = "memory", "give the host more memory (VERIFYD_STORE_MEMORY is the share that runs may need), or copy the data to PostgreSQL with verifyctl store copy"
	if len(hosts) == 0 {
		return ok(check, "not known without a host")
	}
	facts, err := cli.ParseHostFacts(hosts[0].Facts)
	if err != nil {
		return warning(check, "the host says about itself what this verifyctl cannot read", "use the verifyctl of its build")
	}
	needed := "the runs need " + mebibytes(facts.StoreBytes)
	if facts.StoreLimit == 0 {
		return ok(check, needed+", without a limit")
	}
	needed += " of the " + mebibytes(facts.StoreLimit) + " that they may"
	if n := facts.MemoryLimits; len(n) == 3 && facts.Memory >= n[0] {
		needed += "; the process needs " + mebibytes(facts.Memory)
		switch {
		case facts.Memory >= n[2]:
			return failed(check, needed+": new runs and answers get 503, and no checks are begun", advice)
		case facts.Memory >= n[1]:
			return failed(check, needed+": new runs and answers get 503", advice)
		}
		return failed(check, needed+": new runs get 503", advice)
	}
	if len(facts.FullTrails) > 0 {
		return failed(check, needed+"; the audit trail is full of the tenants "+strings.Join(facts.FullTrails, ", ")+
			": what people read gets 503, and what accounts read is counted as lost", advice+"; or lower VERIFYD_KEEP_AUDIT_READS")
	}
	if len(facts.FullTenants) > 0 {
		return failed(check, needed+"; the share is full of the tenants "+strings.Join(facts.FullTenants, ", ")+": their new runs get 503",
			advice+"; VERIFYD_TENANT_SHARE is the part that one tenant may have")
	}
	switch {
	case facts.StoreAnswers > 0 && facts.StoreBytes >= facts.StoreAnswers:
		return failed(check, needed+": new runs and answers get 503", advice)
	case facts.StoreBytes >= facts.StoreLimit:
		return failed(check, needed+": new runs get 503", advice)
	case facts.StoreBytes >= facts.StoreLimit/2:
		return warning(check, needed, advice)
	}
	return ok(check, needed)
}

// disk reports whether the disk of the folder has its reserve.
func disk(hosts []pgadmin.Host) finding {
	const check = "disk"
	if len(hosts) == 0 {
		return ok(check, "not known without a host")
	}
	facts, err := cli.ParseHostFacts(hosts[0].Facts)
	if err != nil || facts.DiskReserve == 0 {
		return warning(check, "the host does not say how much space is free", "use the verifyctl of its build, and read its log")
	}
	message := fmt.Sprintf("%s free, and the reserve is %s", mebibytes(facts.DiskFree), mebibytes(facts.DiskReserve))
	const advice = "free some space on the disk of the folder, enlarge it, or lower VERIFYD_DISK_RESERVE"
	switch {
	case facts.DiskFree < facts.DiskReserve:
		return failed(check, message+": new runs and uploads get 503", advice)
	case facts.DiskFree < 2*facts.DiskReserve:
		return warning(check, message, advice)
	}
	return ok(check, message)
}

// mebibytes returns a number of bytes for people.
func mebibytes(n int64) string {
	const kib, mib = 1 << 10, 1 << 20
	switch {
	case n < mib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	case n < 100*mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%d MiB", n/mib)
}
