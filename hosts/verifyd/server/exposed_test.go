// The metrics that a loaded host exposes, for the dashboards, the alerts and the table of the document.

package server_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

const loadedBootstrap = `
lists:
  sanctions: {path: list.csv, format: csv, kind: person, max_age_hours: 48}
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000c
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: loaded
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Loaded
        start: vendor
        nodes:
          vendor: {type: check, provider: sandbox, on_failed: review, next: screen}
          screen:
            type: check
            provider: offline.screening
            with: {list: sanctions, kind: person, name: "${input.name}"}
            rescreen: {list: sanctions, every: change}
            next: good
          review: {type: review, label: Review, next: bad}
          good: {type: end, outcome: approved}
          bad: {type: end, outcome: refused}
`

// Closed labels have few values, which the program names; the values of other labels come from outside.
var closedLabels = regexp.MustCompile(`^(outcome|state|where|refuses)$`)

var (
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	seriesLine = regexp.MustCompile(`(?m)^([a-z]\w*)(?:\{(.*)\})? \S+$`)
	labelPair  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// exposition is what hosts expose: a type and the values of each label, by name of the metric.
type exposition struct {
	types  map[string]string
	labels map[string]map[string]map[string]bool
}

// read adds the text of a host. Of the runtime, only the numbers that the dashboards show are read.
func (e *exposition) read(text string) {
	used := regexp.MustCompile(`^(verifyd_.*|process_cpu_seconds_total|process_resident_memory_bytes|process_open_fds|process_max_fds|go_goroutines)$`)
	for _, m := range typeLine.FindAllStringSubmatch(text, -1) {
		if used.MatchString(m[1]) && e.labels[m[1]] == nil {
			e.types[m[1]], e.labels[m[1]] = m[2], map[string]map[string]bool{}
		}
	}
	for _, m := range seriesLine.FindAllStringSubmatch(text, -1) {
		name := m[1]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if whole := strings.TrimSuffix(name, suffix); e.types[whole] == "histogram" {
				name = whole
			}
		}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			if e.labels[name] == nil || pair[1] == "le" {
				continue
			}
			if e.labels[name][pair[1]] == nil {
				e.labels[name][pair[1]] = map[string]bool{}
			}
			e.labels[name][pair[1]][pair[2]] = true
		}
	}
}

// String has one line for each metric: name, type, labels.
func (e *exposition) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(e.types)) {
		fmt.Fprintf(&b, "%s %s", name, e.types[name])
		for _, label := range slices.Sorted(maps.Keys(e.labels[name])) {
			fmt.Fprintf(&b, " %s", label)
			if closedLabels.MatchString(label) || name == "verifyd_runs_ended_total" {
				fmt.Fprintf(&b, "=%s", strings.Join(slices.Sorted(maps.Keys(e.labels[name][label])), "|"))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// loaded starts a host, gives it runs of every kind, and returns its metrics once they count them.
func loaded(t *testing.T, start func(bootstrap string) *served) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"list.csv": listOf(3), "bootstrap.yaml": loadedBootstrap} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(filepath.Join(folder, "bootstrap.yaml"))
	for _, script := range []string{"pass", "fail", "pending:1", "unavailable", "no_coverage", "inconclusive"} {
		s.run("POST", s.api+records, `{"reference_id":"r","input":{"name":"Asha Rao","sandbox":{"vendor":"`+script+`"}}}`)
	}
	var text string
	within(t, time.Minute, "counts every kind of call, an end, and the pass over the list", func() bool {
		_, raw, _ := s.call("GET", s.admin+"/metrics", "")
		text = string(raw)
		for _, want := range []string{
			`call_seconds_count{outcome="passed"`, `call_seconds_count{outcome="failed"`, `call_seconds_count{outcome="pending"`,
			`call_seconds_count{outcome="error"`, `call_seconds_count{outcome="no_coverage"`, `call_seconds_count{outcome="inconclusive"`,
			`{outcome="approved",status="completed"}`, `verifyd_rescreen_pass_seconds{`,
		} {
			if !strings.Contains(text, want) {
				return false
			}
		}
		return true
	})
	return text
}

func TestTheListOfMetricsIsWhatLoadedHostsExpose(t *testing.T) {
	e := &exposition{types: map[string]string{}, labels: map[string]map[string]map[string]bool{}}
	e.read(loaded(t, func(bootstrap string) *served {
		_, s := startOn(t, newFolder(t), "127.0.0.1:0", "VERIFYD_BOOTSTRAP="+bootstrap)
		return s
	}))
	e.read(loaded(t, func(bootstrap string) *served {
		return serveHost(t, map[string]string{"VERIFYD_DATABASE_URL": pgtest.Database(t), "VERIFYD_BOOTSTRAP": bootstrap})
	}))
	golden.Equal(t, "../../../internal/dashboards/testdata/metrics.txt", []byte(e.String()))

	raw, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(raw), "\n## Metrics\n")
	table, _, _ = strings.Cut(table, "\n## ")
	documented, quoted := map[string]string{}, regexp.MustCompile("`([a-z_]+)`")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 5 {
			continue
		}
		var labels []string
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			labels = append(labels, m[1])
		}
		slices.Sort(labels)
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			documented[m[1]] = strings.TrimSpace(cells[2]) + " " + strings.Join(labels, " ")
		}
	}
	for name, kind := range e.types {
		has := kind + " " + strings.Join(slices.Sorted(maps.Keys(e.labels[name])), " ")
		if strings.HasPrefix(name, "verifyd_") && documented[name] != has {
			t.Errorf("docs/operations.md says %s is %q, and the host exposes %q", name, documented[name], has)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("docs/operations.md has %s, which no loaded host exposes", name)
	}
}
