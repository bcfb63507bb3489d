package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
)

func TestATokenOfANewKeyIsValidForItsTTL(t *testing.T) {
	const tenant = "0191f3c0-0000-7000-8000-00000000000a"
	var set, issued, stderr bytes.Buffer
	if code := run(t.Context(), []string{"token", "new-key"}, bare(&set, &stderr)); code != exitDone {
		t.Fatalf("new-key = %d %s", code, &stderr)
	}
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, set.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"token", "issue", "--signing-key-file", file, "--tenant", tenant, "--reviewer", "asha", "--ttl", "1h", "--team", "seniors", "--team", "KYC fraud"}
	if code := run(t.Context(), args, bare(&issued, &stderr)); code != exitDone {
		t.Fatalf("issue = %d %s", code, &stderr)
	}
	keys, err := token.ReadKeys(set.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	raw := strings.TrimSuffix(issued.String(), "\n")
	b, err := reviewer.NewIssuer(keys).Verify(raw, time.Now())
	if err != nil || b.Tenant != tenant || b.Name != "asha" || strings.Join(b.Teams, ",") != "seniors,KYC fraud" {
		t.Errorf("token = %+v, %v; want one of asha for the tenant, in two teams", b, err)
	}
	if _, err := reviewer.NewIssuer(keys).Verify(raw, time.Now().Add(61*time.Minute)); err == nil {
		t.Error("the token holds longer than an hour")
	}
	for _, bad := range [][]string{
		{"token", "issue", "--signing-key-file", file, "--tenant", "acme", "--reviewer", "asha"},
		{"token", "issue", "--signing-key-file", file + "x", "--tenant", tenant, "--reviewer", "asha"},
		{"token", "issue", "--tenant", tenant, "--reviewer", "asha"},
	} {
		stderr.Reset()
		issued.Reset()
		if code := run(t.Context(), bad, bare(&issued, &stderr)); code != exitUsage || issued.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v = %d, %q, %q; want one line on stderr and exit 2", bad, code, &issued, &stderr)
		}
	}
}

func TestASigningKeyIsRotatedInItsFile(t *testing.T) {
	var stdout, stderr bytes.Buffer
	ctl := func(args ...string) (string, int) {
		t.Helper()
		stdout.Reset()
		code := run(t.Context(), append([]string{"token"}, args...), bare(&stdout, &stderr))
		return strings.TrimSuffix(stdout.String(), "\n"), code
	}
	set, _ := ctl("new-key")
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, []byte(set), 0o640); err != nil {
		t.Fatal(err)
	}
	kids := func() []string {
		t.Helper()
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := token.ReadKeys(raw)
		if err != nil {
			t.Fatal(err)
		}
		return keys.IDs()
	}
	first := kids()[0]
	second, _ := ctl("new-key", "--append", file)
	if diff := cmp.Diff([]string{first, second}, kids()); diff != "" {
		t.Errorf("kids after --append (-want +got):\n%s", diff)
	}
	if moved, code := ctl("use-key", file); moved != second || code != exitDone {
		t.Errorf("use-key = %q, %d %s; want %s", moved, code, &stderr, second)
	}
	if diff := cmp.Diff([]string{second, first}, kids()); diff != "" {
		t.Errorf("kids after use-key (-want +got):\n%s", diff)
	}
	if _, code := ctl("use-key", file, first); code != exitDone || kids()[0] != first {
		t.Errorf("use-key %s = %d %s, kids %v", first, code, &stderr, kids())
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has the mode %v, %v; want the one that it had", info.Mode(), err)
	}
	for _, bad := range [][]string{{"use-key", file, "nobody"}, {"use-key", file + "x"}, {"new-key", "--append", file + "x"}} {
		if _, code := ctl(bad...); code != exitUsage || len(kids()) != 2 {
			t.Errorf("%v = %d, kids %v; want exit 2 and no change", bad, code, kids())
		}
	}
}

func TestATokenOfAKeyThatNoHostHasIsWarnedOf(t *testing.T) {
	w := onMemory(t)
	r := newRemembered()
	w.server = r.server()
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	issue := func(facts ...cli.HostFacts) (warned bool) {
		t.Helper()
		r.hosts = nil
		for _, f := range facts {
			r.hosts = append(r.hosts, pgadmin.Host{Host: postgres.Host{ID: "00000000-0000-7000-8000-000000000001", Facts: f.String()}, Alive: true})
		}
		before := w.said.Len()
		w.ctl("token issue --tenant Acme --reviewer asha")
		said := w.said.String()[before:]
		if !strings.Contains(said, "exit 0") {
			t.Fatalf("token issue: %s", said)
		}
		return strings.Contains(said, "no live host has the signing key")
	}
	if issue() {
		t.Error("a warning without a live host")
	}
	stored, err := token.SharedKeys(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	old, current := cli.HostFacts{Keys: stored.IDs()}, cli.HostFacts{Keys: []string{"of-a-file"}}
	if !issue(current, current) {
		t.Error("no warning although the hosts have other keys")
	}
	if issue(current, old) {
		t.Error("a warning although a live host has the key")
	}
}
