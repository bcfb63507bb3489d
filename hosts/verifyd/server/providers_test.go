// Tests of providers of the bootstrap file.

package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
)

// declared is a bootstrap file with a provider for all tenants and an own one of a
// tenant, both of the vendor at %[1]s.
const declared = `providers:
  registry:
    type: rest
    base_url: %[1]s
    auth: {bearer: "${secret.TOKEN}"}
    request:
      path: /checks
      headers: {Idempotency-Key: "${request.idempotency_key}"}
      json: {pan: "${with.number}", notify: "${request.callback_url}"}
    response:
      pending: response.status == 202
      passed: response.body.result == 'VALID'
      failed: response.body.result == 'INVALID'
      data: {name_match: {value: response.body.score, type: number}}
    callback: {hmac_sha256: {header: X-Signature, secret: "${secret.HOOK}"}}
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    providers:
      own:
        type: rest
        base_url: %[1]s
        request: {path: "/own/${with.number}", method: GET}
        response: {passed: response.status == 200}
    workflows:
      - workflow: simple
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Simple
        start: pan
        nodes:
          pan: {type: check, provider: registry, with: {number: ABCDE1234F}, next: own}
          own: {type: check, provider: own, with: {number: ABCDE1234F}, next: done}
          done: {type: end}
`

// bootstrapFile writes a bootstrap file.
func bootstrapFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAVendorOfTheBootstrapFileIsCalledAndCallsBack(t *testing.T) {
	const canary, hook = "canary-5d1e-token", "canary-5d1e-hook"
	callbacks := make(chan string, 1)
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/own/ABCDE1234F":
		case r.Header.Get("Authorization") != "Bearer "+canary:
			w.WriteHeader(http.StatusForbidden)
		default:
			callbacks <- string(body[strings.Index(string(body), "http") : len(body)-len(`","pan":"ABCDE1234F"}`)])
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(vendor.Close)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "HOOK"), []byte(hook+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, map[string]string{
		"VERIFYD_BOOTSTRAP": bootstrapFile(t, fmt.Sprintf(declared, vendor.URL)), "VERIFYD_ALLOW_PRIVATE_NETWORKS": "true",
		"VERIFYD_SECRET_TOKEN": canary, "VERIFYD_SECRETS_DIR": folder, "VERIFYD_LOG_LEVEL": "debug",
	})
	r := s.run("POST", s.api+records, `{"reference_id":"person-8"}`)
	var url string
	select {
	case url = <-callbacks:
	case <-time.After(time.Minute):
		t.Fatal("the vendor was not called")
	}
	if !strings.HasPrefix(url, s.api+"/callbacks/") {
		t.Fatalf("callback URL = %s", url)
	}
	body := `{"result":"VALID","score":0.75}`
	mac := hmac.New(sha256.New, []byte(hook))
	mac.Write([]byte(body))
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("callback = %d, want 200", answer.StatusCode)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); r.Status != "completed"; <-tick.C {
		if r = s.run("GET", s.api+"/v1/runs/"+r.ID, ""); time.Now().After(deadline) {
			t.Fatalf("run = %+v, want completed", r)
		}
	}
	_, report, _ := s.call("GET", s.api+"/v1/runs/"+r.ID+"?view=report", "")
	_, metrics, _ := s.call("GET", s.admin+"/metrics", "")
	if !strings.Contains(string(report), `"name_match":0.75`) || !strings.Contains(string(metrics), `provider="registry"`) {
		t.Errorf("report = %s, want the data of the callback; metrics with the provider", report)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if all := string(report) + string(metrics) + s.stderr.String(); strings.Contains(all, "canary") || strings.Contains(all, strings.TrimPrefix(url, s.api)) {
		t.Errorf("a secret or a token of a callback is shown:\n%s", all)
	}
	if shown := string(metrics) + s.stderr.String(); strings.Contains(shown, "ABCDE1234F") || strings.Contains(shown, "person-8") {
		t.Errorf("the metrics or the log have personal data:\n%s", shown)
	}
}

func TestBadProvidersAreReportedLineByLineAtStart(t *testing.T) {
	text := fmt.Sprintf(declared, "ftp://vendor.example")
	text = strings.Replace(text, "response.status == 202", "response.staus == 202", 1)
	text = strings.Replace(text, "own:\n        type", "sandbox:\n        type", 1)
	text = strings.Replace(text, "  registry:", "  sandbox_2: {type: rest, base_url: \"https://a.example\", request: {path: /}, response: {passed: \"true\"}}\n  registry:", 1)
	file := bootstrapFile(t, text)
	err := server.Run(t.Context(), []string{"serve"}, env(map[string]string{
		"VERIFYD_BOOTSTRAP": file, "VERIFYD_SECRET_HOOK": "x",
	}), io.Discard, io.Discard)
	if err == nil {
		t.Fatal("the host started")
	}
	want := []string{
		":2:3: providers.sandbox_2: a built-in provider has this name",
		":5:5: providers.registry.base_url: must be an absolute http(s) URL",
		":6:12: providers.registry.auth.bearer: the secret TOKEN is not set: set VERIFYD_SECRET_TOKEN, or put a file TOKEN into the folder VERIFYD_SECRETS_DIR",
		":12:24: providers.registry.response.pending: response.staus: undefined field 'staus'; did you mean status?",
		":24:9: tenants[0].providers.sandbox.base_url: must be an absolute http(s) URL",
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines[:min(len(lines), len(want))] {
		if line != file+want[i] {
			t.Errorf("line %d = %s, want %s%s", i+1, line, file, want[i])
		}
	}
	if len(lines) < len(want) {
		t.Errorf("%d lines, want %d:\n%v", len(lines), len(want), err)
	}
}

func TestAFolderOfSecretsThatDoesNotExistStopsTheStart(t *testing.T) {
	err := server.Run(t.Context(), []string{"serve"}, env(map[string]string{
		"VERIFYD_SECRETS_DIR": "/nowhere/at/all",
	}), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--secrets-dir (VERIFYD_SECRETS_DIR): /nowhere/at/all is not a folder") {
		t.Errorf("error = %v, want the setting and the folder", err)
	}
}
