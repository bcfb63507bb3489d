// Tests of hosts that start with different bootstrap files.

package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

const bankFile = `
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts:
      - {client_id: bank, api_key: a-key-for-local-use-only}
      - {client_id: reader, api_key: another-key-for-local-use}
`

// newerBankFile has another account in place of reader.
var newerBankFile = strings.Replace(bankFile, "client_id: reader", "client_id: writer", 1)

// withFile are settings of a host on a database with a bootstrap file.
func withFile(t *testing.T, url, text string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bootstrap.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return onPostgres(url, "VERIFYD_BOOTSTRAP", file, "VERIFYD_LOG_LEVEL", "info")
}

// wantAccount fails the test unless an account is answered with a status.
func (s *served) wantAccount(when, client string, want int) {
	s.t.Helper()
	got, raw, _ := s.call("GET", s.api+"/v1/workflows", "", "client-id", client, "x-api-key", "another-key-for-local-use")
	if got != want {
		s.t.Errorf("%s, %s is answered with %d %s, want %d", when, client, got, raw, want)
	}
}

func (s *served) wantLog(text string) {
	s.t.Helper()
	if !strings.Contains(s.stderr.String(), text) {
		s.t.Errorf("the log lacks %q:\n%s", text, s.stderr)
	}
}

func TestAnAccountThatLeftTheFileIsRefused(t *testing.T) {
	url := pgtest.Database(t)
	first := serveHost(t, withFile(t, url, bankFile))
	first.wantAccount("with the first file", "reader", http.StatusOK)
	if err := first.end(); err != nil {
		t.Fatal(err)
	}
	second := serveHost(t, withFile(t, url, newerBankFile))
	second.wantAccount("with the newer file", "reader", http.StatusForbidden)
	second.wantAccount("with the newer file", "writer", http.StatusOK)
	second.wantLog("disabled an account that the bootstrap file no longer lists")
	second.wantLog("client_id=reader")
}

func TestAnOlderFileChangesNothingBesideANewerOne(t *testing.T) {
	url := pgtest.Database(t)
	old := serveHost(t, withFile(t, url, bankFile))
	newer := serveHost(t, withFile(t, url, newerBankFile))
	if err := old.end(); err != nil {
		t.Fatal(err)
	}
	late := serveHost(t, withFile(t, url, bankFile))
	late.wantAccount("after a late start with the old file", "reader", http.StatusForbidden)
	late.wantAccount("after a late start with the old file", "writer", http.StatusOK)
	late.wantLog("the bootstrap file was not applied: live hosts run with a newer one")
	late.reload("the bootstrap file was not applied: live hosts run with a newer one")
	if strings.Contains(late.stderr.String(), "the bootstrap file was reloaded") {
		t.Error("the log says that a file was reloaded that was not applied")
	}
	if err := newer.end(); err != nil {
		t.Fatal(err)
	}
	if err := late.end(); err != nil {
		t.Fatal(err)
	}
	back := serveHost(t, withFile(t, url, bankFile))
	back.wantAccount("after all hosts went back", "reader", http.StatusOK)
	back.wantAccount("after all hosts went back", "writer", http.StatusForbidden)
}

func TestAHostThatIsAloneGoesBackToAnOlderFile(t *testing.T) {
	vars := withFile(t, pgtest.Database(t), bankFile)
	s := serveHost(t, vars)
	for _, file := range []string{newerBankFile, bankFile} {
		if err := os.WriteFile(vars["VERIFYD_BOOTSTRAP"], []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		s.reload(`msg="the bootstrap file was reloaded"`)
	}
	within(t, 10*time.Second, "knows the account of the older file", func() bool { // it reads an account once a second
		status, _, _ := s.call("GET", s.api+"/v1/workflows", "", "client-id", "reader", "x-api-key", "another-key-for-local-use")
		return status == http.StatusOK
	})
}

func TestAHostWithoutAFileDisablesNothing(t *testing.T) {
	url := pgtest.Database(t)
	first := serveHost(t, withFile(t, url, bankFile))
	second := serveHost(t, onPostgres(url, "VERIFYD_BOOTSTRAP", ""))
	for _, s := range []*served{first, second} {
		s.wantAccount("beside a host without a file", "reader", http.StatusOK)
	}
}

func TestAHostNamesWhatItsFileDoesNotList(t *testing.T) {
	url := pgtest.Database(t)
	if err := serveHost(t, withFile(t, url, bankFile)).end(); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, withFile(t, url, strings.NewReplacer("00000b", "00000c", "Bank", "Bench", "client_id: bank", "client_id: bench", "client_id: reader", "client_id: writer").Replace(bankFile)))
	const want = `kind=tenant count=1 names="Bank (0191f3c0-0000-7000-8000-00000000000b)"`
	for began := time.Now(); !strings.Contains(s.stderr.String(), want) && time.Since(began) < 20*time.Second; {
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the host runs on the wall clock
	}
	s.wantLog(want)
}
