// Tests with the Prometheus of the system: a real one reads a real host.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program(t, "prometheus", "promtool"), args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// start starts a program until the test ends.
func start(t *testing.T, file string, args ...string) *bufio.Reader {
	t.Helper()
	c := exec.Command(file, args...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	c.Stderr, c.WaitDelay = &log, 5*time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its workers end with it
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s: %.4000s", file, log.String())
		}
	})
	return bufio.NewReader(out)
}

func TestAPrometheusReadsAHostAndAnswersEveryQuery(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // a build without a cache takes minutes
	defer cancel()
	dir := t.TempDir()
	line, err := start(t, host(ctx, t), "serve", "--data-dir", filepath.Join(dir, "data"), "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0").ReadString('\n')
	ready := regexp.MustCompile(`api=(\S+) admin=http://(\S+) `).FindStringSubmatch(line)
	if ready == nil {
		t.Fatalf("ready line = %q, %v", line, err)
	}
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs: [{job_name: verifyd, static_configs: [{targets: ["%s"]}]}]
`, rules, ready[2]), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	start(t, program(t, "prometheus", "prometheus"), "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+address)

	// until tries a step, while the host gets runs of every kind, until it has no problem.
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	until := func(problem func() error) {
		t.Helper()
		for n := 0; ; n++ {
			err := problem()
			if err == nil {
				return
			}
			script := []string{"pass", "fail", "unavailable", "pending:1"}[n%4]
			load(ctx, t, ready[1], `{"reference_id":"r","input":{"sandbox":{"court_records":"`+script+`"}}}`)
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("%v: %v", ctx.Err(), err)
			}
		}
	}
	values := func(expr string) (n int, err error) {
		var got struct{ Result []any }
		err = ask(ctx, address, "query?query="+url.QueryEscape(expr), &got)
		return len(got.Result), err
	}
	until(func() error {
		if n, err := values("verifyd_runs_started_total > 0"); err != nil || n == 0 {
			return fmt.Errorf("%d hosts with runs: %w", n, err)
		}
		return nil
	})
	answered := 0
	for _, q := range dashboardQueries(t) {
		e, err := parser.NewParser(parser.Options{}).ParseExpr(q.expr)
		if err != nil {
			t.Fatal(err)
		}
		exposed := true
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok && exposed {
				found, err := values(s.Name) // a host on a folder has no database
				exposed = err == nil && found > 0
			}
			return nil
		})
		if !exposed || strings.Contains(q.expr, " > 0") { // filters
			if _, err := values(q.expr); err != nil {
				t.Errorf("%s: %v", q.where, err)
			}
			continue
		}
		answered++
		until(func() error {
			if n, err := values(q.expr); err != nil || n == 0 {
				return fmt.Errorf("%s: %s has %d values: %w", q.where, q.expr, n, err)
			}
			return nil
		})
	}
	if answered < 60 {
		t.Errorf("%d queries have values, want most of them", answered)
	}
	until(func() error {
		var got struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := ask(ctx, address, "rules", &got); err != nil {
			return err
		}
		rules := 0
		for _, g := range got.Groups {
			for _, r := range g.Rules {
				if rules++; r.Health == "err" {
					t.Fatalf("alert %s: %s", r.Name, r.LastError)
				} else if r.Health != "ok" {
					return fmt.Errorf("alert %s is %s", r.Name, r.Health)
				}
			}
		}
		if want := len(alerts(t)); rules != want {
			return fmt.Errorf("%d rules, want %d", rules, want)
		}
		return nil
	})
}

// load starts a run of the demo.
func load(ctx context.Context, t *testing.T, api, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000001/runs", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Client-Id": {"demo"}, "X-Api-Key": {"demo-key-for-local-use-only"}, "Content-Type": {"application/json"}}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if raw, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusAccepted {
		t.Fatalf("start = %s %s %v", answer.Status, raw, err)
	}
}

// ask reads the data of an answer of Prometheus.
func ask(ctx context.Context, address, path string, data any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v1/"+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var got struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		return err
	}
	if got.Status != "success" {
		return fmt.Errorf("%s: %s", got.Status, got.Error)
	}
	return json.Unmarshal(got.Data, data)
}
