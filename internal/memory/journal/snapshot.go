// Snapshots: what the store has, in place of the segments that led to it.

package journal

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/verifyd/verifyd/internal/memory/memstore"
)

// Snapshot writes what the store has to a snapshot, and removes the segments and the snapshot
// that it replaces: when Snapshot has returned nil, the folder has nothing that the store no
// longer had when it was called. Calls of the store go on meanwhile. If Snapshot fails, nothing
// is lost, and the next one removes what is left. Snapshots are also taken by themselves, see
// Options.SnapshotBytes.
func (s *Store) Snapshot(ctx context.Context) error {
	select {
	case s.snapshots <- struct{}{}: // one at a time
		defer func() { <-s.snapshots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.closing, stop)()
	removed := s.removed.Load()
	d, g, err := s.cut()
	if err != nil {
		return err
	}
	defer d.Close()
	<-g.done
	if err := cmp.Or(g.err, g.goesOn); err != nil {
		return err
	}
	moved := &movedAudit{disk: s.writer.out.disk, name: snapshotName(g.end.Segment)}
	size, err := writeSnapshot(ctx, s.writer.out.disk, entries(d, s.partBytes, moved), snapshotBegun{g.end.Segment, g.end, s.level})
	if err != nil {
		return fmt.Errorf("write a snapshot of the journal: %w", err)
	}
	memstore.MoveAudit(s.memory, d, moved.blocks)
	s.auditDue.Store(max(auditBytes, size/8))
	s.writer.replaced(g, size)
	if err := removeReplaced(s.writer.out.disk, g.end.Segment); err != nil {
		return err
	}
	s.replaced.Store(removed)
	return nil
}

// Removed implements store.Removals: a snapshot that began afterwards has replaced the segments.
func (s *Store) Removed(_ context.Context, before int64) (mark int64, gone bool, err error) {
	return s.removed.Load(), s.replaced.Load() >= before, nil
}

// cut returns everything that the store has, and the last group of changes that led to it. The
// segment of that group is complete when the group is done.
func (s *Store) cut() (*memstore.Dump, *group, error) {
	w := s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.servingLocked(); err != nil {
		return nil, nil, err
	}
	d, err := memstore.NewDump(s.memory)
	if err != nil {
		return nil, nil, err
	}
	return d, w.sealLocked(), nil
}

// snapshotWhenDue takes snapshots until the store is closed: when enough was written, and soon after a run
// was rewritten, because the segments still have what it had. rewritten says that a process before did so.
func (s *Store) snapshotWhenDue(eraseWithin time.Duration, rewritten bool) {
	var erase <-chan time.Time // nil if no run was rewritten
	soon := min(eraseWithin, time.Minute)
	if rewritten {
		erase = time.After(soon)
	}
	for {
		select {
		case <-s.closing.Done():
			return
		case <-s.rewritten:
			if erase == nil {
				erase = time.After(eraseWithin)
			}
			continue
		case <-erase:
		case <-s.writer.due:
		}
		rewritten, erase = erase != nil, nil
		if err := s.Snapshot(s.closing); err != nil && s.closing.Err() == nil {
			s.writer.postpone()
			s.auditDue.Store(memstore.AuditInMemory(s.memory) + auditBytes)
			if rewritten {
				erase = time.After(soon)
			}
			s.log.Warn("No snapshot of the journal could be taken. Nothing is lost; the journal grows until one can", "error", err.Error())
		}
	}
}

// writeSnapshot writes a snapshot with its first record and what follows it, and returns its
// size. Once writeSnapshot has returned, the snapshot survives a loss of power.
func writeSnapshot(ctx context.Context, d disk, of iter.Seq2[entry, error], head snapshotBegun) (size int64, err error) {
	name := snapshotName(head.Segments)
	part := name + partSuffix
	if err := d.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that failed
		return 0, err
	}
	f, err := d.Create(part)
	if err != nil {
		return 0, err
	}
	out := &synced{file: f}
	if err := writeEntries(ctx, out, of, head); err != nil {
		return 0, errors.Join(err, f.Close(), d.Remove(part))
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	if err := d.Rename(part, name); err != nil {
		return 0, err
	}
	return out.size, d.SyncFolder()
}

// writeEntries writes the records of a snapshot and syncs them.
func writeEntries(ctx context.Context, out *synced, of iter.Seq2[entry, error], head snapshotBegun) error {
	w := bufio.NewWriterSize(out, 64<<10)
	var frame []byte
	var offset int64
	records, running := 0, sum(0) // the running checksum
	level := head.Level
	head.Level = written(level)
	write := func(e entry) error {
		payload, err := encode(e.record)
		if err = cmp.Or(err, e.kind.check(level)); err != nil {
			return err
		}
		records++
		frame = appendFrame(frame[:0], e.kind, running, payload)
		running = follow(running, binary.LittleEndian.Uint32(frame[4:]))
		if e.wrote != nil {
			e.wrote(offset, len(frame))
		}
		offset += int64(len(frame))
		_, err = w.Write(frame)
		return err
	}
	if err := write(entry{kind: kindSnapshot, record: head}); err != nil {
		return err
	}
	for e, err := range of {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if err := write(e); err != nil {
			return err
		}
	}
	if err := write(entry{kind: kindComplete, record: completed{records + 1}}); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.file.Sync()
}

// synced is a file that is synced again and again, so that no sync takes long: the journal
// has to sync meanwhile.
type synced struct {
	file     file
	size     int64
	unsynced int
}

func (s *synced) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	s.size += int64(n)
	if s.unsynced += n; err == nil && s.unsynced >= 8<<20 {
		s.unsynced, err = 0, s.file.Sync()
	}
	return n, err
}

// removeReplaced removes what the snapshot of a segment replaces, and snapshots that are not
// complete.
func removeReplaced(d disk, segment int) error {
	names, err := d.List()
	if err != nil {
		return err
	}
	var old []string
	for _, n := range numbered(names, segmentSuffix) {
		if n <= segment {
			old = append(old, segmentName(n))
		}
	}
	for _, n := range numbered(names, snapshotSuffix) {
		if n < segment {
			old = append(old, snapshotName(n))
		}
	}
	for _, n := range numbered(names, snapshotSuffix+partSuffix) {
		old = append(old, snapshotName(n)+partSuffix)
	}
	if len(old) == 0 {
		return nil
	}
	for _, name := range old {
		if err := d.Remove(name); err != nil {
			return fmt.Errorf("remove %s, which a snapshot has replaced: %w", name, err)
		}
	}
	return d.SyncFolder()
}
