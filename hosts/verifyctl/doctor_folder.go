// The doctor of a data folder.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/adapters/memory/journal"
	"github.com/verifyd/verifyd/internal/datadir"
	"github.com/verifyd/verifyd/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/pgerror"
)

// examineFolder returns the findings so far when the folder cannot be examined further.
func (s *session) examineFolder(ctx context.Context, folder datadir.Folder) []finding {
	const check, advice = "folder", "run verifyctl store check, and read the log of the host"
	db, err := s.openFolder(ctx, folder)
	if err != nil {
		return []finding{failed(check, pgerror.Explain(err).Error(), advice)}
	}
	defer func() { _ = db.close() }() // it was only read
	st, err := s.state(ctx, db)
	if err != nil {
		return []finding{failed(check, pgerror.Explain(err).Error(), advice)}
	}
	found := []finding{ok(check, "the data can be read"), holding(folder, st.hosts), size(folder)}
	return append(found, s.judge(ctx, db, st)...)
}

// holding reports which host has the folder.
func holding(folder datadir.Folder, hosts []pgadmin.Host) finding {
	const check = "hosts"
	if len(hosts) == 0 {
		return failed(check, "no host has the folder", fmt.Sprintf("start one with verifyd serve --data-dir %s", folder))
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
	return ok("journal", fmt.Sprintf("%.1f MiB on disk, %d segments to read at a start, %s", float64(u.Bytes)/(1<<20), u.Segments, snapshot))
}
