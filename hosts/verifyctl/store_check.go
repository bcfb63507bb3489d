// The commands that examine and repair the journal in a data folder.

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

type storeCheck struct {
	Dir    datadir.Folder `arg:"" help:"Data folder of a host."`
	Search string         `placeholder:"TEXT" help:"Instead, list the files of the folder that have a text, such as the name of a person whose data was removed."`
	jsonFlag
}

// Run prints what the journal has, and all of its damage; or which files have a text.
func (c storeCheck) Run(ctx context.Context, s *session) error {
	if c.Search != "" {
		return c.search(ctx, s)
	}
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
	case err == nil && len(r.Damage) == 0 && !r.Foreign:
		return c.ledger(ctx, s, r.Ledger)
	case err != nil:
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

// ledger compares the ledger of erasures in the folder with what the journal knows of it.
func (c storeCheck) ledger(ctx context.Context, s *session, known store.LedgerRecord) error {
	of := memory.New()
	if err := of.SaveRecords(ctx, []store.Record{known}); err != nil {
		return err
	}
	entries, err := checkLedger(ctx, c.Dir, of.Tables)
	if damaged := (*engine.LedgerError)(nil); errors.As(err, &damaged) {
		s.note(damaged.Error() + "; no host starts on the folder: look for the whole ledger, or accept its state as the host says")
		return errProblems
	}
	if last := known.Mark.Last; err == nil && entries > last && last > 0 {
		s.note(fmt.Sprintf("the ledger of erasures has %d entries, and the journal knows %d: the next start does again what the others say", entries, last))
	}
	return err
}

// checkLedger compares the ledger of erasures in a folder with a store. A folder whose uploads are elsewhere has none.
func checkLedger(ctx context.Context, folder datadir.Folder, of store.Tables) (entries int64, err error) {
	if _, err := os.Stat(folder.Documents()); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return engine.CheckLedger(ctx, of, blob.LedgerFile(folder.Erasures()))
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

// search prints the files of the folder that have the text, as it is or as JSON writes it.
func (c storeCheck) search(ctx context.Context, s *session) error {
	quoted, err := json.Marshal(c.Search)
	if err != nil {
		return err
	}
	texts := [][]byte{[]byte(c.Search), bytes.Trim(quoted, `"`)}
	found := []foundFile{}
	searched := 0
	err = fs.WalkDir(os.DirFS(string(c.Dir)), ".", func(name string, entry fs.DirEntry, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(filepath.Join(string(c.Dir), name))
		if errors.Is(err, fs.ErrNotExist) { // a host has removed it
			return nil
		}
		if err != nil {
			return err
		}
		searched++
		has, err := contains(f, texts)
		if has {
			found = append(found, foundFile{name})
		}
		return errors.Join(err, f.Close())
	})
	if err != nil {
		return fmt.Errorf("search the folder: %w", err)
	}
	if err := printList(s, c.JSON, found, "FILE"); err != nil {
		return err
	}
	s.note(fmt.Sprintf("%d of %d files have the text; it is not found in what is compressed, such as pictures and PDFs", len(found), searched))
	if len(found) > 0 {
		return errProblems
	}
	return nil
}

// foundFile is a file of a data folder.
type foundFile struct {
	File string `json:"file"`
}

// contains reports whether what is read has one of the texts.
func contains(r io.Reader, texts [][]byte) (bool, error) {
	longest := 0
	for _, t := range texts {
		longest = max(longest, len(t))
	}
	buffer, kept := make([]byte, longest+64<<10), 0 // a text may begin in one read and end in the next
	for {
		n, err := r.Read(buffer[kept:])
		part := buffer[:kept+n]
		for _, t := range texts {
			if bytes.Contains(part, t) {
				return true, nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
		kept = copy(buffer, part[max(0, len(part)-longest+1):])
	}
}
