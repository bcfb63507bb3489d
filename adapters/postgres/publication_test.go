// Tests of a database of which all tables are published, and of maintenance that fails.

package postgres_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAllTablesMayBePublished(t *testing.T) {
	pgtest.SkipIfShort(t)
	server, err := pgtest.Start(t.Context(), pgtest.Options{Settings: map[string]string{"wal_level": "logical", "max_wal_senders": "2"}})
	must(t, err)
	defer func() { must(t, server.Close()) }()
	must(t, server.CreateDatabase(t.Context(), "published", ""))
	url := server.URL("published")
	_, err = pgschema.Up(t.Context(), url)
	must(t, err)
	admin := connect(t, server.Admin("published"))
	_, err = admin.Exec(t.Context(), "CREATE PUBLICATION everything FOR ALL TABLES")
	must(t, err)
	s := openAt(t, url, postgres.Options{SingleHost: true})
	defer s.Close()
	must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	for n := range 3 {
		c := started(n, noon(), false)
		c.Summary.Workflow = flow
		c.Measures = []store.Measure{{MeasureKey: store.MeasureKey{Name: store.MeasureStarted}, Day: today(), Count: 1}}
		must(t, s.Append(t.Context(), ours, runNumber(n), 0, c))
		must(t, s.Maintain(t.Context(), noon().AddDate(0, 0, n)))
	}
	if n := startsOf(t, s); n != 3 {
		t.Errorf("%d starts are added up, want 3", n)
	}
	must(t, s.Append(t.Context(), ours, runNumber(1), len(started(1, noon(), false).Events), store.Commit{Delete: true}))
	_, err = s.Forget(t.Context(), store.Ages{Measures: noon().AddDate(1, 0, 0)}, 1000)
	must(t, err)
	must(t, s.Maintain(t.Context(), noon()))
	if n := startsOf(t, s); n != 0 {
		t.Errorf("%d starts of last year are left, want none", n)
	}
	// Each table takes a change and a removal: PostgreSQL refuses both for all rows of a table that has no key.
	const all = `
DO $$ DECLARE name text; kept text; BEGIN
    FOR name, kept IN SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1
        WHERE relnamespace = 'verifyd'::regnamespace AND relkind = 'r' AND relpersistence = 'p' LOOP
        EXECUTE format('DELETE FROM verifyd.%I WHERE false', name);
        IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = format('verifyd.%I', name)::regclass AND attnum = 1 AND attidentity <> '') THEN
            EXECUTE format('UPDATE verifyd.%I SET %I = %I WHERE false', name, kept, kept);
        END IF;
    END LOOP;
END $$`
	_, err = admin.Exec(t.Context(), all)
	must(t, err)
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestFailedMaintenanceIsLoggedAndCounted(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	must(t, s.SaveTenant(t.Context(), verification.Tenant{ID: ours, Name: "Ours"}))
	logStarts(t, s, 1)
	admin := connect(t, pgtest.Admin(t, url))
	const refuse = `
CREATE FUNCTION verifyd.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '55000'; END $$;
CREATE TRIGGER refuse BEFORE DELETE ON verifyd.measure_log FOR EACH STATEMENT EXECUTE FUNCTION verifyd.refuse()`
	_, err := admin.Exec(t.Context(), refuse)
	must(t, err)
	var log lockedBuffer
	var failed atomic.Int64
	m, err := s.Join(postgres.MembershipOptions{
		Wake: func() bool { return true }, Now: time.Now, Failed: func() { failed.Add(1) }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- m.Serve(ctx) }()
	eventually(t, "two failed rounds", func() bool { return failed.Load() >= 2 })
	_, err = admin.Exec(t.Context(), "DROP TRIGGER refuse ON verifyd.measure_log")
	must(t, err)
	eventually(t, "a round that works", func() bool { return strings.Contains(log.String(), "works again") })
	stop()
	must(t, <-served)
	if n := strings.Count(log.String(), "the maintenance of the database failed"); n != 1 || !strings.Contains(log.String(), "add up measures") {
		t.Errorf("the failure is logged %d times in a minute, want once with its cause:\n%s", n, log.String())
	}
	if n := startsOf(t, s); n != 1 {
		t.Errorf("%d starts are added up afterwards, want 1", n)
	}
}
