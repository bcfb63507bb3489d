// The repair of a damaged journal, for an operator who accepts the loss.

package journal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Repaired is what Repair has removed, or would remove.
type Repaired struct {
	// First is the first damage. Everything before it stays: Kept.
	First Damage `json:"first_damage"`
	Kept  Kept   `json:"kept"`
	// Folder has the files as they were, and LostRecords, in the folder of the journal; empty
	// if nothing was changed.
	Folder string `json:"folder,omitempty"`
	// Records is the number of removed records that can be read, and Unreadable the number of
	// parts that cannot be read.
	Records    int `json:"records"`
	Unreadable int `json:"unreadable_parts"`
	// Runs are the runs of which a removed part is known to be. A part that cannot be read may be of
	// others, and of accounts, tenants and workflows, too.
	Runs []string `json:"runs"`
	// Accounts, Tenants and Workflows are the client ids, names and slugs of which a removed record
	// is. They become what they were before.
	Accounts  []string `json:"accounts,omitempty"`
	Tenants   []string `json:"tenants,omitempty"`
	Workflows []string `json:"workflows,omitempty"`
	// Disabled are the Accounts that were disabled in the end. They may be enabled again.
	Disabled []string `json:"disabled_accounts,omitempty"`
}

// LostRecords is the file with the removed records, one line of JSON for each, which has the
// record, or the reason why it cannot be read.
const LostRecords = "lost.jsonl"

// lost is a line of LostRecords.
type lost struct {
	Damage
	Record jsontext.Value `json:"record,omitempty"`
}

// Repair removes the first damage of a journal and all that comes after it, which may depend
// on what cannot be read, and keeps it in another folder. Without accept, it changes nothing
// and returns what it would remove. Repair returns ErrHeld if another process has the
// folder, and ErrConflict if there is no damage, or if the damage is in the snapshot. A process that dies
// meanwhile loses nothing: repair the journal again. used is Options.Used.
func Repair(ctx context.Context, dir string, used bool, now time.Time, accept bool) (r Repaired, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && used {
		if err = create(dir); err == nil {
			root, err = os.OpenRoot(dir)
		}
	}
	if err != nil {
		return r, err
	}
	defer func() { _ = root.Close() }() // what was written is synced
	held, err := lock(root, now)
	if err != nil {
		return r, err
	}
	defer func() { _ = held.Close() }() // what was written is synced
	of := lostNames{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	c := newCheck(used, func(d Damage, f *frame) error {
		if d.Reason == "" {
			r.Records++
		} else {
			r.Unreadable++
		}
		of.add(d, f)
		return nil
	})
	if err := c.all(ctx, folder{root}); err != nil {
		return r, err
	}
	if len(c.Damage) == 0 {
		return r, verification.Conflict("journal", "there is no damage")
	}
	r.First, r.Runs = c.Damage[0], slices.Sorted(maps.Keys(of.runs))
	r.Accounts, r.Tenants, r.Workflows = slices.Sorted(maps.Keys(of.accounts)), slices.Sorted(maps.Keys(of.tenants)), slices.Sorted(maps.Keys(of.workflows))
	r.Disabled = slices.DeleteFunc(slices.Clone(r.Accounts), func(id string) bool { return !of.accounts[id] })
	if r.First.segment == 0 {
		return r, verification.Conflict("journal", r.First.File+" is damaged, and without a snapshot nothing can be kept; restore the folder from a backup")
	}
	r.Kept = *c.Kept
	if !accept {
		return r, nil
	}
	if r.Folder, err = keepAside(ctx, root, r.First.segment); err != nil {
		return r, err
	}
	return r, c.cut(folder{root})
}

// lostNames are the names of what removed records are of.
type lostNames struct {
	runs, tenants, workflows map[string]bool
	accounts                 map[string]bool // and whether they were disabled last
}

func (l lostNames) add(d Damage, f *frame) {
	if d.Run != "" {
		l.runs[d.Run] = true
	}
	if f == nil {
		return
	}
	decoded, err := decode(*f)
	if err != nil { // its names are not known
		return
	}
	switch r := decoded.(type) {
	case accountSaved:
		l.addRecord(store.AccountRecord(r))
	case tenantSaved:
		l.addRecord(store.TenantRecord(r))
	case workflowSaved:
		l.addRecord(store.WorkflowRecord{Workflow: r.Workflow})
	case recordSaved:
		l.addRecord(r.record())
	case rowsSaved:
		for _, saved := range r.Rows {
			l.addRecord(saved.record())
		}
	}
}

func (l lostNames) addRecord(r store.Record) {
	switch r := r.(type) {
	case store.AccountRecord:
		l.accounts[r.Account.ClientID] = r.Account.Disabled
	case store.TenantRecord:
		l.tenants[r.Tenant.Name] = true
	case store.WorkflowRecord:
		l.workflows[r.Workflow.Slug] = true
	}
}

// keepAside copies the segments from the first one on, the marks, and what is lost, to a new folder,
// and returns its name.
func keepAside(ctx context.Context, root *os.Root, first int) (name string, err error) {
	for n := 1; ; n++ {
		name = fmt.Sprintf("lost-%d", n)
		if err = root.Mkdir(name, folderMode); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	names, err := folder{root}.List()
	if err != nil {
		return "", err
	}
	for _, file := range names {
		if n := numbered([]string{file}, segmentSuffix); file != endFile && (len(n) == 0 || n[0] < first) {
			continue
		}
		err := writeSynced(root, path.Join(name, file), func(w io.Writer) error {
			f, err := root.Open(file)
			if err != nil {
				return err
			}
			_, err = io.Copy(w, f)
			return errors.Join(err, f.Close())
		})
		if err != nil {
			return "", err
		}
	}
	err = writeSynced(root, path.Join(name, LostRecords), func(w io.Writer) error {
		return newCheck(true, func(d Damage, f *frame) error {
			line := lost{Damage: d}
			if f != nil {
				line.Record = jsontext.Value(f.payload)
			}
			raw, err := json.Marshal(line, jsontext.PreserveRawStrings(true))
			if err == nil {
				_, err = w.Write(append(raw, '\n'))
			}
			return err
		}).all(ctx, folder{root})
	})
	if err != nil {
		return "", err
	}
	dir, err := root.Open(name)
	if err != nil {
		return "", err
	}
	return name, errors.Join(dir.Sync(), dir.Close(), folder{root}.SyncFolder())
}

// writeSynced writes a new file.
func writeSynced(root *os.Root, name string, write func(io.Writer) error) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	return errors.Join(write(w), w.Flush(), f.Sync(), f.Close())
}

// cut removes the first damage and all after it, the last file first: so no file is ever missing
// between others. Then the mark says that the journal ends there.
func (c *check) cut(d disk) error {
	names, err := d.List()
	if err != nil {
		return err
	}
	for _, n := range slices.Backward(numbered(names, segmentSuffix)) {
		if n <= c.kept.Segment {
			if n == c.kept.Segment {
				err = d.Cut(segmentName(n), c.kept.Bytes)
			}
			break
		}
		if err := errors.Join(d.Remove(segmentName(n)), d.SyncFolder()); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	marks, err := openMarks(d, c.trail.mark, cmp.Or(c.kept.Journal, newJournal()))
	if err != nil {
		return err
	}
	if c.kept.Segment == 0 {
		c.kept = marks.begun
	}
	return marks.close(&marked{End: c.kept, Runs: c.Kept.Runs})
}
