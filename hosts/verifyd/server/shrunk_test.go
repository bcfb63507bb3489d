// Tests of a list that lost more than half of its entries.

package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

// listOf returns a list of n people.
func listOf(n int) string {
	var list strings.Builder
	list.WriteString("name\n")
	for i := range n {
		fmt.Fprintf(&list, "Ivan%d Testov%d\n", i, i)
	}
	return list.String()
}

// onBoth calls f for a data folder and for a database, with the settings of their hosts and what operators see of them.
func onBoth(t *testing.T, f func(t *testing.T, settings map[string]string, ledger func() bootstrap.Ledger)) {
	t.Run("folder", func(t *testing.T) {
		folder := newFolder(t)
		f(t, onFolder(folder), func() bootstrap.Ledger {
			d, err := operator.Open(t.Context(), folder, operator.Options{Now: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
			return d
		})
	})
	t.Run("postgres", func(t *testing.T) {
		url := pgtest.Database(t)
		f(t, map[string]string{"VERIFYD_DATABASE_URL": url}, func() bootstrap.Ledger {
			s, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 2, SingleHost: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return pgadmin.Of(s)
		})
	})
}

// screens runs the workflow for a person who is on no list, and returns the report.
func (s *served) screens() string {
	s.t.Helper()
	run := s.run(http.MethodPost, s.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000077/runs",
		`{"reference_id":"r","input":{"name":"Asha Rao"}}`, "prefer", "wait=10")
	if run.Status != "completed" {
		s.t.Fatalf("run %+v, want it completed", run)
	}
	_, report, _ := s.call(http.MethodGet, s.api+"/v1/runs/"+run.ID+"?view=report", "")
	return string(report)
}

func TestNobodyPassesByACutList(t *testing.T) {
	onBoth(t, func(t *testing.T, settings map[string]string, ledger func() bootstrap.Ledger) {
		file := writeBootstrap(t, listOf(150))
		settings["VERIFYD_BOOTSTRAP"] = file
		first := serveHost(t, settings)
		if report := first.screens(); !strings.Contains(report, `"decision":null`) {
			t.Fatalf("the whole list: %s", report)
		}
		if settings["VERIFYD_DATA_DIR"] != "" {
			if err := first.end(); err != nil { // a folder has one host
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), "list.csv"), []byte(listOf(12)), 0o600); err != nil {
			t.Fatal(err)
		}
		cut := serveHost(t, settings)
		if settings["VERIFYD_DATA_DIR"] == "" {
			if err := first.end(); err != nil { // so that the run is executed by the second host
				t.Fatal(err)
			}
		}
		const says = "the list lost more than half of its entries (138 of 150), and nobody has accepted this version"
		if report := cut.screens(); !strings.Contains(report, `"decision":"review"`) || !strings.Contains(report, says) || !strings.Contains(report, `"analysis_ok":false`) {
			t.Errorf("the cut list: %s, want a review and why", report)
		}
		if _, metrics, _ := cut.call(http.MethodGet, cut.admin+"/metrics", ""); !strings.Contains(string(metrics), `verifyd_list_unaccepted{list="sanctions"} 1`) {
			t.Error("the metrics do not say that a version waits")
		}
		if log := cut.stderr.String(); !strings.Contains(log, "every check against it needs a reviewer until somebody accepts it") {
			t.Errorf("the log does not say that a version waits:\n%s", log)
		}
		operators := ledger()
		var waits cli.ShrunkList
		within(t, 20*time.Second, "says that a version waits", func() bool { // in its heartbeats
			hosts, err := operators.Hosts(t.Context())
			for _, h := range hosts {
				if facts, err := cli.ParseHostFacts(h.Facts); err == nil && facts.ShrunkLists["sanctions"].Version != "" {
					waits = facts.ShrunkLists["sanctions"]
				}
			}
			return err == nil && waits.Version != ""
		})
		if waits.Entries != 12 || waits.Accepted != 150 || !waits.InUse {
			t.Fatalf("the host says %+v, want 12 of 150 entries in use", waits)
		}
		if err := operators.SaveAcceptedList(t.Context(), pgadmin.AcceptedList{List: "sanctions", Versions: []string{waits.Version}}); err != nil {
			t.Fatal(err)
		}
		if err := cut.end(); err != nil {
			t.Fatal(err)
		}
		if report := serveHost(t, settings).screens(); !strings.Contains(report, `"decision":null`) || strings.Contains(report, says) {
			t.Errorf("the accepted list: %s, want it to pass", report)
		}
	})
}

func TestADamagedListOfAcceptancesIsNamed(t *testing.T) {
	folder := newFolder(t)
	own := onFolder(folder, "VERIFYD_BOOTSTRAP", writeBootstrap(t, listOf(3)))
	if err := serveHost(t, own).end(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder.AcceptedLists(), []byte("xx"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := refusal(t, own), folder.AcceptedLists()+": invalid character 'x'"; !strings.Contains(got, want) {
		t.Errorf("with a damaged file: %s, want %s", got, want)
	}
}
