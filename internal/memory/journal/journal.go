// Package journal is a store in memory that loses nothing: it writes each change to a
// journal in a folder, and a call returns when everything that it did and saw is on disk.
// It is for one process without a database.
//
// The folder has numbered segments, which are only appended to. A record has what a call
// changed, with the times that its caller gave. [Open] makes the changes again:
//
//	call                        what the journal has of it
//	Append                      the commit. Leased work is due at the commit's last event, not when the lease ends
//	Claim                       a claim that was granted
//	Take                        that the work is taken, so that the lease counts as lost if the process dies; no lease
//	Renew                       nothing
//	Finish, Postpone, Release   the state of the work, if the call changed it
//	HoldPass                    the call, unless it only extends the hold
//	SaveWorkflow, SaveTenant, SaveAccount, SaveDelivery      the call
//	SaveSetup                   the call, in one record
//	AppendAudit, Forget, Change the call
//	ClaimIdempotencyKey         the record, if it is stored
//	SettleIdempotencyKey, ReleaseIdempotencyKey              the call
//	SaveRecords                 each record
//
// The audit trail is in memory only since the last snapshot, which has the rest in blocks that are read when somebody asks.
//
// A call that is refused leaves no record. After a restart there are no leases: taken work
// is due, unless it has lost a lease before; then it is due when the lease ends. Other work is due
// when it was before.
package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification/store"
)

// DefaultSegmentBytes is the default of Options.SegmentBytes: 64 MiB.
const DefaultSegmentBytes = 64 << 20

// Options are the options of Open.
type Options struct {
	// SegmentBytes is the size after which a segment is complete and the next one begins; 0
	// means DefaultSegmentBytes.
	SegmentBytes int64
	// SnapshotBytes is the size of the segments after which a snapshot replaces them, or half
	// the size of the last snapshot if that is more; 0 means 64 MiB.
	SnapshotBytes int64
	// EraseWithin is how soon after the redaction of a run a snapshot replaces the segments that have its
	// personal data; 0 means an hour. If the process has ended before, the next one takes the snapshot within a
	// minute.
	EraseWithin time.Duration
	// Fail is called once, when the journal could not be written. Nobody knows then which of
	// the last changes are on disk, and every call of the store returns ErrUnavailable: the
	// process must end and open the journal again. Fail must not call the store; nil does
	// nothing.
	Fail func(error)
	// OpenedAt is the time that a second process is told about the holder of the folder;
	// zero leaves it out.
	OpenedAt time.Time
	// Room is called before a run is added, and returns why it is refused; nil refuses none. It may be
	// called by several goroutines at once, and must not call the store.
	Room func() error
	// Used says that there is other data of the journal beside its folder: then it is an error if
	// the folder is empty or missing.
	Used bool
	// Level is the level that the journal has afterwards, if it has a lower one; see store.Level. 0 changes nothing.
	Level int
	// Copying opens also the result of an unfinished copy, see store.CopyStore. Otherwise it is
	// an error.
	Copying bool
	// Log receives messages for operators; nil discards them.
	Log *slog.Logger

	guard *guard // nil: nothing but the journal changes the disk
	reads int    // the level up to which the build reads; 0 means store.Level
}

// Store is a store.Store that keeps its data in memory and in a journal. It is safe for
// concurrent use. Callers must not modify returned values. If a call that changes something
// is cancelled before the change, it does nothing; afterwards it waits for the disk.
type Store struct {
	store.Tables // over the Store itself

	memory    *memstore.Store
	writer    *writer
	log       *slog.Logger
	snapshots chan struct{} // has a value while a snapshot is taken
	rewritten chan struct{} // has a value if a run was rewritten since the last look
	removed   atomic.Int64  // commits that removed something, since the last process had its last snapshot
	replaced  atomic.Int64  // those of them that are in no segment any more
	auditDue  atomic.Int64  // the bytes of the audit trail in memory at which a snapshot moves them to the disk
	closing   context.Context
	close     context.CancelFunc
	room      func() error
	watched   chan struct{} // closed when nothing looks at the folder any more; nil if nothing does
	root      *os.Root
	opened    []io.Closer // the lock and the folder
	found     Recovery
	level     int
	partBytes int // of a history in one record
}

