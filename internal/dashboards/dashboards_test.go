// Tests of the files of docs/operate, which an operator loads into Prometheus and Grafana.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const (
	rulesFile = "../../docs/operate/alerts.yaml"
	testsFile = "../../docs/operate/alerts_test.yaml"
	runbook   = "docs/operations.md"
)

func read(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTheDashboardsAreThoseOfTheGenerator(t *testing.T) {
	made, err := files()
	if err != nil {
		t.Fatal(err)
	}
	there, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(there) != len(made) {
		t.Errorf("%s has %q, %v; want %q", folder, there, err, slices.Sorted(maps.Keys(made)))
	}
	for name, want := range made {
		if !bytes.Equal(read(t, filepath.Join(folder, name)), want) {
			t.Errorf("%s/%s is not what this module generates: run go run . in internal/dashboards", folder, name)
		}
	}
}

// query is an expression with the labels that its legend or its texts use.
type query struct {
	where, expr string
	uses        []string
}

// dashboardQueries are the queries of all dashboards, with values for the variables.
func dashboardQueries(t *testing.T) (found []query) {
	t.Helper()
	there, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	legend := regexp.MustCompile(`{{(\w+)}}`)
	for _, file := range there {
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr, LegendFormat string }
			}
		}
		if err := json.Unmarshal(read(t, file), &board); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				q := query{where: filepath.Base(file) + ", " + p.Title, expr: target.Expr}
				for variable, value := range map[string]string{"$__rate_interval": "1m", "$job": ".*", "$instance": ".*"} {
					q.expr = strings.ReplaceAll(q.expr, variable, value)
				}
				for _, m := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
					q.uses = append(q.uses, m[1])
				}
				found = append(found, q)
			}
		}
	}
	return found
}

type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) (found []alert) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alert }
	}
	if err := yaml.Unmarshal(read(t, rulesFile), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		found = append(found, g.Rules...)
	}
	return found
}

// metric is a metric of testdata/metrics.txt, which a test of the host writes from what loaded hosts expose.
type metric struct {
	kind   string
	labels map[string][]string // the values of a label that has few, or none
}

func metrics(t *testing.T) map[string]metric {
	t.Helper()
	found := map[string]metric{}
	for line := range strings.Lines(string(read(t, "testdata/metrics.txt"))) {
		words := strings.Fields(line)
		m := metric{words[1], map[string][]string{"job": nil, "instance": nil}}
		for _, word := range words[2:] {
			label, values, closed := strings.Cut(word, "=")
			if m.labels[label] = nil; closed {
				m.labels[label] = strings.Split(values, "|")
			}
		}
		found[words[0]] = m
	}
	return found
}

// checker says what is wrong with expressions, and notes which metrics they use.
type checker struct {
	metrics  map[string]metric
	used     map[string]bool
	problems []string
}

func (c *checker) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// selector checks a selector, and returns the type of its metric and its labels.
func (c *checker) selector(s *parser.VectorSelector) (kind string, has map[string]bool) {
	if s.Name == "up" { // Prometheus makes it
		return "gauge", map[string]bool{"job": true, "instance": true}
	}
	name, part := s.Name, ""
	m, ok := c.metrics[name]
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if whole := strings.TrimSuffix(s.Name, suffix); whole != s.Name && c.metrics[whole].kind == "histogram" {
			name, part, m, ok = whole, suffix, c.metrics[whole], true
		}
	}
	if !ok || m.kind == "histogram" && part == "" {
		c.problem("no host exposes %s", s.Name)
		return "", nil
	}
	c.used[name] = true
	has = map[string]bool{}
	for label := range m.labels {
		has[label] = true
	}
	if part == "_bucket" {
		has["le"] = true
	}
	for _, match := range s.LabelMatchers {
		if match.Name == model.MetricNameLabel {
			continue
		}
		if !has[match.Name] {
			c.problem("%s has no label %s", s.Name, match.Name)
		}
		values := m.labels[match.Name]
		wanted := strings.Split(match.Value, "|")
		if match.Type == labels.MatchEqual || match.Type == labels.MatchNotEqual {
			wanted = []string{match.Value}
		}
		for _, value := range wanted {
			if values != nil && !slices.Contains(values, value) {
				c.problem("no host exposes %s with %s=%q", s.Name, match.Name, value)
			}
		}
	}
	if m.kind == "histogram" {
		return "counter", has
	}
	return m.kind, has
}

