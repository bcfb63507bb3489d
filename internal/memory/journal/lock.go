// The lock on the folder of a journal.

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// lockFile names the process that has the folder. The folder itself is locked, so that the lock
// does not go away with this file. The file is locked as well, because a network file system
// may lock a folder for one machine only, and a file for all. It is never removed, and empty after
// a process that has closed the journal. The operating system releases both locks when the process ends.
const lockFile = "lock"

// ErrHeld is returned, beside verification.ErrConflict, if another process has the folder.
var ErrHeld = errors.New("another process has the folder")

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

const exclusively = syscall.LOCK_EX

// folderLock is the lock on a folder that this process has.
type folderLock struct {
	dir, file *os.File // file is nil if the folder is only read and cannot have one
	holder    *Holder  // nil if the folder is only read
}

// lock locks the folder until the result is closed. It returns ErrHeld if another process,
// or another store of this process, has the lock.
func lock(root *os.Root, since time.Time) (*folderLock, error) {
	host, _ := os.Hostname() // the message does without it
	l := &folderLock{holder: &Holder{os.Getpid(), host, since}}
	return l.take(root, exclusively)
}

// lockToRead locks the folder and leaves the holder in the file as it is.
func lockToRead(root *os.Root) (*folderLock, error) {
	return (&folderLock{}).take(root, syscall.LOCK_SH)
}

func (l *folderLock) take(root *os.Root, how int) (_ *folderLock, err error) {
	if l.dir, err = root.Open("."); err != nil {
		return nil, err
	}
	if err = flock(l.dir, how); err == nil {
		err = l.takeFile(root, how)
	}
	if err == nil {
		return l, nil
	}
	if errors.Is(err, ErrHeld) {
		err = heldBy(root.ReadFile(lockFile))
	}
	return nil, errors.Join(err, l.close())
}

// takeFile locks the file, and makes it if it is missing.
func (l *folderLock) takeFile(root *os.Root, how int) error {
	flags := os.O_RDWR | os.O_CREATE
	if l.holder == nil {
		flags = os.O_RDONLY
	}
	f, err := root.OpenFile(lockFile, flags, fileMode)
	if errors.Is(err, fs.ErrNotExist) && l.holder == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if err := flock(f, how); err != nil {
		return errors.Join(err, f.Close())
	}
	old := l.file
	l.file = f
	l.sign()
	if old != nil {
		return old.Close()
	}
	return nil
}

// sign writes the holder to the file. It is only for messages, and a full disk does not
// stop a host.
func (l *folderLock) sign() {
	if l.holder == nil {
		return
	}
	if raw, err := json.Marshal(l.holder); err == nil && l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt(append(raw, '\n'), 0)
	}
}

// Close empties the file, so that it does not name a process that does something else later,
// and releases the lock.
func (l *folderLock) Close() error {
	var err error
	if l.holder != nil {
		err = l.file.Truncate(0)
	}
	return errors.Join(err, l.close())
}

func (l *folderLock) close() (err error) {
	for _, f := range []*os.File{l.file, l.dir} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// Held returns ErrHeld, and names the process, if a process has the journal in a folder.
// It changes nothing. It is for messages: the next moment, it may be different.
func Held(dir string) error {
	for _, path := range []string{dir, filepath.Join(dir, lockFile)} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = flock(f, syscall.LOCK_SH)
		if err = errors.Join(err, f.Close()); errors.Is(err, ErrHeld) {
			return heldBy(os.ReadFile(filepath.Join(dir, lockFile)))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// flock locks a file or a folder. It returns ErrHeld if another process has it.
func flock(f *os.File, how int) error {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	if err != nil {
		return fmt.Errorf("lock the folder: %w", err)
	}
	return nil
}

// heldBy returns that another process has the folder, and which one, as the lock file says.
func heldBy(lockFile []byte, _ error) error {
	held := verification.Conflict("journal", "another host has the folder")
	held.Cause = ErrHeld
	var h Holder
	if json.Unmarshal(lockFile, &h) == nil && h.PID != 0 {
		held.Message += ": " + h.String()
	}
	return held
}
