// Tests of the search key.

package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestAHostSaysWhetherItFindsPeople(t *testing.T) {
	const first, second = "the first search key of this database", "another search key, of another team"
	url, file := pgtest.Database(t), filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(second+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var checks []string
	for _, tt := range []struct {
		name, variable, value string
		said                  string // in the log
		replaced              bool
	}{
		{"without a key", "VERIFYD_SEARCH_KEY", "", "search for people is off", false},
		{"with the first key", "VERIFYD_SEARCH_KEY", first, "", false},
		{"with the same key", "VERIFYD_SEARCH_KEY", first, "", false},
		{"with another key", "VERIFYD_SEARCH_KEY_FILE", file, "is not the one that this database was first used with", true},
		{"with the first key again", "VERIFYD_SEARCH_KEY", first, "", false},
		{"without a key again", "VERIFYD_SEARCH_KEY", "", "was first used with a search key, and this host has none", true},
	} {
		s := serveHost(t, onPostgres(url, "VERIFYD_LOG_LEVEL", "info", tt.variable, tt.value))
		facts := factsOf(t, url, 1)[0]
		if facts.SearchKeyReplaced != tt.replaced || (facts.SearchKey == "") != (tt.value == "") {
			t.Errorf("%s: the facts are %+v", tt.name, facts.HostFacts)
		}
		checks = append(checks, facts.SearchKey)
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		log := s.stderr.String()
		for _, line := range []string{"search for people is off", "is not the one that this database was first used with", "was first used with a search key, and this host has none"} {
			if got := strings.Contains(log, line); got != (line == tt.said) {
				t.Errorf("%s: the log has %q: %t", tt.name, line, got)
			}
		}
		if strings.Contains(log, first) || strings.Contains(log, second) || strings.Contains(facts.String(), "search key") {
			t.Errorf("%s: the log or the facts have the key", tt.name)
		}
	}
	if checks[1] != checks[2] || checks[1] == checks[3] {
		t.Errorf("the hashes of the keys are %q", checks)
	}
}
