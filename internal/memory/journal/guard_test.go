// Tests of a folder that something else changes while a process has it.

package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
)

// copyFolder copies the files of a folder to a new one.
func copyFolder(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }

// moved moves a folder and puts a copy in its place.
func moved(dir string) error {
	return errors.Join(copyFolder(dir, dir+".copy"), os.Rename(dir, dir+".old"), os.Rename(dir+".copy", dir))
}

// replaced replaces a file by a copy, as rsync does.
func replaced(file string) error {
	raw, err := os.ReadFile(file)
	return errors.Join(err, os.WriteFile(file+".new", raw, 0o600), os.Rename(file+".new", file))
}

// Nothing is acknowledged after something else has changed the folder of an open journal.
func TestNothingIsWrittenToAReplacedFolder(t *testing.T) {
	first, newest := journal.SegmentName(1), journal.SegmentName(2)
	snapshot := journal.SnapshotName(1)
	for name, c := range map[string]struct {
		change    func(dir string) error
		lookFirst bool // the next look at the folder finds it; otherwise the next append does
		want      string
	}{
		"the newest segment is replaced":  {change: func(dir string) error { return replaced(filepath.Join(dir, newest)) }, want: newest + " was replaced"},
		"the newest segment is removed":   {change: func(dir string) error { return os.Remove(filepath.Join(dir, newest)) }, want: newest + " was removed or moved"},
		"the newest segment is moved":     {change: func(dir string) error { return os.Rename(filepath.Join(dir, newest), filepath.Join(dir, "x")) }, want: newest + " was removed or moved"},
		"the newest segment is shortened": {change: func(dir string) error { return os.Truncate(filepath.Join(dir, newest), 20) }, want: newest + " has "},
		"the newest segment is rewritten in place": {
			change: func(dir string) error { return os.WriteFile(filepath.Join(dir, newest), []byte("a backup"), 0o600) }, want: newest + " has ",
		},
		"the newest segment grows": {change: func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, newest), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more")
			return errors.Join(err, f.Close())
		}, want: newest + " has "},
		"the folder is moved":       {change: func(dir string) error { return os.Rename(dir, dir+".old") }, want: "was removed or moved"},
		"the folder is removed":     {change: os.RemoveAll, want: "was removed or moved"},
		"a copy takes its place":    {change: moved, want: "was replaced"},
		"its parent is moved":       {change: func(dir string) error { return os.Rename(filepath.Dir(dir), filepath.Dir(dir)+".old") }, want: "was removed or moved"},
		"an old segment is removed": {change: func(dir string) error { return os.Remove(filepath.Join(dir, first)) }, lookFirst: true, want: first + " was removed or moved"},
		"an old segment is replaced": {
			change: func(dir string) error { return replaced(filepath.Join(dir, first)) }, lookFirst: true, want: first + " was replaced",
		},
		"the snapshot is replaced": {
			change: func(dir string) error { return replaced(filepath.Join(dir, snapshot)) }, lookFirst: true, want: snapshot + " was replaced",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data", "journal")
			failed := make(chan error, 1)
			o := journal.Options{Fail: func(err error) { failed <- err }}
			if strings.Contains(c.want, first) {
				closed(t, openIn(t, dir, o)) // a segment without records is removed
				s := openIn(t, dir, o)
				if err := startRun(t.Context(), s, 0); err != nil {
					t.Fatal(err)
				}
				closed(t, s)
			}
			s := openIn(t, dir, o)
			if !strings.Contains(c.want, first) {
				if err := errors.Join(startRun(t.Context(), s, 0), s.Snapshot(t.Context())); err != nil {
					t.Fatal(err)
				}
			}
			if err := startRun(t.Context(), s, 1); err != nil {
				t.Fatal(err)
			}
			if err := s.LookNow(); err != nil {
				t.Fatal(err)
			}
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			var failure error
			if c.lookFirst {
				select {
				case failure = <-failed:
				case <-time.After(time.Minute):
					t.Fatal("the journal goes on")
				}
			}
			if err := startRun(t.Context(), s, 2); !errors.Is(err, verification.ErrUnavailable) {
				t.Fatalf("Append = %v, want unavailable", err)
			}
			if failure == nil {
				failure = <-failed
			}
			if !errors.Is(failure, journal.ErrReplaced) || !strings.Contains(failure.Error(), c.want) {
				t.Errorf("Fail(%v), want ErrReplaced, %s", failure, c.want)
			}
		})
	}
}

// A process that writes nothing finds within seconds that its folder was replaced.
func TestAnIdleJournalLooksAtItsFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	failed := make(chan error, 1)
	s := openIn(t, dir, journal.Options{Fail: func(err error) { failed <- err }})
	if err := errors.Join(startRun(t.Context(), s, 0), moved(dir)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if !errors.Is(err, journal.ErrReplaced) {
			t.Errorf("Fail(%v), want ErrReplaced", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the journal goes on")
	}
	if _, err := s.Tenants(t.Context()); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("a read = %v, want unavailable", err)
	}
}

func TestTheLockOutlivesItsFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	s := openIn(t, dir, journal.Options{})
	file := filepath.Join(dir, "lock")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	link := dir + ".link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link} {
		_, err := journal.Open(t.Context(), path, journal.Options{})
		if !errors.Is(err, journal.ErrHeld) || !errors.Is(err, verification.ErrConflict) {
			t.Errorf("a second Open of %s = %v, want ErrHeld", path, err)
		}
		if err := journal.Held(path); !errors.Is(err, journal.ErrHeld) {
			t.Errorf("Held(%s) = %v, want ErrHeld", path, err)
		}
	}
	if err := s.LookNow(); err != nil {
		t.Fatal(err)
	}
	if h, err := journal.ReadHolder(dir); err != nil || h.PID != os.Getpid() {
		t.Errorf("the lock file = %v, %v; want it written again", h, err)
	}
	if err := startRun(t.Context(), s, 0); err != nil {
		t.Error(err)
	}
	closed(t, s)
	if err := journal.Held(dir); err != nil {
		t.Errorf("Held after Close = %v", err)
	}
}