// result checks an expression, and returns the labels of its result.
func (c *checker) result(e parser.Expr) map[string]bool {
	switch e := e.(type) {
	case *parser.VectorSelector:
		_, has := c.selector(e)
		return has
	case *parser.MatrixSelector:
		return c.result(e.VectorSelector)
	case *parser.ParenExpr:
		return c.result(e.Expr)
	case *parser.AggregateExpr:
		inner, kept := c.result(e.Expr), map[string]bool{}
		for _, label := range e.Grouping {
			if kept[label] = true; !inner[label] {
				c.problem("%s groups by %s, which its metric does not have", e, label)
			}
		}
		return kept
	case *parser.BinaryExpr:
		left, right := c.result(e.LHS), c.result(e.RHS)
		if e.VectorMatching != nil {
			for _, label := range e.VectorMatching.MatchingLabels {
				if !left[label] && !right[label] {
					c.problem("%s matches %s, which neither side has", e, label)
				}
			}
		}
		if len(left) == 0 {
			return right
		}
		return left
	case *parser.Call:
		var has map[string]bool
		for _, arg := range e.Args {
			if of := c.result(arg); of != nil {
				has = maps.Clone(of)
			}
			m, ranged := arg.(*parser.MatrixSelector)
			if !ranged {
				continue
			}
			of, ok := m.VectorSelector.(*parser.VectorSelector)
			if !ok {
				continue // as its result says
			}
			kind, _ := (&checker{metrics: c.metrics, used: map[string]bool{}}).selector(of)
			counts := e.Func.Name == "rate" || e.Func.Name == "increase"
			if kind != "" && counts != (kind == "counter") {
				c.problem("%s is %s of a %s", e, e.Func.Name, kind)
			}
		}
		if e.Func.Name == "histogram_quantile" {
			if !has["le"] {
				c.problem("%s has no le", e)
			}
			delete(has, "le")
		}
		return has
	case *parser.NumberLiteral:
		return nil
	case *parser.UnaryExpr:
		return c.result(e.Expr)
	default:
		c.problem("%T is not checked here: check it, too", e)
		return nil
	}
}

// check returns what is wrong with a query.
func (c *checker) check(q query) []string {
	c.problems = nil
	e, err := parser.NewParser(parser.Options{}).ParseExpr(q.expr)
	if err != nil {
		return []string{err.Error()}
	}
	has := c.result(e)
	for _, label := range q.uses {
		if !has[label] {
			c.problem("the text uses the label %s, which the result does not have", label)
		}
	}
	return c.problems
}

func TestQueriesUseWhatLoadedHostsExpose(t *testing.T) {
	c := &checker{metrics: metrics(t), used: map[string]bool{}}
	queries := dashboardQueries(t)
	label := regexp.MustCompile(`\$labels\.(\w+)`)
	for _, a := range alerts(t) {
		q := query{where: "alert " + a.Alert, expr: a.Expr}
		for _, m := range label.FindAllStringSubmatch(a.Annotations["summary"], -1) {
			q.uses = append(q.uses, m[1])
		}
		queries = append(queries, q)
	}
	for _, q := range queries {
		for _, problem := range c.check(q) {
			t.Errorf("%s: %s: %s", q.where, q.expr, problem)
		}
	}
	for name := range c.metrics {
		if !c.used[name] {
			t.Errorf("no dashboard and no alert uses %s", name)
		}
	}
	if len(queries) < 80 {
		t.Errorf("%d queries: are all of them found?", len(queries))
	}
}

