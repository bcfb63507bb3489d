// Tests of files that change while the host runs.

package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
)

func TestSigningKeysAreReloadedOnSIGHUP(t *testing.T) {
	file, folder := filepath.Join(t.TempDir(), "keys.json"), datadir.Folder(t.TempDir())
	t.Run("of the settings", func(t *testing.T) { reloadKeys(t, file, map[string]string{"VERIFYD_SIGNING_KEY_FILE": file}) })
	t.Run("of the data folder", func(t *testing.T) {
		if err := serveHost(t, onFolder(folder)).end(); err != nil { // keys without a journal are damage
			t.Fatal(err)
		}
		reloadKeys(t, folder.SigningKeys(), onFolder(folder))
	})
}

func (s *served) hangUp() {
	s.t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
}

// reload makes the host read its files again, and fails the test unless the log then says something.
func (s *served) reload(says ...string) {
	s.t.Helper()
	before := s.stderr.String()
	s.hangUp()
	log := ""
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log, "not reloaded: other settings"); log = s.stderr.String()[len(before):] {
		if time.Now().After(deadline) {
			s.t.Fatal("the host does not reload its files")
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // a signal is on the wall clock
	}
	for _, want := range says {
		if !strings.Contains(log, want) {
			s.t.Errorf("the log lacks %q: %s", want, log)
		}
	}
}

func TestAReloadReadsTheBootstrapFileAndTheLists(t *testing.T) {
	file := writeBootstrap(t, "name\nIvan Fictional Testov\n")
	folder := newFolder(t)
	s := serveHost(t, onFolder(folder, "VERIFYD_BOOTSTRAP", file))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const key = "another-key-for-local-use-only"
	list := func() int {
		status, _, _ := s.call("GET", s.api+"/v1/runs", "", "client-id", "second", "x-api-key", key)
		return status
	}
	if status := list(); status != http.StatusUnauthorized {
		t.Fatalf("a client that the file does not list = %d", status)
	}
	more := strings.Replace(string(raw), "accounts: [", "accounts: [{client_id: second, api_key: "+key+"}, ", 1)
	write("bootstrap.yaml", more)
	write("list.csv", "name\nIvan Fictional Testov\nOlga Fictional Testova\n")
	s.reload(`msg="the bootstrap file was reloaded"`, `msg="changed lists were reloaded" lists=[sanctions]`)
	within(t, 10*time.Second, "knows the new client", func() bool { return list() == http.StatusOK }) // it reads an account once a second
	if _, metrics, _ := s.call("GET", s.admin+"/metrics", ""); !strings.Contains(string(metrics), `verifyd_list_entries{list="sanctions"} 2`) {
		t.Error("the list was not reloaded")
	}
	const failed = `msg="the bootstrap file was not reloaded" error="`
	write("bootstrap.yaml", "tenants: [")
	s.reload(failed)
	write("bootstrap.yaml", strings.Replace(more, ", max_age_hours: 48", "", 1))
	s.reload(failed + "its providers or lists have changed: restart the host")
	write("list.csv", "no,columns\n1,2\n")
	s.reload("lists were not reloaded", "list sanctions: ")
	if status := list(); status != http.StatusOK {
		t.Errorf("after reloads that failed, a client = %d, want 200", status)
	}
}

func TestAReloadReadsTheKeysOfFiles(t *testing.T) {
	const before, after = "a-key-for-local-use-only", "b-key-for-local-use-only"
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("key", before+"\n")
	write("bootstrap.yaml", `tenants: [{id: 0191f3c0-0000-7000-8000-00000000000a, name: Acme, accounts: [{client_id: acme, api_key: "${file:key}"}]}]`)
	s := serveHost(t, onFolder(newFolder(t), "VERIFYD_BOOTSTRAP", filepath.Join(folder, "bootstrap.yaml")))
	status := func(key string) int {
		status, _, _ := s.call("GET", s.api+"/v1/runs", "", "client-id", "acme", "x-api-key", key)
		return status
	}
	if was, will := status(before), status(after); was != http.StatusOK || will != http.StatusUnauthorized {
		t.Fatalf("at the start the keys are answered with %d and %d", was, will)
	}
	write("key", after+"\n")
	write("old-key", before+"\n")
	write("bootstrap.yaml", `tenants: [{id: 0191f3c0-0000-7000-8000-00000000000a, name: Acme, accounts: [{client_id: acme, api_key: "${file:key}", previous_api_key: "${file:old-key}"}]}]`)
	s.reload(`msg="the bootstrap file was reloaded"`)
	within(t, 10*time.Second, "knows the new key", func() bool { return status(after) == http.StatusOK })
	if got := status(before); got != http.StatusOK {
		t.Errorf("the previous key is answered with %d, want 200", got)
	}
	write("bootstrap.yaml", `tenants: [{id: 0191f3c0-0000-7000-8000-00000000000a, name: Acme, accounts: [{client_id: acme, api_key: "${file:key}"}]}]`)
	s.reload(`msg="the bootstrap file was reloaded"`)
	within(t, 10*time.Second, "refuses the previous key", func() bool { return status(before) == http.StatusUnauthorized })
}

