// Tests of screening against the lists of a bootstrap file.

package server_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
)

// screeningBootstrap names a list and a workflow that searches it.
const screeningBootstrap = `
lists:
  sanctions: {path: LIST, format: csv, kind: person, max_age_hours: 48}
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000c
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: screening
        id: 0191f3c0-0000-7000-8000-000000000077
        name: Screening
        start: screen
        nodes:
          screen:
            type: check
            key: sanctions
            provider: offline.screening
            with: {list: sanctions, kind: person, name: "${input.name}"}
            next: done
          done: {type: end}
`

func writeBootstrap(t *testing.T, list string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"list.csv": list, "bootstrap.yaml": strings.Replace(screeningBootstrap, "LIST", "list.csv", 1)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "bootstrap.yaml")
}

func TestAHitOnAListGoesToReview(t *testing.T) {
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": writeBootstrap(t, "name,aliases\nIvan Fictional Testov,Иван Тестов\n")})
	for _, tc := range []struct {
		name     string
		decision string
	}{{"Testov, Ivan", `"review"`}, {"Asha Rao", `null`}} {
		run := s.run(http.MethodPost, s.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000077/runs",
			`{"reference_id":"r","input":{"name":"`+tc.name+`"}}`, "prefer", "wait=10")
		if run.Status != "completed" {
			t.Fatalf("run of %s: %+v, want it completed", tc.name, run)
		}
		_, report, _ := s.call(http.MethodGet, s.api+"/v1/runs/"+run.ID+"?view=report", "")
		if !strings.Contains(string(report), `"decision":`+tc.decision) || !strings.Contains(string(report), `"list_version":"`) {
			t.Errorf("report of %s: %s, want the decision %s and the version of the list", tc.name, report, tc.decision)
		}
	}
	_, metrics, _ := s.call(http.MethodGet, s.admin+"/metrics", "")
	for _, line := range []string{`verifyd_list_entries{list="sanctions"} 1`, `verifyd_list_loads_total{list="sanctions",outcome="loaded"} 1`, `verifyd_list_uncompared_names{list="sanctions"} 0`, `verifyd_list_bytes{list="sanctions"} `} {
		if !strings.Contains(string(metrics), line) {
			t.Errorf("the metrics have no line %s", line)
		}
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

func TestAListAboveTheLimitStopsTheStart(t *testing.T) {
	var list strings.Builder
	list.WriteString("name\n")
	for i := range 10_000 {
		fmt.Fprintf(&list, "Ivan%d Testov%d\n", i, i)
	}
	file := writeBootstrap(t, list.String())
	var out, log syncBuffer
	vars := map[string]string{"VERIFYD_BOOTSTRAP": file, "VERIFYD_LIST_BYTES": "1048576"}
	err := server.Run(t.Context(), []string{"serve"}, env(vars), &out, &log)
	if want := "exceed the limit --list-bytes (VERIFYD_LIST_BYTES) of 1048576 bytes for all lists, of which other lists take 0: raise the limit, or use a shorter list"; err == nil ||
		!strings.Contains(err.Error(), file+":3:15: lists.sanctions.path: ") || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one line with file, line, key, limit and advice", err)
	}
	vars["VERIFYD_LIST_BYTES"] = "1000"
	if err := server.ParseSettings([]string{"serve"}, env(vars), io.Discard); err == nil || !strings.Contains(err.Error(), "--list-bytes (VERIFYD_LIST_BYTES): must be 0 or at least 1048576") {
		t.Errorf("a limit of 1000 bytes: %v, want an error", err)
	}
}

func TestABrokenListStopsTheStart(t *testing.T) {
	file := writeBootstrap(t, "name\n")
	var out, log syncBuffer
	err := server.Run(t.Context(), []string{"serve"}, env(map[string]string{"VERIFYD_BOOTSTRAP": file}), &out, &log)
	if err == nil || !strings.Contains(err.Error(), file+":3:15: lists.sanctions.path: "+filepath.Dir(file)+"/list.csv: the list has no person and no company") {
		t.Errorf("error %v, want one line with file, line and key", err)
	}
}
