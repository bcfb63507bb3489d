// Tests of commands on a data folder.

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
)

func TestAFolderReadsTheSameWithoutItsHost(t *testing.T) {
	w := onFolder(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	run := string(w.start(records, "firm-1").ID)
	w.start(onboarding, "person-1")
	w.transcript()
	lines := []string{
		"tenant list", "account list", "workflow list", "workflow versions records", "run list", "run show --events " + run,
		"webhook list", "webhook secret", "apply testdata/fewer.yaml --dry-run",
	}
	read := func() string {
		for _, line := range lines {
			w.ctl(line)
		}
		return string(w.transcript())
	}
	with := read()
	if strings.Contains(with, "exit 2") {
		t.Errorf("a command failed:\n%s", with)
	}
	w.stop()
	if diff := cmp.Diff(with, read()); diff != "" {
		t.Errorf("transcripts differ (-with +without a host):\n%s", diff)
	}
	w.ctl("account disable acme")
	w.ctl("run list")
	w.ctl("account list --json")
	if got := string(w.transcript()); !strings.Contains(got, `"disabled": true`) {
		t.Errorf("without a host, an account is not disabled:\n%s", got)
	}
}

func TestWrongFoldersAreRefused(t *testing.T) {
	w := onMemory(t)
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("afile", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	journaled(t, "folder")
	for line, want := range map[string]string{
		"tenant list --data-dir afile":                       "--data-dir (VERIFYD_DATA_DIR): afile is no data folder: it is a file",
		"store copy --from folder --to afile":                "--to: afile is a file: must be a folder or a database",
		"tenant list --data-dir empty":                       "--data-dir (VERIFYD_DATA_DIR): empty is no data folder: it has no folder journal, which verifyd serve --data-dir makes",
		"tenant list --data-dir none":                        "--data-dir (VERIFYD_DATA_DIR): none is no data folder: it has no folder journal, which verifyd serve --data-dir makes",
		"tenant list --data-dir a --database-url b":          "--data-dir (VERIFYD_DATA_DIR) and --database-url (VERIFYD_DATABASE_URL): give only one of them",
		"doctor --data-dir empty --counts":                   "--counts: only for PostgreSQL: the lists of a data folder count the runs themselves",
		"migrate status --data-dir empty":                    "unknown flag --data-dir (see verifyctl migrate status --help)",
		"tenant list --data-dir " + strings.Repeat("x", 300): "--data-dir (VERIFYD_DATA_DIR): stat " + strings.Repeat("x", 300) + "/journal: file name too long",
	} {
		clear(w.env)
		w.ctl(line)
		if got, want := string(w.transcript()), "$ verifyctl "+line+"\nstderr: verifyctl: "+want+"\nexit 2\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if entries, err := os.ReadDir("empty"); err != nil || len(entries) > 0 {
		t.Errorf("the empty folder has %v, %v", entries, err)
	}
	w.ctl("doctor --data-dir none")
	if got, want := string(w.transcript()), "folder  none is no data folder: it has no folder journal, which verifyd serve --data-dir makes\nexit 1\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the doctor of a wrong folder says %s, want %s", got, want)
	}
	journaled(t, datadir.Default)
	w.ctl("tenant list")
	if got := string(w.transcript()); !strings.Contains(got, "one of them is required; --data-dir data is a data folder") {
		t.Errorf("beside a data folder, the command says %s", got)
	}
}

