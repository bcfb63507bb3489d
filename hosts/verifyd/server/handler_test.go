// Tests of a host on the HTTP server of a program.

package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/verification"
)

// gate is a provider whose checks pass when open is closed.
type gate struct{ asked, open chan struct{} }

func (g gate) Check(ctx context.Context, _ verification.CheckRequest) (verification.CheckResult, error) {
	g.asked <- struct{}{}
	select {
	case <-g.open:
		return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
	case <-ctx.Done():
		return verification.CheckResult{}, ctx.Err()
	}
}

const gated = `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000a
    name: Acme
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: gated
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Gated
        start: gate
        nodes:
          gate: {type: check, provider: gate, next: done}
          done: {type: end}
`

func TestAProgramServesTheHost(t *testing.T) {
	g := gate{asked: make(chan struct{}, 1), open: make(chan struct{})}
	program := httptest.NewUnstartedServer(nil)
	url := "http://" + program.Listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	handler, wait, err := server.Handler(ctx, settingsOf(t,
		"--memory", "--public-url", url, "--admin-addr", "127.0.0.1:0", "--bootstrap", bootstrapFile(t, gated), "--log-level", "error",
	), server.WithProvider("gate", g))
	if err != nil {
		t.Fatal(err)
	}
	program.Config.Handler = handler
	program.Start()
	defer program.Close()

	s := &served{t: t, api: url}
	if status, _, _ := s.call("GET", url+"/console/sign-in", ""); status != http.StatusOK {
		t.Errorf("console = %d, want 200", status)
	}
	answer := make(chan string, 1)
	go func() {
		r, err := http.NewRequest("POST", url+records, strings.NewReader(`{"reference_id":"person-1"}`))
		if err != nil {
			answer <- err.Error()
			return
		}
		for name, value := range map[string]string{
			"client-id": "demo", "x-api-key": "demo-key-for-local-use-only", "Content-Type": "application/json", "Prefer": "wait=20",
		} {
			r.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answer <- fmt.Sprintf("%d %s", response.StatusCode, body)
	}()
	<-g.asked
	stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C { // until the host no longer takes requests
		status, body, _ := s.call("GET", url+"/v1/workflows", "")
		if status == http.StatusServiceUnavailable && strings.Contains(string(body), "The service is stopping.") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("while the host stops, a new request = %d %s", status, body)
		}
	}
	close(g.open)
	if got := <-answer; !strings.HasPrefix(got, "20") || !strings.Contains(got, `"status":"completed"`) {
		t.Errorf("the start in flight = %s, want the completed run", got)
	}
	if err := wait(); err != nil {
		t.Errorf("wait = %v, want nil after a clean stop", err)
	}
	if err := wait(); err != nil {
		t.Errorf("the second wait = %v, want what the first returned", err)
	}
}

func TestAHandlerNeedsItsSettings(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--memory", "--bootstrap", "file"}, "--public-url (VERIFYD_PUBLIC_URL): is required: the program has its own server"},
		{[]string{"--memory", "--public-url", "https://verify.example"}, "--bootstrap (VERIFYD_BOOTSTRAP): is required without --database-url (VERIFYD_DATABASE_URL)"},
		{[]string{"--public-url", "https://verify.example", "--database-url", "postgres://db.example/v", "--roles", "worker"}, "--roles (VERIFYD_ROLES): must include api"},
	} {
		handler, _, err := server.Handler(t.Context(), settingsOf(t, append(tc.args, "--admin-addr", "127.0.0.1:0")...))
		if err == nil || err.Error() != tc.want || handler != nil {
			t.Errorf("Handler(%q) = %v, %v, want the error %q", tc.args, handler, err, tc.want)
		}
	}
}

// settingsOf returns the settings of flags.
func settingsOf(t *testing.T, flags ...string) server.Settings {
	t.Helper()
	s, err := server.Load(flags)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