func TestAQueryOfWhatNoHostExposesFails(t *testing.T) {
	for _, tc := range []struct {
		expr, want string
		uses       []string
	}{
		{expr: "verifyd_missing", want: "no host exposes verifyd_missing"},
		{expr: "verifyd_verdict_seconds", want: "no host exposes verifyd_verdict_seconds"},
		{expr: `verifyd_reviews_open{tenant="a"}`, want: "no label tenant"},
		{expr: `verifyd_notices_total{outcome="lost"}`, want: `with outcome="lost"`},
		{expr: `verifyd_notices_total{outcome=~"dropped|lost"}`, want: `with outcome="lost"`},
		{expr: "sum by (provider) (verifyd_reviews_open)", want: "groups by provider"},
		{expr: "verifyd_store_bytes / ignoring (list) verifyd_store_limit_bytes", want: "matches list"},
		{expr: "rate(verifyd_reviews_open[5m])", want: "rate of a gauge"},
		{expr: "min_over_time(verifyd_runs_started_total[5m])", want: "min_over_time of a counter"},
		{expr: "histogram_quantile(0.5, sum(rate(verifyd_verdict_seconds_bucket[5m])))", want: "has no le"},
		{expr: "max(verifyd_reviews_open)", uses: []string{"instance"}, want: "uses the label instance"},
		{expr: "sum(", want: "parse error"},
	} {
		c := &checker{metrics: metrics(t), used: map[string]bool{}}
		if got := strings.Join(c.check(query{expr: tc.expr, uses: tc.uses}), "; "); !strings.Contains(got, tc.want) {
			t.Errorf("%s: problems %q, want %q", tc.expr, got, tc.want)
		}
	}
}

func TestEachAlertHasItsLineOfTheRunbook(t *testing.T) {
	lines := map[string]bool{}
	row := regexp.MustCompile(`(?m)^\| (<a id=.*) \| \S.* \|$`)
	entry := regexp.MustCompile(`<a id="(\w+)"></a>(\w+)`)
	for _, m := range row.FindAllStringSubmatch(string(read(t, "../../"+runbook)), -1) {
		for _, m := range entry.FindAllStringSubmatch(m[1], -1) {
			if m[1] != strings.ToLower(m[2]) {
				t.Errorf("%s: %s has the anchor %s", runbook, m[2], m[1])
			}
			lines[m[1]] = true
		}
	}
	for _, a := range alerts(t) {
		anchor := strings.ToLower(a.Alert)
		if a.Annotations["runbook"] != runbook+"#"+anchor || a.Annotations["summary"] == "" || a.Labels["severity"] != "page" && a.Labels["severity"] != "ticket" {
			t.Errorf("alert %s has %v and %v; want a summary, the severity page or ticket, and the runbook %s#%s", a.Alert, a.Annotations, a.Labels, runbook, anchor)
		}
		if !lines[anchor] {
			t.Errorf("%s has no line for the alert %s", runbook, a.Alert)
		}
		delete(lines, anchor)
	}
	for anchor := range lines {
		t.Errorf("%s has a line for %s, which is no alert", runbook, anchor)
	}
}

func TestEachAlertFiresAndDoesNotFireBefore(t *testing.T) {
	var file struct {
		Tests []struct {
			Name  string
			Tests []struct {
				Expr    string
				Samples []any `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	if err := yaml.Unmarshal(read(t, testsFile), &file); err != nil {
		t.Fatal(err)
	}
	quiet, fires := map[string]int{}, map[string]int{}
	for _, test := range file.Tests {
		for _, expected := range test.Tests {
			if want := fmt.Sprintf(`count(ALERTS{alertname=%q, alertstate="firing"})`, test.Name); expected.Expr != want {
				t.Errorf("%s asks for %s, want %s", test.Name, expected.Expr, want)
			}
			if len(expected.Samples) == 0 {
				quiet[test.Name]++
			} else {
				fires[test.Name]++
			}
		}
	}
	for _, a := range alerts(t) {
		if quiet[a.Alert] == 0 || fires[a.Alert] == 0 {
			t.Errorf("%s makes %s fire %d times, and not fire %d times; want both", testsFile, a.Alert, fires[a.Alert], quiet[a.Alert])
		}
		delete(fires, a.Alert)
	}
	if len(fires) > 0 {
		t.Errorf("%s tests what is no alert: %v", testsFile, fires)
	}
	promtool(t, "check", "rules", rulesFile)
	promtool(t, "test", "rules", testsFile)
}
