// Tests of picking up changed files.

package watchlist_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// rewrite replaces a file of names and sets the time of its change.
func rewrite(t *testing.T, path, content string, changed time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, changed, changed); err != nil {
		t.Fatal(err)
	}
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// watched is a list in a file, and what was reported of loading it.
type watched struct {
	t        *testing.T
	path     string
	lists    *watchlist.Lists
	log      strings.Builder
	attempts []error
}

func watch(t *testing.T, content string) *watched {
	t.Helper()
	w := &watched{t: t, path: filepath.Join(t.TempDir(), "list.csv")}
	rewrite(t, w.path, content, start)
	lists, err := watchlist.Open(t.Context(), []watchlist.Source{{
		Name: "sanctions", Path: w.path, Format: watchlist.Format{Type: watchlist.CSV}, MaxAge: 48 * time.Hour,
	}}, watchlist.Options{
		Now:    time.Now,
		Log:    slog.New(slog.NewTextHandler(&w.log, nil)),
		Loaded: func(_ string, _ *watchlist.List, err error) { w.attempts = append(w.attempts, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.lists = lists
	return w
}

func (w *watched) finds(name string) bool {
	w.t.Helper()
	l, _ := w.lists.List("sanctions", start)
	found, err := l.Search(watchlist.Subject{Kind: names.Person, Name: name}, 0.85)
	hits := found.Hits
	if err != nil {
		w.t.Fatal(err)
	}
	return len(hits) > 0
}

func TestAChangedFileReplacesTheListOnceItIsWritten(t *testing.T) {
	w := watch(t, "name\nIvan Testov\n")
	before, _ := w.lists.List("sanctions", start)
	rewrite(t, w.path, "name\nPiotr Exempel\n", start.Add(time.Minute))
	w.lists.Refresh(t.Context())
	if !w.finds("Ivan Testov") {
		t.Error("a file that may still be written to replaced the list")
	}
	w.lists.Refresh(t.Context())
	if w.finds("Ivan Testov") || !w.finds("Piotr Exempel") {
		t.Error("the changed file did not replace the list")
	}
	after, _ := w.lists.List("sanctions", start)
	if after.Version == before.Version || len(after.Version) != 64 || !after.Date.Equal(start.Add(time.Minute)) {
		t.Errorf("version %s and date %v, want other ones than %s and %v", after.Version, after.Date, before.Version, before.Date)
	}
}

func TestABrokenOrMissingFileKeepsTheList(t *testing.T) {
	for _, breakFile := range []func(t *testing.T, path string){
		func(t *testing.T, path string) { rewrite(t, path, "name\n\"Ivan\n", start.Add(time.Minute)) },
		func(t *testing.T, path string) { rewrite(t, path, "", start.Add(time.Minute)) },
		func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		w := watch(t, "name\nIvan Testov\n")
		breakFile(t, w.path)
		for range 4 {
			w.lists.Refresh(t.Context())
		}
		if !w.finds("Ivan Testov") {
			t.Error("the list was lost")
		}
		if n := strings.Count(w.log.String(), "a list cannot be read; its last version stays in use"); n != 1 {
			t.Errorf("%d log lines, want 1:\n%s", n, w.log.String())
		}
		if last := w.attempts[len(w.attempts)-1]; len(w.attempts) != 2 || last == nil {
			t.Errorf("loads reported: %v, want a success and an error", w.attempts)
		}
		rewrite(t, w.path, "name\nPiotr Exempel\n", start.Add(2*time.Minute))
		w.lists.Refresh(t.Context())
		w.lists.Refresh(t.Context())
		if !w.finds("Piotr Exempel") {
			t.Error("the repaired file was not read")
		}
	}
}

func TestAListThatLosesItsNamesIsNotUsed(t *testing.T) {
	w := watch(t, "name\nIvan Testov\n")
	w.lists.BreakNext()
	rewrite(t, w.path, "name\nIvan Testov\nPiotr Exempel\n", start.Add(time.Minute))
	w.lists.Refresh(t.Context())
	w.lists.Refresh(t.Context())
	if !w.finds("Ivan Testov") || w.finds("Piotr Exempel") {
		t.Error("the version that finds nothing is in use")
	}
	if last := w.attempts[len(w.attempts)-1]; !errors.Is(last, watchlist.ErrNamesLost) || !strings.Contains(last.Error(), "4 of 4, first those of the entries") {
		t.Errorf("the load ended with %v, want ErrNamesLost with a count", last)
	}
	if text := w.log.String(); !strings.Contains(text, "its last version stays in use") || strings.Contains(text, "Exempel") {
		t.Errorf("log:\n%s\nwant a line without a name", text)
	}
}

func TestNamesThatAreNotComparedAreLogged(t *testing.T) {
	w := watch(t, "name\n"+strings.Repeat("Testov ", 20)+"\nIvan Testov\n")
	if text := w.log.String(); !strings.Contains(text, "level=WARN msg=\"a list has names that are not compared as a whole") || !strings.Contains(text, "names=1\n") {
		t.Errorf("log:\n%s\nwant a warning about one name", text)
	}
}

func TestValuesThatAreNotReadAreLogged(t *testing.T) {
	w := watch(t, "name,countries\nIvan Testov,ru\nPiotr Exempel,Ruritania\nAnna Probe,de\n")
	if text := w.log.String(); !strings.Contains(text, "level=WARN msg=\"a list has values that are not used\"") || !strings.Contains(text, "1 of 3 countries") || strings.Contains(text, "Ruritania") {
		t.Errorf("log:\n%s\nwant a warning about one country, without the value", text)
	}
}

func TestAListGrowsOld(t *testing.T) {
	w := watch(t, "name\nIvan Testov\n")
	for _, tc := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {48 * time.Hour, false}, {48*time.Hour + time.Second, true}} {
		if _, old := w.lists.List("sanctions", start.Add(tc.after)); old != tc.want {
			t.Errorf("after %v old = %v, want %v", tc.after, old, tc.want)
		}
	}
}

func TestOpenReportsTheProblemsOfAllLists(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.csv")
	rewrite(t, empty, "", start)
	_, err := watchlist.Open(t.Context(), []watchlist.Source{
		{Name: "gone", Path: "/nowhere/list.csv", Format: watchlist.Format{Type: watchlist.CSV}},
		{Name: "empty", Path: empty, Format: watchlist.Format{Type: watchlist.CSV}},
	}, watchlist.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err == nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "list empty: "+empty+": the file is empty") {
		t.Errorf("error %v, want the problems of both lists", err)
	}
}

func TestLoadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := watchlist.Read(ctx, strings.NewReader("name\nIvan Testov\n"), watchlist.Format{Type: watchlist.CSV})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestSearchesDuringAReloadSeeOneVersion(t *testing.T) {
	w := watch(t, "name\nIvan Testov\n")
	done := make(chan error, 2)
	for range 2 {
		go func() {
			for range 300 {
				l, _ := w.lists.List("sanctions", start)
				found, err := l.Search(watchlist.Subject{Kind: names.Person, Name: "Ivan Testov"}, 0.85)
				hits := found.Hits
				if err == nil && len(hits) != 1 {
					err = fmt.Errorf("%d hits in version %s, want 1", len(hits), l.Version)
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for i := range 20 {
		rewrite(t, w.path, fmt.Sprintf("name\nIvan Testov\nNumber%d Name\n", i), start.Add(time.Duration(i)*time.Second))
		w.lists.Refresh(t.Context())
		w.lists.Refresh(t.Context())
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
