// Package pgtest provides a PostgreSQL for tests: the server that the environment
// names, or one that it starts with programs that it finds or installs. If there is
// none, the tests fail and say what to do. Tests are skipped only under -short.
//
// A package whose tests need databases shares one server among them:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m, migrate)) }
//
//	func TestRunsAreKept(t *testing.T) {
//		url := pgtest.Database(t)
//
// The server starts with the first test that needs it. A test that stops or kills
// a server starts its own with Start.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"testing"
	"time"
)

const (
	// EnvURL is the URL of a running server, for a role that may create databases
	// and roles. Start ignores it.
	EnvURL = "VERIFYD_TEST_DATABASE_URL"
	// EnvBin is the folder with initdb and postgres.
	EnvBin = "VERIFYD_TEST_POSTGRES_BIN"
)

// waitTimeout bounds what is asked of a server that is there.
const waitTimeout = time.Minute

var current *shared //nolint:gochecknoglobals // a test reaches the server of its test binary without being handed it

// Main runs the tests of a package, usually a *testing.M, and returns the exit
// code. If prepare is not nil, it prepares the empty database at url, which
// Database then copies, and closes its connections.
func Main(m interface{ Run() int }, prepare func(ctx context.Context, url string) error) int {
	current = &shared{prepare: prepare}
	code := m.Run()
	if err := current.close(); err != nil {
		fmt.Fprintf(os.Stderr, "clean up after the tests: %v\n", err)
		return max(code, 1)
	}
	return code
}

// Database returns the URL of a new copy of the prepared database, which is dropped
// when the test ends. Its role owns the database and has no other privileges, so
// that forced row-level security applies to it.
func Database(tb testing.TB) string {
	tb.Helper()
	s := start(tb)
	return s.database(tb, s.template())
}

// Empty returns the URL of a new empty database, which is dropped when the test
// ends.
func Empty(tb testing.TB) string {
	tb.Helper()
	return start(tb).database(tb, "")
}

// Admin returns the URL of a database for the owner of the server, to whom
// row-level security does not apply.
func Admin(tb testing.TB, database string) string {
	tb.Helper()
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatalf("parse the URL of the database: %v", err)
	}
	return start(tb).access.Admin(path.Base(u.Path))
}

// SkipIfShort skips a test that calls Start under -short.
func SkipIfShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs PostgreSQL, and -short leaves such tests out")
	}
}

// start fails the test if there is no server; only the first test reports why.
// Under -short it skips the test.
func start(tb testing.TB) *shared {
	tb.Helper()
	SkipIfShort(tb)
	if current == nil {
		tb.Fatal("no PostgreSQL for this test: its package has no TestMain that calls pgtest.Main")
	}
	if err := current.start(); err != nil {
		if current.told.CompareAndSwap(false, true) {
			tb.Fatal(err)
		}
		tb.Fatal("no PostgreSQL for this test: another test says why")
	}
	return current
}
