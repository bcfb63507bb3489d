// Tests of settings and bootstrap files.

package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/hosts/internal/cli"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
)

func TestAWrongSettingStopsTheStartAndIsNamed(t *testing.T) {
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
		"VERIFYD_OIDC_AUDIENCE":          "dashboard",
		"VERIFYD_OIDC_CLIENT_SECRET":     "secret",
		"VERIFYD_OIDC_ROLES":             "staff=owner",
		"VERIFYD_TEAMS":                  "seniors,kyc= ",
		"VERIFYD_CONSOLE_SESSION":        "1s",
		"VERIFYD_S3_BUCKET":              "documents",
		"VERIFYD_BOOTSTRAP":              filepath.Join(dir, "absent.yaml"),
		"VERIFYD_SIGNING_KEY_FILE":       write("keys.json", "{}"),
		"VERIFYD_START_WAIT":             "1h",
		"VERIFYD_WORKERS":                "abc",
		"VERIFYD_CALLS":                  "0",
		"VERIFYD_RATE_LIMIT":             "-1",
		"VERIFYD_SHUTDOWN_TIMEOUT":       "soon",
		"VERIFYD_CLOCK":                  "sundial",
		"VERIFYD_FONT_DIR":               filepath.Join(dir, "absent"),
		"VERIFYD_BLOB_DIR":               filepath.Join(write("file", ""), "below"),
		"VERIFYD_ALLOW_PRIVATE_NETWORKS": "perhaps",
		"VERIFYD_LOG_LEVEL":              "loud",
		"VERIFYD_LOG_FORMAT":             "xml",
	} {
		vars := map[string]string{name: value}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := server.Run(ctx, []string{"serve"}, env(vars), io.Discard, io.Discard)
		cancel()
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "VERIFYD_"), "_", "-"))
		if err == nil {
			t.Errorf("%s=%s: the host started", name, value)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if !strings.HasPrefix(lines[0], flag+" ("+name+"): ") || slices.ContainsFunc(lines[1:], isProblem) {
			t.Errorf("%s=%s: %v; want one problem, and that it names %s", name, value, err, flag)
		}
	}
}

// isProblem reports whether a line of the error of a start is a problem and not a warning.
func isProblem(line string) bool { return !strings.HasPrefix(line, "warning: ") }

