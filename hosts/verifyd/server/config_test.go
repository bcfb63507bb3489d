// Tests of the file of settings.

package server_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
)

func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "verifyd.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAFileGivesWayToVariablesAndTheseToFlags(t *testing.T) {
	file := configFile(t, `
public_url: https://verify.example
workers: 3
calls: 300
rate_limit: 30
store_memory: 0.25
start_wait: 1s
memory: true
teams: [seniors, "a,b=kyc"]
`)
	t.Setenv("VERIFYD_CONFIG", file)
	t.Setenv("VERIFYD_CALLS", "400")
	t.Setenv("VERIFYD_RATE_LIMIT", "40")
	s, err := server.Load([]string{"--rate-limit", "50"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := server.Load([]string{
		"--config", configFile(t, "{}"), "--public-url", "https://verify.example", "--workers", "3", "--calls", "400", "--rate-limit", "50",
		"--store-memory", "0.25", "--start-wait", "1s", "--memory", "--teams", `seniors,a\,b=kyc`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(server.Settings{}), cmpopts.IgnoreFields(server.Settings{}, "Config")); diff != "" {
		t.Errorf("settings of the file differ from those of flags (-flags +file):\n%s", diff)
	}
	if len(s.Teams) != 2 || s.StartWait != time.Second {
		t.Errorf("teams %q and start_wait %s, want those of the file", s.Teams, s.StartWait)
	}
}

func TestEachProblemOfAFileOfSettingsHasItsPlace(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"workers: many", "FILE:1:1: workers: must be a whole number"},
		{"workers: 1.5", "FILE:1:1: workers: must be a whole number"},
		{"start_wait: 5", "FILE:1:1: start_wait: must be a string"},
		{"teams: seniors", "FILE:1:1: teams: must be a list"},
		{"\nworkres: 3", "FILE:2:1: workres: unknown field; did you mean workers?"},
		{"memory: true\nmemory: false", "FILE:2:1: memory: the field is given twice"},
		{"config: other.yaml", "FILE:1:1: config: unknown field"},
		{"addr: [", "FILE:2:1: it is not valid YAML"},
		{"", "FILE: the file is empty"},
		{"\nworkers: 0", "FILE:2: workers: must be 1 to 10000, not 0"},
		{"clock: sundial", `FILE:1: clock: must be system or manual, not "sundial"`},
		{"start_wait: soon", `FILE:1: start_wait: must be a duration such as 500ms, 2s or 5m, not "soon"`},
		{"memory: true\ndata_dir: data", "FILE:2: data_dir: must not be given together with --memory (VERIFYD_MEMORY)"},
	} {
		file := configFile(t, tc.text)
		_, err := server.Load([]string{"--config", file})
		if want := strings.ReplaceAll(tc.want, "FILE", file); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line that begins with %q", tc.text, err, want)
		}
	}
	absent := filepath.Join(t.TempDir(), "absent.yaml")
	if _, err := server.Load([]string{"--config", absent}); err == nil || !strings.HasPrefix(err.Error(), "--config (VERIFYD_CONFIG): open "+absent) {
		t.Errorf("a file that is absent = %v, want its name", err)
	}
	t.Setenv("VERIFYD_CALLS", "-2")
	_, err := server.Load([]string{"--config", configFile(t, "workers: 0\ncalls: 0"), "--workers=-1"})
	want := "--workers (VERIFYD_WORKERS): must be 1 to 10000, not -1\n--calls (VERIFYD_CALLS): must be 1 to 100000, not -2"
	if err == nil || err.Error() != want {
		t.Errorf("a wrong flag and a wrong variable beside a file = %v, want %q", err, want)
	}
}

func TestTheSettingsInForceArePrintedWithoutSecrets(t *testing.T) {
	const secret = "canary-of-a-secret-with-32-bytes"
	file := configFile(t, "workers: 3\nsearch_key: "+secret+"1\ns3_endpoint: s3.example\ns3_bucket: b\ns3_secret_key: "+secret+"2\noidc_scopes: [a, b]\n")
	var out bytes.Buffer
	err := server.Run(t.Context(), []string{
		"config", "print", "--config", file, "--rate-limit=5", "--oidc-client-secret", secret + "3", "--oidc-client-id", "c",
		"--oidc-issuer", "https://i.example", "--oidc-roles-claim", "roles",
	},
		env(map[string]string{"VERIFYD_CALLS": "9", "VERIFYD_DATABASE_URL": "postgres://u:" + secret + "@db.example/v"}), &out, io.Discard)
	if !errors.Is(err, server.ErrPrinted) {
		t.Fatal(err)
	}
	printed := out.String()
	for _, want := range []string{
		"workers: 3 # " + file + ":1\n", "# search_key: set by " + file + ":2\n", "# s3_secret_key: set by " + file + ":5\n", `oidc_scopes: ["a","b"] # ` + file + ":6\n",
		"rate_limit: 5 # --rate-limit\n", "# oidc_client_secret: set by --oidc-client-secret\n", "calls: 9 # VERIFYD_CALLS\n",
		"# database_url: set by VERIFYD_DATABASE_URL\n", "start_wait: \"2s\" # default\n", "# host_name: not set\n", "keep_audit_reads: \"9600h\" # default\n",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(printed, "canary") || t.Failed() {
		t.Errorf("printed:\n%s", printed)
	}

	// What is printed is a file of the same settings.
	var again bytes.Buffer
	if err := server.Run(t.Context(), []string{"config", "print", "--config", configFile(t, printed)}, nil, &again, io.Discard); err != nil && !errors.Is(err, server.ErrPrinted) {
		t.Fatal(err)
	}
	for line := range strings.Lines(printed) {
		if setting, _, _ := strings.Cut(line, " # "); line[0] != '#' && !strings.Contains(again.String(), setting+" # ") {
			t.Errorf("printed again, %q is not there", setting)
		}
	}
}

func TestAWrongSettingIsNotPrintedAsInForce(t *testing.T) {
	var out bytes.Buffer
	err := server.Run(t.Context(), []string{"config", "print", "--workers=0"}, nil, &out, io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "--workers (VERIFYD_WORKERS): must be") || out.Len() > 0 {
		t.Errorf("config print = %v and %q, want the problem alone", err, out.String())
	}
}

func TestASecretThatEveryoneCanReadIsAWarning(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o644: true, 0o640: false} {
		file := configFile(t, "search_key: an-example-of-a-key-of-32-bytes...\nworkers: 0\n")
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		err := server.Run(t.Context(), []string{"--config", file}, nil, io.Discard, io.Discard)
		if got := err != nil && strings.Contains(err.Error(), "warning: "+file+":1: everyone on the machine can read search_key"); got != want {
			t.Errorf("with mode %o: %v, want the warning %t", mode, err, want)
		}
	}
}
