// A store in memory that is in a folder, too.

package memory

import (
	"context"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
)

// Folder is a store.Store in memory that loses nothing: it writes each change to a journal in a folder, and a call returns
// when everything that it did and saw is on disk. It is for one process without a database, and is safe for concurrent use.
type Folder struct{ *journal.Store }

// ErrHeld is returned by Open if another process has the folder.
var ErrHeld = journal.ErrHeld

// FolderOptions are the options of Open.
type FolderOptions struct {
	// SnapshotBytes is the size of the journal after which a snapshot replaces it, or half the size of the last
	// snapshot if that is more; 0 means 64 MiB.
	SnapshotBytes int64
	// EraseWithin is how soon after the redaction of a run a snapshot replaces what has its personal data; 0 means an
	// hour. If the process has ended before, the next one takes the snapshot within a minute.
	EraseWithin time.Duration
	// Fail is called once, when the journal could not be written. Nobody knows then which of the last changes are on
	// disk, and every call of the store returns verification.ErrUnavailable: the process must end and open the folder
	// again. Fail must not call the store; nil does nothing.
	Fail func(error)
	// OpenedAt is the time that a second process is told about the holder of the folder; zero leaves it out.
	OpenedAt time.Time
	// Log receives messages for operators; nil discards them.
	Log *slog.Logger
}

// Open opens the journal in a folder, which it creates if it is missing, and makes all changes again. An end of the journal
// that was not written completely is moved to a file of its own, and Open logs that; any other damage is an error.
func Open(ctx context.Context, dir string, o FolderOptions) (*Folder, error) {
	s, err := journal.Open(ctx, dir, journal.Options{
		SnapshotBytes: o.SnapshotBytes, EraseWithin: o.EraseWithin, Fail: o.Fail, OpenedAt: o.OpenedAt, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Folder{s}, nil
}
