// Tests of doctor.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// sound is a database without problems.
func sound() pgadmin.Health {
	return pgadmin.Health{Level: 1, ServerVersion: "15.18", Connections: 20, MaxConnections: 100, PendingDeliveries: 2}
}

// differing gives a host an address and facts.
func differing(h pgadmin.Host, address, key string, ahead time.Duration) pgadmin.Host {
	h.Address = address
	h.Facts = cli.HostFacts{Providers: map[string]string{"registry": key}, Keys: []string{key}, PublicURL: "https://id.example", ClockAhead: ahead}.String()
	return h
}

// fleet returns hosts on one machine that were last seen some seconds ago, the last one now.
func fleet(ago ...float64) (all []pgadmin.Host) {
	now := enginetest.Began().Add(time.Hour)
	for i, seconds := range ago {
		seen := now.Add(-time.Duration(seconds * float64(time.Second)))
		all = append(all, pgadmin.Host{
			Host: postgres.Host{
				ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i+1), Name: "web", Address: "0.0.0.0:8080", Roles: []string{"api", "worker"},
				StartedAt: seen.Add(-time.Second),
			},
			SeenAt: seen, SeenAgo: seconds, Alive: seconds < 60,
		})
	}
	return all
}

func TestTheDoctorCountsTheHostsThatLive(t *testing.T) {
	w := onMemory(t)
	r := newRemembered()
	w.server, r.health = r.server(), sound()
	line := func() string {
		t.Helper()
		printed := w.ctl("doctor")
		for l := range strings.Lines(printed) {
			if strings.Contains(l, " hosts ") {
				return strings.TrimSpace(l)
			}
		}
		t.Fatalf("doctor printed %s", printed)
		return ""
	}
	r.hosts = fleet(12, 0) // killed, and started again
	if got, want := line(), "ok      hosts        1 alive, 1 died in the last day"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.hosts = fleet(24, 0)
	r.hosts[1].StartedAt = r.hosts[0].StartedAt // both at once
	if got, want := line(), "ok      hosts        2 alive"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.hosts = fleet(26, 0)
	r.hosts[0].Name = "other"
	if got := line(); !strings.HasPrefix(got, "warn    hosts        1 alive, other (0.0.0.0:8080) dead or silent (last heartbeat 26 s ago); ") {
		t.Errorf("%s", got)
	}
}

func TestTheDoctorTellsTheStateOfTheLedger(t *testing.T) {
	w := onMemory(t)
	r := newRemembered()
	w.server, r.health, r.hosts = r.server(), sound(), fleet(0)
	for _, tt := range []struct {
		facts cli.HostFacts
		want  string
	}{
		{cli.HostFacts{}, "ok      redactions   0 are not complete yet, none is late"},
		{cli.HostFacts{RedactionsPending: 2, RedactionPending: time.Hour, EraseWithin: time.Hour}, "ok      redactions   2 are not complete yet, none is late"},
		{cli.HostFacts{RedactionsPending: 2, RedactionPending: 2 * time.Hour, EraseWithin: time.Hour}, "warn    redactions   web (0.0.0.0:8080) has 2 redactions that are not complete, the oldest for 2h0m0s"},
		{cli.HostFacts{LedgerProblem: "entry 7 is not there"}, "fail    redactions   web (0.0.0.0:8080) found the ledger of erasures damaged: entry 7 is not there"},
		{cli.HostFacts{LedgerOwed: 3}, "warn    redactions   web (0.0.0.0:8080) cannot write 3 entries to the ledger of erasures"},
		{cli.HostFacts{NoLedger: true}, "warn    redactions   web (0.0.0.0:8080) has no ledger of erasures"},
		{cli.HostFacts{ErasuresFailed: 4}, "fail    redactions   the store was restored, and web (0.0.0.0:8080) could not erase 4 runs again"},
	} {
		r.hosts[0].Facts = tt.facts.String()
		var got []string
		for l := range strings.Lines(w.ctl("doctor")) {
			if strings.Contains(l, " redactions ") {
				got = append(got, strings.TrimSpace(l))
			}
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
			t.Errorf("%+v: %q, want one line that begins with %q", tt.facts, got, tt.want)
		}
	}
}

