// The same conversation about an earlier rejection on every store.

package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
)

const earlierBootstrap = `
tenants:
  - id: 0191f3c0-0000-7000-8000-0000000000aa
    name: Test
    accounts:
      - {client_id: demo, api_key: demo-key-for-local-use-only}
    workflows:
      - workflow: account
        id: 0191f3c0-0000-7000-8000-000000000078
        name: Account
        start: before
        input_schema: {properties: {document: {type: string, x-search: true}}}
        nodes:
          before: {type: check, provider: offline.earlier_runs, with: {by: [reference, number]}, on_failed: review, next: review}
          review: {type: review, label: Review, next: done}
          done: {type: end}
`

// asks starts a run, and returns its id and the data of its check.
func (s *served) asks(reference, document string) (id, data string) {
	s.t.Helper()
	run := s.run(http.MethodPost, s.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000078/runs",
		`{"reference_id":"`+reference+`","input":{"document":"`+document+`"}}`)
	run = s.await(run.ID, func(r runJSON) bool { return r.Action != nil })
	if len(run.Checks) != 1 {
		s.t.Fatalf("run %+v, want one check", run)
	}
	return run.ID, string(run.Checks[0])
}

// rejects gives a verdict on a run.
func (s *served) rejects(id string) {
	s.t.Helper()
	s.run(http.MethodPost, s.api+"/v1/signals/"+id+"/human_review_decision", `{"payload":{"decision":"reject","notes":"It is forged."}}`)
	s.await(id, func(r runJSON) bool { return r.Status == "completed" })
}

func TestEveryStoreFindsAnEarlierRejection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bootstrap.yaml")
	if err := os.WriteFile(file, []byte(earlierBootstrap), 0o600); err != nil {
		t.Fatal(err)
	}
	url := pgtest.Database(t)
	for name, vars := range map[string]map[string]string{
		"memory": {}, "folder": onFolder(newFolder(t)), "postgres": {"VERIFYD_DATABASE_URL": url, "VERIFYD_SEARCH_KEY": strings.Repeat("k", 32)},
	} {
		t.Run(name, func(t *testing.T) {
			vars["VERIFYD_BOOTSTRAP"] = file
			first := serveHost(t, vars)
			rejected, data := first.asks("acct-1", "P 1234567")
			if !strings.Contains(data, `"status":"passed"`) || !strings.Contains(data, `"data":{"total":0}`) {
				t.Fatalf("the first run: %s, want nothing found", data)
			}
			first.rejects(rejected)
			second := first
			if name != "memory" {
				if name == "folder" { // which has one host
					if err := first.end(); err != nil {
						t.Fatal(err)
					}
				}
				second = serveHost(t, vars)
			}
			found := fmt.Sprintf(`"run_id":"%s"`, rejected)
			last := ""
			for _, tt := range []struct{ reference, document, by string }{
				{"acct-1", "Q7654321", `["reference"]`}, {"acct-2", "p-1234567", `["number"]`}, {"acct-1", "P1234567", `["reference","number"]`},
			} {
				id, data := second.asks(tt.reference, tt.document)
				if !strings.Contains(data, `"status":"failed"`) || !strings.Contains(data, found) ||
					!strings.Contains(data, `"by":`+tt.by) || !strings.Contains(data, `"total":1`) {
					t.Errorf("%+v: %s, want the rejected run", tt, data)
				}
				for _, secret := range []string{"acct-", "1234567", "forged"} {
					if strings.Contains(data, secret) {
						t.Errorf("%+v: the data has %q: %s", tt, secret, data)
					}
				}
				last = id
			}
			if _, data := second.asks("acct-3", "R0000001"); !strings.Contains(data, `"total":0`) {
				t.Errorf("a stranger: %s, want nothing found", data)
			}
			if name != "postgres" {
				return
			}
			store, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			events, err := store.Load(t.Context(), "0191f3c0-0000-7000-8000-0000000000aa", verification.RunID(last), 0)
			if err != nil {
				t.Fatal(err)
			}
			if e := events[len(events)-1]; e.Kind() != "rejected_before" || !strings.Contains(fmt.Sprint(e.Fact), rejected) {
				t.Errorf("the last event is %+v, want the earlier rejection", e)
			}
		})
	}
}

func TestAHostWithoutASearchKeyRefusesTheWorkflow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bootstrap.yaml")
	if err := os.WriteFile(file, []byte(earlierBootstrap), 0o600); err != nil {
		t.Fatal(err)
	}
	url := pgtest.Database(t)
	without := map[string]string{"VERIFYD_DATABASE_URL": url, "VERIFYD_BOOTSTRAP": file}
	if said := refusal(t, without); !strings.Contains(said, "nodes.before.with") || !strings.Contains(said, "VERIFYD_SEARCH_KEY") {
		t.Errorf("the host says %q, want the setting", said)
	}
	with := map[string]string{"VERIFYD_DATABASE_URL": url, "VERIFYD_BOOTSTRAP": file, "VERIFYD_SEARCH_KEY": strings.Repeat("k", 32)}
	if err := serveHost(t, with).end(); err != nil {
		t.Fatal(err)
	}
	again := serveHost(t, without)
	if log := again.stderr.String(); !strings.Contains(log, "VERIFYD_SEARCH_KEY") {
		t.Errorf("the log has no warning: %s", log)
	}
	run := again.run(http.MethodPost, again.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000078/runs", `{"reference_id":"acct-1","input":{"document":"P1"}}`)
	if run = again.await(run.ID, func(r runJSON) bool { return r.Action != nil || r.Status != "in_progress" }); run.Status == "completed" {
		t.Errorf("the run is %+v, want nobody to pass", run)
	}
}
