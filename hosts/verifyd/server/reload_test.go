// Test of signing keys that change while the host runs.

package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/cli"
	"github.com/verifyd/verifyd/internal/datadir"
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

// reload makes the host read its files again, and fails the test unless the log then says something.
func (s *served) reload(says ...string) {
	s.t.Helper()
	before := s.stderr.String()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
	log := ""
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log, "not reloaded: settings"); log = s.stderr.String()[len(before):] {
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
