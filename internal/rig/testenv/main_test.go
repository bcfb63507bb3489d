package main

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestEachToolIsNamedInOneLine(t *testing.T) {
	pgtest.SkipIfShort(t)
	t.Setenv(pgtest.EnvURL, "")
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(strings.TrimPrefix(out.String(), opening), "\n"), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "Chrom") || !strings.Contains(lines[1], "PostgreSQL) ") || !strings.HasPrefix(lines[2], "Pooler of the tests: ") || !strings.Contains(lines[3], "locales") {
		t.Errorf("it prints %q, want a line about Chromium, one about PostgreSQL, one about pgbouncer and one about the names", lines)
	}
	t.Setenv(pgtest.EnvURL, "postgres://ci:secret@db.example:5432/postgres")
	out.Reset()
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "the server db.example:5432 of "+pgtest.EnvURL) || strings.Contains(text, "secret") {
		t.Errorf("it prints %q, want the server without its password", text)
	}
}

func TestMissingToolsAreReportedTogether(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(pgtest.EnvURL, "")
	t.Setenv(pgtest.EnvBin, t.TempDir())
	err := run(t.Context(), t.Output())
	if err == nil {
		t.Fatal("no error without any tool")
	}
	for _, want := range []string{"no Chromium found", "npm", pgtest.EnvBin, "@faker-js/faker"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q: %v", want, err)
		}
	}
}