// Recovery is what Open found in the folder.
type Recovery struct {
	Runs int
	// Records is the number of changes that were made again, since the last snapshot.
	Records int
	// CutBytes is the length of the end that could not be read, and Kept the file in the folder to
	// which it was moved. It is newer than the last mark.
	CutBytes int64
	Kept     string
	// Killed says that the process before did not close the journal.
	Killed bool
	// Level is the level that the journal had, see Options.Level.
	Level int
}

// Recovery returns what Open found.
func (s *Store) Recovery() Recovery { return s.found }

// Level implements store.Leveled.
func (s *Store) Level() int { return s.level }

var (
	_ store.Store    = (*Store)(nil)
	_ store.Leveled  = (*Store)(nil)
	_ store.Removals = (*Store)(nil)
)

// Open opens the journal in a folder, which it creates if it is missing, and makes all changes
// again. An end of the journal that cannot be read and is newer than the last mark, such as a record
// that was not written completely, is moved to a file of its own, and Open logs that. Any other
// damage is an error, which names the file, the offset, and the kind and the run of the record. Open
// returns ErrHeld if another process has the folder.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	if _, err := os.Stat(dir); o.Used && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the journal in %s: %w; %s", dir, errEmptied, advice)
	}
	if err := create(dir); err != nil {
		return nil, fmt.Errorf("create the folder of the journal: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the journal: %w", err)
	}
	held, err := lock(root, o.OpenedAt)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal in %s: %w", dir, err), root.Close())
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.guard = &guard{dir: dir, root: root, lock: held, log: o.Log}
	var s *Store
	if err = trim(folder{root}); err == nil {
		s, err = open(ctx, heldFolder{folder{root}, held.dir}, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal in %s: %w", dir, err), held.Close(), root.Close())
	}
	s.root, s.opened, s.watched = root, []io.Closer{held, root}, make(chan struct{})
	go s.watch()
	return s, nil
}

// Kept returns memstore.Store.Kept.
func (s *Store) Kept() int64 { return s.memory.Kept() }

// Use returns memstore.Store.Use.
func (s *Store) Use() []memstore.TenantUse { return s.memory.Use() }

// Limit calls memstore.Store.Limit.
func (s *Store) Limit(l memstore.Limits) { s.memory.Limit(l) }

// SetPressure calls memstore.Store.SetPressure.
func (s *Store) SetPressure(p memstore.Pressure) { s.memory.SetPressure(p) }

// Refused returns memstore.Store.Refused.
func (s *Store) Refused() int64 { return s.memory.Refused() }

