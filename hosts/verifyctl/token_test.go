package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
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
	args := []string{"token", "issue", "--signing-key-file", file, "--tenant", tenant, "--reviewer", "asha", "--ttl", "1h"}
	if code := run(t.Context(), args, bare(&issued, &stderr)); code != exitDone {
		t.Fatalf("issue = %d %s", code, &stderr)
	}
	keys, err := token.ReadKeys(set.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	raw := strings.TrimSuffix(issued.String(), "\n")
	b, err := token.NewIssuer(keys).Verify(raw, time.Now())
	if err != nil || b.Tenant != tenant || b.Name != "asha" {
		t.Errorf("token = %+v, %v; want one of asha for the tenant", b, err)
	}
	if _, err := token.NewIssuer(keys).Verify(raw, time.Now().Add(61*time.Minute)); err == nil {
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
