// Recovery: the newest snapshot is restored, and the changes of the segments after it are made
// again.

package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/verifyd/verifyd/internal/memory/memstore"
)

// advice is what to do about damage.
const advice = "run verifyctl store check, and restore the folder from a backup"

// recovery opens the folder of a journal.
type recovery struct {
	disk   disk
	memory *memstore.Store
	log    *slog.Logger
	used   bool // see Options.Used
	reads  int  // see Options.reads

	trail        trail
	marks        *marks
	found        Recovery
	next         int   // the number of the segment that comes next
	tail         int64 // the size of the segments since the snapshot
	rewritten    bool  // a run was rewritten since the snapshot
	snapshotSize int64
}

// run restores everything. It leaves no incomplete record in a segment, no segment without
// records but its first, which the next one replaces, and nothing that a snapshot has replaced.
func (r *recovery) run(ctx context.Context) (err error) {
	if r.trail, err = newTrail(r.disk, r.reads); err != nil {
		return err
	}
	names, err := r.disk.List()
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	replaced, numbers := current(names)
	if replaced == 0 && len(numbers) == 0 && r.used && r.trail.mark == nil {
		return fmt.Errorf("%w; %s", errEmptied, advice)
	}
	if replaced > 0 {
		if err := r.restore(ctx, replaced); err != nil {
			return err
		}
	}
	r.next = replaced + 1
	var last segment
	for i, n := range numbers {
		if n != r.next {
			return r.missing(r.next)
		}
		if last, err = r.replay(ctx, n, i == len(numbers)-1); err != nil {
			return err
		}
	}
	if m := r.trail.mark; m != nil && m.End.Segment >= r.next {
		return r.missing(r.next)
	}
	if err := r.trail.missing(); err != nil {
		return fmt.Errorf("%s cannot be read: %w; %s", endFile, err, advice)
	}
	r.found.Runs, r.found.Level = r.memory.Runs(), r.trail.level
	if err := r.goOn(ctx, last); err != nil {
		return err
	}
	return removeReplaced(r.disk, replaced)
}

// missing says that a segment is missing, and what it costs.
func (r *recovery) missing(number int) error {
	return fmt.Errorf("%s is missing%s; %s", segmentName(number), r.trail.cost(r.memory.Runs()), advice)
}

// errEmptied is returned for a folder without a journal beside which there is data.
var errEmptied = errors.New("the journal is empty, and the folder beside it has data of one")

// goOn prepares the disk for the next segment.
func (r *recovery) goOn(ctx context.Context, last segment) (err error) {
	if last.torn != nil {
		if err := r.keepEnd(ctx, last); err != nil {
			return err
		}
	}
	if last.offset > 0 { // a process that was killed, or unpacked a backup, may not have synced it
		if err := r.disk.Cut(segmentName(last.number), int64(last.offset)); err != nil {
			return fmt.Errorf("sync %s: %w", segmentName(last.number), err)
		}
	}
	m := r.trail.mark
	if r.marks, err = openMarks(r.disk, m, newJournal()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.marks.close(nil))
		}
	}()
	if m == nil {
		r.trail.end = r.marks.begun
	}
	if last.number > 0 && last.records == 0 { // the next segment takes its place, at once, so that the level is not lost
		r.trail.end, r.next = last.after, last.number
	}
	if m != nil && m.End.Segment > 0 && !m.Closed {
		r.found.Killed = true
		r.log.InfoContext(ctx, "The journal was not closed: it has everything up to its last mark, and what is newer as far as it reached the disk",
			"mark", fmt.Sprintf("%s:%d", segmentName(m.End.Segment), m.End.Bytes), "newer_records", max(0, r.trail.end.Records-m.End.Records))
	}
	if m == nil || m.End != r.trail.end { // otherwise the mark says it
		if err := r.marks.write(marked{End: r.trail.end, Runs: r.found.Runs}); err != nil {
			return err
		}
	}
	return nil
}

// keepEnd copies the end of a segment that cannot be read to a file beside it.
func (r *recovery) keepEnd(ctx context.Context, s segment) error {
	rest, name := s.raw[s.offset:], ""
	if len(rest) > 0 {
		names, err := r.disk.List()
		if err != nil {
			return fmt.Errorf("list the files: %w", err)
		}
		name = tornName(s.number, s.offset, names)
		if err := r.write(name, rest); err != nil {
			return fmt.Errorf("keep the end of %s: %w", segmentName(s.number), err)
		}
	}
	r.found.CutBytes, r.found.Kept = int64(len(rest)), name
	r.log.WarnContext(ctx, "The end of the journal cannot be read, and is kept in a file beside it. It is newer than the last mark: a write that was not completed, or damage",
		"file", segmentName(s.number), "offset", s.offset, "bytes", len(rest), "kept", name, "reason", s.torn.Error())
	return nil
}