func TestTheDoctorTellsHostsOfOneNameApart(t *testing.T) {
	all := fleet(1, 0)
	all[1].StartedAt = all[0].StartedAt
	all = asDoctor(all)
	if a, b := labelOf(all[0]), labelOf(all[1]); a == b || a != "web (0.0.0.0:8080, id ...000001)" {
		t.Errorf("the hosts are %s and %s", a, b)
	}
}

func TestTheDoctorWarnsOfManyConnections(t *testing.T) {
	all := fleet(0)
	for n, want := range map[int]int{79: 0, 80: 1} {
		all[0].Facts = cli.HostFacts{Connections: n, ConnectionLimit: 100}.String()
		if found := clients(all); len(found) != want {
			t.Errorf("with %d of 100 connections: %v", n, found)
		}
	}
}

func TestTheDoctorReportsProblemsAndAdvice(t *testing.T) {
	w := onMemory(t)
	r := newRemembered()
	w.server = r.server()
	began := enginetest.Began()
	host := func(name string, alive bool, roles ...string) pgadmin.Host {
		h := pgadmin.Host{
			Host: postgres.Host{
				ID: "00000000-0000-7000-8000-00000000000" + name, Name: name, Roles: roles, Version: "v1.2.3", StartedAt: began,
			},
			SeenAt: began.Add(time.Minute), Alive: alive,
		}
		if !alive {
			h.SeenAgo = 600
		}
		return h
	}
	for _, hosts := range [][]pgadmin.Host{
		nil,
		{host("1", false, "api", "worker")},
		{host("1", true, "api"), host("2", false, "worker")},
		{host("1", true, "worker")},
		{host("1", true, "api"), host("2", true, "worker"), host("3", false, "api")},
	} {
		r.health, r.hosts = sound(), hosts
		w.ctl("doctor")
	}
	w.ctl("host list")
	w.ctl("host list --json")
	killed := host("2", true, "api", "worker")
	killed.SeenAgo = 20
	r.hosts = []pgadmin.Host{differing(host("1", true, "api", "worker"), "10.0.0.1:8080", "k1", 3*time.Second), differing(killed, "10.0.0.2:8080", "k2", -2*time.Hour)}
	w.ctl("doctor")
	w.ctl("host list")
	r.hosts = []pgadmin.Host{differing(host("1", true, "api", "worker"), "10.0.0.1:8080", "k1", 0), differing(host("2", true, "worker"), "10.0.0.2:8080", "k1", time.Second)}
	w.ctl("doctor")
	for _, facts := range []cli.HostFacts{{SearchKey: "5ea5c4"}, {SearchKey: "5ea5c4", SearchKeyReplaced: true}, {SearchKeyReplaced: true}} {
		searching := host("1", true, "api", "worker")
		searching.Facts = facts.String()
		r.hosts = []pgadmin.Host{searching}
		w.ctl("doctor")
	}
	r.hosts = []pgadmin.Host{host("1", true, "api", "worker")}
	for _, change := range []func(*pgadmin.Health){
		func(*pgadmin.Health) {},
		func(h *pgadmin.Health) { h.BypassesRLS = true },
		func(h *pgadmin.Health) { h.ClockSkew = -1500 * time.Millisecond },
		func(h *pgadmin.Health) { h.ClockSkew = 11 * time.Second },
		func(h *pgadmin.Health) { h.Connections = 80 },
		func(h *pgadmin.Health) { h.Connections = 95 },
		func(h *pgadmin.Health) { h.LateWork, h.OldestDue = 3, began.Add(-90*time.Second) },
		func(h *pgadmin.Health) { h.RepeatedlyLost = 2 },
		func(h *pgadmin.Health) { h.OverdueRuns = 4 },
		func(h *pgadmin.Health) { h.FailedDeliveries = 5 },
		func(h *pgadmin.Health) { h.MeasuresWait = 20 * time.Minute },
		func(h *pgadmin.Health) { h.BrokenMeasures = 3 },
	} {
		r.health = sound()
		change(&r.health)
		w.ctl("doctor")
	}
	r.health = sound()
	w.ctl("doctor --counts --json")
	r.counts = []string{"tenant a, workflow b: the counter is 1, but there are 2 runs", "tenant a, workflow c: the counter is 2, but there are 1 runs"}
	w.ctl("doctor --counts")
	w.ctl("doctor")
	if err := r.Append(t.Context(), "other", "run", 0, store.Commit{
		Work: store.DueWork{}, Screened: []rules.ScreenedList{{List: "sanctions", Version: "v1"}},
	}); err != nil {
		t.Fatal(err)
	}
	pass := store.RescreenPass{List: "sanctions", Version: "v2", Holder: "a host", HeldUntil: began.Add(time.Minute)}
	if _, err := r.HoldPass(t.Context(), pass, began); err != nil {
		t.Fatal(err)
	}
	w.ctl("doctor")
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	w.ctl("doctor")
	tenants, err := r.Tenants(t.Context())
	if err != nil || len(tenants) == 0 {
		t.Fatalf("there are %d tenants: %v", len(tenants), err)
	}
	for i, days := range []int{0, 0, -6, -20} { // the last one is too old
		if err := r.Append(t.Context(), tenants[0].ID, verification.RunID(fmt.Sprint("incomplete-", i)), 0, store.Commit{Measures: []store.Measure{{
			MeasureKey: store.MeasureKey{Name: store.MeasureIncomplete, Key: "done"}, Day: store.DayOf(began, time.UTC) + store.Day(days), Count: 1,
		}}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := w.ctl("doctor"), "3 runs completed without a value of their data in the last 7 days, at the ends done of "+tenants[0].Name; !strings.Contains(got, want) {
		t.Errorf("the doctor says %s, want %s", got, want)
	}
	r.hosts[0].Bootstrap = r.files[0].Hash
	w.ctl("apply testdata/fewer.yaml")
	w.ctl("apply testdata/other.yaml")
	w.ctl("doctor")
	golden.Equal(t, "testdata/talks/doctor.txt", w.transcript())
}

func TestTheDoctorPrintsWhatItCouldExamine(t *testing.T) {
	w := onMemory(t)
	r := newRemembered()
	gone := &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "database", Message: "the database does not answer",
		Cause: errors.New("failed to connect to `user=v database=v`:\n\tdial tcp 127.0.0.1:1: connection refused"),
	}
	w.server = r.server()
	w.server.migrations = func(context.Context, string) ([]pgschema.Migration, error) { return nil, gone }
	w.ctl("doctor")
	w.server = r.server()
	w.server.migrations = func(context.Context, string) ([]pgschema.Migration, error) {
		return []pgschema.Migration{{Version: 1, Name: "runs", AppliedAt: enginetest.Began()}, {Version: 2, Name: "more"}, {Version: 3, Name: "most"}}, nil
	}
	w.ctl("doctor")
	w.server = r.server()
	w.server.open = func(context.Context, string) (*database, error) { return nil, gone }
	w.ctl("doctor")
	w.server = r.server()
	r.broken = gone
	w.ctl("doctor --json")
	w.env["VERIFYD_DATABASE_URL"] = ""
	w.ctl("doctor")
	golden.Equal(t, "testdata/talks/doctor-far.txt", w.transcript())
}

func TestTheDoctorNamesItsVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	s := bare(&stdout, &stderr)
	s.build = cli.Build{Version: "v1.2.3", Commit: "0f841b5c0e1a", Date: "2026-11-29T10:00:00Z", Go: "go1.26.8"}
	run(t.Context(), []string{"doctor", "--data-dir", t.TempDir()}, s)
	if want := "ok      version  verifyctl v1.2.3 (commit 0f841b5c0e1a, 2026-11-29T10:00:00Z, go1.26.8)\n"; !strings.Contains(stdout.String(), want) {
		t.Errorf("the doctor printed %s%s, want %s", &stdout, &stderr, want)
	}
}

func TestAnInterruptedDoctorFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	s := bare(&stdout, &stderr)
	if code := run(ctx, []string{"doctor", "--database-url", "postgres://none"}, s); code != exitUsage || stdout.Len() > 0 {
		t.Errorf("doctor = %d, %s; want %d and nothing on stdout", code, &stdout, exitUsage)
	}
}