// create creates the folder so that it survives a loss of power.
func create(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// open opens the journal on a disk.
func open(ctx context.Context, d disk, o Options) (*Store, error) {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = 64 << 20
	}
	if o.EraseWithin == 0 {
		o.EraseWithin = time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Fail == nil {
		o.Fail = func(error) {}
	}
	if o.Room == nil {
		o.Room = func() error { return nil }
	}
	r := recovery{disk: d, memory: memstore.New(), log: o.Log, used: o.Used, reads: cmp.Or(o.reads, store.Level)}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	out := segments{
		disk: d, marks: r.marks, runs: r.memory.Runs, limit: o.SegmentBytes, end: r.trail.end, spare: &spare{}, guard: o.guard,
		level: max(r.trail.level, o.Level),
	}
	source, err := r.memory.UnfinishedCopy(ctx)
	if err == nil && source != "" && !o.Copying {
		err = errUnfinished(source)
	}
	if err == nil {
		err = out.begin(r.next)
	}
	if err != nil {
		return nil, errors.Join(err, r.marks.close(nil))
	}
	s := &Store{memory: r.memory, writer: newWriter(out, o.Fail), log: o.Log, snapshots: make(chan struct{}, 1), rewritten: make(chan struct{}, 1), room: o.Room, found: r.found, level: out.level, partBytes: defaultPartBytes}
	s.Tables = store.Tables{RowStore: s}
	s.closing, s.close = context.WithCancel(context.WithoutCancel(ctx))
	s.writer.tail, s.writer.limit, s.writer.dueAt = r.tail, o.SnapshotBytes, max(o.SnapshotBytes, r.snapshotSize/2)
	s.writer.checkTailLocked()
	s.auditDue.Store(max(auditBytes, r.snapshotSize/8))
	if r.rewritten {
		s.removed.Add(1)
	}
	go s.writer.run()
	go s.snapshotWhenDue(o.EraseWithin, r.rewritten)
	go s.markWhenDue()
	return s, nil
}

// Close writes what is not on disk yet, and unlocks the folder. Calls that come later return
// ErrUnavailable. Close returns the error of a write that has failed.
func (s *Store) Close() error {
	s.close()
	s.snapshots <- struct{}{} // after a snapshot that is being taken, which ends at once
	defer func() { <-s.snapshots }()
	if s.watched != nil {
		<-s.watched
	}
	err := errors.Join(s.writer.close(), s.writer.closeMarks(s.memory.Runs()))
	for _, c := range s.opened {
		err = errors.Join(err, c.Close())
	}
	s.opened = nil
	return err
}

// change calls f, which changes the memory store, and adds the record of a kind that f returns; nil
// adds none. It returns when that and all earlier records are on disk, so that also a refusal
// tells nothing that a crash could undo.
func (s *Store) change(k kind, f func() (payload []byte, err error)) error {
	g, mine, err := s.changed(k, f, true)
	if mine != nil {
		s.writer.commit(mine)
	}
	if g != nil {
		<-g.done
		if g.err != nil {
			return g.err
		}
	}
	return err
}

// changed calls f and adds its record, and returns the group to wait for. With lead, it may
// also return that group as one to commit, see writer.addLocked.
func (s *Store) changed(k kind, f func() (payload []byte, err error), lead bool) (g, mine *group, err error) {
	if err := k.check(s.level); err != nil {
		return nil, nil, err
	}
	w := s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.servingLocked(); err != nil {
		return nil, nil, err
	}
	payload, err := f()
	if payload != nil {
		mine = w.addLocked(k, payload, lead)
	}
	return w.newestLocked(), mine, err
}

// record calls f and adds the record r unless f fails.
func (s *Store) record(k kind, r record, f func() error) error {
	payload, err := encode(r)
	if err != nil {
		return err
	}
	return s.change(k, func() ([]byte, error) {
		if err := f(); err != nil {
			return nil, err
		}
		return payload, nil
	})
}

// read returns what f has read, once all of it is on disk.
func read[T any](ctx context.Context, s *Store, f func() (T, error)) (result T, err error) {
	result, err = f()
	w := s.writer
	w.mu.Lock() // a change that f has seen has its record when the lock is free
	g, down := w.newestLocked(), w.servingLocked()
	w.mu.Unlock()
	var none T
	if down != nil {
		return none, down
	}
	if g != nil {
		select {
		case <-g.done:
		case <-ctx.Done():
			return none, ctx.Err()
		}
		if g.err != nil {
			return none, g.err
		}
	}
	return result, err
}

// pieces returns the states of pieces of work.
func (s *Store) pieces(work []store.Work) []memstore.Piece {
	states := make([]memstore.Piece, len(work))
	for i, w := range work {
		states[i] = memstore.PieceOf(s.memory, w.RunRef, w.WorkKey)
	}
	return states
}

// changeWork calls f, which changes pieces of work, and records the states that differ.
func (s *Store) changeWork(work []store.Work, f func() error) error {
	return s.change(kindWork, func() ([]byte, error) {
		before := s.pieces(work)
		if err := f(); err != nil {
			return nil, err
		}
		var r worked
		for i, p := range s.pieces(work) {
			if p != before[i] {
				r.Pieces = append(r.Pieces, stateOf(p))
			}
		}
		return r.encode()
	})
}

// encode returns the record; nil if no state has changed.
func (r worked) encode() ([]byte, error) {
	if len(r.Pieces) == 0 {
		return nil, nil
	}
	return encode(r)
}
