// Tests of preflight, against real servers, folders and databases: each check is made to fail once.

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	verifyd "github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/rig/oidctest"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// authority is a certificate authority.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour * 24 * 365), IsCA: true, BasicConstraintsValid: true,
	}
	made := a.sign(t, &template)
	a.certificate = made.Leaf
	a.key, _ = made.PrivateKey.(*ecdsa.PrivateKey) // sign made it
	return a
}

// sign returns a certificate for a new key, which signs itself if the authority has no certificate yet.
func (a authority) sign(t *testing.T, template *x509.Certificate) (c tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	var raw []byte
	if err == nil {
		raw, err = x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	}
	if err == nil {
		c.Leaf, err = x509.ParseCertificate(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Certificate, c.PrivateKey = [][]byte{raw}, key
	return c
}

// serve starts a server on this machine whose certificate is valid for an address, until it expires.
func (a authority) serve(t *testing.T, address string, expires time.Duration, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = nil
	s.TLS = &tls.Config{Certificates: []tls.Certificate{a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour * 24 * 365), NotAfter: time.Now().Add(expires), IPAddresses: []net.IP{net.ParseIP(address)},
	})}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (a authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

// silent counts requests, of which preflight makes none.
func silent(t *testing.T) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request was sent to a vendor, a receiver or the public URL")
	})
}

const yearly = 90 * 24 * time.Hour

// checkup is a host that has not started: its settings, and what they name.
type checkup struct {
	*testing.T
	ca        authority
	folder    string // of files
	settings  map[string]any
	env       map[string]string
	bootstrap string
	secrets   []string // that are never printed
	clock     verification.Clock
	live      bool // a host makes files, too
}

