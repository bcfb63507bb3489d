// The guard of an open journal: its files are still the files that their paths name.

package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// ErrReplaced is returned if something has moved, replaced or changed a file of the journal while
// this process had it. Another process that opens the folder may not find what this one writes.
var ErrReplaced = errors.New("something else has changed the folder of the journal while this host used it")

// guard compares what a process has opened with what is in the folder. A nil guard compares
// nothing.
type guard struct {
	dir  string // the path of the folder
	root *os.Root
	lock *folderLock
	log  *slog.Logger

	mu    sync.Mutex      // held while all files are compared
	files map[string]seen // that are complete
}

// newest returns ErrReplaced unless the folder and the newest segment are as this process has
// left them. A group is acknowledged only afterwards.
func (g *guard) newest(segment int, of file, size int64) error {
	if g == nil {
		return nil
	}
	if err := g.same(g.dir, g.lock.dir.Stat, os.Stat); err != nil {
		return err
	}
	f, ok := of.(fs.File)
	if !ok {
		return nil
	}
	name := segmentName(segment)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != size {
		return fmt.Errorf("%w: %s has %d bytes, and %d were written", ErrReplaced, filepath.Join(g.dir, name), info.Size(), size)
	}
	return g.same(filepath.Join(g.dir, name), f.Stat, func(string) (fs.FileInfo, error) { return g.root.Lstat(name) })
}

// same returns ErrReplaced unless a path names what this process has opened.
func (g *guard) same(path string, opened func() (fs.FileInfo, error), stat func(string) (fs.FileInfo, error)) error {
	have, err := opened()
	if err != nil {
		return err
	}
	there, err := stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was removed or moved", ErrReplaced, path)
	case err != nil:
		return err
	case !os.SameFile(have, there):
		return fmt.Errorf("%w: %s was replaced", ErrReplaced, path)
	}
	return nil
}

// complete returns ErrReplaced unless the files that are no longer written to are as they were when
// complete saw them first.
func (g *guard) complete(newest int) error {
	if _, err := g.lock.dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	names, err := g.lock.dir.Readdirnames(-1) // this takes no descriptor
	if err != nil {
		return err
	}
	slices.Sort(names)
	replaced, segments := current(names)
	files := map[string]seen{}
	if replaced > 0 {
		files[snapshotName(replaced)] = seen{number: replaced}
	}
	for _, n := range segments {
		if n < newest { // a later one may have begun meanwhile
			files[segmentName(n)] = seen{number: n}
		}
	}
	for name, is := range files {
		was := g.files[name]
		is.info, err = g.root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a snapshot has just replaced it, or the next look finds it missing
			is.info = was.info
		case err != nil:
			return err
		case was.info != nil && (!os.SameFile(was.info, is.info) || was.info.Size() != is.info.Size()):
			return fmt.Errorf("%w: %s was replaced", ErrReplaced, filepath.Join(g.dir, name))
		}
		files[name] = is
	}
	for name, was := range g.files {
		if _, there := files[name]; !there && was.number > replaced {
			return fmt.Errorf("%w: %s was removed or moved", ErrReplaced, filepath.Join(g.dir, name))
		}
	}
	g.files = files
	return nil
}

// seen is a file that is complete.
type seen struct {
	number int
	info   fs.FileInfo
}

// sign writes the lock file again if it is gone. Without the file, a second process is refused
// nevertheless, but not told by whom.
func (g *guard) sign() error {
	there, err := g.root.Lstat(lockFile)
	have, failed := g.lock.file.Stat()
	if failed != nil || err == nil && os.SameFile(have, there) {
		return failed
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g.log.Warn("The lock file of the journal was removed, and is written again. It only names the host: the folder stays locked while the host lives",
		"file", filepath.Join(g.dir, lockFile))
	return g.lock.takeFile(g.root, exclusively)
}

// watchEvery is the time between two looks at the folder.
const watchEvery = time.Second

// watch looks at the folder until the store is closed: it makes the file of the next segment, and
// ends the service if the files of the journal are not its own any more.
func (s *Store) watch() {
	defer close(s.watched)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var noRoom, unseen said
	for {
		err := s.writer.look()
		if errors.Is(err, ErrReplaced) || errors.Is(err, ErrHeld) {
			s.writer.stop(err)
			return
		}
		unseen.log(s.log, err, "The folder of the journal cannot be compared with what this host has written")
		select {
		case <-s.closing.Done():
			return
		case <-tick.C: // a store that is closed at once needs no next segment
		}
		noRoom.log(s.log, s.writer.out.spare.ensure(s.writer.out.disk, s.writer.out.limit),
			"There is no room for the next segment of the journal. Nothing is lost: free some space, or raise the limit of open files")
	}
}

// said is the error that the log has.
type said struct{ text string }

// log logs an error once; nil forgets it.
func (s *said) log(log *slog.Logger, err error, message string) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != s.text && text != "" {
		log.Error(message, "error", text)
	}
	s.text = text
}

// look compares all files. The newest segment is compared with each group, and here while nothing is written.
func (w *writer) look() error {
	g := w.out.guard
	w.mu.Lock()
	var err error
	if w.writing == nil && w.err == nil && !w.closing {
		err = g.newest(w.out.end.Segment, w.out.file, w.out.end.Bytes)
	}
	newest := w.end.Segment
	w.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	return cmp.Or(err, g.complete(newest), g.sign())
}

// stop ends the service.
func (w *writer) stop(err error) {
	w.mu.Lock()
	w.failLocked(err)
	w.wakeUp()
	w.mu.Unlock()
	w.fail(err)
}
