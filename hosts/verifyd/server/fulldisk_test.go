// Tests of a host whose disk is full.

package server_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/process"
)

// fileLimit is the variable with the maximum size of the files that the process writes, in bytes.
const fileLimit = "VERIFYD_TEST_FILE_LIMIT"

// limitFiles limits the files of this process as fileLimit says: writes beyond fail as on a full
// disk.
func limitFiles() {
	limit, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // so that the write fails instead
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		panic(err)
	}
}

func TestAFullDiskEndsTheHost(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	h, s := startOn(t, folder, "127.0.0.1:0", fileLimit+"=100000", "VERIFYD_LOG_LEVEL=error")
	accepted := map[string]bool{}
	for ended := false; !ended; {
		status, raw, err := tryStart(s.api+onboarding, strings.NewReader(`{"reference_id":"person-1"}`))
		switch {
		case err == nil && status == http.StatusAccepted:
			accepted[regexp.MustCompile(`"id":"(.+?)"`).FindStringSubmatch(raw)[1]] = true
		case err == nil && status != http.StatusServiceUnavailable:
			t.Errorf("a start on a full disk = %d %s, want 503", status, raw)
		}
		select {
		case <-h.Ended():
			ended = true
		default:
		}
	}
	last := regexp.MustCompile(`(?m)^verifyd: the journal in .* cannot be written, so the host has ended: write .*0000000001\.journal: file too large; ` +
		`free some space, and start the host again: it has everything that was accepted\n$`)
	if code := h.Cmd.ProcessState.ExitCode(); code != 1 || len(last.FindAllString(h.Log.String(), -1)) != 1 || strings.Count(h.Log.String(), "verifyd: ") != 1 {
		t.Errorf("the host ended with %d, %s; want 1, and one line that says what to do", code, h.Log)
	}
	_, s = startOn(t, folder, "127.0.0.1:0")
	for id := range accepted {
		s.run("GET", s.api+"/v1/runs/"+id, "")
	}
	if len(accepted) == 0 {
		t.Error("no run was accepted before the disk was full")
	}
}

// A request that is being received when the disk is full is answered before the host ends.
func TestAFullDiskIsAnswered(t *testing.T) {
	t.Parallel()
	h, s := startOn(t, newFolder(t), "127.0.0.1:0", fileLimit+"=100000", "VERIFYD_LOG_LEVEL=error")
	body, rest := io.Pipe()
	answered := make(chan error, 1)
	go func() {
		status, raw, err := tryStart(s.api+onboarding, body)
		if err == nil && status != http.StatusServiceUnavailable {
			err = fmt.Errorf("%d %s", status, raw)
		}
		answered <- err
	}()
	if _, err := io.WriteString(rest, `{"reference_id":`); err != nil {
		t.Fatal(err)
	}
	stopping := false
	for n := 0; n < 10_000 && !stopping; n++ { // then no connection is accepted any more
		_, _, err := tryStart(s.api+onboarding, strings.NewReader(`{"reference_id":"person-1"}`))
		stopping = err != nil
	}
	if !stopping {
		t.Fatal("the disk does not become full")
	}
	if _, err := io.WriteString(rest, `"person-2"}`); err != nil {
		t.Fatal(err)
	}
	_ = rest.Close() // always nil
	if err := <-answered; err != nil {
		t.Errorf("a start on a full disk: %v, want 503", err)
	}
	select {
	case <-h.Ended():
	case <-time.After(time.Minute):
		t.Error("the host goes on")
	}
}

func TestAFullDiskStopsTheStart(t *testing.T) {
	t.Parallel()
	folder := string(newFolder(t))
	_, err := process.StartHost(process.HostOptions{Program: os.Args[0], Name: "host", Env: []string{
		asProgram + "=1", "VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0", "VERIFYD_DATA_DIR=" + folder, fileLimit + "=1000",
	}})
	advice := regexp.MustCompile(regexp.QuoteMeta(folder) + ` has \d+ bytes free; free at least 134217728 on its disk, and start the host again`)
	if err == nil || strings.Count(err.Error(), "verifyd: ") != 1 || !advice.MatchString(err.Error()) {
		t.Errorf("a start while the demo cannot be saved: %v; want one line that says what to do", err)
	}
}

// tryStart starts a run of the demo; it fails if the host ends.
func tryStart(url string, body io.Reader) (status int, answer string, _ error) {
	r, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		return 0, "", err
	}
	r.Header = http.Header{"Client-Id": {"demo"}, "X-Api-Key": {"demo-key-for-local-use-only"}, "Content-Type": {"application/json"}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}
