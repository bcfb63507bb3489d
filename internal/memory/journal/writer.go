// The writer: group commit of the records, and the segments that it writes.

package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// group is what is written and synced at once.
type group struct {
	frames []byte
	last   bool          // the last group of its segment, for a snapshot
	done   chan struct{} // closed when the frames are on disk, or err is set
	err    error

	// The running checksum and the number of all records up to the group.
	sum     sum
	records int

	// Once it is done: its end, and the size of the segments from the last snapshot up to
	// the group; and if it is the last of its segment, why the segment goes on.
	end    position // of the segment, after the group
	tail   int64
	goesOn error
}

func newGroup(buffer []byte) *group { return &group{frames: buffer[:0], done: make(chan struct{})} }

// writer writes groups of records, one after the other. While nothing is being written, the
// call that adds a record writes it itself, because to wake another goroutine takes time;
// what is added meanwhile is the next group, which run writes.
type writer struct {
	// mu fixes the order of the records. It is held while a call changes the memory store.
	mu      sync.Mutex
	filling *group // takes the next records
	sealed  *group // is written before filling; nil unless a snapshot begins
	writing *group // nil while nothing is being written
	err     error  // what callers are told once a write has failed
	cause   error  // why it has failed
	closing bool
	tail    int64    // the size of the segments since the last snapshot
	dueAt   int64    // the size at which the next snapshot is due
	limit   int64    // the least dueAt
	end     position // up to which records are on disk
	sum     sum      // the running checksum of all records that were added
	records int      // their number

	unmarked chan struct{} // receives a value when more is on disk than the mark says

	due   chan struct{} // receives a value when a snapshot is due
	wake  chan struct{}
	ended chan struct{}
	out   segments // for the goroutine that writes
	spare []byte   // the buffer of a later group
	fail  func(error)
}

