// Tests of the command on a new database.

package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification/store"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m, nil)) }

func TestAnEmptyDatabaseIsMigratedAndFilled(t *testing.T) {
	url := pgtest.Empty(t)
	var out strings.Builder
	if err := run(t.Context(), []string{"--database-url", url, "--runs", "300"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	const tenant = "f1110000-0000-7000-8000-000000000001"
	if !strings.HasPrefix(out.String(), "added 300 runs to tenant "+tenant+" in ") {
		t.Errorf("output = %q, want 300 runs added to tenant %s", out.String(), tenant)
	}
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q := store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: time.Now()}
	if p, err := s.List(t.Context(), tenant, q); err != nil || p.Total != 300 {
		t.Errorf("the tenant has %d runs, %v; want 300", p.Total, err)
	}
}

func TestWrongArgumentsAreReported(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "set --database-url"},
		{[]string{"--database-url", "postgres://127.0.0.1/x", "more"}, "use only flags"},
		{[]string{"--database-url", "postgres://127.0.0.1/x", "--tenant", "acme"}, "--tenant"},
		{[]string{"--runs", "many"}, "-runs"},
	} {
		err := run(t.Context(), c.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("fill %v = %v, want it to contain %q", c.args, err, c.want)
		}
	}
}