func TestAReloadReadsSecretsAndTheLogLevel(t *testing.T) {
	var got atomic.Value // the credentials of the last call
	vendor := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
	}))
	t.Cleanup(vendor.Close)
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("TOKEN", "first\n")
	write("level", "warn\n")
	s := serveHost(t, map[string]string{
		"VERIFYD_BOOTSTRAP": bootstrapFile(t, fmt.Sprintf(withOwnVendor, vendor.URL)), "VERIFYD_ALLOW_PRIVATE_NETWORKS": "true",
		"VERIFYD_SECRETS_DIR": folder, "VERIFYD_LOG_LEVEL_FILE": filepath.Join(folder, "level"),
	})
	if log := s.stderr.String(); strings.Contains(log, "level=INFO msg=starting") {
		t.Errorf("the level of the file does not count: %s", log)
	}
	called := func(want string) {
		t.Helper()
		r := s.run("POST", s.api+records, `{"reference_id":"person-8"}`)
		s.await(r.ID, func(r runJSON) bool { return r.Status == "completed" })
		if got.Load() != want {
			t.Errorf("the vendor got %q, want %q", got.Load(), want)
		}
	}
	called("Bearer first")
	write("TOKEN", "second\n")
	write("level", "info\n")
	s.reload(`msg="changed secrets of providers were reloaded" providers=[own]`, `msg="the log level was reloaded" level=INFO`)
	called("Bearer second")
	write("TOKEN", "\n")
	write("level", "loud\n")
	s.reload(`msg="secrets of a provider were not reloaded; the last ones stay in use" provider=own tenant=0191f3c0-0000-7000-8000-00000000000b error="provider: the provider is not valid: auth.bearer: the secret TOKEN is not set`,
		`msg="changed secrets of providers were reloaded" providers=[]`,
		`msg="the log level was not reloaded" error="`+filepath.Join(folder, "level")+` has \"loud\" and must have debug, info, warn, error"`)
	called("Bearer second")
	for _, level := range []string{"warn", "loud"} { // loud ends the wait: it is an error
		before := len(s.stderr.String())
		write("level", level)
		s.hangUp()
		within(t, time.Minute, "says what it did with the level "+level, func() bool {
			return strings.Contains(s.stderr.String()[before:], `msg="the log level was `)
		})
	}
	if _, after, found := strings.Cut(s.stderr.String(), `msg="the log level was reloaded" level=WARN`); !found || strings.Contains(after, "level=INFO") {
		t.Errorf("the level warn does not count: %s", after)
	}
}

// withOwnVendor is a bootstrap file with a provider of a tenant, of the vendor at %[1]s.
const withOwnVendor = `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    providers:
      own:
        type: rest
        base_url: %[1]s
        auth: {bearer: "${secret.TOKEN}"}
        request: {path: "/own", method: GET}
        response: {passed: response.status == 200}
    workflows:
      - workflow: simple
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Simple
        start: own
        nodes:
          own: {type: check, provider: own, next: done}
          done: {type: end}
`

// reloadKeys replaces the file of the keys of a host that runs.
func reloadKeys(t *testing.T, file string, settings map[string]string) {
	t.Helper()
	first, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(keys *token.Keys) {
		t.Helper()
		if err := cli.WriteKeys(file, keys); err != nil {
			t.Fatal(err)
		}
	}
	write(first)
	s := serveHost(t, settings)
	reload := func(says string) {
		t.Helper()
		s.reload(says)
	}
	client := s.signIn()
	signedIn := func(want bool) {
		t.Helper()
		r, err := client.Get(s.api + "/console/session")
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if got := r.Request.URL.Path == "/console/session" && r.StatusCode == http.StatusOK; got != want {
			t.Errorf("the session counts: %t, want %t", got, want)
		}
	}
	signedIn(true)
	second, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	both, err := second.Append(first)
	if err != nil {
		t.Fatal(err)
	}
	write(both)
	reload("the signing keys were reloaded")
	signedIn(true)
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	reload("the signing keys were not reloaded")
	signedIn(true)
	write(second)
	reload("the signing keys were reloaded")
	signedIn(false) // its key is gone
}
