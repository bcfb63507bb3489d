// Tests of a host whose log is not read.

package server_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/process"
)

// startLogging starts a host in memory, whose log goes to a pipe.
func startLogging(t *testing.T, more ...string) (h *process.Host, s *served, log *os.File) {
	t.Helper()
	log, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	h, err = process.StartHost(process.HostOptions{Program: os.Args[0], Name: "host", Stderr: stderr, Env: append([]string{
		asProgram + "=1", "VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0", "VERIFYD_MEMORY=true",
	}, more...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Kill() })
	_ = stderr.Close() // the host has it
	return h, &served{t: t, api: h.API, admin: h.Admin}, log
}

func TestAHostOutlivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	h, s, log := startLogging(t)
	_ = log.Close()
	for range 20 {
		s.run("POST", s.api+onboarding, `{"reference_id":"person-1"}`)
	}
	if _, metrics, _ := s.call("GET", s.admin+"/metrics", ""); !strings.Contains(string(metrics), "\nverifyd_log_lines_lost_total ") ||
		strings.Contains(string(metrics), "\nverifyd_log_lines_lost_total 0\n") {
		t.Error("the metrics do not count the lines that were lost")
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
}

func TestAHostOutlivesAStuckLog(t *testing.T) {
	t.Parallel()
	_, s, log := startLogging(t, "VERIFYD_LOG_LEVEL=debug")
	client := http.Client{Timeout: 20 * time.Second}
	const requests = 8000 // of more than a pipe and the memory for lines have
	for i := range requests {
		r, err := client.Get(s.api + "/v1/runs/" + strconv.Itoa(i))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		_ = r.Body.Close()
	}
	if err := log.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	read, lost := 0, 0
	for lines := bufio.NewScanner(log); read+lost < requests && lines.Scan(); {
		var n int
		if _, missing, ok := strings.Cut(lines.Text(), "lines of this log are missing here"); ok {
			if _, err := fmt.Sscanf(missing[strings.Index(missing, "lines="):], "lines=%d", &n); err != nil {
				t.Errorf("the log says %s", lines.Text())
			}
			lost += n
		} else if strings.Contains(lines.Text(), "status=401") {
			read++
		}
	}
	if read == 0 || lost == 0 || read+lost < requests {
		t.Errorf("the log has %d lines and misses %d, want %d together", read, lost, requests)
	}
}

func TestAHostStopsWhileItsLogIsStuck(t *testing.T) {
	t.Parallel()
	h, s, _ := startLogging(t, "VERIFYD_LOG_LEVEL=debug")
	for range 1000 {
		s.call("GET", s.api+"/v1/runs", "")
	}
	if err := h.Stop(); err != nil {
		t.Error(err)
	}
}
