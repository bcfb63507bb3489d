// The commands that examine and repair the journal in a data folder.

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/memory/journal"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
)

type storeCheck struct {
	Dir datadir.Folder `arg:"" help:"Data folder of a host."`
	jsonFlag
}

// Run prints what the journal has, and all of its damage.
func (c storeCheck) Run(ctx context.Context, s *session) error {
	r, err := operator.Check(ctx, c.Dir)
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.json(r)
	} else {
		err = s.printReport(r)
	}
	switch {
	case err != nil || len(r.Damage) == 0 && !r.Foreign:
		return err
	case len(r.Damage) == 0:
		s.note("the end of the journal is not what a write leaves that was not completed: find out why the disk has changed; the next start moves it to a file in " + c.Dir.Journal())
		return errProblems
	}
	advice := "restore a backup; without one, see what verifyctl store repair " + string(c.Dir) + " would remove"
	if r.Kept == nil {
		advice = "restore a backup: a snapshot cannot be repaired"
	}
	s.note("no host opens this folder: find out why the disk has changed, and " + advice)
	return errProblems
}

// markedBy says what was on disk at the last mark of a damaged journal.
func markedBy(r journal.Report) string {
	if r.Marked == nil {
		return ""
	}
	return fmt.Sprintf("runs: %d; records: %d; all of them were on disk", r.Marked.Runs, r.Marked.Records)
}

// keptBy says what is before the first damage.
func keptBy(k *journal.Kept) string {
	switch {
	case k == nil:
		return ""
	case k.Records == 0:
		return "nothing: there is no record before the first damage"
	}
	return fmt.Sprintf("runs: %d; records: %d; a repair keeps only what is before the first damage", k.Runs, k.Records)
}

func (s *session) printReport(r journal.Report) error {
	number := func(n int64, unit string) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n) + unit
	}
	var records []string
	for _, kind := range slices.Sorted(maps.Keys(r.Records)) {
		records = append(records, fmt.Sprintf("%s %d", kind, r.Records[kind]))
	}
	err := s.attributes([][2]string{
		{"snapshot", r.Snapshot},
		{"segments", fmt.Sprint(r.Segments)},
		{"bytes", fmt.Sprint(r.Bytes)},
		{"runs", fmt.Sprint(r.Runs)},
		{"records", strings.Join(records, ", ")},
		{"torn", number(r.TornBytes, " bytes at the end cannot be read: they are newer than the last mark, and the next start moves them to a file beside the journal")},
		{"dependent", number(int64(r.Dependent), " records change something that is lost")},
		{"marked", markedBy(r)},
		{"kept", keptBy(r.Kept)},
	}...)
	if err != nil || len(r.Damage) == 0 {
		return err
	}
	fmt.Fprintln(s.stdout)
	return printList(s, false, r.Damage, "FILE OFFSET BYTES KIND RUN REASON")
}

type storeRepair struct {
	Dir        datadir.Folder `arg:"" help:"Data folder that no host has."`
	AcceptLoss bool           `help:"Remove the first damage and all that comes after it. Without it, the command only says what would be lost."`
	jsonFlag
}

// Run prints what was removed.
func (c storeRepair) Run(ctx context.Context, s *session) error {
	r, err := operator.Repair(ctx, c.Dir, s.clock.Now(), c.AcceptLoss)
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.json(r)
	} else {
		err = s.attributes([][2]string{
			{"damage", fmt.Sprintf("%s at offset %d (%s)", r.First.File, r.First.Offset, r.First.Reason)},
			{"kept", keptBy(&r.Kept)},
			{"lost", fmt.Sprintf("records: %d; parts that cannot be read: %d", r.Records, r.Unreadable)},
			{"runs", strings.Join(r.Runs, ", ")},
			{"accounts", strings.Join(r.Accounts, ", ")},
			{"disabled", strings.Join(r.Disabled, ", ")},
			{"tenants", strings.Join(r.Tenants, ", ")},
			{"workflows", strings.Join(r.Workflows, ", ")},
		}...)
	}
	if err != nil {
		return err
	}
	if len(r.Disabled) > 0 {
		s.note("accounts that were disabled may be enabled without what is lost: disable them again with verifyctl account disable")
	}
	if r.Unreadable > 0 {
		s.note("what cannot be read may be of other runs, and of accounts, tenants and workflows: afterwards, compare their lists with what you expect")
	}
	if !c.AcceptLoss {
		return errors.New("nothing was changed: restore a backup, or repeat the command with --accept-loss")
	}
	s.note("the files as they were, and the lost records (" + journal.LostRecords + "), are in " + filepath.Join(c.Dir.Journal(), r.Folder))
	return nil
}
