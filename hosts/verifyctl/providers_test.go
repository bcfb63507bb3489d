// Tests of the commands about providers.

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
)

const declared = `providers:
  registry:
    type: rest
    summary: Checks a PAN.
    base_url: %[1]s
    auth: {bearer: "${secret.TOKEN}"}
    request: {path: "/checks", json: {pan: "${with.number}"}}
    response:
      pending: response.status == 202
      passed: response.body.result == 'VALID'
      handle: response.body.id
      data: {score: {value: response.body.score, type: number}}
    poll: {path: "/checks/${handle}"}
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    providers:
      own: {type: rest, base_url: "%[1]s", request: {path: /own}, response: {passed: response.status == 200}}
    workflows:
      - {workflow: w, name: W, start: a, nodes: {a: {type: check, provider: own, next: b}, b: {type: check, provider: registry, next: done}, done: {type: end}}}
`

// command carries out a command line without a database and returns what it prints.
func command(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	s := bare(&out, &errs)
	s.clock = clock.System{}
	s.getenv = func(name string) string { return env[name] }
	code = run(t.Context(), args, s)
	return out.String(), errs.String(), code
}

func declaration(t *testing.T, url string, changes ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bootstrap.yaml")
	text := strings.NewReplacer(changes...).Replace(fmt.Sprintf(declared, url))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAProviderIsCalledFromTheCommandLine(t *testing.T) {
	const canary = "canary-22c9"
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/own":
		case r.Header.Get("Authorization") != "Bearer "+canary:
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, `{"message":"%s"}`, canary)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
			_, _ = fmt.Fprint(w, `{"id":"t-7"}`)
		default:
			_, _ = fmt.Fprintf(w, `{"result":"VALID","score":0.5,"token":"%s"}`, canary)
		}
	}))
	t.Cleanup(vendor.Close)
	env := map[string]string{
		"VERIFYD_BOOTSTRAP": declaration(t, vendor.URL), "VERIFYD_SECRET_TOKEN": canary, "VERIFYD_ALLOW_PRIVATE_NETWORKS": "true",
	}
	for _, tt := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"registry", "--with", `{"number":"ABCDE1234F"}`}, 0, []string{
			"POST " + vendor.URL + "/checks\n", "Authorization: Bearer ***\n", "\n{\"pan\":\"ABCDE1234F\"}\n", "\nresponded with 202\n", "outcome  pending\n", "handle   t-7\n",
		}},
		{[]string{"registry", "--handle", "t-7"}, 0, []string{"GET " + vendor.URL + "/checks/t-7\n", "outcome  passed\n", `data     {"score":0.5}`}},
		{[]string{"registry", "--handle", "t-7", "--json"}, 0, []string{`"outcome": "passed"`, `"score": 0.5`, `"Bearer ***"`}},
		{[]string{"own", "--tenant", "Bank"}, 0, []string{"outcome  passed\n"}},
		{[]string{"own"}, 2, []string{"verifyctl: provider: there is no own (supported: offline.aadhaar, ", "offline.voter_id, registry)\n"}},
		{[]string{"registri"}, 2, []string{"did you mean registry?"}},
		{[]string{"owm", "--tenant", "Bank"}, 2, []string{"did you mean own?"}},
		{[]string{"registry", "--bootstrap", ""}, 2, []string{"--bootstrap (VERIFYD_BOOTSTRAP): required for registry, which is not built in (built in: offline.aadhaar, "}},
		{[]string{"registry"}, 1, []string{"error    registry (" + vendor.URL + ") was not called: json: pan: with.number has no value\n"}},
		{[]string{"registry", "--with", "[1]"}, 2, []string{"--with: must be a JSON object"}},
	} {
		stdout, stderr, code := command(t, env, append([]string{"provider", "call"}, tt.args...)...)
		if code != tt.code {
			t.Errorf("%v: exit code %d, want %d: %s%s", tt.args, code, tt.code, stdout, stderr)
		}
		for _, want := range tt.want {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%v prints no %q:\n%s%s", tt.args, want, stdout, stderr)
			}
		}
		if strings.Contains(stdout+stderr, canary) {
			t.Errorf("%v prints a secret:\n%s%s", tt.args, stdout, stderr)
		}
	}
	env["VERIFYD_SECRET_TOKEN"] = canary + "-old"
	stdout, _, code := command(t, env, "provider", "call", "registry", "--with", `{"number":"x"}`)
	if want := "error    registry (" + vendor.URL + ") responded with 403\n"; code != 1 || !strings.HasSuffix(stdout, want) || strings.Contains(stdout, canary) {
		t.Errorf("refused: %d\n%s", code, stdout)
	}
}

