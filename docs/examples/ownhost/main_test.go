// Test of the whole program, as an operator runs it.

package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestARunUsesTheProviderOfTheProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a build without a cache takes minutes
	defer cancel()
	program := filepath.Join(t.TempDir(), "ownhost")
	if out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	host := exec.CommandContext(ctx, program, "serve", "--bootstrap", "bootstrap.yaml",
		"--data-dir", t.TempDir(), "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	api, _, ready := strings.Cut(strings.TrimPrefix(line, "verifyd ready api="), " ")
	if !ready {
		t.Fatalf("ready line = %q, %v", line, err)
	}
	for _, tc := range []struct{ pan, card, outcome string }{
		{"ABCPR1234F", "ok", "preferred"},
		{"ABCPK4321K", "failed", "refused"},
	} {
		run := start(t, api, tc.pan)
		if len(run.Cards) != 1 || run.Cards[0].Status != tc.card || run.Run.Status != "completed" || run.Run.Outcome != tc.outcome {
			t.Errorf("run of %s = %+v, want it completed with the outcome %s and a card that reads %s", tc.pan, run, tc.outcome, tc.card)
		}
	}
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := host.Wait(); err != nil {
		t.Errorf("after SIGTERM the host ended with %v, want exit code 0", err)
	}
}

// report is the report of a run.
type report struct {
	Run struct {
		Status, Outcome string
	}
	Cards []struct{ Status string }
}

// start starts a run, waits for its end and returns its report.
func start(t *testing.T, api, pan string) (r report) {
	t.Helper()
	var run struct{ ID string }
	body := fmt.Sprintf(`{"reference_id":"person-1","input":{"pan":%q}}`, pan)
	call(t, http.MethodPost, api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000001/runs", body, &run)
	call(t, http.MethodGet, api+"/v1/runs/"+run.ID+"?view=report", "", &r)
	return r
}

func call(t *testing.T, method, url, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"client-id": "acme", "x-api-key": "a-key-for-local-use-only", "content-type": "application/json", "prefer": "wait=10",
	} {
		request.Header.Set(name, value)
	}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s = %d, %v", method, url, response.StatusCode, err)
	}
}