// newCheckup returns a host on a new data folder that nothing is wrong with.
func newCheckup(t *testing.T) *checkup {
	t.Helper()
	c := &checkup{T: t, ca: newAuthority(t), folder: t.TempDir(), env: map[string]string{}, clock: clock.System{}}
	keys, err := cli.NewKeySet()
	if err != nil {
		t.Fatal(err)
	}
	search, vendorKey, apiKey := rand.Text()+rand.Text(), rand.Text(), rand.Text()
	var set struct {
		Keys []struct {
			D string `json:"d"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(keys, &set); err != nil || len(set.Keys) != 1 || set.Keys[0].D == "" {
		t.Fatalf("the key set has no private key: %v", err)
	}
	c.secrets = []string{search, vendorKey, apiKey, set.Keys[0].D, "PRIVATE KEY"}
	c.write("keys.json", string(keys))
	c.write("search-key", search+"\n")
	c.write("list.csv", "id,schema,name,aliases\nn-1,Person,Asha Example,\nn-2,Company,Example Trading,\n")
	c.env["VERIFYD_SECRET_VENDOR"], c.env["VERIFYD_SECRET_CA"], c.env["API_KEY"] = vendorKey, c.ca.pem(), apiKey
	c.bootstrap = `
lists: {sanctions: {path: ` + c.file("list.csv") + `, format: opensanctions}}
providers:
  bureau:
    type: rest
    base_url: VENDOR/v1
    ca: "${secret.CA}"
    auth: {bearer: "${secret.VENDOR}"}
    request: {path: /check, json: {name: "${with.name}"}}
    response: {passed: "response.status == 200"}
tenants:
  - id: 00000000-0000-7000-8000-0000000000aa
    name: Acme
    accounts: [{client_id: acme, api_key: "${env:API_KEY}"}]
    workflows:
      - workflow: onboarding
        name: Onboarding
        lifecycle_webhook_url: RECEIVER/hook
        start: ask
        nodes:
          ask: {type: check, provider: bureau, with: {name: Asha}, next: done}
          done: {type: end}
`
	c.bootstrap = strings.NewReplacer("VENDOR/", c.ca.serve(t, "127.0.0.1", yearly, silent(t)).URL+"/",
		"RECEIVER/", c.ca.serve(t, "127.0.0.1", yearly, silent(t)).URL+"/").Replace(c.bootstrap)
	c.settings = map[string]any{
		"data_dir": c.file("data"), "disk_reserve": 128 << 20, "bootstrap": c.file("bootstrap.yaml"), "signing_key_file": c.file("keys.json"),
		"search_key_file": c.file("search-key"), "public_url": c.ca.serve(t, "127.0.0.1", yearly, silent(t)).URL, "allow_private_networks": true,
		"oidc_issuer": oidctest.New(t, time.Now).URL, "oidc_audience": "reviewers",
	}
	return c
}

func (c *checkup) file(name string) string { return filepath.Join(c.folder, name) }

func (c *checkup) write(name, text string) {
	c.Helper()
	if err := os.WriteFile(c.file(name), []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// onDatabase moves the host to a database.
func (c *checkup) onDatabase(address string) {
	c.Helper()
	delete(c.settings, "data_dir")
	c.settings["database_url"], c.settings["blob_dir"] = address, c.file("uploads")
	if u, err := url.Parse(address); err == nil {
		if password, has := u.User.Password(); has {
			c.secrets = append(c.secrets, password, url.QueryEscape(password))
		}
	}
}

// look runs preflight, and returns its findings.
func (c *checkup) look(flags ...string) (found []finding, code int) {
	c.Helper()
	raw, err := json.Marshal(c.settings)
	if err != nil {
		c.Fatal(err)
	}
	c.write("verifyd.yaml", string(raw))
	c.write("bootstrap.yaml", c.bootstrap)
	before := c.files()
	var stdout, stderr bytes.Buffer
	roots := x509.NewCertPool()
	roots.AddCert(c.ca.certificate)
	code = run(c.Context(), append([]string{"preflight", "--json", "--config", c.file("verifyd.yaml")}, flags...), session{
		getenv: func(name string) string { return c.env[name] }, stdout: &stdout, stderr: &stderr, clock: c.clock, server: postgresServer(), roots: roots,
	})
	if err := json.Unmarshal(stdout.Bytes(), &found); err != nil {
		c.Fatalf("preflight printed %s%s: %v", &stdout, &stderr, err)
	}
	for _, secret := range c.secrets {
		if strings.Contains(stdout.String()+stderr.String(), secret) {
			c.Errorf("a secret was printed:\n%s", &stdout)
		}
	}
	if after := c.files(); !c.live && !slices.Equal(before, after) {
		c.Errorf("the files are %q, and were %q before", after, before)
	}
	return found, code
}

// files returns the names of all files.
func (c *checkup) files() (names []string) {
	_ = filepath.WalkDir(c.folder, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}) // a folder that cannot be read counts as one name
	return names
}

// statusesOf returns the worst status of each check.
func statusesOf(found []finding) map[string]health {
	worst := map[string]health{}
	for _, f := range found {
		if worst[f.Check] == "" || f.Status == healthFail || f.Status == healthWarn && worst[f.Check] == healthOK {
			worst[f.Check] = f.Status
		}
	}
	return worst
}

// holds compares the findings that are not ok with what is expected: CHECK STATUS, for each.
func (c *checkup) holds(found []finding, code int, says string, want ...string) {
	c.Helper()
	var got []string
	for check, status := range statusesOf(found) {
		if status != healthOK && check != "user" && check != "durability" { // tests run as root, on a server without fsync
			got = append(got, check+" "+string(status))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	wanted := exitDone
	if strings.Contains(strings.Join(want, ";"), " fail") {
		wanted = exitProblems
	}
	if !slices.Equal(got, want) || code != wanted {
		c.Errorf("not ok: %q with exit %d, want %q and %d\n%s", got, code, want, wanted, describeAll(found))
	}
	if !strings.Contains(describeAll(found), says) {
		c.Errorf("nothing says %q:\n%s", says, describeAll(found))
	}
	for _, f := range found {
		if f.Status != healthOK && (f.Message == "" || f.Advice == "" && f.Check != "mode" && f.Check != "database") {
			c.Errorf("no message or no advice: %+v", f)
		}
	}
}

func describeAll(found []finding) string {
	return strings.Join(mapSlice(found, func(f finding) string { return strings.Join(f.row(), "  ") }), "\n")
}

func TestAHostStartsWithWhatPreflightFoundGood(t *testing.T) {
	for name, address := range map[string]func() string{"folder": func() string { return "" }, "database": func() string { return pgtest.Empty(t) }} {
		t.Run(name, func(t *testing.T) {
			c := newCheckup(t)
			if to := address(); to != "" {
				c.onDatabase(to)
			}
			found, code := c.look()
			c.holds(found, code, "")
			for _, check := range []string{
				"version", "settings", "uploads", "ledger of erasures", "signing keys", "search key", "bootstrap", "list", "vendor", "receiver", "oidc issuer", "public url", "clock",
			} {
				if statusesOf(found)[check] == "" {
					t.Errorf("no line about %s:\n%s", check, describeAll(found))
				}
			}
			vars := []string{asProgram + "=verifyd", "VERIFYD_CONFIG=" + c.file("verifyd.yaml"), "VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0"}
			for name, value := range c.env {
				vars = append(vars, name+"="+value)
			}
			h, err := process.StartHost(process.HostOptions{Program: os.Args[0], Name: "host", Env: vars})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = h.Kill() }) // it may have ended
			c.live = true
			found, code = c.look() // before an upgrade
			if name == "folder" {
				c.holds(found, code, "it must stop before another one starts", "host warn")
			} else {
				c.holds(found, code, "16 for each of 2 hosts with this one")
			}
			if err := h.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The flags of preflight that are those of a host have the same names, types and defaults.
func TestPreflightKnowsTheFlagsOfAHost(t *testing.T) {
	ours, theirs := reflect.TypeFor[hostFlags](), reflect.TypeFor[verifyd.Settings]()
	for i := range ours.NumField() {
		f := ours.Field(i)
		of, is := theirs.FieldByName(f.Name)
		name := f.Tag.Get("name")
		if name == "" {
			name = strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(f.Tag.Get("variable"), "VERIFYD_")), "_", "-")
		}
		if !is || of.Type != f.Type || of.Tag.Get("default") != f.Tag.Get("default") || of.Tag.Get("name") != "" && of.Tag.Get("name") != name || cli.Variable(name) != f.Tag.Get("variable") {
			t.Errorf("%s: %s %s, and a host has %s %s", f.Name, f.Type, f.Tag, of.Type, of.Tag)
		}
	}
}

func TestEachCheckOfServersAndFilesFails(t *testing.T) {
	closed, hanging := "https://127.0.0.1:1", listening(t)
	for name, tt := range map[string]struct {
		change func(c *checkup)
		says   string
		want   []string
	}{
		"a vendor on a closed port": {func(c *checkup) { c.moves("base_url: ", closed) }, "bureau https://127.0.0.1:1 cannot be reached: connection refused", []string{"vendor fail"}},
		"a vendor that hangs":       {func(c *checkup) { c.moves("base_url: ", hanging) }, "no complete response within 5s", []string{"vendor fail"}},
		"a vendor without a name": {
			func(c *checkup) { c.moves("base_url: ", "https://vendor.invalid") }, "its name cannot be resolved", []string{"vendor fail"},
		},
		"an expired vendor": {
			func(c *checkup) { c.moves("base_url: ", c.ca.serve(c.T, "127.0.0.1", -time.Hour, silent(c.T)).URL) },
			"x509: certificate has expired",
			[]string{"vendor fail"},
		},
		"a vendor that expires soon": {
			func(c *checkup) {
				c.moves("base_url: ", c.ca.serve(c.T, "127.0.0.1", 13*24*time.Hour, silent(c.T)).URL)
			}, "valid until", []string{"vendor warn"},
		},
		"a vendor of another authority": {
			func(c *checkup) {
				c.moves("base_url: ", newAuthority(c.T).serve(c.T, "127.0.0.1", yearly, silent(c.T)).URL)
			},
			"signed by unknown authority",
			[]string{"vendor fail"},
		},
		"a vendor with another name": {
			func(c *checkup) { c.moves("base_url: ", c.ca.serve(c.T, "127.0.0.2", yearly, silent(c.T)).URL) }, "not 127.0.0.1", []string{"vendor fail"},
		},
		"a vendor without TLS": {
			func(c *checkup) {
				s := httptest.NewServer(silent(c.T))
				c.Cleanup(s.Close)
				c.moves("base_url: ", s.URL)
			}, "answers, without TLS", []string{"vendor warn"},
		},
		"private addresses": {
			func(c *checkup) { delete(c.settings, "allow_private_networks") },
			"its address is private or reserved",
			[]string{"vendor fail", "receiver fail"},
		},
		"a receiver on a closed port": {func(c *checkup) { c.moves("lifecycle_webhook_url: ", closed) }, closed + " cannot be reached", []string{"receiver fail"}},
		"a receiver of nobody": {
			func(c *checkup) {
				c.moves("lifecycle_webhook_url: ", newAuthority(c.T).serve(c.T, "127.0.0.1", yearly, silent(c.T)).URL)
			}, "signed by unknown authority", []string{"receiver fail"},
		},
		"no public URL":             {func(c *checkup) { delete(c.settings, "public_url") }, "links of journeys lead to the address of the host", []string{"public url warn"}},
		"a wrong public URL":        {func(c *checkup) { c.settings["public_url"] = "https://127.0.0.1/?q" }, "must not have a query", []string{"public url fail"}},
		"a public URL of nobody":    {func(c *checkup) { c.settings["public_url"] = closed }, "does not answer yet", []string{"public url warn"}},
		"a public URL that is lost": {func(c *checkup) { c.settings["public_url"] = "https://verify.invalid" }, "its name cannot be resolved", []string{"public url fail"}},
		"an expired public URL": {
			func(c *checkup) { c.settings["public_url"] = c.ca.serve(c.T, "127.0.0.1", -time.Hour, silent(c.T)).URL },
			"has expired",
			[]string{"public url fail"},
		},
		"an issuer on a closed port": {func(c *checkup) { c.settings["oidc_issuer"] = closed }, "connection refused", []string{"oidc issuer fail"}},
		"an issuer without keys": {
			func(c *checkup) {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"keys":[]}`) }))
				c.Cleanup(s.Close)
				c.settings["oidc_jwks_url"] = s.URL
			}, "key", []string{"oidc issuer fail"},
		},
		"a secret that is not set":   {func(c *checkup) { delete(c.env, "VERIFYD_SECRET_VENDOR") }, "VENDOR", []string{"bootstrap fail"}},
		"a variable that is empty":   {func(c *checkup) { delete(c.env, "API_KEY") }, "the environment variable API_KEY is not set", []string{"bootstrap fail"}},
		"a bootstrap file of lies":   {func(c *checkup) { c.bootstrap += "  - tenant: 7\n" }, "bootstrap.yaml:", []string{"bootstrap fail"}},
		"no bootstrap file":          {func(c *checkup) { c.settings["bootstrap"] = c.file("none.yaml") }, "no such file", []string{"bootstrap fail"}},
		"no folder of secrets":       {func(c *checkup) { c.settings["secrets_dir"] = c.file("none") }, "is not a folder", []string{"bootstrap fail"}},
		"a workflow without a node":  {func(c *checkup) { c.moves("start: ", "nowhere") }, "start", []string{"bootstrap fail"}},
		"a file without a tenant":    {func(c *checkup) { c.bootstrap = "tenants: []" }, "no tenant", []string{"bootstrap warn"}},
		"a list that is missing":     {func(c *checkup) { c.remove("list.csv") }, "sanctions: ", []string{"list fail"}},
		"a list that cannot be read": {func(c *checkup) { c.write("list.csv", "id,schema\n1,Person\n") }, "sanctions: ", []string{"list fail"}},
		"a list that is too large":   {func(c *checkup) { c.settings["list_bytes"] = 1 << 20; c.write("list.csv", manyNames()) }, "--list-bytes", []string{"list fail"}},
		"a list that is too old": {
			func(c *checkup) {
				c.bootstrap = strings.Replace(c.bootstrap, "format: opensanctions}", "format: opensanctions, max_age_hours: 24}", 1)
				old := time.Now().Add(-48 * time.Hour)
				if err := os.Chtimes(c.file("list.csv"), old, old); err != nil {
					c.Fatal(err)
				}
			}, "older than its max_age", []string{"list warn"},
		},
		"a search key that is short":     {func(c *checkup) { c.write("search-key", "short") }, "has 5 bytes and must have at least 32", []string{"search key fail"}},
		"no search key":                  {func(c *checkup) { c.remove("search-key") }, "no such file", []string{"search key fail"}},
		"signing keys that are none":     {func(c *checkup) { c.write("keys.json", "{}") }, "or restore it", []string{"signing keys fail"}},
		"signing keys for everyone":      {func(c *checkup) { c.chmod("keys.json", 0o644) }, "everyone on this machine can read", []string{"signing keys warn"}},
		"a data folder that is a file":   {func(c *checkup) { c.write("data", "") }, "not a directory", []string{"folder fail", "journal fail", "owner fail", "host fail", "uploads fail"}},
		"a folder that others can open":  {func(c *checkup) { c.mkdir("data"); c.chmod("data", 0o755) }, "chmod 700", []string{"mode warn"}},
		"a disk without its reserve":     {func(c *checkup) { c.settings["disk_reserve"] = 1 << 60 }, "new runs and uploads get 503", []string{"folder fail", "uploads fail"}},
		"a folder of another user":       {func(c *checkup) { c.used(); c.chown("data/journal") }, "chown -R 0", []string{"owner fail"}},
		"a folder that a process has":    {func(c *checkup) { c.held() }, "another host has the folder: process ", []string{"host warn"}},
		"a journal with damage":          {func(c *checkup) { c.used(); c.damage() }, "cannot be read at offset", []string{"journal fail"}},
		"a folder that lost its keys":    {func(c *checkup) { c.used(); delete(c.settings, "signing_key_file") }, "signing-keys.json", []string{"signing keys fail"}},
		"a folder that lost its ledger":  {func(c *checkup) { c.used() }, "", nil},
		"a folder with a damaged ledger": {func(c *checkup) { c.used(); c.owes() }, "no host starts without it", []string{"ledger of erasures fail"}},
		"uploads in a file":              {func(c *checkup) { c.write("uploads", ""); c.settings["blob_dir"] = c.file("uploads") }, "not a directory", []string{"uploads fail"}},
		"a bucket":                       {func(c *checkup) { c.bucket("uploads") }, "could be written to the bucket, read and removed", nil},
		"a bucket that is not there":     {func(c *checkup) { c.bucket("others") }, "check the settings of S3", []string{"uploads fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCheckup(t)
			tt.change(c)
			found, code := c.look()
			c.holds(found, code, tt.says, tt.want...)
		})
	}
}

