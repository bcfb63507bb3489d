// Tests of a server that is stopped, killed and closed.

package pgtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestWhatWasCommittedOutlivesACrash(t *testing.T) {
	s := server(t, pgtest.Options{Durable: true})
	url := database(t, s)
	execute(t, connect(t, url), "CREATE TABLE runs (id int PRIMARY KEY)")
	var want []int
	for id := range 3 {
		c, idle := connect(t, url), connect(t, url)
		execute(t, c, fmt.Sprintf("INSERT INTO runs VALUES (%d)", id))
		want = append(want, id)
		execute(t, c, "BEGIN; INSERT INTO runs VALUES (100)")
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := idle.Ping(t.Context()); err == nil {
			t.Error("a connection outlived the crash")
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ids(t, connect(t, url))); diff != "" {
			t.Errorf("rows after crash %d (-want +got):\n%s", id+1, diff)
		}
	}
}

func TestAStoppedServerComesBackWithItsRows(t *testing.T) {
	s := server(t, pgtest.Options{})
	url := database(t, s)
	execute(t, connect(t, url), "CREATE TABLE runs (id int); INSERT INTO runs VALUES (1)")
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, err := pgx.Connect(t.Context(), url); err == nil {
		_ = c.Close(t.Context())
		t.Error("a stopped server answers")
	}
	for range 2 { // the second time it runs
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := ids(t, connect(t, url)); len(got) != 1 {
			t.Errorf("rows = %v, want one", got)
		}
	}
}

func TestEndingTwiceIsHarmlessAndLeavesNoFiles(t *testing.T) {
	s := server(t, pgtest.Options{})
	for range 2 {
		if err := errors.Join(s.Stop(t.Context()), s.Kill(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(pgtest.Folder(s)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a closed server: %v, want none", err)
	}
}

func TestSettingsOfTheCallerWin(t *testing.T) {
	s := server(t, pgtest.Options{Durable: true, Settings: map[string]string{"max_connections": "17", "work_mem": "5MB"}})
	c := connect(t, s.Admin("postgres"))
	for name, want := range map[string]string{
		"max_connections": "17", "work_mem": "5MB", "shared_buffers": "64MB",
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
	} {
		if got := one[string](t, c, "SELECT current_setting('"+name+"')"); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	_, err := pgtest.Start(t.Context(), pgtest.Options{Settings: map[string]string{"max_connections": "many"}})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "max_connections": "many"`) {
		t.Errorf("Start = %v, want the words of the server", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pgtest.Start(ctx, pgtest.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start = %v, want %v", err, context.Canceled)
	}
}

func server(t *testing.T, o pgtest.Options) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// database creates a database and returns its URL.
func database(t *testing.T, s *pgtest.Server) string {
	t.Helper()
	if err := s.CreateDatabase(t.Context(), "runs", ""); err != nil {
		t.Fatal(err)
	}
	return s.URL("runs")
}
