// The lock on the folder of a journal.

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// lockFile is never removed. The operating system releases its lock when the process ends. It
// is empty after a process that has closed the journal.
const lockFile = "lock"

// Holder is the process that has the lock, as the file says.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// String describes the process for a message.
func (h Holder) String() string {
	text := fmt.Sprintf("process %d", h.PID)
	if h.Host != "" {
		text += " on " + h.Host
	}
	if !h.Since.IsZero() {
		text += " since " + h.Since.Format(time.RFC3339)
	}
	return text
}

// lockedFile is a lock file that this process has locked.
type lockedFile struct{ *os.File }

// Close empties the file, so that it does not name a process that does something else later,
// and releases the lock.
func (f lockedFile) Close() error { return errors.Join(f.Truncate(0), f.File.Close()) }

// lock locks the folder until the result is closed. It returns ErrConflict if another process,
// or another store of this process, has the lock.
func lock(root *os.Root, since time.Time) (io.Closer, error) {
	f, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := take(f, since); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return lockedFile{f}, nil
}

// Held returns ErrConflict, which names the process, if a process has the journal in a folder.
// It changes nothing. It is for messages: the next moment, it may be different.
func Held(dir string) error {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = flock(f, syscall.LOCK_SH)
	return errors.Join(err, f.Close())
}

// flock locks a file. It returns ErrConflict if another process has it.
func flock(f *os.File, how int) error {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		var h Holder
		held := verification.Conflict("journal", "another host has the folder")
		if held.Cause = json.NewDecoder(io.LimitReader(f, 1000)).Decode(&h); held.Cause == nil {
			held.Message += ": " + h.String()
		}
		return held
	}
	if err != nil {
		return fmt.Errorf("lock the folder: %w", err)
	}
	return nil
}

func take(f *os.File, since time.Time) error {
	if err := flock(f, syscall.LOCK_EX); err != nil {
		return err
	}
	host, _ := os.Hostname() // the message does without it
	raw, err := json.Marshal(Holder{os.Getpid(), host, since})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(raw, '\n'), 0)
	}
	return err
}