// write writes a new file, which survives a loss of power.
func (r *recovery) write(name string, content []byte) error {
	f, err := r.disk.Create(name)
	if err != nil {
		return err
	}
	if err = errors.Join(writeAll(f, content), f.Close()); err == nil {
		err = r.disk.SyncFolder()
	}
	return err
}

// restore restores the snapshot that replaces the segments up to a number.
func (r *recovery) restore(ctx context.Context, number int) error {
	name := snapshotName(number)
	f, err := r.disk.Open(name)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	in := bufio.NewReaderSize(f, 1<<20)
	o := order{number: number, trail: &r.trail}
	for d := range decodeAll(ctx, func() (frame, error) { return readFrameFrom(in) }) {
		if d.unread {
			d.err = fmt.Errorf("%w; %s", d.err, advice)
		}
		restore := false
		if d.err == nil {
			restore, d.err = o.next(d.frame, d.record)
		}
		if b, ok := d.record.(auditBlock); ok {
			d.record = b.at(blockFile{r.disk, name, r.snapshotSize, d.frame.size()})
		}
		if restore {
			d.err = d.record.apply(ctx, r.memory)
		}
		if d.err != nil {
			return damaged(name, r.snapshotSize, d.frame.kind, d.frame.payload, d.err)
		}
		r.snapshotSize += int64(d.frame.size())
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !o.complete {
		return damaged(name, r.snapshotSize, kindComplete, nil, fmt.Errorf("%w; %s", errNoEnd, advice))
	}
	return nil
}

// replay makes the changes of a segment.
func (r *recovery) replay(ctx context.Context, number int, last bool) (segment, error) {
	name := segmentName(number)
	raw, err := r.read(name)
	if err != nil {
		return segment{}, fmt.Errorf("read %s: %w", name, err)
	}
	s := segment{number: number, last: last, raw: raw, trail: &r.trail, after: r.trail.end}
	if err := s.replay(ctx, r.memory); err != nil {
		return segment{}, err
	}
	r.found.Records += s.records
	r.tail += int64(s.offset)
	r.rewritten = r.rewritten || s.rewritten
	r.next = number + 1
	return s, nil
}

func (r *recovery) read(name string) ([]byte, error) {
	f, err := r.disk.Open(name)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(f)
	return raw, errors.Join(err, f.Close())
}

// segment is a segment that is read.
type segment struct {
	number  int
	last    bool // of the journal
	raw     []byte
	trail   *trail
	after   position // the end of the segment before it
	offset  int      // up to which the records are read
	records int      // without the first
	// rewritten says that it has an append that rewrote its run.
	rewritten bool
	torn      error // why the frame at the offset is incomplete; nil if the segment ends there
}

// replay makes the changes of the segment, up to an incomplete frame at its end.
func (s *segment) replay(ctx context.Context, m *memstore.Store) error {
	at := 0
	next := func() (frame, error) {
		if at == len(s.raw) && at > 0 {
			return frame{}, io.EOF
		}
		f, err := readFrame(s.raw[at:])
		at += f.size()
		return f, err
	}
	for d := range decodeAll(ctx, next) {
		switch {
		case d.unread && !s.trail.torn(s.number, s.raw, s.offset, s.last):
			return s.damaged(d.frame, m, d.err)
		case d.unread:
			s.torn = d.err
			return nil
		case d.err != nil:
			return s.damaged(d.frame, m, d.err)
		}
		if err := s.follows(d); err != nil {
			return s.damaged(d.frame, m, err)
		}
		if s.offset > 0 {
			if err := d.record.apply(ctx, m); err != nil {
				return s.damaged(d.frame, m, err)
			}
			s.records++
			if c, ok := d.record.(appended); ok && (c.Rewrite || c.Delete) {
				s.rewritten = true
			}
		}
		s.offset += d.frame.size()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.trail.short(); err != nil {
		return s.damaged(frame{}, m, err)
	}
	return nil
}

func (s *segment) follows(d decoded) error {
	if s.offset == 0 {
		return s.trail.segment(d.frame, d.record, s.number)
	}
	return s.trail.record(d.frame)
}

// damaged says what cannot be read, where, and what it costs.
func (s *segment) damaged(f frame, m *memstore.Store, cause error) error {
	cause = fmt.Errorf("%w%s; %s", cause, s.trail.cost(m.Runs()), advice)
	return damaged(segmentName(s.number), int64(s.offset), f.kind, s.raw[min(s.offset+headerSize, len(s.raw)):], cause)
}

// damaged says which record of a file cannot be read, with the record as far as it is there.
func damaged(name string, offset int64, k kind, raw []byte, cause error) error {
	about := ""
	if k != 0 {
		about = " (" + k.String()
		if run := runOf(raw); run != "" {
			about += " of run " + run
		}
		about += ")"
	}
	return fmt.Errorf("%s cannot be read at offset %d%s: %w", name, offset, about, cause)
}