func TestEachCheckOfADatabaseFails(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(c *checkup, address string) string // returns another address, or ""
		says   string
		want   []string
	}{
		"a closed port": {func(_ *checkup, address string) string {
			return moved(t, address, func(u *url.URL) { u.Host = "127.0.0.1:1" })
		}, "connection refused", notReached()},
		"a wrong password": {
			func(_ *checkup, address string) string {
				return moved(t, address, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong@:/?#%") })
			}, "password authentication failed", notReached(),
		},
		"a pooler of transactions": {
			func(c *checkup, address string) string { return pgtest.Pooler(c.T, address, "transaction") },
			"pool_mode in pgbouncer", append([]string{"database fail"}, notReached()[1:2]...),
		},
		"a setting that stays": {
			func(c *checkup, address string) string {
				return c.alters(address, "ALTER DATABASE %I SET session_replication_role = 'replica'")
			}, "session_replication_role", append([]string{"database fail"}, notReached()[1:2]...),
		},
		"a superuser": {func(c *checkup, address string) string { return pgtest.Admin(c.T, address) }, "without SUPERUSER", []string{"role warn"}},
		"a read-only server": {func(c *checkup, address string) string {
			return c.alters(address, "ALTER DATABASE %I SET default_transaction_read_only = on")
		}, "the URL of the primary", []string{"writes fail"}},
		"a role that may not create a schema": {
			func(c *checkup, address string) string {
				return c.alters(address, "ALTER DATABASE %I OWNER TO CURRENT_USER")
			},
			"CREATE on the database",
			[]string{"rights fail", "database warn"},
		},
		"a role without grants": {
			func(c *checkup, address string) string {
				c.migrates(address)
				c.settings["migrate"] = "never"
				return c.app(address, "")
			}, "USAGE on the schema", []string{"rights fail", "database warn"},
		},
		"a role with some grants": {
			func(c *checkup, address string) string {
				c.migrates(address)
				c.settings["migrate"] = "never"
				return c.app(address, "GRANT USAGE ON SCHEMA verifyd TO app; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA verifyd TO app; GRANT USAGE ON ALL SEQUENCES IN SCHEMA verifyd TO app")
			}, "DELETE on ", []string{"rights fail", "database warn"},
		},
		"a role that does not own the tables": {
			func(c *checkup, address string) string {
				c.migrates(address)
				return c.app(address, "GRANT ALL ON SCHEMA verifyd TO app; GRANT ALL ON ALL TABLES IN SCHEMA verifyd TO app; GRANT USAGE ON ALL SEQUENCES IN SCHEMA verifyd TO app")
			}, "ownership of ", []string{"rights fail", "database warn"},
		},
		"a schema of another program": {
			func(c *checkup, address string) string {
				return c.executes(address, "CREATE SCHEMA verifyd; CREATE TABLE verifyd.orders (n int)")
			}, "with orders", []string{"schema fail"},
		},
		"a database of another build": {
			func(c *checkup, address string) string {
				c.migrates(address)
				return c.executes(address, "UPDATE verifyd.migration_files SET sha256 = 'of another build'")
			}, "another build of verifyd made this database", []string{"migrations fail", "database warn"},
		},
		"migrations that are missing": {
			func(c *checkup, _ string) string { c.settings["migrate"] = "never"; return "" }, "run verifyctl migrate up", []string{"migrations fail", "database warn"},
		},
		"an encoding without names": {
			func(c *checkup, address string) string {
				other := "ascii_" + strings.ToLower(rand.Text())
				c.executes(pgtest.Admin(c.T, address), "CREATE DATABASE "+other+" ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
				c.Cleanup(func() { c.executes(pgtest.Admin(c.T, address), "DROP DATABASE "+other) })
				return moved(c.T, pgtest.Admin(c.T, address), func(u *url.URL) { u.Path = "/" + other })
			}, "the encoding SQL_ASCII", []string{"encoding fail", "role warn"},
		},
		"too few connections":     {func(c *checkup, _ string) string { c.settings["database_conns"] = 1000; return "" }, "raise max_connections", []string{"connections fail"}},
		"another clock":           {func(c *checkup, _ string) string { c.clock = late{}; return "" }, "ahead of the clock of this machine", []string{"clock fail"}},
		"uploads in memory":       {func(c *checkup, _ string) string { delete(c.settings, "blob_dir"); return "" }, "no ledger of erasures", []string{"uploads warn"}},
		"a receiver of a client":  {func(c *checkup, address string) string { c.applies(address); return "" }, "https://127.0.0.1:1 cannot be reached", []string{"receiver fail"}},
		"a database that is fine": {func(c *checkup, address string) string { c.migrates(address); return "" }, "the newest is", nil},
		"an account of another id": {func(c *checkup, address string) string {
			c.applies(address)
			c.moves("- id: ", "00000000-0000-7000-8000-0000000000bb")
			return ""
		}, "acme", []string{"bootstrap fail", "receiver fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckup(t)
			address := pgtest.Empty(t)
			c.onDatabase(address)
			if to := tt.change(c, address); to != "" {
				c.onDatabase(to)
			}
			found, code := c.look()
			c.holds(found, code, tt.says, tt.want...)
		})
	}
}

// notReached is what is not ok without a connection.
func notReached() []string { return []string{"connection fail", "clock warn", "database warn"} }

func TestAConnectionToAnotherMachineIsJudged(t *testing.T) {
	for _, tt := range []struct {
		found pgschema.Fitness
		want  health
	}{
		{pgschema.Fitness{Local: true}, healthOK},
		{pgschema.Fitness{}, healthWarn},
		{pgschema.Fitness{Encrypted: true}, healthWarn},
		{pgschema.Fitness{Encrypted: true, Verified: true}, healthOK},
	} {
		if got := transit(tt.found); got.Status != tt.want {
			t.Errorf("%+v is %+v, want %s", tt.found, got, tt.want)
		}
	}
}

func TestASecondHostMayLackConnections(t *testing.T) {
	c := preflight{hostFlags: hostFlags{DatabaseConns: 16}}
	for hosts, want := range map[int]health{0: healthOK, 1: healthWarn} {
		if got := c.room(pgschema.Fitness{MaxConnections: 30, Hosts: hosts}); got.Status != want {
			t.Errorf("beside %d hosts: %+v, want %s", hosts, got, want)
		}
	}
}

// Tests may run as root, for whom every folder can be written.
func TestAReadOnlyFolderCannotBeUsed(t *testing.T) {
	folder := filepath.Join("/proc", fmt.Sprint(os.Getpid()))
	if _, err := probe(folder); err == nil {
		t.Errorf("%s can be written", folder)
	}
	if _, err := probe(filepath.Join(folder, "new", "data")); err == nil {
		t.Errorf("a folder in %s can be written", folder)
	}
}

// late is the clock of a machine that is a minute behind.
type late struct{ clock.System }

func (late) Now() time.Time { return time.Now().Add(-time.Minute) }

// listening returns the address of a server that accepts connections, and says nothing.
func listening(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // nothing was written
	return "https://" + l.Addr().String()
}

// moves replaces the rest of the line after a text of the bootstrap file.
func (c *checkup) moves(after, to string) {
	c.Helper()
	before, rest, found := strings.Cut(c.bootstrap, after)
	if !found {
		c.Fatalf("the bootstrap file has no %q", after)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	c.bootstrap = before + after + to + "\n" + rest
}

func (c *checkup) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *checkup) remove(name string) { c.Helper(); c.must(os.Remove(c.file(name))) }

func (c *checkup) mkdir(name string) { c.Helper(); c.must(os.MkdirAll(c.file(name), 0o700)) }

func (c *checkup) chmod(name string, mode os.FileMode) {
	c.Helper()
	c.must(os.Chmod(c.file(name), mode))
}

// chown gives a folder to another user. Without the right to do so, the test is of no use.
func (c *checkup) chown(name string) {
	c.Helper()
	if os.Geteuid() != 0 {
		c.Skip("only root can give a folder to another user")
	}
	c.must(os.Chown(c.file(name), 65534, 65534))
}

// used makes a data folder that a host has used.
func (c *checkup) used() { c.Helper(); c.must(c.take().Close()) }

// held makes a data folder that a process has.
func (c *checkup) held() {
	c.Helper()
	h := c.take()
	c.Cleanup(func() { _ = h.Close() }) // it was not changed
}

func (c *checkup) take() *operator.Held {
	c.Helper()
	c.mkdir("data/documents")
	h, err := operator.Take(c.Context(), datadir.Folder(c.file("data")), journal.Options{OpenedAt: time.Now()})
	if err == nil {
		err = h.SaveRecords(c.Context(), []store.Record{store.TenantRecord{Tenant: verification.Tenant{ID: "00000000-0000-7000-8000-0000000000cc", Name: "Other", WebhookSecret: "whsec_Y3Jhc2ggdGVzdHMgYXJlIG5vIHNlY3JldHMgYXQgYWxsIQ=="}}})
	}
	c.must(err)
	return h
}

// damage changes a byte in the first third of the journal.
func (c *checkup) damage() {
	c.Helper()
	files, err := filepath.Glob(c.file("data/journal/*"))
	c.must(err)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		c.must(err)
		if i := bytes.Index(raw, []byte("Other")); i > 0 {
			raw[i] ^= 4
			c.must(os.WriteFile(name, raw, 0o600))
			return
		}
	}
	c.Fatal("no file of the journal has the tenant")
}