func TestAResponseThatDoesNotFitCanBeShown(t *testing.T) {
	const canary = "canary-22\"c9"
	body := `{"result":"VALID","score":"high","token":"canary-22\"c9","key":"canary-22"}` + "\n\x1b[2J\xff" + strings.Repeat("x", 100_000)
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := fmt.Fprint(w, body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(vendor.Close)
	env := map[string]string{
		"VERIFYD_BOOTSTRAP": declaration(t, vendor.URL), "VERIFYD_SECRET_TOKEN": canary, "VERIFYD_ALLOW_PRIVATE_NETWORKS": "true",
	}
	args := []string{"provider", "call", "registry", "--with", `{"number":"x"}`}
	const shown = `{"result":"VALID","score":"high","token":"***","key":"canary-22"}`
	if stdout, _, _ := command(t, env, args...); strings.Contains(stdout, "high") {
		t.Errorf("the response is shown although nobody asked:\n%.500s", stdout)
	}
	stdout, _, code := command(t, env, append(args, "--show-body")...)
	if code != 1 || !strings.Contains(stdout, "\nresponded with 200\n\n"+shown+" ") || strings.ContainsRune(stdout, 0x1b) || len(stdout) > 70_000 {
		t.Errorf("a response that does not fit: %d\n%.1000s", code, stdout)
	}
	if stdout, _, _ = command(t, env, append(args, "--show-body", "--json")...); !strings.Contains(stdout, `"response": "{\"result\":\"VALID\"`) || strings.Contains(stdout, "c9") {
		t.Errorf("a response that does not fit, as JSON:\n%.1000s", stdout)
	}
	body = `{"result":"VALID","score":0.5}`
	if stdout, _, code = command(t, env, append(args, "--show-body")...); code != 0 || strings.Contains(stdout, body) {
		t.Errorf("a response that fits: %d\n%s", code, stdout)
	}
	body = `{"result":"VALID","score":"high"}`
	if stdout, _, _ = command(t, env, append(args, "--show-body")...); !strings.HasSuffix(stdout, "\n"+body+"\n\noutcome  error\nerror    registry ("+vendor.URL+") responded with 200: data.score: it is not a number\n") {
		t.Errorf("what does not fit is not named:\n%s", stdout)
	}
}

func TestABuiltInCheckIsCalledWithoutABootstrapFile(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"list.csv":  "id,name,type\n1,Viktor Samojskow,person\n",
		"lists.yml": "lists: {watched: {path: list.csv, format: csv}}\ntenants: []\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lists := filepath.Join(folder, "lists.yml")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"offline.iban", "--with", `{"number":"DE89 3704 0044 0532 0130 00"}`}, 0, "outcome  passed\n"},
		{[]string{"offline.iban", "--with", `{"number":"DE88370400440532013000"}`}, 0, `"reason":"check_digit"`},
		{[]string{"offline.iban", "--with", `{"number":"x"}`, "--json"}, 0, `"outcome": "failed"`},
		{[]string{"offline.iban"}, 1, "error    offline.iban: with.number is required\n"},
		{[]string{"offline.iban", "--handle", "7"}, 1, "error    the provider cannot be polled\n"},
		{[]string{"offline.age", "--tenant", "Bank", "--with", `{"birth_date":"1990-05-17","min_years":18}`}, 0, "outcome  passed\n"},
		{[]string{"offline.name_match", "--with", `{"name":"Asha Rao","other":"Rao, Asha"}`}, 0, "outcome  passed\n"},
		{[]string{"offline.earlier_runs", "--with", `{"by":["reference"]}`}, 1, "works only as a check of a run"},
		{[]string{"offline.ibann"}, 2, "required for offline.ibann, which is not built in; did you mean offline.iban? (built in: offline.aadhaar, "},
		{[]string{"offline.screening"}, 2, "--bootstrap (VERIFYD_BOOTSTRAP): required for offline.screening, the file with the lists; verifyctl screening search searches a list without it\n"},
		{[]string{"offline.screening", "--bootstrap", lists, "--with", `{"list":"watched","name":"Viktor Samojskow","kind":"person"}`}, 0, `"name":"Viktor Samojskow"`},
		{[]string{"offline.screening", "--bootstrap", lists, "--with", `{"list":"other","name":"Viktor Samojskow","kind":"person"}`}, 1, "error    offline.screening: with.list"},
	} {
		stdout, stderr, code := command(t, nil, append([]string{"provider", "call"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s%s", tt.args, code, tt.code, tt.want, stdout, stderr)
		}
	}
}

func TestACallJudgesAgesInItsZone(t *testing.T) {
	zone, err := time.LoadLocation("Pacific/Kiritimati")
	if err != nil {
		t.Fatal(err)
	}
	with := `{"min_years":18,"birth_date":"` + time.Now().In(zone).AddDate(-18, 0, 0).Format(time.DateOnly) + `"}`
	for _, tt := range []struct{ zone, want string }{
		{"Pacific/Kiritimati", "outcome  passed\n"},
		{"Etc/GMT+12", "outcome  failed\n"}, // 26 hours behind: the day before
		{"Local", `--zone: "Local" is not a time zone of the IANA database, such as Asia/Kolkata`},
		{"Mars/Base", `--zone: "Mars/Base" is not a time zone`},
	} {
		stdout, stderr, _ := command(t, nil, "provider", "call", "offline.age", "--zone", tt.zone, "--with", with)
		if !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("%s: want %q:\n%s%s", tt.zone, tt.want, stdout, stderr)
		}
	}
}

// The blocks of docs/offline-checks.md that call a provider are carried out.
func TestTheDocumentedCallsPrintWhatIsDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/offline-checks.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Split(string(raw), "\n$ verifyctl provider call ")[1:]
	if len(calls) == 0 {
		t.Error("docs/offline-checks.md calls no provider")
	}
	for _, call := range calls {
		call, _, _ = strings.Cut(call, "\n```")
		line, want, _ := strings.Cut(call, "\n")
		name, with, _ := strings.Cut(line, " --with ")
		stdout, stderr, _ := command(t, nil, "provider", "call", name, "--with", strings.Trim(with, "'"))
		if got := strings.TrimSuffix(stdout+stderr, "\n"); got != want {
			t.Errorf("%s prints\n%s\nand the documentation says\n%s", line, got, want)
		}
	}
}

