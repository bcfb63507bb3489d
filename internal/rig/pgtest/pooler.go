// A connection pooler in front of the server of the tests.

package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const noPooler = "none, so the tests with a pooler are skipped (Debian, Ubuntu: apt-get install pgbouncer)"

// DescribePooler returns the file of pgbouncer, or says what is skipped without it.
func DescribePooler(context.Context) (string, error) {
	for _, file := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if found, err := exec.LookPath(file); err == nil {
			return found, nil
		}
	}
	return noPooler, nil
}

// Pooler starts pgbouncer in front of a database until the test ends, and returns the URL of
// the database there. The mode is session, transaction or statement. A test is skipped where
// pgbouncer is not installed.
func Pooler(tb testing.TB, database, mode string) string {
	tb.Helper()
	file, _ := DescribePooler(tb.Context()) // it does not fail
	if file == noPooler {
		tb.Skip("pgbouncer: " + noPooler)
	}
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatalf("parse the URL of the database: %v", err)
	}
	folder, err := os.MkdirTemp("", "verifyd-pooler-") // the folder of a test is not for the user nobody
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(folder) }) // it lies in the folder for temporary files
	port := freePort()
	secret, _ := u.User.Password()
	settings := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s password='%s'\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
		"auth_type = any\npool_mode = %s\n", u.Hostname(), u.Port(), u.User.Username(), secret, port, mode)
	ini := filepath.Join(folder, "pgbouncer.ini")
	if err := os.WriteFile(ini, []byte(settings), 0o644); err != nil { // the user nobody reads it
		tb.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		tb.Fatal(err)
	}
	p, err := launch(folder, file, ini)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.kill() }) // it may have ended
	u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	ctx, cancel := context.WithTimeout(tb.Context(), waitTimeout)
	defer cancel()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
		if err == nil {
			_ = c.Close()
			return u.String()
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("pgbouncer does not listen: %v: %s", err, p.log)
		case <-p.Ended():
			tb.Fatalf("pgbouncer has ended: %s", p.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
