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
	t.Run("of the data folder", func(t *testing.T) { reloadKeys(t, folder.SigningKeys(), onFolder(folder)) })
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
	reloads := 0
	reload := func(says string) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		reloads++
		for deadline := time.Now().Add(time.Minute); strings.Count(s.stderr.String(), "reloaded") < reloads; {
			if time.Now().After(deadline) {
				t.Fatal("the host does not reload its keys")
			}
			time.Sleep(time.Millisecond) //nolint:forbidigo // a signal is on the wall clock
		}
		if !strings.Contains(s.stderr.String(), says) {
			t.Errorf("the log lacks %q: %s", says, s.stderr.String())
		}
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