func TestProvidersOfAFileAreListedAndValidated(t *testing.T) {
	file := declaration(t, "https://api.vendor.example")
	stdout, stderr, code := command(t, nil, "provider", "list", "--bootstrap", file)
	var rows []string
	for line := range strings.Lines(stdout) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"NAME TENANT_ID TYPE MAX_CALLS SUMMARY",
		"offline.name_match - built-in - Tells whether two names are the name of one person or company, in any script.",
		"offline.screening - built-in - Searches a list for a person or a company.",
		"registry - rest 16 Checks a PAN.",
		"own 0191f3c0-0000-7000-8000-00000000000b rest 16 Calls https://api.vendor.example.",
	} {
		if !slices.Contains(rows, want) || code != 0 {
			t.Errorf("list: %d %s\n%s, want the row %s", code, stderr, stdout, want)
		}
	}
	if stdout, _, code := command(t, nil, "provider", "list"); code != 0 || !strings.Contains(stdout, "offline.screening") || strings.Contains(stdout, "rest") {
		t.Errorf("list without a file: %d\n%s, want the built-in providers", code, stdout)
	}
	if stdout, _, _ := command(t, nil, "provider", "list", "--bootstrap", file, "--json"); !strings.Contains(stdout, `"score": {`) {
		t.Errorf("list --json:\n%s, want the schema of the data", stdout)
	}
	if stdout, _, code := command(t, nil, "provider", "validate", file); stdout != file+": ok\n" || code != 0 {
		t.Errorf("validate: %d %s", code, stdout)
	}
	missing := file + ":6:12: providers.registry.auth.bearer: the secret TOKEN is not set: set VERIFYD_SECRET_TOKEN, or put a file TOKEN into the folder VERIFYD_SECRETS_DIR\n"
	if stdout, _, code := command(t, nil, "provider", "validate", file, "--check-secrets"); stdout != missing || code != 1 {
		t.Errorf("validate --check-secrets: %d %s", code, stdout)
	}
	bad := declaration(t, "https://api.vendor.example", "response.status == 202", "response.staus == 202", "{passed: response.status == 200}", "{}")
	stdout, _, code = command(t, nil, "provider", "validate", bad)
	problems := bad + ":9:24: providers.registry.response.pending: response.staus: undefined field 'staus'; did you mean status?\n" +
		bad + ":18:88: tenants[0].providers.own.response: must have a condition: pending, passed or failed\n"
	if stdout != problems || code != 1 {
		t.Errorf("validate: %d\n%s, want\n%s", code, stdout, problems)
	}
	if stdout, _, code = command(t, nil, "provider", "validate", bad, "--json"); code != 1 || strings.Count(stdout, `"line"`) != 2 {
		t.Errorf("validate --json: %d\n%s, want two problems", code, stdout)
	}
}

func TestApplyKnowsTheProvidersOfTheFile(t *testing.T) {
	w := onMemory(t)
	w.ctl("apply " + declaration(t, "https://api.vendor.example"))
	if got := string(w.transcript()); !strings.HasSuffix(got, "exit 0\n") {
		t.Errorf("apply says %s, want the workflow with the tenant's own provider to be applied", got)
	}
}

// The formats of countries are asserted for constants, of built-in and of declared providers.
func TestAnUnknownCountryIsAProblemOfTheFile(t *testing.T) {
	w := onMemory(t)
	file := declaration(t, "https://api.vendor.example",
		`request: {path: "/checks"`, `with: {type: object, properties: {country: {type: string, format: country}}}
    request: {path: "/checks"`,
		`"${with.number}"`, `"${with.country}"`,
		"provider: own,", `provider: offline.iban, with: {number: "${input.iban}", countries: [DE, Germny]},`,
		"provider: registry,", `provider: registry, with: {country: Indja},`)
	w.ctl("apply " + file)
	got := string(w.transcript())
	const country = "must be a country: its name or its code, such as India, IN, IND or 356; did you mean "
	for _, want := range []string{
		"nodes.a.with.countries[1]: " + country + "Germany?\n",
		"nodes.b.with.country: " + country + "India?\n",
	} {
		if !strings.Contains(got, want) || !strings.HasSuffix(got, "exit 1\n") {
			t.Errorf("apply says %s, want the problem %s", got, want)
		}
	}
}