// owes makes the store know entries that the ledger lacks.
func (c *checkup) owes() {
	c.Helper()
	h, err := operator.Take(c.Context(), datadir.Folder(c.file("data")), journal.Options{OpenedAt: time.Now()})
	if err == nil {
		err = store.Tables{RowStore: h}.SaveLedgerMark(c.Context(), store.LedgerMark{}, store.LedgerMark{ID: "l", Last: 2, Applied: 2}, nil)
	}
	if err == nil {
		err = h.Close()
	}
	c.must(err)
}

// bucket moves the uploads to a bucket of an object store that has the bucket uploads.
func (c *checkup) bucket(name string) {
	c.Helper()
	objects := s3mem.New()
	c.must(objects.CreateBucket("uploads"))
	at := c.ca.serve(c.T, "127.0.0.1", yearly, gofakes3.New(objects).Server())
	secret := rand.Text()
	c.secrets = append(c.secrets, secret)
	maps.Copy(c.settings, map[string]any{
		"s3_endpoint": strings.TrimPrefix(at.URL, "https://"), "s3_bucket": name, "s3_region": "us-east-1", "s3_access_key": "key", "s3_secret_key": secret,
	})
	c.Cleanup(func() {
		if list, err := objects.ListBucket("uploads", nil, gofakes3.ListBucketPage{}); err != nil || len(list.Contents) > 0 {
			c.Errorf("the bucket has %v, %v, want nothing", list, err)
		}
	})
}

