// Tests of a host that keeps its data in a folder.

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/rig/process"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
)

// onFolder are settings of a host on a data folder.
func onFolder(folder datadir.Folder, more ...string) map[string]string {
	vars := map[string]string{"VERIFYD_DATA_DIR": string(folder)}
	for i := 0; i+1 < len(more); i += 2 {
		vars[more[i]] = more[i+1]
	}
	return vars
}

// newFolder returns a data folder that does not exist yet.
func newFolder(t *testing.T) datadir.Folder {
	t.Helper()
	return datadir.Folder(filepath.Join(t.TempDir(), "data"))
}

// startOn starts the demo on a folder as a process, at an address or at a free one.
func startOn(t *testing.T, folder datadir.Folder, address string, more ...string) (*process.Host, *served) {
	t.Helper()
	h, err := process.StartHost(process.HostOptions{Program: os.Args[0], Name: "host", Env: append([]string{
		asProgram + "=1", "VERIFYD_ADDR=" + strings.TrimPrefix(address, "http://"), "VERIFYD_ADMIN_ADDR=127.0.0.1:0",
		"VERIFYD_DATA_DIR=" + string(folder),
	}, more...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Kill() })
	return h, &served{t: t, api: h.API, admin: h.Admin}
}

func TestARunGoesOnAfterTheHostWasKilled(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	h, s := startOn(t, folder, "127.0.0.1:0")
	const key = "Idempotency-Key"
	waiting := s.run("POST", s.api+onboarding, `{"reference_id":"person-1"}`, key, "one")
	s.answer(waiting.ID, "consent_submitted", `{"payload":{"consent_status":"success"}}`)
	waiting = s.await(waiting.ID, func(r runJSON) bool { return r.Action != nil && r.Action.SignalName == "details_submitted" })
	asked := s.run("POST", s.api+onboarding, `{"reference_id":"person-2"}`)
	s.answer(asked.ID, "consent_submitted", `{"payload":{"consent_status":"success"}}`)
	s.answer(asked.ID, "details_submitted", clean)
	s.await(asked.ID, func(r runJSON) bool { return strings.Contains(fmt.Sprintf("%s", r.Checks), `"pan_registry"`) })
	if err := h.Kill(); err != nil { // before the vendor calls back, which it then never does
		t.Fatal(err)
	}
	_, s = startOn(t, folder, h.API)
	if again := s.run("POST", s.api+onboarding, `{"reference_id":"person-1"}`, key, "one"); again.ID != waiting.ID {
		t.Errorf("the start was sent again and is run %s, want %s", again.ID, waiting.ID)
	}
	if r := s.run("GET", s.api+"/v1/runs/"+waiting.ID, ""); r.Action == nil || r.Action.URL != waiting.Action.URL {
		t.Errorf("the run waits for %+v, want what it waited for before: %+v", r.Action, waiting.Action)
	}
	if status, _, _ := s.call("GET", waiting.Action.URL, ""); status != http.StatusOK {
		t.Errorf("the link of the customer = %d, want 200", status)
	}
	s.answer(waiting.ID, "details_submitted", clean)
	for _, id := range []string{waiting.ID, asked.ID} {
		r := s.await(id, func(r runJSON) bool { return r.Status != "in_progress" || r.Decision != nil })
		if r.Status != "completed" || !strings.Contains(fmt.Sprintf("%s", r.Checks), `"registered_name":"RAO ASHA"`) {
			t.Errorf("run %s is %+v, %s; want it completed with the result of the registry", id, r, r.Checks)
		}
	}
}

// answer sends a signal that must be taken.
func (s *served) answer(id, signal, body string) {
	s.t.Helper()
	if status, raw, _ := s.call("POST", s.api+"/v1/signals/"+id+"/"+signal, body); status != http.StatusOK {
		s.t.Fatalf("%s = %d %s", signal, status, raw)
	}
}

func TestTheReadyLineSaysWhatAFolderHas(t *testing.T) {
	folder := newFolder(t)
	s := serveHost(t, onFolder(folder))
	if want := fmt.Sprintf("journal dir=%s runs=0 recovered=0", folder); s.store != want {
		t.Errorf("the ready line says store=%s, want store=%s", s.store, want)
	}
	s.run("POST", s.api+onboarding, `{"reference_id":"person-1"}`)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	s = serveHost(t, onFolder(folder))
	if want := fmt.Sprintf(`^journal dir=%s runs=1 recovered=[1-9]\d*$`, folder); !regexp.MustCompile(want).MatchString(s.store) {
		t.Errorf("the ready line says store=%s, want store=%s", s.store, want)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(folder.Journal(), "*.journal"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments = %q, %v", segments, err)
	}
	newest, err := os.OpenFile(slices.Max(segments), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newest.WriteString("half a record"); err != nil {
		t.Fatal(err)
	}
	if err := newest.Close(); err != nil {
		t.Fatal(err)
	}
	s = serveHost(t, onFolder(folder))
	if want := `runs=1 recovered=[1-9]\d* unreadable_bytes=13 kept=torn-\d+-\d+$`; !regexp.MustCompile(want).MatchString(s.store) {
		t.Errorf("the ready line says store=%s, want %s", s.store, want)
	}
}

func TestOnlyItsUserCanReadADataFolder(t *testing.T) {
	folder := newFolder(t)
	own := onFolder(folder, "VERIFYD_BOOTSTRAP", bootstrapFile(t, oneFile))
	s := serveHost(t, own)
	if status, page := s.sendFile(); status != http.StatusSeeOther {
		t.Fatalf("the upload = %d %s", status, page)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(string(folder), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %o, want %o", path, got, want)
		}
		return nil
	})
	if err != nil || files < 6 {
		t.Errorf("the folder has %d files, %v; want the journal, its lock, both keys and a document", files, err)
	}
	if err := os.Chmod(string(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	s = serveHost(t, own)
	if got, want := s.stderr.String(), "(mode 0755): chmod 700 "; !strings.Contains(got, want) {
		t.Errorf("the log has no %q:\n%s", want, got)
	}
}

// refusal returns the problem because of which a host does not start.
func refusal(t *testing.T, vars map[string]string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := server.Run(ctx, []string{"serve"}, env(vars), io.Discard, io.Discard); err != nil {
		return err.Error()
	}
	return "it started"
}

func TestASecondHostIsToldWhoHasTheFolder(t *testing.T) {
	folder := newFolder(t)
	s := serveHost(t, onFolder(folder))
	want := fmt.Sprintf(`^--data-dir \(VERIFYD_DATA_DIR\): .*another host has the folder: process %d on .+ since 20.+Z; end that host, or choose another folder$`, os.Getpid())
	if got := refusal(t, onFolder(folder)); !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("a second host: %s, want %s", got, want)
	}
	address := strings.TrimPrefix(s.api, "http://")
	err := server.Run(t.Context(), []string{"serve", "--addr", address, "--admin-addr", "127.0.0.1:0", "--data-dir", string(folder)}, nil, io.Discard, io.Discard)
	want = fmt.Sprintf("another host has the folder: process %d ", os.Getpid())
	if err == nil || !strings.Contains(err.Error(), address+" is in use") || !strings.Contains(err.Error(), want) {
		t.Errorf("a second host at the same address: %v, want both problems", err)
	}
}

func TestAFolderOfAnotherUserIsNotServed(t *testing.T) {
	folder := newFolder(t)
	if err := serveHost(t, onFolder(folder)).end(); err != nil {
		t.Fatal(err)
	}
	before := files(t, folder)
	const other = 54321
	if err := os.Chown(folder.Journal(), other, other); err != nil {
		t.Skipf("only root can give a folder to another user: %v", err)
	}
	want := fmt.Sprintf("--data-dir (VERIFYD_DATA_DIR): %s belongs to the user with the id 54321, who could not read what this process writes: run it as that user, or, "+
		"while no host has the folder, give all of it to the user of this process: chown -R %d %[1]s", folder, os.Geteuid())
	if got := refusal(t, onFolder(folder)); got != want {
		t.Errorf("a host of another user: %s, want %s", got, want)
	}
	if after := files(t, folder); !slices.Equal(after, before) {
		t.Errorf("the folder has %v, want %v as before", after, before)
	}
}

// files returns the names of all files in a folder.
func files(t *testing.T, folder datadir.Folder) (names []string) {
	t.Helper()
	err := filepath.WalkDir(string(folder), func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestALostOrDamagedKeyIsNotReplaced(t *testing.T) {
	folder := newFolder(t)
	if err := serveHost(t, onFolder(folder)).end(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ file, flag, damaged string }{
		{folder.SigningKeys(), "--signing-key-file (VERIFYD_SIGNING_KEY_FILE)", `signing keys: it is not a JWK set: {"keys": [...]}; restore the file from a backup`},
		{folder.SearchKey(), "--search-key (VERIFYD_SEARCH_KEY)", "has 3 bytes and must have at least 32; restore the file from a backup"},
	} {
		content, err := os.ReadFile(tc.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(tc.file); err != nil {
			t.Fatal(err)
		}
		want := tc.file + " is missing, and the folder has data: restore the file from a backup, or set " + tc.flag + " as it was before"
		if got := refusal(t, onFolder(folder)); got != want {
			t.Errorf("without the file: %s, want %s", got, want)
		}
		if err := os.WriteFile(tc.file, []byte("odd"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := refusal(t, onFolder(folder)); !strings.HasPrefix(got, tc.file) || !strings.Contains(got, tc.damaged) {
			t.Errorf("with a damaged file: %s, want %s", got, tc.damaged)
		}
		if err := os.WriteFile(tc.file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	serveHost(t, onFolder(folder))
}

func TestADamagedListOfAppliedFilesIsNamed(t *testing.T) {
	folder := newFolder(t)
	own := onFolder(folder, "VERIFYD_BOOTSTRAP", bootstrapFile(t, "tenants:\n  - {id: 0191f3c0-0000-7000-8000-00000000000b, name: Bank}\n"))
	if err := serveHost(t, own).end(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder.AppliedFiles(), []byte("xx"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := refusal(t, own), folder.AppliedFiles()+": invalid character 'x' looking for beginning of value; restore the file from a backup, or remove it"; !strings.Contains(got, want) {
		t.Errorf("with a damaged file: %s, want %s", got, want)
	}
	if err := os.Remove(folder.AppliedFiles()); err != nil {
		t.Fatal(err)
	}
	if err := serveHost(t, own).end(); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(folder.AppliedFiles()); err != nil || !strings.Contains(string(raw), "AppliedAt") {
		t.Errorf("the file is %s, %v; want it made again", raw, err)
	}
}

func TestAKeyOfTheSettingsWins(t *testing.T) {
	folder := newFolder(t)
	keys := filepath.Join(t.TempDir(), "keys.json")
	set, err := cli.NewKeySet()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, set, 0o600); err != nil {
		t.Fatal(err)
	}
	own := onFolder(folder, "VERIFYD_SIGNING_KEY_FILE", keys, "VERIFYD_SEARCH_KEY", strings.Repeat("k", 32))
	if err := serveHost(t, own).end(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{folder.SigningKeys(), folder.SearchKey()} {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want no file", file, err)
		}
	}
	if got, want := refusal(t, onFolder(folder)), "set --signing-key-file (VERIFYD_SIGNING_KEY_FILE) as it was before"; !strings.Contains(got, want) {
		t.Errorf("without the settings: %s, want %s", got, want)
	}
	if err := os.WriteFile(folder.SearchKey(), []byte(strings.Repeat("x", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, own)
	if got, want := s.stderr.String(), "the search key is not the one in the data folder"; !strings.Contains(got, want) {
		t.Errorf("the log has no %q:\n%s", want, got)
	}
}

func TestAManualClockBeginsAgainOnAFolder(t *testing.T) {
	own := onFolder(newFolder(t), "VERIFYD_CLOCK", "manual")
	s := serveHost(t, own)
	if status, raw, _ := s.call("POST", s.admin+"/clock/advance", `{"seconds":86400}`); status != http.StatusOK {
		t.Fatalf("advance = %d %s", status, raw)
	}
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-1"}`)
	s.answer(r.ID, "consent_submitted", `{"payload":{"consent_status":"success"}}`)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	s = serveHost(t, own) // a day before the run was started
	s.answer(r.ID, "details_submitted", clean)
	if status, raw, _ := s.call("POST", s.admin+"/clock/advance", `{"seconds":30}`); status != http.StatusOK {
		t.Fatalf("advance = %d %s", status, raw)
	}
	if got := s.run("GET", s.api+"/v1/runs/"+r.ID, ""); got.Status != "completed" {
		t.Errorf("the run is %+v, want it completed", got)
	}
}

func TestAProgramServesAHostOnAFolder(t *testing.T) {
	folder, id := newFolder(t), ""
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		program := httptest.NewUnstartedServer(nil)
		url := "http://" + program.Listener.Addr().String()
		handler, wait, err := server.Handler(ctx, settingsOf(t,
			"--data-dir", string(folder), "--public-url", url, "--admin-addr", "127.0.0.1:0", "--bootstrap", bootstrapFile(t, oneFile), "--log-level", "error",
		))
		if err != nil {
			t.Fatal(err)
		}
		program.Config.Handler = handler
		program.Start()
		s := &served{t: t, api: url}
		if id == "" {
			id = s.run("POST", url+records, `{"reference_id":"person-1"}`).ID
		}
		s.run("GET", url+"/v1/runs/"+id, "")
		stop()
		if err := wait(); err != nil {
			t.Errorf("wait = %v, want nil after a clean stop", err)
		}
		program.Close()
	}
}

func TestSettingsOfAFolderExcludeOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const database = "postgres://127.0.0.1:1/none"
	for _, tc := range []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"VERIFYD_DATA_DIR": "x", "VERIFYD_MEMORY": "true"}, "--data-dir (VERIFYD_DATA_DIR): must not be given together with --memory (VERIFYD_MEMORY)"},
		{map[string]string{"VERIFYD_DATA_DIR": "x", "VERIFYD_DATABASE_URL": database}, "--data-dir (VERIFYD_DATA_DIR): must not be given together with --database-url (VERIFYD_DATABASE_URL)"},
		{map[string]string{"VERIFYD_MEMORY": "true", "VERIFYD_DATABASE_URL": database}, "--memory (VERIFYD_MEMORY): must not be given together with --database-url (VERIFYD_DATABASE_URL)"},
		{map[string]string{"VERIFYD_DATA_DIR": "x", "VERIFYD_ROLES": "worker"}, "--roles (VERIFYD_ROLES): a host without a database must be both api and worker"},
		{map[string]string{"VERIFYD_DATA_DIR": file}, "--data-dir (VERIFYD_DATA_DIR): " + file + " is a file, and must be a folder or not exist"},
		{
			map[string]string{"VERIFYD_DATA_DIR": filepath.Join(file, "data")},
			"--data-dir (VERIFYD_DATA_DIR): create the data folder: mkdir " + file + ": not a directory; choose a folder that the user of this process can write, or keep nothing with --memory",
		},
	} {
		if got := refusal(t, tc.vars); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.vars, got, tc.want)
		}
	}
}

func TestTheDemoIsNotMixedWithOtherData(t *testing.T) {
	demo, own := newFolder(t), newFolder(t)
	file := bootstrapFile(t, "tenants:\n  - {id: 0191f3c0-0000-7000-8000-00000000000b, name: Bank}\n")
	if err := serveHost(t, onFolder(demo)).end(); err != nil {
		t.Fatal(err)
	}
	if got, want := refusal(t, onFolder(demo, "VERIFYD_BOOTSTRAP", file)), "has the built-in demo, whose API key everybody knows"; !strings.Contains(got, want) {
		t.Errorf("a file on the folder of the demo: %s, want %s", got, want)
	}
	if err := serveHost(t, onFolder(own, "VERIFYD_BOOTSTRAP", file)).end(); err != nil {
		t.Fatal(err)
	}
	if got, want := refusal(t, onFolder(own)), "has tenants of a bootstrap file: name the file"; !strings.Contains(got, want) {
		t.Errorf("the demo on the folder of a file: %s, want %s", got, want)
	}
	if err := serveHost(t, onFolder(own, "VERIFYD_BOOTSTRAP", file)).end(); err != nil {
		t.Fatal(err)
	}
}
