// Tests of hosts on a store that was raised to the level of a later release.

package server_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification/store"
)

const tooHigh = "it was upgraded to level 2, and this build reads level 1: use a newer release"

// refusedAtStart fails the test unless a host does not start because of the level.
func refusedAtStart(t *testing.T, vars map[string]string, setting string) {
	t.Helper()
	err := server.Run(t.Context(), []string{"serve"}, env(vars), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), setting) || !strings.Contains(err.Error(), tooHigh) {
		t.Errorf("the start = %v, want that the level is too high, and the name of the setting", err)
	}
}

func TestAHostOfTheReleaseBeforeEnds(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{SingleHost: true, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := serveHost(t, onPostgres(url))
	if _, err := pgadmin.Of(s).RaiseLevel(t.Context(), store.Level+1); err == nil || !strings.Contains(err.Error(), "reads level 1") {
		t.Errorf("RaiseLevel while the host is alive = %v, want a refusal", err)
	}
	// The host was silent for a minute, so that an operator raised the level.
	for _, statement := range []string{
		"UPDATE verifyd.hosts SET seen_at = seen_at - interval '2 minutes'", "INSERT INTO verifyd.shared_values VALUES ('level', '2')",
	} {
		if _, err := s.Pool().Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-h.ended:
		h.ended <- err
		if !errors.Is(err, store.ErrLevel) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the host ended with %v, want one line about the level", err)
		}
	case <-time.After(time.Minute):
		t.Error("the host goes on")
	}
	refusedAtStart(t, onPostgres(url), "VERIFYD_DATABASE_URL")
	rows, _ := s.Pool().Query(t.Context(), "SELECT name FROM verifyd.hosts") // CollectRows returns its error
	if left, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(left) > 0 {
		t.Errorf("hosts that are listed: %v, %v; want none", left, err)
	}
}

func TestAFolderOfALaterReleaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.Open(t.Context(), datadir.Folder(dir).Journal(), journal.Options{Level: store.Level + 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	refusedAtStart(t, map[string]string{"VERIFYD_DATA_DIR": dir, "VERIFYD_DISK_RESERVE": "134217728"}, "VERIFYD_DATA_DIR")
}
