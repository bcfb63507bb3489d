// Tests of hosts with more connections than they have room for.

package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
)

// openLimit is the variable with the maximum number of files that the process may open.
const openLimit = "VERIFYD_TEST_OPEN_LIMIT"

// limitOpenFiles limits the open files of this process as openLimit says.
func limitOpenFiles() {
	limit, err := strconv.ParseUint(os.Getenv(openLimit), 10, 64)
	if err != nil {
		return
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		panic(err)
	}
}

// connect opens a connection and sends text.
func connect(t *testing.T, s *served, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.api, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Logf("a connection has ended: %v", err)
	}
	return c
}

const aRun = "GET /v1/runs?limit=1 HTTP/1.1\r\nHost: h\r\nclient-id: demo\r\nx-api-key: demo-key-for-local-use-only\r\n\r\n"

// ask sends a request on a connection and returns the status; 0 if there is no answer.
func ask(c net.Conn, request string) int {
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		return 0
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return r.StatusCode
}

func TestIdleConnectionsDoNotStopAHost(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	h, s := startOn(t, folder, "127.0.0.1:0", openLimit+"=256", "VERIFYD_LOG_LEVEL=error")
	kept := connect(t, s, "")
	if status := ask(kept, aRun); status != http.StatusOK {
		t.Fatalf("a list = %d", status)
	}
	for i := range 3000 { // silent, or in the middle of the headers, or refused
		text := []string{"", "GET / HT", "GET /v1/runs HTTP/1.1\r\nHost: h\r\n\r\n"}[i%3]
		connect(t, s, text)
		if i%100 != 0 {
			continue
		}
		s.run("POST", s.api+onboarding, `{"reference_id":"person-1"}`)
		if ready, raw, _ := s.call("GET", s.admin+"/readyz", ""); ready != http.StatusOK {
			t.Fatalf("/readyz = %d %s", ready, raw)
		}
		d := operate(t, folder)
		if hosts, err := d.Hosts(t.Context()); err != nil || len(hosts) != 1 {
			t.Fatalf("operators see %v, %v", hosts, err)
		}
		_ = d.Close()
	}
	if status := ask(kept, aRun); status != http.StatusOK {
		t.Errorf("the idle connection of a client with credentials = %d, want 200", status)
	}
	_, metrics, _ := s.call("GET", s.admin+"/metrics", "")
	if !strings.Contains(string(metrics), `verifyd_http_connections{state="max"} 80`) || strings.Contains(string(metrics), "verifyd_http_connections_closed_total 0\n") {
		t.Errorf("the metrics do not tell of the connections: %s", metrics)
	}
	if n := strings.Count(h.Log.String(), "all connections are in use"); n != 1 {
		t.Errorf("the log names the limit %d times, want once: %s", n, h.Log)
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
}

func TestAConnectionBeyondTheLimitGets503(t *testing.T) {
	t.Parallel()
	g := gate{asked: make(chan struct{}, 2), open: make(chan struct{})}
	s := serveHost(t, map[string]string{
		"VERIFYD_MAX_CONNECTIONS": "2", "VERIFYD_START_WAIT": "20s", "VERIFYD_LOG_LEVEL": "error", "VERIFYD_BOOTSTRAP": bootstrapFile(t, gated),
	}, server.WithProvider("gate", g))
	const start = "POST " + records + " HTTP/1.1\r\nHost: h\r\nclient-id: demo\r\nx-api-key: demo-key-for-local-use-only\r\n" +
		"Content-Type: application/json\r\nPrefer: wait=20\r\nContent-Length: 20\r\n\r\n" + `{"reference_id":"p"}`
	answers := make(chan int, 2)
	for range cap(answers) {
		c := connect(t, s, "")
		go func() { answers <- ask(c, start) }()
		select {
		case <-g.asked: // the host serves the start
		case status := <-answers:
			t.Fatalf("a start = %d before its check has passed", status)
		}
	}
	if status := ask(connect(t, s, ""), aRun); status != http.StatusServiceUnavailable {
		t.Errorf("a connection beyond the limit = %d, want 503", status)
	}
	close(g.open)
	for range cap(answers) {
		if status := <-answers; status != http.StatusAccepted && status != http.StatusCreated {
			t.Errorf("a start that was in flight = %d", status)
		}
	}
	if status := ask(connect(t, s, ""), aRun); status != http.StatusOK {
		t.Errorf("with an idle connection to close, a list = %d, want 200", status)
	}
}
