// Test of a host that is killed while it screens completed runs again.

package soak_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
)

// rescreened is a bootstrap file with a workflow that screens its completed runs again.
const rescreened = `
lists:
  sanctions: {path: LIST, format: csv, kind: person}
tenants:
  - id: 0191f3c0-0000-7000-8000-0000000000aa
    name: Acme
    accounts: [{client_id: acme, api_key: a-key-of-at-least-twenty-characters}]
    workflows:
      - workflow: screening
        id: 0191f3c0-0000-7000-8000-000000000005
        name: Screening
        start: screen
        nodes:
          screen:
            type: check
            provider: offline.screening
            with: {list: sanctions, kind: person, name: "${input.name}"}
            rescreen: {list: sanctions, every: change}
            next: done
          done: {type: end}
`

// The clock stands still between its advances, so that the host that dies begins one batch.
func TestThePassOfAHostThatDiedIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t, steady.get(t), "rescreen", 1)
	folder := t.TempDir()
	list := filepath.Join(folder, "list.csv")
	s.bootstrap = filepath.Join(folder, "bootstrap.yaml")
	write := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(s.bootstrap, strings.Replace(rescreened, "LIST", list, 1))
	write(list, "name\nOlga Fictional Nobody\n")
	s.migrate(t)
	db := s.connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	number := func(query string) (n int) {
		t.Helper()
		if err := db.QueryRow(ctx, query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for !holds() {
			if !pause(ctx) {
				t.Fatalf("eight minutes later: %s", what)
			}
		}
	}
	const (
		runs  = 210 // more than two batches
		found = "SELECT count(*) FROM verifyd.run_events WHERE events LIKE '%hits_found%'"
		clock = "VERIFYD_CLOCK=manual"
	)
	first := s.serve(t, "api,worker", clock)
	for n := range runs {
		start(t, first, workflowID("5"), fmt.Sprintf("person-%d", n), map[string]any{"name": "Testov, Ivan"})
	}
	until("not all runs are completed", func() bool { return number("SELECT count(*) FROM verifyd.screened_runs") == runs })
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	write(list, "name\nOlga Fictional Nobody\nIvan Fictional Testov\n")
	second := s.serve(t, "api,worker", clock)
	advance := func(h *host) (status int) {
		status, _ = fetch(ctx, http.MethodPost, h.Admin+"/clock/advance", `{"seconds":60}`)
		return status
	}
	died := false
	for !died && ctx.Err() == nil { // until the hold of the first host has ended
		advanced := make(chan int, 1)
		go func() { advanced <- advance(second) }()
		for waits := true; waits && !died; {
			select {
			case status := <-advanced:
				if waits = false; status != http.StatusOK {
					t.Fatalf("advance = %d", status)
				}
			case <-time.After(5 * time.Millisecond):
			}
			died = number(found) > 10
		}
	}
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
	before := number(found)
	if before == 0 || before >= runs {
		t.Fatalf("%d of %d runs were screened again when the host died, want some", before, runs)
	}
	third := s.serve(t, "api,worker", clock)
	until("the pass has not ended", func() bool {
		if status := advance(third); status != http.StatusOK {
			t.Fatalf("advance = %d", status)
		}
		return number("SELECT count(*) FROM verifyd.rescreen_passes WHERE runs > 0 AND ended_at IS NOT NULL") == 1
	})
	if n := number("SELECT runs FROM verifyd.rescreen_passes"); n != runs {
		t.Errorf("the pass counts %d runs, want %d", n, runs)
	}
	if n := number("SELECT count(*) FROM verifyd.work WHERE kind = 'rescreen:sanctions'"); n != 0 {
		t.Errorf("%d runs are left, want none", n)
	}
	if n := number("SELECT count(*) FROM verifyd.runs WHERE review_since IS NOT NULL"); n != runs {
		t.Errorf("%d runs are in the review queue, want %d", n, runs)
	}
	all, err := readHistories(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	for id, h := range all {
		report(t, h.problems())
		hits := 0
		for _, e := range h.events() {
			if _, ok := e.Fact.(rules.HitsFound); ok {
				hits++
			}
		}
		if hits != 1 {
			t.Errorf("run %s has %d events of new hits, want one", id, hits)
		}
	}
}