// manyNames is a list that needs more than a mebibyte.
func manyNames() string {
	var all strings.Builder
	all.WriteString("id,schema,name,aliases\n")
	for n := range 20000 {
		fmt.Fprintf(&all, "n-%d,Person,Asha %s,\n", n, rand.Text())
	}
	return all.String()
}

func moved(t *testing.T, address string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func (c *checkup) migrates(address string) {
	c.Helper()
	_, err := pgschema.Up(c.Context(), address)
	c.must(err)
}

// executes sends statements, and returns the address.
func (c *checkup) executes(address, statements string) string {
	c.Helper()
	ctx := context.WithoutCancel(c.Context())
	conn, err := pgx.Connect(ctx, address)
	c.must(err)
	_, err = conn.Exec(ctx, statements)
	c.must(err)
	c.must(conn.Close(ctx))
	return address
}

// alters sends a statement about the database as the owner of the server.
func (c *checkup) alters(address, statement string) string {
	c.Helper()
	u, err := url.Parse(address)
	c.must(err)
	c.executes(pgtest.Admin(c.T, address), strings.ReplaceAll(statement, "%I", pgx.Identifier{strings.TrimPrefix(u.Path, "/")}.Sanitize()))
	return address
}

// app returns the address for a new role with some grants.
func (c *checkup) app(address, grants string) string {
	c.Helper()
	role := "app_" + strings.ToLower(rand.Text())
	admin := pgtest.Admin(c.T, address)
	c.executes(admin, "CREATE ROLE "+role+" LOGIN PASSWORD 'hush@hush'; "+strings.ReplaceAll(grants, "TO app", "TO "+role))
	c.Cleanup(func() { c.executes(admin, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	return moved(c.T, address, func(u *url.URL) { u.User = url.UserPassword(role, "hush@hush") })
}

// applies applies the bootstrap file as a host does, with another receiver.
func (c *checkup) applies(address string) {
	c.Helper()
	c.migrates(address)
	file := strings.Replace(c.bootstrap, "\n        lifecycle_webhook_url: ", "\n        lifecycle_webhook_url: https://127.0.0.1:1/#", 1)
	c.write("other.yaml", strings.ReplaceAll(file, "/#https", "/https"))
	var stdout, stderr bytes.Buffer
	env := maps.Clone(c.env)
	env["VERIFYD_DATABASE_URL"] = address
	if code := run(c.Context(), []string{"apply", c.file("other.yaml")}, session{
		getenv: func(name string) string { return env[name] }, stdout: &stdout, stderr: &stderr, clock: c.clock, server: postgresServer(),
	}); code != exitDone {
		c.Fatalf("apply says %s%s", &stdout, &stderr)
	}
}
