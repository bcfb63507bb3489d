// Recovery: the changes of a journal are made again.

package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/verifyd/verifyd/adapters/memory"
)

// replay makes the changes of all segments in the store, and returns the number of the
// segment that comes next and what was found. It leaves no incomplete record on the disk, and no segment without
// records but its first.
func replay(ctx context.Context, d disk, m *memory.Store, log *slog.Logger) (next int, found Recovery, err error) {
	numbers, err := d.Segments()
	if err != nil {
		return 0, found, fmt.Errorf("list the segments: %w", err)
	}
	for i, n := range numbers {
		if n != i+1 {
			return 0, found, fmt.Errorf("%s is missing; restore the folder from a backup", segmentName(i+1))
		}
		s := segment{number: n, last: i == len(numbers)-1}
		if s.raw, err = d.Read(n); err != nil {
			return 0, found, fmt.Errorf("read %s: %w", segmentName(n), err)
		}
		if err := s.replay(ctx, m); err != nil {
			return 0, found, err
		}
		found.Records += s.records
		if s.torn != nil {
			found.CutBytes = int64(len(s.raw) - s.offset)
			log.WarnContext(ctx, "The last record of the journal was not written completely, and is removed. No caller was told that it was saved",
				"file", segmentName(n), "offset", s.offset, "bytes", found.CutBytes, "reason", s.torn.Error())
		}
		switch {
		case s.records == 0 && s.last:
			found.Runs = m.Runs()
			return n, found, d.Remove(n)
		case s.torn != nil:
			if err := d.Cut(n, int64(s.offset)); err != nil {
				return 0, found, fmt.Errorf("cut %s: %w", segmentName(n), err)
			}
		}
	}
	found.Runs = m.Runs()
	return len(numbers) + 1, found, nil
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
	for first := true; first || s.offset < len(s.raw); first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := readFrame(s.raw[s.offset:])
		if err != nil {
			if !s.last || syncedAfter(s.raw, s.offset) {
				return s.damaged(f, fmt.Errorf("%w; restore the folder from a backup", err))
			}
			s.torn = err
			return nil
		}
		if err := s.apply(ctx, f, m, first); err != nil {
			return s.damaged(f, err)
		}
		s.offset += f.size()
		if !first {
			s.records++
		}
	}
	return nil
}

func (s *segment) apply(ctx context.Context, f frame, m *memory.Store, first bool) error {
	r, err := decode(f)
	if err != nil {
		return err
	}
	if !first {
		return r.apply(ctx, m)
	}
	if head, ok := r.(begun); !ok || head.Segment != s.number {
		return errors.New("it does not begin this segment")
	}
	return nil
}

// damaged says what cannot be read, and where.
func (s *segment) damaged(f frame, cause error) error {
	about := f.kind.String()
	if run := runOf(s.raw[min(s.offset+headerSize, len(s.raw)):]); run != "" {
		about += " of run " + run
	}
	return fmt.Errorf("%s cannot be read at offset %d (%s): %w",
		segmentName(s.number), s.offset, about, cause)
}