// journaled makes a data folder that no process has.
func journaled(t *testing.T, folder datadir.Folder) {
	t.Helper()
	j, err := journal.Open(t.Context(), folder.Journal(), journal.Options{})
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAHostThatDoesNotAnswerIsNamed(t *testing.T) {
	w := onMemory(t)
	folder := datadir.Folder(t.TempDir())
	j, err := journal.Open(t.Context(), folder.Journal(), journal.Options{OpenedAt: enginetest.Began()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	w.hostWait = 200 * time.Millisecond
	clear(w.env)
	w.env["VERIFYD_DATA_DIR"] = string(folder)
	says := func(want string) {
		t.Helper()
		for line, end := range map[string]string{"tenant list": "exit 2\n", "doctor": "exit 1\n"} {
			w.ctl(line)
			if got := string(w.transcript()); !strings.Contains(got, want) || !strings.HasSuffix(got, end) {
				t.Errorf("%s says %s, want %q", line, got, want)
			}
		}
	}
	says(`another host has the folder: process `) // it is starting
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: folder.Socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	says("the host that has " + string(folder) + ": it does not answer within 200ms; read its log")
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	says(`another host has the folder: process `) // its socket is of one that died
}

func TestABackupIsWrittenCompletelyOrNotAtAll(t *testing.T) {
	w := onFolder(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	w.start(records, "firm-1")
	dir := t.TempDir()
	folder, file := w.env["VERIFYD_DATA_DIR"], filepath.Join(dir, "backup.tar.gz")
	w.transcript()
	w.ctl("store backup " + folder + " " + file)
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("the backup is %v, %v; want the mode 0600", info, err)
	}
	if got, want := string(w.transcript()), fmt.Sprintf("%s: %d bytes\nexit 0\n", file, info.Size()); !strings.HasSuffix(got, want) {
		t.Errorf("store backup says %s, want %s", got, want)
	}
	piped := w.ctl("store backup " + folder + " -")
	if _, err := gzip.NewReader(strings.NewReader(piped)); err != nil {
		t.Errorf("the backup on stdout: %v", err)
	}
	w.stop()
	w.transcript()
	w.ctl("store backup " + folder + " " + file)
	if got := string(w.transcript()); !strings.HasSuffix(got, " bytes, in place of the file that was there\nexit 0\n") {
		t.Errorf("a second backup says %s", got)
	}
	restored := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", file, "-C", restored).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	read := func(folder string) string {
		w.env["VERIFYD_DATA_DIR"] = folder
		for _, line := range []string{"run list", "tenant list", "workflow list", "account list", "webhook list"} {
			w.ctl(line)
		}
		return string(w.transcript())
	}
	if diff := cmp.Diff(read(folder), read(restored)); diff != "" {
		t.Errorf("the restored folder differs (-folder +restored):\n%s", diff)
	}
	w.ctl("store backup " + folder + " " + filepath.Join(dir, "none", "backup"))
	if got, want := string(w.transcript()), "create "+filepath.Join(dir, "none", "backup")+": no such file or directory"; !strings.Contains(got, want) {
		t.Errorf("a backup in a missing folder says %s, want %s", got, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the backup there is %v, %v", entries, err)
	}
}

func TestDamageIsFoundAndRemoved(t *testing.T) {
	w := onFolder(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	folder := w.env["VERIFYD_DATA_DIR"]
	w.ctl("apply testdata/bootstrap.yaml")
	w.start(records, "firm-1")
	before, err := journal.ReadUsage(datadir.Folder(folder).Journal())
	if err != nil {
		t.Fatal(err)
	}
	w.start(records, "firm-2")
	w.ctl("account disable acme")
	w.transcript()
	hold := func(lines ...string) {
		for _, line := range lines {
			w.ctl("store " + line)
		}
	}
	hold("check "+folder, "check --json "+folder, "repair --accept-loss "+folder) // its host has it
	w.stop()
	hold("repair --accept-loss " + folder) // there is no damage
	file := filepath.Join(datadir.Folder(folder).Journal(), "0000000001.journal")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(offset int64) {
		spoiled := bytes.Clone(raw)
		spoiled[offset] ^= 0xff
		if err := os.WriteFile(file, spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoil(before.Bytes + 200)
	w.ctl("tenant list")
	w.ctl("doctor")
	hold("check "+folder, "check --json "+folder, "repair "+folder, "repair --accept-loss "+folder, "check "+folder)
	w.ctl("run list")
	w.ctl("account list")
	spoil(0)
	hold("repair " + folder)
	got := strings.ReplaceAll(string(w.transcript()), folder, "DIR")
	got = regexp.MustCompile(`process \d+ on .*`).ReplaceAllString(got, "(its holder)")
	golden.Equal(t, "testdata/talks/store.txt", []byte(got))
}

func TestTheDoctorExaminesAFolder(t *testing.T) {
	at := time.Now()
	host := pgadmin.Host{Host: postgres.Host{Name: "one", Address: "127.0.0.1:8080", Roles: []string{"api", "worker"}}, SeenAt: at, Alive: true}
	host.Facts = cli.HostFacts{SearchKey: "5ea5c4", Keys: []string{"k1"}, StoreBytes: 1536, StoreLimit: 100 << 20, DiskFree: 5 << 30, DiskReserve: 2 << 30}.String()
	enough := host.Facts
	w := onFolderOf(t, operator.Host{Describe: func(context.Context) pgadmin.Host { return host }, Wake: func() {}})
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	want := map[string]string{
		"folder": "ok", "hosts": "ok", "level": "ok", "journal": "ok", "memory": "ok", "disk": "ok", "work": "ok", "leases": "ok", "expiry": "ok", "deliveries": "ok",
		"rescreening": "ok", "ends": "ok", "redactions": "ok", "retention": "ok", "search": "ok", "bootstrap": "ok", "backup": "warn",
	}
	w.holdStatuses("doctor --json", want)
	for free, status := range map[int64]string{3 << 30: "warn", 1 << 30: "fail"} {
		host.Facts = cli.HostFacts{SearchKey: "5ea5c4", Keys: []string{"k1"}, StoreBytes: 1536, StoreLimit: 100 << 20, DiskFree: free, DiskReserve: 2 << 30}.String()
		want["disk"] = status
		w.holdStatuses("doctor --json", want)
	}
	host.Facts, want["disk"] = enough, "ok"
	torn := filepath.Join(datadir.Folder(w.env["VERIFYD_DATA_DIR"]).Journal(), "torn-0000000001-2048")
	if err := os.WriteFile(torn, make([]byte, 1536), 0o600); err != nil {
		t.Fatal(err)
	}
	want["journal"] = "warn"
	w.holdStatuses("doctor --json", want)
	if got := string(w.transcript()); !strings.Contains(got, "torn-0000000001-2048 (1.5 KiB)") {
		t.Errorf("the doctor says %s, want the end that is kept", got)
	}
	if err := os.Remove(torn); err != nil {
		t.Fatal(err)
	}
	want["journal"] = "ok"
	host.Bootstrap = "of another file"
	host.Roles = []string{"api"}
	w.start(onboarding, "person-1")
	w.kit.Notices.FailWith(&verification.RetryError{Cause: errors.New("gone")}, errors.New("not now"))
	w.start(records, "firm-1")
	w.start(records, "firm-2")
	w.kit.Settle()
	w.clock = clock.System{} // the clock of the host stopped months ago
	want["hosts"], want["work"], want["expiry"], want["deliveries"], want["bootstrap"] = "fail", "fail", "fail", "warn", "warn"
	w.holdStatuses("doctor --json", want)
	w.stop()
	delete(want, "search")
	if got := string(w.transcript()); !strings.Contains(got, "the runs need 1.5 KiB of the 100 MiB that they may") {
		t.Errorf("the doctor says %s, want how much memory the runs need", got)
	}
	want["bootstrap"] = "ok"
	w.holdStatuses("doctor --json", want)
	if got := string(w.transcript()); !strings.Contains(got, "start one with verifyd serve --data-dir") {
		t.Errorf("without a host, the doctor says %s", got)
	}
}

func TestARedeliveryOfAFolderIsSentAtOnce(t *testing.T) {
	var w *world
	w = onFolderOf(t, operator.Host{
		Describe: func(context.Context) pgadmin.Host { return pgadmin.Host{} },
		Wake:     func() { w.kit.Engine.Wake() },
	})
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	w.kit.Notices.FailWith(&verification.RetryError{Cause: errors.New("gone")})
	run := w.start(records, "firm-1").ID
	w.kit.Settle()
	before := len(w.kit.Notices.All())
	w.ctl("webhook redeliver " + string(run))
	w.kit.Settle() // the clock stands still, so the queue is not polled
	if got := len(w.kit.Notices.All()); got != before+1 {
		t.Errorf("%d notices were sent after the command, want 1:\n%s", got-before, w.transcript())
	}
}

func TestAFolderIsSearchedForAText(t *testing.T) {
	w := onFolder(t)
	folder := w.env["VERIFYD_DATA_DIR"]
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	w.start(onboarding, "Zoë&Co")
	if err := os.WriteFile(filepath.Join(folder, "note"), []byte(strings.Repeat("x", 64<<10)+"across-a-read"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.transcript()
	for text, want := range map[string]string{
		"Zoë&Co":        "journal/0000000001.journal\n",
		"across-a-read": "note\n",
		"person-2":      "verifyctl: 0 of ",
	} {
		w.ctl("store check " + folder + " --search " + text)
		got := string(w.transcript())
		if !strings.Contains(got, want) || strings.Contains(got, "exit 1") != (text != "person-2") {
			t.Errorf("the search for %q says %s, want %s", text, got, want)
		}
	}
}
