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

	"github.com/verifyd/verifyd/adapters/memory"
)

// advice is what to do about damage.
const advice = "run verifyctl store check, and restore the folder from a backup"

// recovery opens the folder of a journal.
type recovery struct {
	disk   disk
	memory *memory.Store
	log    *slog.Logger

	found        Recovery
	next         int   // the number of the segment that comes next
	tail         int64 // the size of the segments since the snapshot
	snapshotSize int64
}

// run restores everything. It leaves no incomplete record on the disk, no segment without
// records but its first, and nothing that a snapshot has replaced.
func (r *recovery) run(ctx context.Context) error {
	names, err := r.disk.List()
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	replaced, numbers := current(names)
	if replaced > 0 {
		if err := r.restore(ctx, replaced); err != nil {
			return err
		}
	}
	r.next = replaced + 1
	for i, n := range numbers {
		if n != r.next {
			return fmt.Errorf("%s is missing; %s", segmentName(r.next), advice)
		}
		if err := r.replay(ctx, n, i == len(numbers)-1); err != nil {
			return err
		}
	}
	r.found.Runs = r.memory.Runs()
	return removeReplaced(r.disk, replaced)
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
	o := order{number: number}
	for d := range decodeAll(ctx, func() (frame, error) { return readFrameFrom(in) }) {
		if d.unread {
			d.err = fmt.Errorf("%w; %s", d.err, advice)
		}
		restore := false
		if d.err == nil {
			restore, d.err = o.next(d.record)
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
func (r *recovery) replay(ctx context.Context, number int, last bool) error {
	name := segmentName(number)
	raw, err := r.read(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	s := segment{number: number, last: last, raw: raw}
	if err := s.replay(ctx, r.memory); err != nil {
		return err
	}
	r.found.Records += s.records
	r.tail += int64(s.offset)
	r.next = number + 1
	if s.torn != nil {
		r.found.CutBytes = int64(len(raw) - s.offset)
		r.log.WarnContext(ctx, "The last record of the journal was not written completely, and is removed. No caller was told that it was saved",
			"file", name, "offset", s.offset, "bytes", r.found.CutBytes, "reason", s.torn.Error())
	}
	switch {
	case s.records == 0 && last:
		r.next = number
		return r.disk.Remove(name)
	case s.torn != nil:
		if err := r.disk.Cut(name, int64(s.offset)); err != nil {
			return fmt.Errorf("cut %s: %w", name, err)
		}
	}
	return nil
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
	offset  int   // up to which the records are read
	records int   // without the first
	torn    error // why the frame at the offset is incomplete; nil if the segment ends there
}

// replay makes the changes of the segment, up to an incomplete frame at its end.
func (s *segment) replay(ctx context.Context, m *memory.Store) error {
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
		case d.unread && !isTorn(s.raw, s.offset, s.last):
			return s.damaged(d.frame, fmt.Errorf("%w; %s", d.err, advice))
		case d.unread:
			s.torn = d.err
			return nil
		}
		if err := s.apply(ctx, d, m); err != nil {
			return s.damaged(d.frame, err)
		}
		if s.offset > 0 {
			s.records++
		}
		s.offset += d.frame.size()
	}
	return ctx.Err()
}

func (s *segment) apply(ctx context.Context, d decoded, m *memory.Store) error {
	if d.err != nil {
		return d.err
	}
	if s.offset > 0 {
		return d.record.apply(ctx, m)
	}
	return checkBegun(d.record, s.number)
}

// damaged says what cannot be read, and where.
func (s *segment) damaged(f frame, cause error) error {
	return damaged(segmentName(s.number), int64(s.offset), f.kind, s.raw[min(s.offset+headerSize, len(s.raw)):], cause)
}

// damaged says which record of a file cannot be read, with the record as far as it is there.
func damaged(name string, offset int64, k kind, raw []byte, cause error) error {
	about := k.String()
	if run := runOf(raw); run != "" {
		about += " of run " + run
	}
	return fmt.Errorf("%s cannot be read at offset %d (%s): %w", name, offset, about, cause)
}