func newWriter(out segments, fail func(error)) *writer {
	var once sync.Once
	return &writer{
		filling: newGroup(nil), out: out, end: out.end, sum: out.end.Sum, records: out.end.Records,
		fail:     func(err error) { once.Do(func() { fail(err) }) },
		unmarked: make(chan struct{}, 1),
		wake:     make(chan struct{}, 1), due: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// addLocked adds a record. If lead is true and nothing is being written, it returns the group
// with the record, which the caller must commit after it has unlocked mu; otherwise nil.
func (w *writer) addLocked(k kind, payload []byte, lead bool) (mine *group) {
	g := w.filling
	start := len(g.frames)
	g.frames = appendFrame(g.frames, k, w.sum, payload)
	w.sum, w.records = follow(w.sum, binary.LittleEndian.Uint32(g.frames[start+4:])), w.records+1
	g.sum, g.records = w.sum, w.records
	if lead && w.writing == nil && w.sealed == nil {
		return w.takeLocked()
	}
	w.wakeUp()
	return nil
}

func (w *writer) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// newestLocked returns the group with the newest record; nil if all records are on disk.
func (w *writer) newestLocked() *group {
	switch {
	case len(w.filling.frames) > 0:
		return w.filling
	case w.sealed != nil:
		return w.sealed
	}
	return w.writing
}

// sealLocked ends the group that is being filled, which will be the last of its segment.
func (w *writer) sealLocked() *group {
	g := w.filling
	g.last = true
	w.sealed, w.filling = g, newGroup(nil)
	w.wakeUp()
	return g
}

// takeLocked returns the group that is written next; nil if there is nothing to write.
func (w *writer) takeLocked() *group {
	switch {
	case w.sealed != nil:
		w.writing, w.sealed = w.sealed, nil
	case len(w.filling.frames) > 0:
		w.writing, w.filling, w.spare = w.filling, newGroup(w.spare), nil
	}
	return w.writing
}

// run writes groups until close is called or a write fails.
func (w *writer) run() {
	defer close(w.ended)
	for range w.wake {
		w.mu.Lock()
		if w.writing != nil { // commit calls wakeUp
			w.mu.Unlock()
			continue
		}
		g, ended := w.takeLocked(), w.closing || w.err != nil
		w.mu.Unlock()
		if g != nil {
			w.commit(g)
		} else if ended {
			return
		}
	}
}

// commit writes the group that takeLocked has returned.
func (w *writer) commit(g *group) {
	err := w.write(g)
	w.mu.Lock()
	w.writing, w.end = nil, w.out.end
	if err != nil {
		w.failLocked(err)
	}
	w.changed()
	g.err = w.err
	w.tail += int64(len(g.frames))
	g.tail = w.tail
	w.checkTailLocked()
	if cap(g.frames) <= maxBuffer {
		w.spare = g.frames
	}
	if w.newestLocked() != nil || w.closing || err != nil {
		w.wakeUp()
	}
	w.mu.Unlock()
	close(g.done)
	if err != nil {
		w.fail(err)
	}
}

// write writes a group, and begins another segment if it is the last of its own.
func (w *writer) write(g *group) error {
	if len(g.frames) > 0 {
		if err := w.out.write(g); err != nil {
			return err
		}
	}
	g.end = w.out.end
	if !g.last {
		return nil
	}
	err := w.out.next()
	if errors.Is(err, errNotBegun) {
		g.goesOn, err = err, nil
	}
	return err
}

// checkTailLocked tells when a snapshot is due.
func (w *writer) checkTailLocked() {
	if w.tail < w.dueAt {
		return
	}
	select {
	case w.due <- struct{}{}:
	default:
	}
}

// replaced notes that a snapshot of a size has replaced the segments up to a group. A large
// snapshot is due again when much has been written since, so that what is written stays in
// proportion to what is kept.
func (w *writer) replaced(g *group, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail -= g.tail
	w.dueAt = max(w.limit, size/2)
	select {
	case <-w.due: // it was due before
	default:
	}
	w.checkTailLocked()
}

// postpone waits with the next snapshot until as much as a segment is written.
func (w *writer) postpone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dueAt = w.tail + w.limit
}

// maxBuffer is the largest buffer that the writer uses again, in bytes.
const maxBuffer = 1 << 20

// failLocked ends the service: nothing is known any more about what is on disk.
func (w *writer) failLocked(err error) {
	if w.err != nil {
		return
	}
	failed := verification.Unavailable("store", "the journal could not be written; restart the host")
	failed.Cause = err
	w.cause, w.err = err, failed
	for _, g := range []*group{w.sealed, w.filling} {
		if g != nil {
			g.err = failed
			close(g.done)
		}
	}
	w.sealed, w.filling = nil, newGroup(nil) // nothing is added any more
}

// servingLocked returns why no call is served any more; nil if calls are served.
func (w *writer) servingLocked() error {
	if w.closing && w.err == nil {
		return verification.Unavailable("store", "the journal is closed")
	}
	return w.err
}

// close writes what waits and ends the writer. It returns the error of the write that failed.
func (w *writer) close() error {
	w.mu.Lock()
	again := w.closing
	w.closing = true
	w.mu.Unlock()
	w.wakeUp()
	<-w.ended
	if again {
		return nil
	}
	return errors.Join(w.cause, w.out.close())
}

// closeMarks marks the end of the journal, if it is known.
func (w *writer) closeMarks(runs int) error {
	w.mu.Lock()
	last := &marked{End: w.end, Runs: runs}
	if w.cause != nil {
		last = nil
	}
	w.mu.Unlock()
	return w.out.marks.close(last)
}

// segments appends to the newest segment of a journal.
type segments struct {
	disk  disk
	marks *marks
	runs  func() int // of the store, for the mark
	limit int64      // of the size of a segment, unless one group is larger
	spare *spare
	file  file
	end   position // up to which it is on disk
	head  int64    // the size of the first frame
	due   int64    // the size at which the next segment begins
	level int      // of the journal
	guard *guard
}

// write writes a group and syncs it.
func (s *segments) write(g *group) error {
	if s.end.Bytes > s.head && s.end.Bytes+int64(len(g.frames)) > s.due {
		err := s.next()
		switch {
		case errors.Is(err, errNotBegun): // it goes on in this segment for a while
			s.due = s.end.Bytes + s.limit/16
		case err != nil:
			return err
		}
	}
	if err := s.append(g.frames); err != nil {
		return err
	}
	s.end.Sum, s.end.Records = g.sum, g.records
	return nil
}

// errNotBegun is returned if the next segment has not begun, and the newest one goes on.
var errNotBegun = errors.New("the next segment of the journal cannot begin")

// next begins the next segment.
func (s *segments) next() error {
	complete := s.file
	if err := s.begin(s.end.Segment + 1); err != nil {
		return err
	}
	return complete.Close()
}

func (s *segments) append(frames []byte) error {
	if err := writeAll(s.file, frames); err != nil {
		if named := (*fs.PathError)(nil); errors.As(err, &named) { // by the name that the file had before
			err = named.Err
		}
		return fmt.Errorf("write %s: %w", segmentName(s.end.Segment), err)
	}
	s.end.Bytes += int64(len(frames))
	return s.guard.newest(s.end.Segment, s.file, s.end.Bytes)
}

// writeAll writes to a file and syncs it.
func writeAll(f file, frames []byte) error {
	n, err := f.Write(frames)
	if err == nil && n < len(frames) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.Sync()
	}
	return err
}

// begin begins a segment after the end. Once begin has returned, the segment survives a loss of power,
// and the mark names it.
func (s *segments) begin(number int) error {
	payload, err := encode(begun{number, s.end, written(s.level)})
	if err != nil {
		return err
	}
	head := appendFrame(nil, kindBegun, s.end.Sum, payload)
	s.spare.mu.Lock()
	defer s.spare.mu.Unlock()
	f, err := s.spare.becomeLocked(s.disk, s.limit, head)
	if err != nil {
		return fmt.Errorf("%w: create %s: %w", errNotBegun, segmentName(number), err)
	}
	if err := s.disk.Rename(spareFile, segmentName(number)); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := s.disk.SyncFolder(); err != nil {
		return errors.Join(fmt.Errorf("sync the folder after %s: %w", segmentName(number), err), f.Close())
	}
	s.file, s.head, s.due = f, int64(len(head)), s.limit
	s.end.Segment, s.end.Bytes = number, s.head
	return s.marks.write(marked{End: s.end, Runs: s.runs()})
}

// close closes the file of the newest segment, whose records are on disk.
func (s *segments) close() error {
	s.spare.mu.Lock()
	defer s.spare.mu.Unlock()
	err := s.spare.close()
	if s.file == nil {
		return err
	}
	f := s.file
	s.file = nil
	return errors.Join(err, f.Close())
}
