// The mark: up to where a journal is known to be on disk.

package journal

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/verifyd/verifyd/internal/memory/memstore"
)

// endFile has the newest mark and the mark before it. Each is a frame in a block of its own, so
// that a write that is not completed leaves the other mark. A mark is overwritten in place: it
// needs neither room on the disk nor another descriptor.
const (
	endFile   = "end"
	markBlock = 4096
)

// markEvery is how long after a change the mark names it, at most.
const markEvery = time.Second

// position is a position in a journal: the end of a record that is on disk.
type position struct {
	Journal sum   `json:"journal"` // a random number, which all files of a journal share
	Segment int   `json:"segment"`
	Bytes   int64 `json:"bytes"`   // of the segment up to there
	Sum     sum   `json:"sum"`     // the running checksum of all records up to there
	Records int   `json:"records"` // up to there
}

// sum is a checksum, or the number of a journal. In JSON it has eight hexadecimal digits, so that its
// record always has the same size.
type sum uint32

// MarshalText implements encoding.TextMarshaler.
func (s sum) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(s)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *sum) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 32)
	*s = sum(n)
	return err
}

// before reports whether a position comes before another one.
func (p position) before(q position) bool {
	return p.Segment < q.Segment || p.Segment == q.Segment && p.Bytes < q.Bytes
}

// sameAs reports whether two positions are the same, whatever the number of records before them is.
func (p position) sameAs(q position) bool {
	p.Records = q.Records
	return p == q
}

// marked is a mark. Everything up to its position was synced before the mark was written. Segment
// is 0 in the mark of a journal without a segment.
type marked struct {
	Number int      `json:"number"` // increases by one; even numbers are in the first block
	End    position `json:"end"`
	Runs   int      `json:"runs"`   // in the store; some may be newer than the position
	Closed bool     `json:"closed"` // the journal ends there
}

func (marked) apply(context.Context, *memstore.Store) error { return errPosition }

// tornName returns the name of a file for the end of a segment from an offset on that is not one of
// the names.
func tornName(segment, offset int, names []string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s%010d-%d", tornPrefix, segment, offset)
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		if !slices.Contains(names, name) {
			return name
		}
	}
}

// tornPrefix begins the names of files with ends of segments that could not be read.
const tornPrefix = "torn-"

// readMark returns the newest mark; nil and a reason if there is none.
func readMark(d disk) (newest *marked, reason error, err error) {
	f, err := d.Open(endFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the file is missing"), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", endFile, err)
	}
	raw, err := io.ReadAll(io.LimitReader(f, 2*markBlock))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", endFile, err)
	}
	reason = errors.New("the file has no mark that can be read")
	for i := range 2 {
		f, err := readFrame(raw[min(i*markBlock, len(raw)):])
		if err != nil || f.kind != kindMark {
			continue
		}
		r, err := decode(f)
		if err != nil { // of a later build
			reason = err
			continue
		}
		if m, ok := r.(marked); ok && m.Number%2 == i && (newest == nil || m.Number > newest.Number) {
			newest = &m
		}
	}
	return newest, reason, nil
}

// marks writes marks.
type marks struct {
	mu     sync.Mutex
	file   blocks
	begun  position // the end of the journal before it had segments
	number int      // of the last mark
	closed bool
}

// newJournal returns a number for a new journal.
func newJournal() sum {
	var n [4]byte
	_, _ = rand.Read(n[:]) // never fails
	return sum(binary.LittleEndian.Uint32(n[:]) | 1)
}

// openMarks opens the file of the marks after the newest one. If there is none, it makes the file
// for a journal without segments.
func openMarks(d disk, newest *marked, journal sum) (*marks, error) {
	f, err := d.Overwrite(endFile)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", endFile, err)
	}
	m := &marks{file: f, number: -1}
	if newest != nil {
		m.number, m.begun = newest.Number, position{Journal: newest.End.Journal, Sum: newest.End.Journal}
		return m, nil
	}
	m.begun = position{Journal: journal, Sum: journal}
	none := marked{End: m.begun}
	if err = m.writeTwice(none); err == nil { // both blocks have their room
		err = d.SyncFolder()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

// write writes a mark and syncs it. Once the marks are closed, write does nothing.
func (m *marks) write(next marked) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	return m.writeLocked(next)
}

// writeTwice writes a mark to both blocks. The first one is synced, and names the end alone until the
// second one is on disk, too.
func (m *marks) writeTwice(next marked) error {
	if err := m.writeLocked(next); err != nil {
		return err
	}
	return m.put(next)
}

func (m *marks) writeLocked(next marked) error {
	if err := m.put(next); err != nil {
		return err
	}
	if err := m.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", endFile, err)
	}
	return nil
}

// put writes a mark, which is not synced.
func (m *marks) put(next marked) error {
	next.Number = m.number + 1
	block, err := encodeMark(next)
	if err != nil {
		return err
	}
	if _, err := m.file.WriteAt(block, int64(next.Number%2*markBlock)); err != nil {
		return fmt.Errorf("write %s: %w", endFile, err)
	}
	m.number = next.Number
	return nil
}

// encodeMark returns the block of a mark.
func encodeMark(m marked) ([]byte, error) {
	payload, err := encode(m)
	if err != nil {
		return nil, err
	}
	block := appendFrame(make([]byte, 0, markBlock), kindMark, 0, payload)
	return block[:markBlock], nil // zeros after the frame
}

// close writes where the journal ends, to both blocks, and closes the file. Without a last mark, it
// only closes the file.
func (m *marks) close(last *marked) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	if last != nil {
		last.Closed = true
		err = m.writeTwice(*last)
	}
	return errors.Join(err, m.file.Close())
}

// markWhenDue writes marks until the store is closed.
func (s *Store) markWhenDue() {
	for {
		select {
		case <-s.closing.Done():
			return
		case <-s.writer.unmarked:
		}
		select {
		case <-s.closing.Done():
			return
		case <-time.After(markEvery):
		}
		if err := s.writer.mark(s.memory.Runs()); err != nil {
			s.log.Warn("The end of the journal could not be marked. Nothing is lost, but damage to what is newer than the last mark may look like a torn write",
				"file", endFile, "error", err.Error())
		}
	}
}

// mark marks what is on disk.
func (w *writer) mark(runs int) error {
	w.mu.Lock()
	end := w.end
	w.mu.Unlock()
	err := w.out.marks.write(marked{End: end, Runs: runs})
	if err != nil {
		w.changed() // and again
	}
	return err
}

// changed notes that something is on disk that has no mark.
func (w *writer) changed() {
	select {
	case w.unmarked <- struct{}{}:
	default:
	}
}