func TestAFailedStartHasAllProblemsAndThenTheWarnings(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	inUse := taken.Addr().String()
	absent := filepath.Join(t.TempDir(), "absent")
	for _, tt := range []struct {
		name string
		args []string
		vars map[string]string
		want []string
	}{
		{"values", []string{"serve", "--workers", "abc", "--data-dir", ""}, map[string]string{
			"VERIFYD_WORKERS": "4", "VERIFYD_CALLS": "many", "VERIFYD_DOCUMENT_BYTES_PER_TENANT": "1GB", "VERIFYD_START_WAIT": "1h", "VERIFYD_PUBLIC_URL": "http://foo/bar?x",
			"VERIFYD_STORE_MEMORY": "tiny", "VERIFYD_SHUTDOWN_TIMEOUT": "-1s", "VERIFYD_OIDC_ROLES": "=admin",
			"VERIFYD_ROLES": "api,wroker", "VERIFYD_ALLOW_PRIVATE_NETWORKS": "perhaps", "VERIFYD_S3_BUCKET": "b", "VERIFYD_CLOCK": "sundial",
			"VERIFYD_WORKRES": "3", "VERIFYD_COLOUR": "red", "VERIFYD_NOTHING": "", "VERIFYD_PORT_80_TCP": "tcp://10.0.0.1:80", "VERIFYD_TENANT": "Acme",
			"VERIFYD_SEARCH_KEY": "a short secret", "VERIFYD_SEARCH_KEY_FILE": "key.txt",
			"VERIFYD_SOAK_SEED": "1", "VERIFYD_UPDATE_GOLDEN": "1",
		}, []string{
			`--workers (VERIFYD_WORKERS): must be a whole number, not "abc"`,
			`--data-dir (VERIFYD_DATA_DIR): must not be empty`,
			`--calls (VERIFYD_CALLS): must be a whole number, not "many"`,
			`--store-memory (VERIFYD_STORE_MEMORY): must be a number, not "tiny"`,
			`--allow-private-networks (VERIFYD_ALLOW_PRIVATE_NETWORKS): must be true or false, not "perhaps"`,
			`--document-bytes-per-tenant (VERIFYD_DOCUMENT_BYTES_PER_TENANT): must be a whole number, not "1GB"`,
			`--public-url (VERIFYD_PUBLIC_URL): "http://foo/bar?x" must not have a query: leave out "?x"`,
			`--roles (VERIFYD_ROLES): must be api or worker, not "wroker"`,
			`--start-wait (VERIFYD_START_WAIT): must be 0s to 25s`,
			`--oidc-roles (VERIFYD_OIDC_ROLES): "=admin" is not VALUE=ROLE`,
			`--search-key (VERIFYD_SEARCH_KEY): has 14 bytes and must have at least 32; openssl rand -base64 32 makes a key`,
			`--search-key-file (VERIFYD_SEARCH_KEY_FILE): must not be given together with --search-key (VERIFYD_SEARCH_KEY)`,
			`--s3-bucket (VERIFYD_S3_BUCKET): also needs --s3-endpoint (VERIFYD_S3_ENDPOINT)`,
			`--shutdown-timeout (VERIFYD_SHUTDOWN_TIMEOUT): must be at least 0s`,
			`--clock (VERIFYD_CLOCK): must be system or manual, not "sundial"`,
			`warning: VERIFYD_COLOUR is not a setting of verifyd`,
			`warning: VERIFYD_WORKRES is not a setting of verifyd; did you mean VERIFYD_WORKERS?`,
		}},
		{"addresses and files", nil, map[string]string{
			"VERIFYD_ADDR": inUse, "VERIFYD_ADMIN_ADDR": inUse, "VERIFYD_FONT_DIR": absent, "VERIFYD_BOOTSTRAP": absent, "VERIFYD_SEARCH_KEY_FILE": absent, "VERIFYD_LOG_LEVEL_FILE": absent,
		}, []string{
			"--addr (VERIFYD_ADDR): " + inUse + " is in use: set VERIFYD_ADDR to another address; 127.0.0.1:0 picks a free port",
			"--admin-addr (VERIFYD_ADMIN_ADDR): " + inUse + " is in use: set VERIFYD_ADMIN_ADDR to another address; 127.0.0.1:0 picks a free port",
			"--font-dir (VERIFYD_FONT_DIR): " + absent + ": read the fonts: open .: no such file or directory",
			"--log-level-file (VERIFYD_LOG_LEVEL_FILE): open " + absent + ": no such file or directory",
			"--search-key-file (VERIFYD_SEARCH_KEY_FILE): open " + absent + ": no such file or directory",
			"--bootstrap (VERIFYD_BOOTSTRAP): open " + absent + ": no such file or directory",
		}},
		{"a command", []string{"serv"}, nil, []string{`unknown command "serv"; did you mean serve?`}},
		{"a command that is like no other", []string{"help"}, nil, []string{`unknown command "help"; see verifyd --help`}},
		{"a number without a value", []string{"serve", "--workers"}, nil, []string{`--workers: needs a value, as in --workers=VALUE`}},
		{"a text without a value", []string{"serve", "--addr", "--clock", "manual"}, nil, []string{`--addr: needs a value, as in --addr=VALUE`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := server.Run(t.Context(), tt.args, env(tt.vars), io.Discard, io.Discard)
			if err == nil {
				t.Fatal("the host started")
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("lines differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsOfAStartAreLogged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bootstrap.yaml")
	if err := os.WriteFile(path, []byte("tenants: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": path, "VERIFYD_BLOBDIR": "/srv"})
	for _, want := range []string{
		"level=WARN msg=\"" + path + " has no tenant", `level=WARN msg="VERIFYD_BLOBDIR is not a setting of verifyd; did you mean VERIFYD_BLOB_DIR?"`,
		"level=INFO msg=starting version=", " memory_limit=",
	} {
		if got := s.stderr.String(); !strings.Contains(got, want) {
			t.Errorf("stderr = %s, want %s", got, want)
		}
	}
}

func TestAHostLogsTheWarningsOfAWorkflow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bootstrap.yaml")
	text := `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    workflows:
      - workflow: old
        name: Old
        start: form
        nodes:
          form: {type: customer_input, fields: {born: {type: date, required: true}}, next: branch}
          branch: {type: branch, rules: [{when: "steps.form.data.born < '2000'", next: done}], else: done}
          done: {type: end}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": path})
	want := `level=WARN msg="a workflow may not say what is meant" tenant=0191f3c0-0000-7000-8000-00000000000b workflow=old warning="` +
		path + `:10:73: tenants[0].workflows[0].nodes.branch.rules[0].when: ` +
		`steps.form.data.born is a date as YYYY-MM-DD: write a whole date in place of '2000'"`
	if got := s.stderr.String(); strings.Count(got, want) != 1 {
		t.Errorf("stderr = %s, want once %s", got, want)
	}
}

func TestAVariableOfTheBootstrapFileIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bootstrap.yaml")
	text := "tenants: [{id: 0191f3c0-0000-7000-8000-00000000000b, name: Bank, webhook_secret: \"${env:VERIFYD_BANK_SECRET}\"}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := newFolder(t)
	if got := refusal(t, onFolder(folder, "VERIFYD_BOOTSTRAP", path)); !strings.Contains(got, "VERIFYD_BANK_SECRET") {
		t.Errorf("without the variable: %s, want its name", got)
	}
	if _, err := os.Stat(string(folder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the start that was refused has left a data folder: %v", err)
	}
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": path, "VERIFYD_BANK_SECRET": "whsec_b25lLW9uZS1vbmUtb25lLW9uZS1vbmUt"})
	if got := s.stderr.String(); strings.Contains(got, "VERIFYD_BANK_SECRET") || strings.Contains(got, "whsec_") {
		t.Errorf("stderr = %s, want nothing about the secret", got)
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	var out bytes.Buffer
	if err := server.Run(t.Context(), []string{"--version"}, nil, &out, io.Discard); !errors.Is(err, server.ErrPrinted) {
		t.Fatalf("--version = %v", err)
	}
	if want := "verifyd " + cli.ReadBuild().String() + "\n"; out.String() != want {
		t.Errorf("--version prints %q, want %q", out.String(), want)
	}
}

func TestUploadsAndCachesRespectTheMemoryLimit(t *testing.T) {
	if got := server.DocumentMemory(); got != server.MaxDocumentMemory {
		t.Errorf("without a limit = %d bytes, want %d", got, server.MaxDocumentMemory)
	}
	if got := server.CacheMemory(64 << 20); got != 64<<20 {
		t.Errorf("a cache without a limit has %d bytes, want all that it may have", got)
	}
	before := debug.SetMemoryLimit(400 << 20)
	defer debug.SetMemoryLimit(before)
	if got := server.CacheMemory(64 << 20); got != 6400<<10 {
		t.Errorf("a cache with a limit of 400 MiB has %d bytes, want a 64th", got)
	}
	if got := server.DocumentMemory(); got != 100<<20 {
		t.Errorf("with a limit of 400 MiB = %d bytes, want a quarter", got)
	}
}

func TestABootstrapFileIsAppliedOrRefused(t *testing.T) {
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
	status, raw, _ := s.call("GET", s.api+"/v1/workflows", "")
	if status != 200 || !bytes.Contains(raw, []byte(`"name":"Simple"`)) || !bytes.Contains(raw, []byte(`"total":1`)) {
		t.Errorf("workflows = %d %s", status, raw)
	}
	if got := s.stderr.String(); strings.Contains(got, "whsec_") || strings.Count(got, "generated a webhook secret that cannot be read") != 1 || strings.Contains(got, "curl") {
		t.Errorf("stderr = %s, want a warning without the webhook secret, and no demo", got)
	}

	bad := strings.ReplaceAll(good, "provider: sandbox", "provider: nobody")
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	err := server.Run(t.Context(), nil, env(map[string]string{
		"VERIFYD_BOOTSTRAP": path,
	}), io.Discard, io.Discard)
	if want := path + ":6:"; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), `there is no provider "nobody"`) {
		t.Errorf("bad bootstrap = %v, want it to name %s and the provider", err, want)
	}
}

func TestHelpListsSettings(t *testing.T) {
	var out bytes.Buffer
	if err := server.Run(t.Context(), []string{"serve", "--help"}, nil, &out, io.Discard); !errors.Is(err, server.ErrPrinted) {
		t.Fatalf("help = %v", err)
	}
	for _, flag := range []string{
		"--addr", "--admin-addr", "--public-url", "--bootstrap", "--signing-key-file", "--start-wait", "--workers", "--calls", "--list-bytes",
		"--document-bytes-per-tenant", "--rate-limit", "--shutdown-timeout", "--clock", "--font-dir", "--log-level", "--log-format",
	} {
		if !strings.Contains(out.String(), flag) {
			t.Errorf("help lacks %s:\n%s", flag, out.String())
		}
	}
}

func TestAHostTakesItsMemoryLimitFromItsCgroup(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	cgroup := func(limit uint64, err error) memlimit.Provider {
		return func() (uint64, error) { return limit, err }
	}
	for _, tt := range []struct {
		name, set string
		cgroup    memlimit.Provider
		limit     string
		warnings  int
	}{
		{"90 % of the limit", "", cgroup(1<<30, nil), "921MiB", 0},
		{"no limit", "", cgroup(0, memlimit.ErrNoLimit), "none", 0},
		{"no cgroup", "", cgroup(0, memlimit.ErrNoCgroup), "none", 0},
		{"not Linux", "", cgroup(0, memlimit.ErrCgroupsNotSupported), "none", 0},
		{"unreadable", "", cgroup(0, io.ErrUnexpectedEOF), "none", 1},
		{"GOMEMLIMIT", "2GiB", cgroup(1<<30, nil), "none", 0}, // the Go runtime reads the variable, before main
	} {
		t.Run(tt.name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			t.Setenv("GOMEMLIMIT", tt.set)
			if tt.set == "" {
				if err := os.Unsetenv("GOMEMLIMIT"); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			server.LimitMemory(tt.cgroup, slog.New(slog.NewTextHandler(&log, nil)))
			if got := server.MemoryLimit(); got != tt.limit {
				t.Errorf("the limit is %s, want %s", got, tt.limit)
			}
			if got := strings.Count(log.String(), "level=WARN"); got != tt.warnings {
				t.Errorf("%d warnings, want %d: %s", got, tt.warnings, &log)
			}
		})
	}
}

func TestTheSettingsOfASignInBelongTogether(t *testing.T) {
	for _, tt := range []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"ISSUER": "https://id.example"}, "--oidc-issuer (VERIFYD_OIDC_ISSUER): also needs --oidc-client-id (VERIFYD_OIDC_CLIENT_ID) or --oidc-audience (VERIFYD_OIDC_AUDIENCE)"},
		{map[string]string{"CLIENT_ID": "console", "ROLES_CLAIM": "roles"}, "--oidc-client-id (VERIFYD_OIDC_CLIENT_ID): also needs --oidc-issuer (VERIFYD_OIDC_ISSUER)"},
		{map[string]string{"ISSUER": "https://id.example", "CLIENT_ID": "console"}, "--oidc-client-id (VERIFYD_OIDC_CLIENT_ID): also needs --oidc-roles-claim (VERIFYD_OIDC_ROLES_CLAIM)"},
		{map[string]string{"ISSUER": "https://id.example", "AUDIENCE": "a", "CLIENT_SECRET": "hush"}, "--oidc-client-secret (VERIFYD_OIDC_CLIENT_SECRET): also needs --oidc-client-id (VERIFYD_OIDC_CLIENT_ID)"},
		{
			map[string]string{"ISSUER": "https://id.example", "CLIENT_ID": "console", "ROLES_CLAIM": "roles", "AUDIENCE": "dashboard"},
			"--oidc-subject-claim (VERIFYD_OIDC_SUBJECT_CLAIM): is required if --oidc-client-id (VERIFYD_OIDC_CLIENT_ID) and --oidc-audience (VERIFYD_OIDC_AUDIENCE) differ: " +
				"name the claim that is the same in the tokens of both, oid for Entra ID, sub for most others",
		},
		{map[string]string{"TENANT": "0191f3c0-0000-7000-8000-00000000000a"}, "--oidc-tenant (VERIFYD_OIDC_TENANT): also needs --oidc-issuer (VERIFYD_OIDC_ISSUER)"},
		{map[string]string{"ISSUER": "https://id.example", "AUDIENCE": "a", "TENANT": "acme"}, "--oidc-tenant (VERIFYD_OIDC_TENANT): must be the id of a tenant, a UUID"},
		{map[string]string{"ROLES": "a=viewer,b"}, `--oidc-roles (VERIFYD_OIDC_ROLES): "b" is not VALUE=ROLE`},
		{map[string]string{"ROLES": "CN=staff=boss"}, `--oidc-roles (VERIFYD_OIDC_ROLES): role: there is no role "boss" (supported: viewer, reviewer, admin, auditor)`},
	} {
		vars := map[string]string{}
		for name, value := range tt.vars {
			vars["VERIFYD_OIDC_"+name] = value
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := server.Run(ctx, []string{"serve"}, env(vars), io.Discard, io.Discard)
		cancel()
		if err == nil || err.Error() != tt.want {
			t.Errorf("%v: %v, want %s", tt.vars, err, tt.want)
		}
	}
}
