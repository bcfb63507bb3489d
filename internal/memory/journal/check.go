// The examination of a journal for damage.

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Report is what Check found.
type Report struct {
	Snapshot string         `json:"snapshot,omitempty"` // the newest one
	Segments int            `json:"segments"`           // since the snapshot
	Bytes    int64          `json:"bytes"`
	Runs     int            `json:"runs"`
	Records  map[string]int `json:"records"` // that can be read, by kind
	// TornBytes is the length of the end of the journal that cannot be read and is newer than the
	// last mark. Foreign reports whether it is not what a write leaves that was not completed.
	TornBytes int64 `json:"torn_bytes"`
	Foreign   bool  `json:"foreign_end,omitempty"`
	// Marked is what a damaged journal had at its last mark, all of which was on disk; nil without a
	// mark.
	Marked *Marked  `json:"marked,omitempty"`
	Damage []Damage `json:"damage"`
	// Dependent is the number of records that can be read, but change something that is lost.
	Dependent int `json:"dependent_records"`
	// Kept is what is before the first damage, which Repair keeps; nil without damage, and if a
	// snapshot is damaged, which Repair cannot.
	Kept *Kept `json:"kept,omitempty"`
	// Ledger is what the store knows of the ledger of erasures; without an id if it has none.
	Ledger store.LedgerRecord `json:"-"`
	// Memory has all that can be read.
	Memory *memstore.Store `json:"-"`
}

// Kept is what a journal has before its first damage.
type Kept struct {
	Runs    int `json:"runs"`
	Records int `json:"records"` // without those that begin a segment
}

// Marked is what a journal had at its last mark.
type Marked struct {
	File    string `json:"file"`
	Offset  int64  `json:"offset"`
	Records int    `json:"records"` // since the journal began, without those that begin a segment
	Runs    int    `json:"runs"`    // some may be newer than the mark, unless Closed
	Closed  bool   `json:"closed"`  // the journal was closed there
}

// Damage is a part of a journal that cannot be read.
type Damage struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"` // up to the next record that can be read
	Kind   string `json:"kind,omitempty"`
	Run    string `json:"run,omitempty"`
	Reason string `json:"reason,omitempty"`

	segment int // 0 for a snapshot
}

// Check reads the journal in a folder, and finds all of its damage. It changes nothing, and
// another process may have the folder. used is Options.Used.
func Check(ctx context.Context, dir string, used bool) (Report, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && used {
		c := newCheck(used, nil)
		return c.Report, c.emptied()
	}
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = root.Close() }() // it was only read
	const attempts = 10
	for range attempts {
		c := newCheck(used, nil)
		err, c.Memory = c.all(ctx, folder{root}), c.memory
		for r, failed := range c.memory.Records(ctx, store.RecordLedger) {
			if known, is := r.(store.LedgerRecord); failed == nil && is {
				c.Ledger = known
			}
			err = errors.Join(err, failed)
		}
		if !errors.Is(err, fs.ErrNotExist) { // otherwise a file was removed meanwhile
			return c.Report, err
		}
	}
	return Report{}, err
}

// check reads the records of a journal.
type check struct {
	Report

	memory *memstore.Store
	used   bool
	trail  trail
	before position                       // the end of what was read before the next record
	kept   position                       // the end of what is before the first damage
	each   func(d Damage, f *frame) error // of the first damage, and of all after it
}

func newCheck(used bool, each func(Damage, *frame) error) *check {
	if each == nil {
		each = func(Damage, *frame) error { return nil }
	}
	return &check{Report: Report{Records: map[string]int{}, Damage: []Damage{}}, memory: memstore.New(), used: used, each: each}
}

// all reads the newest snapshot and the segments after it.
func (c *check) all(ctx context.Context, d disk) (err error) {
	if c.trail, err = newTrail(d, store.Level); err != nil { // before the records, which another process may add
		return err
	}
	names, err := d.List()
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	replaced, numbers := current(names)
	if replaced == 0 && len(numbers) == 0 && c.used && c.trail.mark == nil {
		return c.emptied()
	}
	if replaced > 0 {
		if err := c.snapshot(ctx, d, replaced); err != nil {
			return err
		}
	}
	next := replaced + 1
	missing := func(until int) error {
		for ; next < until; next++ {
			if err := c.damaged(Damage{File: segmentName(next), Reason: "the file is missing", segment: next}, nil); err != nil {
				return err
			}
			c.trail.skip(next, 0)
		}
		return nil
	}
	for i, n := range numbers {
		if err := missing(n); err != nil {
			return err
		}
		next = n + 1
		raw, err := c.read(d, segmentName(n))
		if err != nil {
			return err
		}
		c.Segments++
		f := checked{name: segmentName(n), segment: n, raw: raw, last: i == len(numbers)-1}
		if err := c.file(ctx, f, c.change()); err != nil {
			return err
		}
	}
	if c.trail.mark != nil {
		if err := missing(c.trail.mark.End.Segment + 1); err != nil {
			return err
		}
	}
	c.Runs = c.memory.Runs()
	if err := c.trail.missing(); err != nil {
		return c.damaged(Damage{File: endFile, Reason: err.Error(), segment: next - 1}, nil)
	}
	return nil
}

// emptied notes that the whole journal is missing.
func (c *check) emptied() error {
	return c.damaged(Damage{File: segmentName(1), Reason: errEmptied.Error(), segment: 1}, nil)
}

// cost is trail.cost of the first damage.
func (c *check) cost() string {
	if c.Kept == nil {
		return ""
	}
	t := trail{mark: c.trail.mark, end: c.kept}
	return t.cost(c.Kept.Runs)
}