// statuses are the results of the checks in the JSON of doctor.
func (w *world) statuses(line string) map[string]string {
	w.t.Helper()
	var found []finding
	w.decode(w.ctl(line), &found)
	all := map[string]string{}
	for _, f := range found {
		all[f.Check] = string(f.Status)
	}
	return all
}

func (w *world) holdStatuses(line string, want map[string]string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.statuses(line)); diff != "" {
		w.t.Errorf("%s differs (-want +got):\n%s\n%s", line, diff, w.transcript())
	}
	if strings.Contains(w.said.String(), "@:/?#") { // as the passwords of pgtest have it
		w.t.Errorf("the password was printed:\n%s", w.transcript())
	}
}

func TestTheDoctorWarnsWhileRunsAreKeyedAnew(t *testing.T) {
	all := fleet(0)
	for unkeyed, want := range map[int]health{0: healthOK, 2: healthWarn} {
		all[0].Facts = cli.HostFacts{SearchKey: "k", Unkeyed: unkeyed}.String()
		if found := searching(all); len(found) != 1 || found[0].Status != want {
			t.Errorf("with %d workflows: %+v, want %s", unkeyed, found, want)
		}
	}
}

func TestTheDoctorFailsUntilAVersionIsAccepted(t *testing.T) {
	version, other := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	w := onMemory(t)
	r := newRemembered()
	w.server, r.health, r.hosts = r.server(), sound(), fleet(0)
	waits := cli.ShrunkList{Version: version, Entries: 12, Accepted: 400}
	facts := func(lists map[string]cli.ShrunkList) { r.hosts[0].Facts = cli.HostFacts{ShrunkLists: lists}.String() }
	facts(map[string]cli.ShrunkList{"sanctions": waits})
	has := func(command string, wants ...string) {
		t.Helper()
		before := w.said.Len()
		w.ctl(command)
		printed := w.said.String()[before:]
		for _, want := range wants {
			if !strings.Contains(printed, want) {
				t.Errorf("%s printed %s, want %s", command, printed, want)
			}
		}
	}
	has("doctor", "fail    lists        web (0.0.0.0:8080) has a version of the list sanctions with 12 entries, in place of 400: its last version stays in use; "+
		"look at the file; if it is right: verifyctl screening accept sanctions "+version, "exit 1")
	has("screening accept sanctions "+version, "list: no host has loaded a list of this name yet")
	r.lists = []pgadmin.AcceptedList{{List: "sanctions", Entries: 400}}
	has("screening accept sanctions "+version[:8], "VERSION: must be the 64 hexadecimal digits")
	has("screening accept sanctions "+version, "sanctions: accepted with 12 entries, in place of 400; hosts use it within 20 s")
	has("screening accept sanctions "+other, "no live host says that this version waits", "accepted in place of 400 entries")
	if got := r.lists[0]; got.Entries != 400 || len(got.Versions) != 2 || got.Versions[1] != version {
		t.Errorf("accepted: %+v, want both versions, and the entries of before", got)
	}
	waits.InUse = true
	facts(map[string]cli.ShrunkList{"sanctions": waits})
	has("doctor", "it is in use, and every check against it needs a reviewer")
	facts(nil)
	if printed := w.ctl("doctor"); strings.Contains(printed, " lists ") {
		t.Errorf("doctor printed %s, want nothing about lists", printed)
	}
}
