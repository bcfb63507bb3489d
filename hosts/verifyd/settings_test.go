// Tests of settings and bootstrap files.

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAWrongSettingStopsTheStartWithOneLineThatNamesIt(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, value := range map[string]string{
		"VERIFYD_ADDR":                   "nonsense",
		"VERIFYD_ADMIN_ADDR":             "300.0.0.1:1",
		"VERIFYD_PUBLIC_URL":             "ftp://x",
		"VERIFYD_DATABASE_URL":           "postgres://127.0.0.1:1/none",
		"VERIFYD_DATABASE_CONNS":         "1",
		"VERIFYD_MIGRATE":                "perhaps",
		"VERIFYD_ROLES":                  "api",
		"VERIFYD_OIDC_ISSUER":            "https://issuer.example",
		"VERIFYD_S3_BUCKET":              "documents",
		"VERIFYD_BOOTSTRAP":              filepath.Join(dir, "absent.yaml"),
		"VERIFYD_SIGNING_KEY_FILE":       write("keys.json", "{}"),
		"VERIFYD_START_WAIT":             "1h",
		"VERIFYD_WORKERS":                "0",
		"VERIFYD_RATE_LIMIT":             "-1",
		"VERIFYD_SHUTDOWN_TIMEOUT":       "soon",
		"VERIFYD_CLOCK":                  "sundial",
		"VERIFYD_FONT_DIR":               filepath.Join(dir, "absent"),
		"VERIFYD_BLOB_DIR":               filepath.Join(write("file", ""), "below"),
		"VERIFYD_ALLOW_PRIVATE_NETWORKS": "perhaps",
		"VERIFYD_LOG_LEVEL":              "loud",
		"VERIFYD_LOG_FORMAT":             "xml",
	} {
		vars := map[string]string{"VERIFYD_ADDR": "127.0.0.1:0", "VERIFYD_ADMIN_ADDR": "127.0.0.1:0", name: value}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := run(ctx, []string{"serve"}, env(vars), io.Discard, io.Discard)
		cancel()
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "VERIFYD_"), "_", "-"))
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s=%s: %v; want one line that names %s", name, value, err, flag)
		}
	}
}

func TestABootstrapFileIsAppliedOrItsFaultsAreTold(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bootstrap.yaml")
	good := `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - {workflow: simple, name: Simple, start: pan, nodes: {pan: {type: check, provider: sandbox, next: done}, done: {type: end}}}
`
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": path})
	status, raw, _ := s.ask("GET", s.api+"/v1/workflows", "")
	if status != 200 || !bytes.Contains(raw, []byte(`"name":"Simple"`)) || !bytes.Contains(raw, []byte(`"total":1`)) {
		t.Errorf("workflows = %d %s", status, raw)
	}
	if got := s.stderr.String(); strings.Count(got, "whsec_") != 1 || strings.Contains(got, "curl") {
		t.Errorf("stderr = %s, want the made webhook secret once, and no demo", got)
	}

	bad := strings.ReplaceAll(good, "provider: sandbox", "provider: nobody")
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), nil, env(map[string]string{
		"VERIFYD_ADDR": "127.0.0.1:0", "VERIFYD_ADMIN_ADDR": "127.0.0.1:0", "VERIFYD_BOOTSTRAP": path,
	}), io.Discard, io.Discard)
	if want := path + ":6:"; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), `there is no provider "nobody"`) {
		t.Errorf("bad bootstrap = %v, want it to name %s and the provider", err, want)
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"serve", "--help"}, env(nil), &out, io.Discard); err != errHelp { //nolint:errorlint // the very value
		t.Fatalf("help = %v", err)
	}
	for _, flag := range []string{
		"--addr", "--admin-addr", "--public-url", "--bootstrap", "--signing-key-file", "--start-wait", "--workers",
		"--document-bytes-per-tenant", "--rate-limit", "--shutdown-timeout", "--clock", "--font-dir", "--log-level", "--log-format",
	} {
		if !strings.Contains(out.String(), flag) {
			t.Errorf("help lacks %s:\n%s", flag, out.String())
		}
	}
}