func (c *check) read(d disk, name string) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	if s, ok := f.(fs.File); ok {
		if info, err := s.Stat(); err == nil {
			raw.Grow(int(info.Size()) + bytes.MinRead) // a snapshot is large
		}
	}
	n, err := raw.ReadFrom(f)
	c.Bytes += n
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return raw.Bytes(), nil
}

// snapshot reads the snapshot that replaces the segments up to a number.
func (c *check) snapshot(ctx context.Context, d disk, number int) error {
	f := checked{name: snapshotName(number)}
	var err error
	if f.raw, err = c.read(d, f.name); err != nil {
		return err
	}
	c.Snapshot = f.name
	o := order{number: number, trail: &c.trail}
	err = c.file(ctx, f, func(ctx context.Context, f frame, r record, _ bool) error {
		restore, err := o.next(f, r)
		if restore {
			err = r.apply(ctx, c.memory)
		}
		return err
	})
	if err == nil && !o.complete && len(c.Damage) == 0 {
		err = c.damaged(Damage{File: f.name, Offset: int64(len(f.raw)), Kind: kindComplete.String(), Reason: errNoEnd.Error()}, nil)
	}
	return err
}

// change returns a function that makes the changes of a segment.
func (c *check) change() func(context.Context, frame, record, bool) error {
	return func(ctx context.Context, _ frame, r record, first bool) error {
		if !first {
			return r.apply(ctx, c.memory)
		}
		return nil
	}
}

// follows returns an error if a record of a segment does not follow from what is before it.
func (c *check) follows(f frame, r record, segment int, first bool) error {
	if first {
		return c.trail.segment(f, r, segment)
	}
	return c.trail.record(f)
}

// checked is a file of a journal.
type checked struct {
	name    string
	segment int // 0 for a snapshot
	raw     []byte
	last    bool // of the segments
}

// file reads a file, and calls change with each record that can be read.
func (c *check) file(ctx context.Context, of checked, change func(ctx context.Context, f frame, r record, first bool) error) error {
	offset := 0
	for first := true; first && of.segment > 0 || offset < len(of.raw); first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.before = c.trail.end
		at := Damage{File: of.name, Offset: int64(offset), segment: of.segment}
		f, err := readFrame(of.raw[offset:])
		if err != nil {
			if of.segment > 0 && c.trail.torn(of.segment, of.raw, offset, of.last) {
				c.TornBytes, c.Foreign = int64(len(of.raw)-offset), !c.trail.oneGroup(of.raw[offset:])
				return nil
			}
			next := nextFrame(of.raw, offset+1)
			at.Bytes, at.Kind, at.Run, at.Reason = int64(next-offset), f.kind.String(), readableRun(of.raw[min(offset+headerSize, len(of.raw)):]), err.Error()
			if err := c.damaged(at, nil); err != nil {
				return err
			}
			offset = next
			if of.segment > 0 {
				c.trail.skip(of.segment, int64(offset))
			}
			continue
		}
		at.Bytes, at.Kind, at.Run = int64(f.size()), f.kind.String(), readableRun(f.payload)
		r, err := decode(f)
		decoded := err == nil
		if decoded && of.segment > 0 {
			if err := c.follows(f, r, of.segment, first); err != nil {
				between := at // the record itself is sound
				between.Bytes, between.Reason = 0, err.Error()
				if err := c.damaged(between, nil); err != nil {
					return err
				}
				c.trail.skip(of.segment, int64(offset+f.size()))
			}
		}
		if decoded {
			err = change(ctx, f, r, first)
		}
		if err != nil && (len(c.Damage) == 0 || !decoded) {
			at.Reason = err.Error()
			err = c.damaged(at, &f)
			if of.segment > 0 {
				c.trail.skip(of.segment, int64(offset+f.size()))
			}
		} else {
			if err != nil {
				c.Dependent++
			}
			err = c.readable(at, f)
		}
		if err != nil {
			return err
		}
		offset += f.size()
	}
	c.before = c.trail.end
	if of.segment == 0 {
		return nil
	}
	if err := c.trail.short(); err != nil {
		err = c.damaged(Damage{File: of.name, Offset: int64(offset), Reason: err.Error(), segment: of.segment}, nil)
		c.trail.skip(of.segment, int64(offset))
		return err
	}
	return nil
}

// readable counts a record that can be read.
func (c *check) readable(at Damage, f frame) error {
	c.Records[at.Kind]++
	if len(c.Damage) == 0 {
		return nil
	}
	return c.each(at, &f)
}

func (c *check) damaged(d Damage, f *frame) error {
	if len(c.Damage) == 0 && d.segment > 0 {
		c.kept = c.before
		c.Kept = &Kept{Runs: c.memory.Runs()}
		for kind, n := range c.Records {
			if kind != kindBegun.String() {
				c.Kept.Records += n
			}
		}
	}
	if m := c.trail.mark; m != nil && m.End.Segment > 0 {
		c.Marked = &Marked{segmentName(m.End.Segment), m.End.Bytes, m.End.Records, m.Runs, m.Closed}
	}
	c.Damage = append(c.Damage, d)
	return c.each(d, f)
}

// readableRun is runOf, but empty if the id is damaged.
func readableRun(raw []byte) string {
	id, err := verification.ParseRunID(runOf(raw))
	if err != nil {
		return ""
	}
	return string(id)
}

// nextFrame returns the offset of the next frame that can be read; the length of the segment
// if there is none.
func nextFrame(segment []byte, offset int) int {
	for ; offset < len(segment); offset++ {
		if _, err := readFrame(segment[offset:]); err == nil {
			return offset
		}
	}
	return len(segment)
}
