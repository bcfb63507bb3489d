// Tests of hosts with a bootstrap file that is refused.

package server_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/wrongfiles"
)

// recordsOf returns the records of a data folder, how many its journal has of each kind, and its files about what was applied and accepted.
func recordsOf(t *testing.T, folder datadir.Folder) string {
	t.Helper()
	j, err := journal.Open(t.Context(), folder.Journal(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := wrongfiles.Records(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := journal.Check(t.Context(), folder.Journal(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"tenant", "account", "workflow", "audit", "setup", "record", "pass"} {
		all += strings.Repeat(kind+"\n", report.Records[kind])
	}
	for _, file := range []string{folder.AppliedFiles(), folder.AcceptedLists()} {
		raw, _ := os.ReadFile(file) // it may be missing
		all += string(raw)
	}
	return all
}

func TestAHostWithARefusedFileChangesNothing(t *testing.T) {
	url, folder, file := pgtest.Database(t), newFolder(t), filepath.Join(t.TempDir(), "bootstrap.yaml")
	listed := filepath.Join(filepath.Dir(file), "list.csv")
	if err := os.WriteFile(listed, []byte("id,name\n1,Asha Rao\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, on := range map[string]struct {
		vars map[string]string
		fill func() error
		held func() string
	}{
		"postgres": {onPostgres(url), func() error {
			s, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err == nil {
				err = wrongfiles.Fill(t.Context(), s)
				s.Close()
			}
			return err
		}, func() string { return wrongfiles.Tables(t, url) }},
		"folder": {onFolder(folder), func() error {
			j, err := journal.Open(t.Context(), folder.Journal(), journal.Options{})
			if err == nil {
				err = wrongfiles.Fill(t.Context(), j)
				_ = j.Close()
			}
			return err
		}, func() string { return recordsOf(t, folder) }},
	} {
		t.Run(name, func(t *testing.T) {
			on.vars["VERIFYD_BOOTSTRAP"] = file
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			start := func() (string, error) {
				var said syncBuffer
				err := server.Run(t.Context(), []string{"serve"}, env(on.vars), io.Discard, &said)
				return said.String(), err
			}
			write(wrongfiles.Base)
			if err := serveHost(t, on.vars).end(); err != nil {
				t.Fatal(err)
			}
			if err := on.fill(); err != nil {
				t.Fatal(err)
			}
			before := on.held()
			files := wrongfiles.All()
			for _, f := range files[:len(files):len(files)] {
				if name != "folder" { // lists are loaded before the store is looked at, whichever it is
					break
				}
				lists := "lists:\n  people: {path: list.csv, format: csv}\n" // which a host loads before it applies the rest
				if f.Text = strings.TrimPrefix(f.Text, "\n"); !strings.Contains(f.Text, "lists:") {
					f.Text = lists + f.Text
				}
				files = append(files, f)
			}
			gone := files[0]
			gone.Name, gone.Want = "a list that is not there", "gone.csv"
			gone.Text = "lists: {people: {path: list.csv, format: csv}, gone: {path: gone.csv, format: csv}}\n" + strings.TrimPrefix(wrongfiles.Good, "\n")
			for _, f := range append(files, gone) {
				write(f.Text)
				if said, err := start(); err == nil || !strings.Contains(err.Error(), f.Want) {
					t.Errorf("%s: the host ends with %v, want %q; it said %s", f.Name, err, f.Want, said)
				}
				if diff := cmp.Diff(before, on.held()); diff != "" {
					t.Fatalf("%s: the host has changed something (-before +after):\n%s", f.Name, diff)
				}
			}
			write(wrongfiles.Good)
			if err := serveHost(t, on.vars).end(); err != nil || on.held() == before {
				t.Errorf("a host with the good file: %v, want that it changes something", err)
			}
		})
	}
}
